"""Make every mutant of the labs' right kernels, and choose among them.

A mutant's name is `<lab>/<exercise>/<kernel>/<operator>@<line>.<number>`. The kernel is
`solution` or the file of the answer, the line is that of the changed place in its cell,
and the number tells apart the mutants of one operator and line.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from verification import cells
from verification.corpus import CHAPTERS, dumped
from verification.mutants.operators import OPERATORS
from verification.mutants.splicing import Cell, begin


@dataclass(frozen=True)
class Right:
    """A right kernel: the cell in which an exercise is solved."""

    lab: str
    exercise: str
    name: str
    source: str

    @property
    def label(self) -> str:
        return f"{self.lab}/{self.exercise}/{self.name}"


@dataclass(frozen=True)
class Mutant:
    """A right kernel that has been changed in one place."""

    of: Right
    operator: str
    line: int
    number: int
    source: str

    @property
    def label(self) -> str:
        return f"{self.of.label}/{self.operator}@{self.line}.{self.number}"

    @cached_property
    def digest(self) -> str:
        """A digest of its code; comments do not count."""
        return hashlib.sha256(dumped(self.source).encode()).hexdigest()[:16]

    @property
    def order(self) -> bytes:
        """A sort key that does not depend on the other mutants."""
        return hashlib.sha256(self.label.encode()).digest()


def rights(lab: str) -> list[Right]:
    """Return a lab's right kernels; functions without `@cuda.jit` are left out."""
    found = []
    for exercise in cells.checks(lab):
        pattern = re.compile(rf"^def {exercise}\(", re.MULTILINE)
        for cell in cells.cells(lab):
            if pattern.search(cell.source):
                found.append(Right(lab, exercise, "solution", cell.source))
        for path in sorted((CHAPTERS / lab / "answers" / exercise).glob("right_*.py")):
            text = path.read_text(encoding="utf-8")
            name = path.stem.removeprefix("right_")
            found.append(Right(lab, exercise, name, text))
    return [right for right in found if is_kernel(right)]


def is_kernel(right: Right) -> bool:
    if right.source.startswith("%%"):
        return False
    return right.exercise in {f.name for f in Cell(right.source).functions}


def mutants(right: Right) -> Iterator[Mutant]:
    """Yield a kernel's mutants, without duplicates and those that are not Python."""
    cell = Cell(right.source)
    numbers: Counter[tuple[str, int]] = Counter()
    seen = {ast.dump(cell.tree)}
    for _, node in cell.nodes():
        for name, operator in OPERATORS.items():
            for edits in operator(cell, node):
                line = begin(node)[0]
                number = numbers[name, line]
                numbers[name, line] += 1
                source = cell.spliced(edits)
                try:
                    code = ast.dump(ast.parse(source))
                except SyntaxError:
                    continue
                if code not in seen:
                    seen.add(code)
                    yield Mutant(right, name, line, number, source)


def chosen(found: list[Mutant], count: int) -> list[Mutant]:
    """Return `count` mutants, of all operators in turn.

    A larger count adds mutants to those of a smaller one.
    """
    rows: dict[str, list[Mutant]] = {}
    for mutant in sorted(found, key=lambda m: m.order):
        rows.setdefault(mutant.operator, []).append(mutant)
    rank = {m.label: k for row in rows.values() for k, m in enumerate(row)}
    return sorted(found, key=lambda m: (rank[m.label], m.order))[:count]
