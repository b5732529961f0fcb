"""A mutant in its lab: the cells that come before it, and what its check asks."""

from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from verification import cells
from verification.mutants.making import Right


class NotTyped(Exception):
    """The cell ends in an error of its own: there is no kernel."""


@dataclass(frozen=True)
class Task:
    """A kernel in its lab, and what its check was asked."""

    kernel: Any
    asked: dict[str, Any]
    scope: dict[str, Any]


def task(right: Right, source: str, name: str = "<mutant>") -> Task:
    """Run a cell as a learner's, then the check's, which only notes its arguments."""
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
