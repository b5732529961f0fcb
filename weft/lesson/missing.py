"""A check that runs before its cell did: say so, instead of a bare NameError.

After a syntax error in an exercise's cell the function does not exist (or is the one
from before), and the check below it fails with a NameError that explains nothing.
"""

import re
from collections.abc import Collection
from types import TracebackType
from typing import Any

from weft import tracebacks
from weft.lesson import cells

_stale: set[str] = set()  # functions and classes whose last cell ended in an error


def is_stale(name: str) -> bool:
    """Whether the cell that defines `name` last ended in an error.

    The function there is then still the one from before.
    """
    return name in _stale


def _note_cell(result: Any) -> None:
    """After each cell: remember the functions that it failed to define."""
    source = result.info.raw_cell if result.info else ""
    names = set(re.findall(r"^(?:def|class)\s+(\w+)", source or "", re.MULTILINE))
    if result.success:
        _stale.difference_update(names)
    else:
        _stale.update(names)


def message(name: str) -> str:
    """What to say when the exercise `name` is used before it is defined."""
    return (
        f"{name} does not exist yet. Run the cell that defines it first. If that cell "
        "ended in an error, a SyntaxError for instance, fix it there: until the cell "
        "runs without an error, there is nothing to check."
    )


def instead(error: BaseException, exercises: Collection[str]) -> list[str]:
    """What is shown instead of a traceback, [] where a traceback is best."""
    if isinstance(error, KeyboardInterrupt):
        return tracebacks.interrupted(error)
    name = str(getattr(error, "name", ""))
    return [f"NameError: {message(name)}"] if name in exercises else []


def explain(exercises: Collection[str], lab: str = "") -> None:
    """Have IPython explain a NameError, and a press of Stop. Elsewhere do nothing.

    exercises: the names of which a check may be asked too early. lab: the notebook
    whose cells define the others.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell: Any = get_ipython()
    if shell is None:
        return

    def show(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType,
        tb_offset: int | None = None,
    ) -> list[str]:
        lines = instead(error, exercises)
        if not lines and (where := tracebacks.undefined(error)):
            shown = shell.InteractiveTB.structured_traceback
            lines = [*shown(kind, error, trace, tb_offset=tb_offset), where]
        if not lines:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return []
        shell._showtraceback(kind, error, lines)
        return lines

    shell.set_custom_exc((NameError, KeyboardInterrupt), show)
    if _note_cell not in shell.events.callbacks.get("post_run_cell", []):
        shell.events.register("post_run_cell", _note_cell)
    cells.follow(shell, lab)
    tracebacks.look_up_names(cells.where)
