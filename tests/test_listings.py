"""The Python listings of the pages: code that Python accepts as it is printed."""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

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
