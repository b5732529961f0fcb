"""Feedback: a page for each student, and an archive of all pages."""

import html
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from grading.files import replacing
from grading.sitting import Result

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto;
       padding: 0 1rem; overflow-wrap: anywhere }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8888 }}
</style>
<h1>{title}</h1>
<p>{points} of {of} exercises passed.</p>
{exercises}
</html>
"""


def students(paths: Sequence[Path]) -> list[str]:
    """Name each submission by the part of its path that differs from the others'.

    `submissions/ana.ipynb` is ana; `submitted/ana/05/05_first_kernel.ipynb`, as
    nbgrader stores it, is ana as well.
    """
    if len({path.stem for path in paths}) == len(paths):
        return [path.stem for path in paths]
    rows = [path.with_suffix("").parts for path in paths]
    depth = min(map(len, rows))
    columns = [k for k in range(-depth, 0) if len({row[k] for row in rows}) > 1]
    return ["-".join(row[k] for k in columns) for row in rows]


def page(lab: str, result: Result) -> str:
    """Return a student's page as HTML, with the verdict on each exercise."""
    parts = [
        f"<h2>{'✓' if m.passed else '✗'} <code>{m.exercise}</code></h2>"
        f"<pre>{html.escape(m.text or m.kind)}</pre>"
        for m in result.marks
    ]
    if result.said:
        parts = [f"<p>It was not graded: {html.escape(result.said)}</p>"]
    return PAGE.format(
        title=html.escape(f"{lab}: {result.student}"),
        points=result.points,
        of=len(result.marks),
        exercises="\n".join(parts),
    )


def write_feedback(folder: Path, lab: str, results: Iterable[Result]) -> None:
    """Write each student's page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        with replacing(folder / f"{result.student}.html") as file:
            file.write_text(page(lab, result), encoding="utf-8")


def write_archive(path: Path, lab: str, results: Iterable[Result]) -> None:
    """Write a ZIP file with a folder per student, named as the submission is.

    A system that keeps submissions in such folders can find the owner of each page.
    """
    with replacing(path) as new, zipfile.ZipFile(new, "w") as archive:
        for result in results:
            name = f"{result.student}/{lab}.html"
            archive.writestr(name, page(lab, result), zipfile.ZIP_DEFLATED)
