"""Figures to play with: those of the book, in a notebook, and of your own kernel.

    from weft import explore
    from weft.exploring import figure

    explore(transpose)[grid, block](x, out)
    figure("warp_access", stride=2)

A figure is one JavaScript module of the folder `figures`, the same in the book's pages
and here. Where there are no widgets, a table says what the picture shows.
"""

from collections.abc import Callable
from typing import Any

from weft.exploring.linking import names
from weft.exploring.report import Report

__all__ = ["explore", "figure", "names"]


def figure(name: str, **state: Any) -> Any:
    """Return one of the book's figures, in a first state of your choice.

    Raises ValueError for a name that is not among `names()`.
    """
    if name not in names():
        raise ValueError(f"no figure {name!r}; there are {', '.join(names())}")
    return _shown(name, state)


def explore(kernel: Any) -> "Explorer":
    """Show what a kernel does to memory: `explore(kernel)[grid, block](*args)`.

    The launch runs in the simulator, also where there is a GPU, so keep it small. What
    the kernel writes is in its arguments afterwards, as after any launch.
    """
    return Explorer(kernel)


class Explorer:
    """A kernel that will be launched to be looked at."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, config: Any) -> Callable[..., Any]:
        def launch(*args: Any) -> Any:
            from weft.exploring.accesses import state_of
            from weft.simulator import record

            trace, _ = record(self._kernel, config, args)
            function = getattr(self._kernel, "py_func", self._kernel)
            state = state_of(trace, function)
            return _shown("trace", state)

        return launch


def _shown(name: str, state: dict[str, Any]) -> Any:
    """Return the widget, or the report where there are no widgets."""
    report = Report(name, state)
    try:
        from weft.exploring.widget import Figure
    except ModuleNotFoundError:
        return report
    return Figure(name, state, report._repr_html_(), repr(report))
