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


def listings() -> Iterator[tuple[Path, str]]:
    for path in sorted(BOOK.rglob("*.md")):
        for found in LISTING.finditer(path.read_text(encoding="utf8")):
            code = textwrap.dedent(found[3])
            if ">>>" not in code:  # a session, with its answers
                code = code.replace("(...)", "()")
                yield path, OPEN.sub(r"\g<0>\1    ...\n", code)


@pytest.mark.parametrize(
    "path", sorted({path for path, _ in listings()}), ids=lambda path: path.stem
)
def test_a_listing_can_be_parsed(path: Path) -> None:
    for where, code in listings():
        if where == path:
            ast.parse(TransformerManager().transform_cell(code))
