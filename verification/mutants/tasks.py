"""Run a mutant in its lab: the cells before it, and then its check's cell."""

from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from verification import cells
from verification.mutants.making import Right


class NotTyped(Exception):
    """The cell raises an error of its own, so there is no kernel."""


@dataclass(frozen=True)
class Task:
    """A kernel in its lab, and the arguments of its check."""

    kernel: Any
    asked: dict[str, Any]
    scope: dict[str, Any]


def task(right: Right, source: str, name: str = "<mutant>") -> Task:
    """Run a learner's cell, then the check's; return its arguments, unchecked.

    Raises NotTyped if the cell ends in an error.
    """
    noted: dict[str, Any] = {}

    def note(kernel: Any, *rest: Any, **asked: Any) -> None:
        noted.update(asked, kernel=kernel)

    with redirect_stdout(StringIO()):
        scope = cells.scope_of(right.lab)
        try:
            cells.run(source, name, scope)
        except Exception as error:
            raise NotTyped(f"{type(error).__name__}: {error}") from error
        check, scope["check"] = scope["check"], note
        cells.run(cells.checks(right.lab)[right.exercise], "<check>", scope)
        scope["check"] = check
    kernel = noted.pop("kernel")
    return Task(kernel, noted, scope)
