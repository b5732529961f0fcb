"""The widths and colours in which a page is looked at."""

from typing import Any

import pytest


def looks(narrow: int, wide: int) -> list[Any]:
    """Return pairs of width and scheme: two, and the other two in the long tier."""
    long = pytest.mark.long
    return [
        (narrow, "light"),
        (wide, "dark"),
        pytest.param(narrow, "dark", marks=long),
        pytest.param(wide, "light", marks=long),
    ]
