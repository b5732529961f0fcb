"""The marks of a class as CSV: written for a spreadsheet, read by the gradebook."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grading.files import replacing
from grading.sitting import Result
from weft.device import toolkit
from weft.errors import LearnerError
from weft.versions import __version__

# A spreadsheet takes text that begins with one of these for a formula. (OWASP ASVS 5,
# requirement 1.2.10: https://asvs.emil.hemdal.se/1.2.10)
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
SHOWN = re.compile(r"'(?=\s*[=+\-@\t\r])")
LINE = " line"  # ends the name of the column with the line that a verdict names
BEFORE = ("student", "lab", "points", "of")
AFTER = ("seconds", "late", "note")
RUN = ("release", "compiler", "seed", "date")


@dataclass(frozen=True)
class Run:
    """What all submissions of a run have in common.

    compiler: the CUDA version of the compiler that checked the kernels, or "none": then
    a kernel that only a compiler would refuse counts. late: in days.
    """

    lab: str
    late: float = 0
    release: str = __version__
    compiler: str = ""

    @classmethod
    def here(cls, lab: str, late: float) -> "Run":
        """Return the run on this machine, with its compiler."""
        found = toolkit.find()
        compiler = "none" if found.missing else f"CUDA {found.major}"
        return cls(lab, late, compiler=compiler)


@dataclass(frozen=True)
class Row:
    """The marks of one submission, as they are in the table.

    kinds: the kind of verdict on each exercise. lines: the line that each verdict
    names, by exercise. late: in days.
    """

    student: str
    lab: str
    kinds: dict[str, str]
    lines: dict[str, str] = field(default_factory=dict)
    late: float = 0
    note: str = ""
    compiler: str = ""
    date: str = ""

    @property
    def passed(self) -> int:
        """The number of exercises passed."""
        return list(self.kinds.values()).count("pass")


def safe(cell: object) -> object:
    """Return a cell, with `'` before text that a spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def write_rows(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a table, whole or not at all, as UTF-8 that Excel recognizes."""
    with (
        replacing(path) as new,
        new.open("w", newline="", encoding="utf-8-sig") as file,
    ):
        csv.writer(file).writerows(map(safe, row) for row in rows)


def write_csv(path: Path, run: Run, results: Sequence[Result]) -> None:
    """Write a row per submission: the points, each exercise's result, and the run."""
    exercises = [mark.exercise for mark in results[0].marks] if results else []
    lines = [exercise + LINE for exercise in exercises]
    rows: list[Sequence[object]] = [[*BEFORE, *exercises, *AFTER, *lines, *RUN]]
    for result in results:
        rows.append(
            [
                *(result.student, run.lab, result.points, len(result.marks)),
                *("pass" if m.passed else m.kind for m in result.marks),
                *(f"{result.seconds:.1f}", f"{run.late:g}", result.said),
                *(m.line for m in result.marks),
                *(run.release, run.compiler, result.seed, result.date),
            ]
        )
    write_rows(path, rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a table with a header, even if a spreadsheet has saved it with `;`.

    Raises LearnerError.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LearnerError(f"{path} cannot be read as UTF-8: {error}") from None
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=mark)
    return [
        {
            str(name).strip(): SHOWN.sub("", value or "")
            for name, value in row.items()
            if isinstance(value, str | None)
        }
        for row in rows
    ]


def read_csv(path: Path) -> list[Row]:
    """Read the marks that `write_csv` wrote. Raises LearnerError."""
    found = []
    for row in read_rows(path):
        if not {*BEFORE, *AFTER} <= row.keys():
            raise LearnerError(f"{path} is no table of marks: it needs a column `lab`.")
        names = [n for n in row if n + LINE in row]
        try:
            late = float(row["late"].replace(",", ".") or 0)
        except ValueError:
            raise LearnerError(
                f"{path}: {row['student']} is {row['late']!r} days late."
            ) from None
        found.append(
            Row(
                row["student"],
                row["lab"],
                {name: row[name] for name in names},
                {name: row[name + LINE] for name in names},
                late,
                row["note"],
                row.get("compiler", ""),
                row.get("date", ""),
            )
        )
    return found
