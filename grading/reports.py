"""Marks as a table and as CSV, and a page of feedback for each student."""

import csv
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from grading.files import replacing
from grading.sitting import Result

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto;
       padding: 0 1rem; color-scheme: light dark }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8888 }}
</style>
<h1>{title}</h1>
<p>{points} of {of} exercises passed.</p>
{exercises}
</html>
"""


def students(paths: Sequence[Path]) -> list[str]:
    """Name each submission by the part of its path that differs from the others'.

    `submissions/ana.ipynb` is ana; `submitted/ana/05/05_first_kernel.ipynb`, the way
    nbgrader keeps them, is ana as well.
    """
    if len({path.stem for path in paths}) == len(paths):
        return [path.stem for path in paths]
    rows = [path.with_suffix("").parts for path in paths]
    depth = min(map(len, rows))
    columns = [k for k in range(-depth, 0) if len({row[k] for row in rows}) > 1]
    return ["-".join(row[k] for k in columns) for row in rows]


def write_csv(path: Path, results: Iterable[Result]) -> None:
    """Write a line per student: the points, then what each exercise got."""
    with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for number, result in enumerate(results):
            kinds = [mark.exercise for mark in result.marks]
            if number == 0:
                writer.writerow(["student", "points", "of", *kinds, "seconds"])
            row = ["pass" if m.passed else m.kind for m in result.marks]
            of, seconds = len(result.marks), f"{result.seconds:.1f}"
            writer.writerow([result.student, result.points, of, *row, seconds])


def write_feedback(folder: Path, lab: str, results: Iterable[Result]) -> None:
    """Write a page per student, with the verdict on each exercise."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        parts = [
            f"<h2>{'✓' if m.passed else '✗'} <code>{m.exercise}</code></h2>"
            f"<pre>{html.escape(m.text or m.kind)}</pre>"
            for m in result.marks
            if not result.said
        ]
        if result.said:
            parts = [f"<p>It was not graded: {html.escape(result.said)}</p>"]
        page = PAGE.format(
            title=html.escape(f"{lab}: {result.student}"),
            points=result.points,
            of=len(result.marks),
            exercises="\n".join(parts),
        )
        with replacing(folder / f"{result.student}.html") as file:
            file.write_text(page, encoding="utf-8")
