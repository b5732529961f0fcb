"""From verdicts to marks: weights, days late, and the best of several submissions."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.register import Person, Register
from grading.table import Row
from weft.errors import LearnerError


@dataclass(frozen=True)
class Rules:
    """How a course turns verdicts into marks.

    weights: the points of an exercise, by its name; 1 if it is not there. out_of: the
    full marks of a lab, or 0 for the sum of its weights. free: days late that cost
    nothing. cost: the share of the marks that each later day costs. best_of: with
    "submission", the best of several submissions counts; with "exercise", the best
    result of each exercise. columns: the name of each lab in the gradebook.
    """

    weights: dict[str, float] = field(default_factory=dict)
    out_of: float = 0
    free: float = 0
    cost: float = 0
    best_of: str = "submission"
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Rules":
        """Read the rules of a course from a TOML file. Raises LearnerError."""
        try:
            given: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise LearnerError(f"{path} cannot be read as TOML: {error}") from None
        unknown = given.keys() - cls.__dataclass_fields__.keys()
        if unknown:
            known = ", ".join(cls.__dataclass_fields__)
            raise LearnerError(f"{path}: {', '.join(unknown)}? The rules are {known}.")
        rules = cls(**given)
        if rules.best_of not in ("submission", "exercise"):
            raise LearnerError(f"{path}: best_of is `submission` or `exercise`.")
        return rules

    def full(self, row: Row) -> float:
        """Return the full marks of a lab."""
        return self.out_of or sum(self.weights.get(e, 1) for e in row.kinds)

    def share(self, row: Row, exercise: str) -> float:
        """Return the share of a lab's marks that one exercise has earned."""
        if row.kinds[exercise] != "pass":
            return 0
        late = max(0, row.late - self.free)
        whole = sum(self.weights.get(e, 1) for e in row.kinds)
        return self.weights.get(exercise, 1) / whole * max(0, 1 - self.cost * late)


@dataclass(frozen=True)
class Score:
    """What a student has earned in a lab, and by which submissions."""

    student: str
    person: Person | None
    lab: str
    points: float
    full: float
    rows: tuple[Row, ...]

    @property
    def kinds(self) -> dict[str, str]:
        """By exercise: "pass" if any submission passed it, else its last verdict."""
        found: dict[str, str] = {}
        for row in self.rows:
            for exercise, kind in row.kinds.items():
                if found.get(exercise) != "pass":
                    found[exercise] = kind
        return found


def scores(rows: Iterable[Row], register: Register, rules: Rules) -> list[Score]:
    """Return each student's score in each lab, in the order of the rows.

    Of several submissions of a lab by one student, `rules.best_of` says what counts.
    """
    by: dict[tuple[str, object], list[Row]] = {}
    for row in rows:
        who: object = register.find(row.student) or row.student
        by.setdefault((row.lab, who), []).append(row)
    found = []
    for (lab, who), mine in by.items():
        mine.sort(key=lambda row: row.date)
        share = {
            exercise: [
                rules.share(row, exercise) for row in mine if exercise in row.kinds
            ]
            for row in mine
            for exercise in row.kinds
        }
        if rules.best_of == "exercise":
            earned = sum(map(max, share.values()))
        else:
            earned = max(
                sum(rules.share(row, exercise) for exercise in row.kinds)
                for row in mine
            )
        person = who if isinstance(who, Person) else None
        name = person.name if person else str(who)
        full = rules.full(mine[-1])
        points = round(earned * full, 2)
        found.append(Score(name, person, lab, points, full, tuple(mine)))
    return found
