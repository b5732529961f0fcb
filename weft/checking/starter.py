"""The starter cell that nobody has worked on yet."""

from typing import Any

from weft.checking.source import source
from weft.checking.verdict import Verdict

STUB = "your code here"  # in the comment that a starter cell contains


def has_stub(function: Any) -> bool:
    """Whether the function still holds the starter's comment."""
    return STUB in source(function)


def begin(name: str) -> Verdict:
    return Verdict(
        name,
        "begin",
        f"The cell above still says `# {STUB}`. Write the body there, under the name "
        f"`{name}`, run the cell, then run this one again.",
        f'If you do not know how to begin, `hint("{name}")` gives a nudge.',
    )
