"""Figures to play with: those of the book, in a notebook, and of your own kernel.

    from weft.exploring import figure

    figure("warp_access", stride=2)

A figure is one JavaScript module of the folder `figures`, the same in the book's pages
and here. Where there are no widgets its numbers are shown as text.
"""

from typing import TYPE_CHECKING, Any

from weft.exploring.linking import names

if TYPE_CHECKING:
    from weft.exploring.widget import Figure

__all__ = ["figure", "names"]


def figure(name: str, **state: Any) -> "Figure":
    """Return one of the book's figures, in a first state of your choice.

    Raises ValueError for a name that is not among `names()`.
    """
    from weft.exploring.widget import Figure

    if name not in names():
        raise ValueError(f"no figure {name!r}; there are {', '.join(names())}")
    return Figure(name, state)
