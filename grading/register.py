"""Who is who in a class: the person and the IDs that belong to a submission's name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grading.table import read_rows
from weft.errors import LearnerError

COLUMNS = ("name", "id", "email", "login", "canvas", "section")
# What Moodle and Canvas add to the names of downloaded submissions.
MOODLE = re.compile(r"^(.+?)_\d+_assignsubmission_")
CANVAS = re.compile(r"^[^_]+_(?:LATE_)?(\d+)_\d+_")


@dataclass(frozen=True)
class Person:
    """A student. id: the university's; canvas: the number in Canvas."""

    name: str
    id: str = ""
    email: str = ""
    login: str = ""
    canvas: str = ""
    section: str = ""


class Register:
    """The students of a class, by the names of their submissions."""

    def __init__(self, people: Iterable[tuple[str, Person]] = ()) -> None:
        self._people: dict[str, Person] = {}
        for called, person in people:
            for name in filter(None, (called, person.name, person.id, person.login)):
                self._people.setdefault(_plain(name), person)
            if person.canvas:
                self._people.setdefault(f"canvas {person.canvas}", person)

    @classmethod
    def read(cls, path: Path) -> "Register":
        """Read a table with a row per student. Raises LearnerError.

        Its columns are `student`, the name of the submission, and any of `COLUMNS`. A
        student may have several rows, as for a second submission.
        """
        rows = read_rows(path)
        if not rows or not {"student", *COLUMNS} & rows[0].keys():
            raise LearnerError(
                f"{path} has no column of the register: student, {', '.join(COLUMNS)}."
            )
        people = []
        for row in rows:
            given = {name: row.get(name, "").strip() for name in COLUMNS}
            given["name"] = given["name"] or row.get("student", "")
            people.append((row.get("student", ""), Person(**given)))
        return cls(people)

    def find(self, student: str) -> Person | None:
        """Return the person whose submission has this name; None if there is none."""
        if found := self._people.get(_plain(student)):
            return found
        if named := MOODLE.match(student):
            return self._people.get(_plain(named[1]))
        if numbered := CANVAS.match(student):
            return self._people.get(f"canvas {numbered[1]}")
        return None


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
