"""The command line: `python -m grading LAB submissions/*.ipynb`."""

import argparse
import io
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from grading import audit, comparing, course, reports, table
from grading.files import printable
from grading.marking import marked
from grading.paper import Paper
from grading.processes import ROOT, isolation
from grading.record import Record
from grading.sitting import Limits, Result
from weft.errors import LearnerError

NO_COMPILER = "No CUDA compiler here: what only a compiler would refuse passes."


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
    add("--archive", type=Path, metavar="ZIP", help="all pages, a folder per student")
    add("--late", type=float, default=0, metavar="DAYS", help="of all of these")
    add("--copy", type=Path, metavar="NOTEBOOK", help="yours, if not labs/LAB.ipynb")
    add("--seed", default="", help="other data than the lab's: a word for the course")
    add("--variants", action="store_true", help="other data for each student")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    add("--seconds", type=float, default=Limits.seconds, help="for one check")
    add("--total", type=float, default=Limits.total, help="seconds for a submission")
    add("--memory", type=float, default=Limits.memory, help="GB for a submission")
    add("--nbgrader", type=Path, metavar="COURSE", help="write an nbgrader assignment")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    0: all submissions were graded; 1: some could not be; 2: nothing could be done.
    """
    given = options(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _grade(given)
    except LearnerError as error:
        print(error, file=sys.stderr)
        return 2


def _grade(given: argparse.Namespace) -> int:
    """Carry out the options. Raises LearnerError if that cannot be done."""
    path = given.copy or ROOT / "labs" / f"{given.lab}.ipynb"
    paper = Paper(given.lab, path)
    if given.nbgrader:
        for written in course.write(paper, path, given.nbgrader):
            print(written)
    if not given.submissions:
        if given.nbgrader:
            return 0
        raise LearnerError("Name the submissions: python -m grading LAB *.ipynb")
    for line in isolation():
        print(line, file=sys.stderr, flush=True)
    limits = Limits(
        given.seconds, given.memory, given.seed, given.total, given.variants
    )
    names = [printable(name) for name in reports.students(given.submissions)]
    submissions = dict(zip(names, given.submissions, strict=True))
    record = Record(given.csv and given.csv.with_name(f"{given.csv.name}.part"))
    run = table.Run.here(given.lab, given.late)
    if run.compiler == "none":
        print(NO_COMPILER, file=sys.stderr, flush=True)
    results: dict[str, Result] = {}
    try:
        for result in marked(paper, submissions, limits, given.jobs, record):
            results[result.student] = result
            _write(given, run, [results[name] for name in names if name in results])
            _print(result, len(results), len(names), max(map(len, names)))
    except KeyboardInterrupt:
        print(f"Stopped: {len(results)} of {len(names)}.", file=sys.stderr)
        if given.csv:
            print("The same command goes on from here.", file=sys.stderr)
        return 130
    record.remove()
    _audit(given, paper, [results[name] for name in names])
    return 1 if any(result.said for result in results.values()) else 0


def _audit(given: argparse.Namespace, paper: Paper, results: list[Result]) -> None:
    """Write the table of answers to look at; print how many there are."""
    known = comparing.of_solution(paper), comparing.of_starters(paper)
    found = list(audit.rows(results, *known))
    kinds = Counter(what for _, what, *_ in found)
    counted = ", ".join(f"{number} {what}" for what, number in kinds.items())
    print("To look at:", counted or "nothing")
    if given.csv:
        path = given.csv.with_name(f"{given.csv.stem}-audit.csv")
        audit.write(path, found)
        print(path)


def _write(given: argparse.Namespace, run: table.Run, results: list[Result]) -> None:
    """Write the marks so far, and the feedback pages."""
    if given.csv:
        table.write_csv(given.csv, run, results)
    if given.feedback:
        reports.write_feedback(given.feedback, given.lab, results)
    if given.archive:
        reports.write_archive(given.archive, given.lab, results)


def _print(result: Result, number: int, of: int, width: int) -> None:
    """Print a line on one submission: the progress, the points and what failed."""
    failed = [f"{m.exercise}: {m.kind}" for m in result.marks if not m.passed]
    kinds = result.said or ", ".join(failed)
    points = f"{result.points} of {len(result.marks)}"
    line = f"{number:{len(str(of))}} of {of}  {result.student:{width}}  {points}"
    print(f"{line}  {kinds}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
