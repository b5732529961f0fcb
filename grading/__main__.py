"""The command line: `python -m grading LAB submissions/*.ipynb`."""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grading import course, reports, submitted
from grading.paper import Paper
from grading.sitting import ROOT, Limits, Mark, Result, sit, without_network
from weft.errors import LearnerError


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m grading",
        description="Mark submissions of a lab. No GPU is needed.",
    )
    add = parser.add_argument
    add("lab", help="such as 05_first_kernel")
    add("submissions", nargs="*", type=Path, help="the learners' notebooks")
    add("--csv", type=Path, metavar="FILE", help="write the marks here")
    add("--feedback", type=Path, metavar="FOLDER", help="write a page per student")
    add("--copy", type=Path, metavar="NOTEBOOK", help="yours, if not labs/LAB.ipynb")
    add("--seed", default="", help="other data than the lab's: a word for the course")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    add("--seconds", type=float, default=Limits.seconds, help="for one check")
    add("--memory", type=float, default=Limits.memory, help="GB for a submission")
    add("--nbgrader", type=Path, metavar="COURSE", help="write an nbgrader assignment")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    0: all submissions were graded; 1: some could not be; 2: nothing could be done.
    """
    given = options(arguments)
    try:
        return _grade(given)
    except LearnerError as error:
        print(error, file=sys.stderr)
        return 2


def _grade(given: argparse.Namespace) -> int:
    """Do what the options say. Raises LearnerError where that cannot be done."""
    path = given.copy or ROOT / "labs" / f"{given.lab}.ipynb"
    paper = Paper(given.lab, path)
    if given.nbgrader:
        for written in course.write(paper, path, given.nbgrader):
            print(written)
    if not given.submissions:
        if given.nbgrader:
            return 0
        raise LearnerError("Name the submissions: python -m grading LAB *.ipynb")
    if not without_network():
        print("Submissions can reach the network on this system.", file=sys.stderr)
    limits = Limits(given.seconds, given.memory, given.seed)

    def grade(student: str, path: Path) -> Result:
        try:
            cells = submitted.read(path, paper)
        except submitted.NotGraded as error:
            marks = [Mark(e, error.kind) for e in paper.exercises]
            return Result(student, marks, said=str(error))
        return sit(paper, student, cells, limits)

    results, width = [], max(map(len, reports.students(given.submissions)))
    with ThreadPoolExecutor(given.jobs) as pool:
        names = reports.students(given.submissions)
        for result in pool.map(grade, names, given.submissions):
            kinds = result.said or ", ".join(
                f"{m.exercise}: {m.kind}" for m in result.marks if not m.passed
            )
            of = len(result.marks)
            print(f"{result.student:{width}}  {result.points} of {of}  {kinds}")
            results.append(result)
    if given.csv:
        reports.write_csv(given.csv, results)
    if given.feedback:
        reports.write_feedback(given.feedback, given.lab, results)
    return 1 if any(result.said for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
