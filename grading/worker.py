"""What runs in the process of one submission: reading it, its cells, and a report.

    python -m grading.worker FD APART < task

APART is one of `namespaces.Apart`, the task a pickled `Task`. The report goes to the
file descriptor FD, a JSON object per line, each with the task's key:

    {"read": true, "missing": {exercise: [kind, why]}, "notes": {exercise: note},
     "answers": {exercise: digests}}
    {"runs": exercise}                          before the cell that defines it
    {"begins": exercise}                        before its check
    {"name", "kind", "passed", "text", "line"}  after its check
    {"ends": true, "changed": [name],           at the end: what is not what it was,
     "unearned": [name]}                        and what is wrong and passes
    {"unreadable", "other-lab" or "error": why} if it gives up

Whatever the cells print is thrown away.
"""

import json
import os
import pickle
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grading import integrity
from grading.confining import confine
from grading.namespaces import Apart, enter

if TYPE_CHECKING:
    from grading.paper import Cell, Paper

LONGEST = 20_000  # characters of a verdict


@dataclass(frozen=True)
class Task:
    """A submission to run.

    notebook: the bytes of its file. without: exercises that keep the starter. key: a
    word that every line of the report repeats.
    """

    paper: "Paper"
    notebook: bytes
    without: list[str] = field(default_factory=list)
    key: str = ""


class Report:
    """The report's lines, which this process writes for the grader."""

    def __init__(self, descriptor: int, key: str) -> None:
        os.set_inheritable(descriptor, False)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._key = key

    def say(self, **fields: Any) -> None:
        self._file.write(json.dumps(fields | {"key": self._key}) + "\n")
        self._file.flush()


def run_cells(shell: Any, cells: "list[Cell]", report: Report) -> list[str]:
    """Run all cells; report on those that define or check an exercise.

    Returns the names of the checks' functions that the answers have changed.
    """
    before: integrity.Found = {}
    for cell in cells:
        if cell.defines:
            before = before or integrity.found()
            report.say(runs=cell.defines)
        elif cell.checks:
            report.say(begins=cell.checks)
        if cell.source:
            done = _ran(shell, cell.source)
        if cell.checks:
            report.say(name=cell.checks, **judged(cell.checks, *done))
    return integrity.changed(before)


def _ran(shell: Any, source: str) -> tuple[Any, BaseException | None]:
    """Run a cell; return its value, and the exception that ended it, or None."""
    try:
        done = shell.run_cell(source, store_history=True)
    except Exception as error:
        return None, error
    return done.result, done.error_before_exec or done.error_in_exec


def judged(name: str, value: Any, error: BaseException | None) -> dict[str, Any]:
    """Return the fields to report about the check of an exercise."""
    from weft.checking.verdict import Verdict

    kind, passed, line = "error", False, ""
    named = type(value) is Verdict and value.name in (name, "<lambda>")
    if named and error is None:
        kind, passed, text = value.kind, bool(value), str(value.but(onward=None))
        line = value.places[0][0].text if value.places else ""
    elif error is None:
        text = "Its check gave no verdict on a function of this name."
    else:
        text = f"{type(error).__name__}: {error}"
    return {
        "kind": kind,
        "passed": passed,
        "text": text[:LONGEST],
        "line": line[:LONGEST],
    }


def sit(task: Task, report: Report) -> None:
    """Read the submission; run the lab with its answers."""
    from IPython.core.interactiveshell import InteractiveShell

    from grading.answers import Submission
    from grading.canary import unearned
    from grading.comparing import compared
    from grading.submitted import NotGraded, read

    try:
        cells = read(task.notebook, task.paper)
    except NotGraded as error:
        return report.say(**{error.kind: str(error)})
    script = task.paper.script(
        Submission(cells, task.paper.known), without=task.without
    )
    missing = {name: [a.kind, a.refused] for name, a in script.missing.items()}
    report.say(read=True, missing=missing, notes=script.notes, answers=compared(script))
    shell: Any = InteractiveShell.instance(colors="nocolor")
    if cells_of_c := sys.modules.get("weft.c"):  # imported when there was no shell
        cells_of_c.register(shell)
    changed = run_cells(shell, script.cells, report)
    passed = list(unearned(shell, task.paper))
    return report.say(ends=True, changed=changed, unearned=passed)


def run(task: int, report: int, *compiler: int) -> None:
    """Run a task in this process, which is already confined.

    task, report: file descriptors. compiler: the descriptors to which kernels to
    compile are written, and from which the answers are read.
    """
    with os.fdopen(task, "rb") as file:
        read = pickle.load(file)
    said = Report(report, read.key)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        if compiler:
            from weft import compiling

            compiling.adopt(*compiler)
        sit(read, said)
    except Exception as error:
        said.say(error=f"{type(error).__name__}: {error}"[:LONGEST])


def main() -> None:
    apart = Apart(sys.argv[2])
    enter(apart)
    confine(Path.cwd(), apart is Apart.ALL)
    run(os.dup(0), int(sys.argv[1]))


if __name__ == "__main__":
    main()
