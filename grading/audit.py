"""What an instructor should look at: equal answers, and refused ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from grading.comparing import Digests
from grading.sitting import Result
from grading.table import write_rows

SUSPICIOUS = ("refused", "tampered", "processes")
COLUMNS = ("exercise", "what", "students", "solution", "nodes", "why")


def rows(
    results: Sequence[Result],
    solution: Mapping[str, Digests],
    starters: Mapping[str, Digests],
) -> Iterator[tuple[object, ...]]:
    """Yield a row of `COLUMNS` for each group of equal answers and each refused one.

    solution: the digests of the course's own answers. starters: those of the lab's
    starters, which do not count as answers.
    """
    for result in results:
        for mark in result.marks:
            if mark.kind in SUSPICIOUS:
                why = (mark.text or result.said).partition("\n")[0]
                yield mark.exercise, mark.kind, result.student, "", "", why
    exercises = dict.fromkeys(e for result in results for e in result.answers)
    for exercise in exercises:
        begun = [r for r in results if exercise in r.answers]
        found = {
            r.student: r.answers[exercise]
            for r in begun
            if r.answers[exercise][0] != starters[exercise][0]
        }
        own = solution.get(exercise)
        before = set[frozenset[str]]()
        for way, what in enumerate(("equal", "equal but for names")):
            groups: dict[str, list[str]] = defaultdict(list)
            for student, answer in found.items():
                groups[str(answer[way])].append(student)
            for digest, students in groups.items():
                same = own is not None and own[way] == digest
                group = frozenset([*students, *[""] * same])
                if len(group) > 1 and group not in before:
                    before.add(group)
                    nodes = found[students[0]][2]
                    known = "yes" if same else ""
                    yield exercise, what, ", ".join(students), known, nodes, ""


def write(path: Path, found: Iterable[tuple[object, ...]]) -> None:
    """Write the rows as CSV."""
    write_rows(path, [COLUMNS, *found])
