"""The Python listings of the pages: code that Python accepts as it is printed."""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from verification.cells import run, scope_of

CHAPTERS = Path(__file__).parents[1] / "chapters"
BOOK = Path(__file__).parents[1] / "book"
LISTING = re.compile(r"(?ms)^( *)(`{3,})python\n(.*?)^\1\2[ \t]*$")
# A fragment may end with the head of a block.
OPEN = re.compile(r"(?m)^( *)\S.*:\n\Z")


PAGES = {
    path: list(LISTING.finditer(path.read_text("utf8"))) for path in BOOK.rglob("*.md")
}


def listings(path: Path) -> Iterator[str]:
    for found in PAGES[path]:
        code = textwrap.dedent(found[3])
        if ">>>" not in code:  # a session, with its answers
            code = code.replace("(...)", "()")
            yield OPEN.sub(r"\g<0>\1    ...\n", code)


@pytest.mark.parametrize(
    "path", sorted(p for p in PAGES if PAGES[p]), ids=lambda path: path.stem
)
def test_a_listing_can_be_parsed(path: Path) -> None:
    for code in listings(path):
        ast.parse(TransformerManager().transform_cell(code))


def test_what_the_page_says_of_a_wrong_value() -> None:
    """The inputs of "A wrong value" in book/10_debugging.md give these results."""
    answer = CHAPTERS / "08_warps/answers/block_sum/wrong_keeps_the_old_value.py"
    scope = scope_of("08_warps")
    run(answer.read_text("utf8"), "<block_sum>", scope)

    def total(x: np.ndarray) -> float:
        out = np.zeros(1, np.float32)
        scope["block_sum"][1, 256](x.astype(np.float32), out)
        return float(out[0])

    assert [total(np.ones(n)) for n in (7, 8, 9, 256)] == [7, 8, 10, 1024]
    one = np.eye(256)
    assert [total(one[k]) for k in (0, 7, 8, 9, 32, 255)] == [1, 1, 2, 3, 1, 1]
