"""The questions: a wrong kernel of a lab, what it should do, and how to fix it."""

import ast
import difflib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from verification.corpus import HERE, Kernel, of_labs
from weft.checking.kinds import KINDS

# What the source of a lab says only to the pipeline.
MARKS = re.compile(
    r"^[ \t]*# (?:(?:BEGIN|END) SOLUTION|about \d+ lines?[^\n]*|was: .*)[ \t]*\n?", re.M
)
LONGEST = 60  # lines of the longest kernel that fits on a page beside the questions
# changed lines, at most, between a wrong kernel and the nearest right one
FARTHEST = 12
FEW = 3  # lines, at most, that a fix changes if each of them has the mistake


class ExamError(ValueError):
    """The sheets cannot be made as asked; the message says what to change."""


@dataclass(frozen=True)
class Question:
    """A question: a kernel to judge.

    `task` is the lab's text in Markdown; `given` and `check` are the lab's code around
    the exercise. `line` is the line of `code` that the verdict names, counted from 1,
    or None if the kernel passes. `fixed` is a right answer that is similar to `code`.
    """

    lab: str
    exercise: str
    task: str
    given: str
    check: str
    code: str
    verdict: str
    line: int | None
    thinking: str
    fixed: str

    @property
    def name(self) -> str:
        """The question's name in a key: lab, exercise and verdict."""
        return f"{self.lab}, {self.exercise}: {self.headline}"

    @property
    def headline(self) -> str:
        return "it passes" if self.line is None else KINDS[self.verdict].headline

    @property
    def also(self) -> list[int]:
        """The lines that have the mistake, besides the one that the verdict names.

        A verdict names the line where the mistake shows. If a fix changes that line, or
        many lines, or only adds some, no other line counts as right.
        """
        old, new = (
            [tuple(line.split("#")[0].split()) for line in text.splitlines()]
            for text in (self.code, self.fixed)
        )
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        changed = [
            number + 1
            for what, first, last, _, _ in matcher.get_opcodes()
            if what in ("replace", "delete")
            for number in range(first, last)
            if old[number]
        ]
        here = self.line is None or self.line in changed
        return [] if here or len(changed) > FEW else changed

    @property
    def changes(self) -> list[str]:
        """The lines by which `fixed` differs from `code`, as `diff` prints them."""
        old, new = (
            [re.sub(r"\s+# .*", "", line) for line in text.splitlines()]
            for text in (self.code, self.fixed)
        )
        found = difflib.unified_diff(old, new, lineterm="", n=1)
        return [line for line in found if line[:3] not in ("---", "+++")]


def typed(kernel: Kernel) -> tuple[str, int | None]:
    """Return a kernel's code as a learner types it, and its marked line's number."""
    lines = kernel.lines[2:]  # without the verdict and the thinking
    while lines and not lines[0].strip():
        lines.pop(0)
    first = len(kernel.lines) - len(lines)
    line = kernel.marked[0] - first if kernel.marked else None
    return "\n".join(HERE.sub("", text) for text in lines).rstrip(), line


def distance(code: str, other: str) -> int:
    """Return how many lines differ between two kernels, comments apart."""
    plain = [
        [text.split("#")[0].split() for text in one.splitlines()]
        for one in (code, other)
    ]
    a, b = ([" ".join(words) for words in lines if words] for lines in plain)
    return sum(line[0] in "+-" for line in difflib.ndiff(a, b))


def answer(root: Path, stem: str, exercise: str) -> str | None:
    """Return the cell that answers an exercise in the solution of its lab."""
    path = root / "solutions" / f"{stem}.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and exercise in defined(cell.source):
            return MARKS.sub("", cell.source).rstrip()
    return None


def defined(source: str) -> list[str]:
    """Return the names of the functions and classes that a cell defines."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # of another language, or with a magic
        return []
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in body if isinstance(node, kinds)]


def around(cells: list[NotebookNode], exercise: str) -> tuple[str, str, str] | None:
    """Return an exercise's text, the code given for it, and its check; None if none.

    cells: of the lab.
    """
    asks = re.compile(rf"^\s*(?:streams\.)?check\(\s*{exercise}\b", re.M)
    checks = [n for n, cell in enumerate(cells) if asks.search(cell.source)]
    if not checks:
        return None
    last = checks[0]
    first = last
    while first and not cells[first].source.startswith("## "):
        first -= 1
    part = cells[first:last]
    texts = [cell.source for cell in part if cell.cell_type == "markdown"]
    given = [cell.source for cell in part if "given" in cell.metadata.get("tags", [])]
    return "\n\n".join(texts), "\n\n\n".join(given), cells[last].source


@cache
def questions(root: Path, stem: str) -> tuple[Question, ...]:
    """Return all questions on a lab, in the order of the kernels' file names.

    A wrong kernel becomes a question if its verdict names exactly one line, it fits on
    a page, and a right answer is similar to it. A right kernel becomes one if it is
    written differently from the lab's answer.

    Raises ExamError if there is no such lab.
    """
    path = root / "labs" / f"{stem}.ipynb"
    if not path.is_file():
        raise ExamError(f"there is no lab {stem}")
    cells = nbformat.read(path, as_version=4).cells
    kernels = [
        kernel
        for kernel in of_labs(root / "chapters")
        if kernel.group.startswith(f"{stem}/") and kernel.path.suffix == ".py"
    ]
    found = []
    for exercise in dict.fromkeys(kernel.path.parent.name for kernel in kernels):
        place = around(cells, exercise)
        mine = [kernel for kernel in kernels if kernel.path.parent.name == exercise]
        right = [typed(kernel)[0] for kernel in mine if not kernel.wrong]
        right += filter(None, [answer(root, stem, exercise)])
        if place is None or not right:
            continue
        for kernel in mine:
            if kernel.wrong and len(kernel.marked) != 1:
                continue
            code, line = typed(kernel)
            fixed = min(right, key=lambda one: distance(code, one))
            if len(code.splitlines()) > LONGEST or distance(code, fixed) > FARTHEST:
                continue
            verdict, thinking = kernel.verdict, kernel.thinking
            found.append(
                Question(stem, exercise, *place, code, verdict, line, thinking, fixed)
            )
    return tuple(found)
