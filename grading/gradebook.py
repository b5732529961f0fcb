"""The gradebook: `python -m grading.gradebook marks/*.csv`.

It reads the tables of marks of one or several labs, and writes what Moodle and Canvas
import, a table of the class, and the page of the class.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grading import class_page
from grading.register import Person, Register
from grading.scoring import Rules, Score, scores
from grading.table import read_csv, write_rows
from weft.errors import LearnerError

# At import, Moodle asks what each column is, and finds users by "Email address" or "ID
# number": https://docs.moodle.org/en/Grade_import
MOODLE = ("ID number", "Email address", "Full name")
# The columns of a gradebook exported by Canvas, and the name of the row below them.
# Canvas finds a student by any of the three IDs.
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POSSIBLE = "    Points Possible"
AUDIT = "-audit"  # ends the name of a table beside the marks, which has none itself


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m grading.gradebook",
        description="Put the marks of a class together, for a gradebook.",
    )
    add = parser.add_argument
    add("marks", nargs="+", type=Path, help="tables that python -m grading wrote")
    add("--register", type=Path, metavar="CSV", help="who is who: names and IDs")
    add("--rules", type=Path, metavar="TOML", help="weights, days late, best of")
    add("--csv", type=Path, metavar="FILE", help="write the marks of all labs")
    add("--moodle", type=Path, metavar="FILE", help="write them for Moodle")
    add("--canvas", type=Path, metavar="FILE", help="write them for Canvas")
    add("--page", type=Path, metavar="FILE", help="write the page of the class")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    0: all went well; 1: some submissions have no known owner; 2: nothing could be done.
    """
    given = options(arguments)
    try:
        register = Register.read(given.register) if given.register else Register()
        rules = Rules.read(given.rules) if given.rules else Rules()
        tables = [path for path in given.marks if not path.stem.endswith(AUDIT)]
        rows = [row for path in tables for row in read_csv(path)]
        found = scores(rows, register, rules)
    except LearnerError as error:
        print(error, file=sys.stderr)
        return 2
    strangers = [s.student for s in found if given.register and not s.person]
    for name in dict.fromkeys(strangers):
        print(f"{given.register} does not have {name}.", file=sys.stderr)
    for what in (plain, moodle, canvas):
        if path := getattr(given, "csv" if what is plain else what.__name__):
            write_rows(path, what(found, rules))
    if given.page:
        given.page.write_text(class_page.page(found), encoding="utf-8")
    return 1 if strangers else 0


def plain(found: Sequence[Score], rules: Rules) -> list[list[object]]:
    """Return a row per student, below the header: the IDs and each lab's marks."""
    labs, people = _by_student(found)
    rows: list[list[object]] = [["student", "id", "email", *_named(labs, rules)]]
    for marks in people:
        student, person = _who(marks)
        rows.append([student, person.id, person.email, *_points(marks, labs)])
    return rows


def moodle(found: Sequence[Score], rules: Rules) -> list[list[object]]:
    """Return the marks of registered students in the format that Moodle imports."""
    labs, people = _by_student(score for score in found if score.person)
    rows: list[list[object]] = [[*MOODLE, *_named(labs, rules)]]
    for marks in people:
        student, person = _who(marks)
        rows.append([person.id, person.email, student, *_points(marks, labs)])
    return rows


def canvas(found: Sequence[Score], rules: Rules) -> list[list[object]]:
    """Return the marks of registered students in the format that Canvas imports.

    A lab's marks go to the assignment that `rules.columns` gives by name and number,
    such as `Lab 5 (12345)`; without it, Canvas makes a new assignment.
    """
    labs, people = _by_student(score for score in found if score.person)
    full = {score.lab: f"{score.full:g}" for score in found}
    rows: list[list[object]] = [
        [*CANVAS, *_named(labs, rules)],
        [POSSIBLE, *[""] * (len(CANVAS) - 1), *(full[lab] for lab in labs)],
    ]
    for marks in people:
        student, who = _who(marks)
        ids = [who.canvas, who.id, who.login, who.section]
        rows.append([student, *ids, *_points(marks, labs)])
    return rows


def _by_student(found: Iterable[Score]) -> tuple[list[str], list[dict[str, Score]]]:
    """Return the labs, and for each student the score of each lab."""
    people: dict[object, dict[str, Score]] = {}
    for score in found:
        people.setdefault(score.person or score.student, {})[score.lab] = score
    labs = sorted({lab for marks in people.values() for lab in marks})
    return labs, list(people.values())


def _who(marks: dict[str, Score]) -> tuple[str, Person]:
    score = next(iter(marks.values()))
    return score.student, score.person or Person(score.student)


def _named(labs: Sequence[str], rules: Rules) -> list[str]:
    return [rules.columns.get(lab, lab) for lab in labs]


def _points(marks: dict[str, Score], labs: Sequence[str]) -> list[str]:
    """Return the points of each lab, or "" if there is no submission."""
    return [f"{marks[lab].points:g}" if lab in marks else "" for lab in labs]


if __name__ == "__main__":
    sys.exit(main())
