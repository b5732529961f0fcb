"""The instructor's copy of a lab, which is run with a learner's answers."""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.answers import Answer, Known, Submission
from grading.naming import imports
from grading.pieces import magic, names, pieces, where
from weft.cells import check, checked, parse
from weft.errors import LearnerError
from weft.lesson import syllabus

# cells that call these earn nothing
NO_MARKS = {"bench", "hint", "quiz", "doctor", "progress"}

ABSENT = Answer("", "The notebook does not define it.", "missing")


def code_cells(notebook: bytes) -> list[dict[str, Any]]:
    """Return a notebook's code cells, their sources joined. Raises LearnerError."""
    try:
        cells = json.loads(notebook.decode("utf-8-sig"))["cells"]
        found = [cell for cell in cells if cell["cell_type"] == "code"]
        return [cell | {"source": "".join(cell["source"])} for cell in found]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LearnerError(f"It is not a notebook: {error}") from None


def read(notebook: bytes) -> list[str]:
    """Return the sources of a notebook's code cells. Raises LearnerError."""
    return [cell["source"] for cell in code_cells(notebook)]


def cells_of(path: Path) -> list[str]:
    """Return the sources of a file's code cells. Raises LearnerError."""
    try:
        return read(path.read_bytes())
    except OSError as error:
        raise LearnerError(f"{path} is not a notebook: {error.strerror}") from None
    except LearnerError as error:
        raise LearnerError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Cell:
    """A cell to run; its source is "" if there is nothing to run.

    defines: the exercise whose answer it is. checks: the exercise whose verdict is its
    result.
    """

    source: str
    defines: str = ""
    checks: str = ""


@dataclass(frozen=True)
class Script:
    """What runs for one submission, and the exercises that have nothing to run."""

    cells: list[Cell]
    missing: dict[str, Answer]
    notes: dict[str, str]  # by exercise: what to say about an answer that does not pass


class Paper:
    """An instructor's copy of a lab: the cells that define exercises or check them."""

    def __init__(self, lab: str, path: Path) -> None:
        """Read the lab's notebook.

        Raises LearnerError if there is no such lab or an exercise has no check.
        """
        self.lab = lab
        self.exercises = [e.name for e in syllabus.load(lab).exercises]
        self.cells = cells_of(path)
        self.checks = {
            number: found
            for number, cell in enumerate(self.cells)
            if (found := checked(cell)) in self.exercises
        }
        self.defines: dict[int, str] = {}
        for exercise in self.exercises:
            places = where(self.cells, exercise)
            if not places or exercise not in self.checks.values():
                raise LearnerError(f"{path} has no exercise and check of {exercise}")
            self.defines[max(places)] = exercise
        defined = [names(cell) for cell in self.cells]
        self.own = {e: defined[n] for n, e in self.defines.items()}
        self.given = {
            name
            for number, cell in enumerate(self.cells)
            if number not in self.defines
            for name in _given(cell)
        }
        self.known = Known(frozenset(self.given), self._imports())
        blank = set(self._blank())
        self.values = {
            number: [n for n in _positional(self.cells[number]) if n in blank]
            for number in self.checks
        }

    def script(self, submission: Submission, without: Iterable[str] = ()) -> Script:
        """Return the lab with the submission's answers, except those in `without`.

        The script has a cell for each cell of the paper. Cells that earn nothing are
        empty: those without marks, and all below the last check.
        """
        cells: list[Cell] = []
        missing: dict[str, Answer] = {}
        notes: dict[str, str] = {}
        for number, cell in enumerate(self.cells):
            if number in self.defines:
                exercise = self.defines[number]
                own = self.own[exercise]
                answer = submission.answer(exercise, own, self.given - own, cell)
                if answer and answer.note:
                    notes[exercise] = answer.note
                if answer is None:
                    missing[exercise] = ABSENT
                elif answer.refused:
                    missing[exercise] = answer
                elif exercise not in without:
                    cell = answer.source
                cells.append(Cell(cell, defines=exercise))
            elif number in self.checks:
                exercise, parts = self.checks[number], []
                for value in self._values(number, submission):
                    if value.refused:
                        missing[exercise] = value
                    else:
                        parts.append(value.source)
                cells.append(Cell("\n\n".join([*parts, cell]), checks=exercise))
            elif number > max(self.checks) or _without_marks(cell):
                cells.append(Cell(""))
            else:
                cells.append(Cell(cell))
        return Script(cells, missing, notes)

    def modules(self) -> set[str]:
        """Return the full names that the lab's cells import: modules, maybe others."""
        trees = [tree for cell in self.cells if (tree := parse(cell))]
        found: set[str] = set()
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {f"{node.module}.{each.name}" for each in node.names}
                found.add(node.module)
        return found

    def _imports(self) -> dict[str, set[str]]:
        """Return the full names that each of the lab's imported names stands for."""
        trees = [parse(cell) for cell in self.cells]
        return dict(imports(tree for tree in trees if tree))

    def _blank(self) -> Iterator[str]:
        """Yield the names that the lab sets to a constant for learners to replace."""
        for cell in self.cells:
            try:
                for piece in pieces(cell):
                    value = getattr(piece.node, "value", None)
                    if isinstance(value, ast.Constant):
                        yield from piece.names
            except SyntaxError:
                continue

    def _values(self, number: int, submission: Submission) -> Iterator[Answer]:
        """Yield the values that the learner has set for a check, as a diagnosis is."""
        for name in self.values[number]:
            if value := submission.value(name, self.checks[number]):
                yield value


def _given(cell: str) -> set[str]:
    """Return the names that a lab's cell defines, without variables of loops."""
    if magic(cell):
        return {magic(cell)}
    kept = (p for p in pieces(cell) if not isinstance(p.node, ast.For | ast.While))
    return {name for piece in kept for name in piece.names}


def _positional(cell: str) -> list[str]:
    """Return the names that a check gets beside the exercise; they are answers, too."""
    call = check(cell)
    return [a.id for a in call.args[1:] if isinstance(a, ast.Name)] if call else []


def _without_marks(cell: str) -> bool:
    """Return whether a cell only measures, hints or asks: a check needs none of it."""
    try:
        body = ast.parse(cell).body
    except SyntaxError:
        return False
    plain = [n for n in body if isinstance(n, ast.Expr | ast.Assign)]
    called = {
        name.id if isinstance(name, ast.Name) else name.attr
        for statement in plain
        for name in ast.walk(statement)
        if isinstance(name, ast.Name | ast.Attribute)
    }
    return bool(called & NO_MARKS) and not any(
        isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
        for n in body
    )
