"""Explain an undefined name: an exercise's, or one that another cell defines.

After a syntax error in an exercise's cell, the function does not exist (unless the cell
has run before), and the check below it fails with a NameError that explains nothing.
After a restart of the kernel, or when a cell was skipped, other names are undefined.
The notebook's own file says which cells define them. It is read only after an error.
"""

import ast
import dis
import json
import os
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from weft import tracebacks
from weft.lesson import executed, syllabus, timed

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
STORES = ("STORE_NAME", "STORE_GLOBAL")  # outside functions: names that remain defined

Keys = tuple[str, str]  # a cell's id, "" if it has none, and its source

_running: Keys = ("", "")
_ended: dict[str, bool] = {}  # a cell's id, or its source → whether it ran to its end
_lab = ""
_stale: set[str] = set()  # functions and classes whose last cell ended in an error


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook."""

    number: int
    keys: Keys

    @property
    def ended(self) -> bool | None:
        """Whether the cell ran without an error; None if it has not run."""
        return next((_ended[key] for key in self.keys if key in _ended), None)

    def defines(self, name: str) -> bool:
        """Return whether the cell assigns `name` at its top level."""
        lines = self.keys[1].splitlines()
        plain = [line for line in lines if not line.lstrip().startswith(("%", "!"))]
        try:
            with warnings.catch_warnings(action="ignore"):
                code = compile("\n".join(plain), "<cell>", "exec", AWAIT, True)
        except (SyntaxError, ValueError):
            return False
        stored = (s.argval for s in dis.get_instructions(code) if s.opname in STORES)
        return name in stored


def _keys(info: Any) -> Keys:
    source = getattr(info, "raw_cell", None) or ""
    return getattr(info, "cell_id", None) or "", source.strip()


def _begun(info: Any) -> None:
    global _running
    _running = _keys(info)


def _done(result: Any) -> None:
    """Record how a cell ended, and which functions and classes it failed to define."""
    if result.info is None:
        return
    for key in filter(None, _keys(result.info)):
        _ended[key] = bool(result.success)
    source = result.info.raw_cell or ""
    names = re.findall(r"^(?:def|class)\s+(\w+)", source, re.MULTILINE)
    (_stale.difference_update if result.success else _stale.update)(names)


def is_stale(name: str) -> bool:
    """Return whether the cell that defines `name` last ended in an error.

    The function that has this name then comes from an earlier run.
    """
    return name in _stale


def where(name: str) -> str:
    """Describe the cell that has to run to define `name`; "" if none is known."""
    path = _notebook()
    if path is None:
        return SOMEWHERE.format(name=name) if name in _given() else ""
    cells = _code_cells(path)
    here = next((cell.number for cell in cells if _is_running(cell)), -1)
    known = [cell for cell in cells if cell.defines(name) and cell.number != here]
    if not known or any(cell.ended for cell in known):  # it was lost in another way
        return ""
    if known[0].ended is False:
        return FAILED.format(name=name)
    return (ABOVE if known[0].number < here else ELSEWHERE).format(name=name)


ABOVE = (
    "`{name}` is defined in a cell above that has not been run since the kernel "
    "started: Run ▸ Run All Above Selected Cell."
)
ELSEWHERE = (
    "`{name}` is defined in another cell of this lab, which has not been run since the "
    "kernel started: run that cell first."
)
SOMEWHERE = (
    "`{name}` is defined in another cell of this lab. Has that cell been run since the "
    "kernel started?"
)
FAILED = (
    "`{name}` is defined in a cell that ended in an error: fix that cell, and run it "
    "again."
)


def place(name: str) -> str:
    """Return a link to the heading above the cell of this notebook that defines `name`.

    The fragment is one that JupyterLab understands and that other programs ignore.
    Returns "" if the notebook's file is unknown, or has no such cell below a heading.
    """
    path, above = _notebook(), ""
    if path is None:
        return ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and re.match("#+ ", source):
            above = cell.get("id", "")
        elif above and Cell(0, ("", source)).defines(name):
            return f"{path.name}#cell-id={above}"
    return ""


def _is_running(cell: Cell) -> bool:
    number, source = _running
    return number == cell.keys[0] if number else source == cell.keys[1]


def _notebook() -> Path | None:
    """Return the file of this notebook, or None if it is not found.

    The name that the notebook server gives takes precedence over that of the lab.
    """
    named = os.environ.get("JPY_SESSION_NAME", "")
    for path in (Path(named), Path(f"{_lab}.ipynb")):
        if path.suffix == ".ipynb" and path.is_file():
            return path
    return None


def _code_cells(path: Path) -> list[Cell]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        Cell(number, (cell.get("id", ""), "".join(cell["source"]).strip()))
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code"
    ]


def _given() -> list[str]:
    """Return the names that the lab's notebook defines for its checks."""
    file = syllabus.folder() / _lab / "given.json"
    if not _lab or not file.is_file():
        return []
    names = json.loads(file.read_text(encoding="utf-8"))["names"]
    ours = ("builtin", "import")
    return [name for name, (what, _) in names.items() if what not in ours]


def message(name: str) -> str:
    """Return the message for an exercise that is used before it is defined."""
    return (
        f"{name} does not exist yet. Run the cell that defines it first. If that cell "
        "ended in an error, a SyntaxError for instance, fix it there: until the cell "
        "runs without an error, there is nothing to check."
    )


def instead(error: BaseException, exercises: Collection[str]) -> list[str]:
    """Return the lines to show instead of a traceback, or [] if a traceback is best."""
    if isinstance(error, KeyboardInterrupt):
        return tracebacks.interrupted(error)
    name = str(getattr(error, "name", ""))
    return [f"NameError: {message(name)}"] if name in exercises else []


def explain(exercises: Collection[str], lab: str = "") -> None:
    """Have IPython, if it is running, explain each NameError and each interrupt.

    Also records cells as they run, and times those that begin with `%%time`.

    exercises: names that a check may ask for too early. lab: the notebook whose cells
    define the other names.
    """
    global _lab
    _lab = lab
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
        if not lines and (said := tracebacks.undefined(error)):
            shown = shell.InteractiveTB.structured_traceback
            lines = [*shown(kind, error, trace, tb_offset=tb_offset), said]
        if not lines:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return []
        shell._showtraceback(kind, error, lines)
        return lines

    shell.set_custom_exc((NameError, KeyboardInterrupt), show)
    timed.watch(shell)
    events = (
        ("pre_run_cell", _begun),
        ("post_run_cell", _done),
        ("post_run_cell", executed.note),
    )
    for event, noted in events:
        if noted not in shell.events.callbacks.get(event, []):
            shell.events.register(event, noted)
    tracebacks.look_up_names(where)
