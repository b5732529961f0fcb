"""Grading with nbgrader: an assignment, and the first step of its autograder."""

import copy
import json
from pathlib import Path
from typing import Any

from grading.answers import Submission
from grading.paper import Paper
from weft.cells import checked
from weft.errors import LearnerError

CONFIG = '''"""nbgrader for this course: only answers are taken from submissions."""

import os

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    OverwriteCells,
    OverwriteKernelspec,
)

c = get_config()  # noqa: F821
c.Autograde.sanitize_preprocessors = [
    ClearOutput,
    DeduplicateIds,
    OverwriteKernelspec,
    OverwriteCells,
    "grading.course.KeepAnswers",
    CheckCellMetadata,
]
c.ExecutePreprocessor.timeout = 300  # seconds for a cell
os.environ["WEFT_SIMULATOR"] = "1"  # no GPU is needed
os.environ["WEFT_STRICT"] = "1"  # a check that fails raises, so it gets no point
'''
NOT_RUN = "# Measurements, hints and questions are not run for marks."


def write(paper: Paper, path: Path, course: Path) -> list[Path]:
    """Write a lab as an nbgrader assignment into a course's folder.

    path: the lab's notebook. Returns the files that it wrote. Each check becomes a
    locked cell worth one point. An existing configuration stays as it is. Raises
    LearnerError if the assignment exists.
    """
    target = course / "source" / paper.lab / f"{paper.lab}.ipynb"
    if target.exists():
        raise LearnerError(f"{target} exists. Move it away, or choose another folder.")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        found = checked("".join(cell["source"])) if cell["cell_type"] == "code" else ""
        if found in paper.exercises:
            cell["metadata"]["nbgrader"] = {
                "cell_type": "code",
                "grade": True,
                "grade_id": f"check-{found}",
                "locked": True,
                "points": 1,
                "schema_version": 3,
                "solution": False,
                "task": False,
            }
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
    written, config = [target], course / "nbgrader_config.py"
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8")
        written.append(config)
    return written


def keep_answers(paper: Paper, source: Any, submitted: Any) -> Any:
    """Return the notebook `source` with the answers of the notebook `submitted`.

    If an answer is missing or refused, the starter stays, with a comment that says why;
    its check then fails. A comment also says what was not taken of an answer. Each
    check ends with `;`, as nbgrader would take its value for points.
    """
    cells = [c["source"] for c in submitted["cells"] if c["cell_type"] == "code"]
    script = paper.script(Submission(map("".join, cells), paper.known))
    filled = copy.deepcopy(source)
    code = [cell for cell in filled["cells"] if cell["cell_type"] == "code"]
    for number, (cell, run) in enumerate(zip(code, script.cells, strict=True)):
        cell["source"] = run.source or NOT_RUN
        exercise = paper.defines.get(number, "")
        if number in paper.checks:
            cell["source"] = f"{cell['source'].rstrip()};"
        missing = script.missing.get(exercise)
        said = [missing.refused] if missing else []
        if not cell["source"].startswith("%%"):  # nothing may stand above a magic
            said.append(script.notes.get(exercise, ""))
        lines = [f"# {line}\n" for text in said for line in text.splitlines()]
        cell["source"] = "".join([*lines, cell["source"]])
    submitted["cells"] = filled["cells"]
    return submitted


def __getattr__(name: str) -> Any:
    """Make the preprocessor when nbgrader asks for it; nothing else needs nbgrader."""
    if name != "KeepAnswers":
        raise AttributeError(name)
    import nbformat
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import NbGraderPreprocessor

    class KeepAnswers(NbGraderPreprocessor):  # type: ignore[misc]
        """Puts a submission's answers into the course's own copy of the lab."""

        def preprocess(self, nb: Any, resources: Any) -> Any:
            known = resources["nbgrader"]
            course = CourseDirectory(config=self.config)
            folder = Path(course.root) / course.source_directory
            path = folder / known["assignment"] / f"{known['notebook']}.ipynb"
            source: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            return keep_answers(Paper(known["notebook"], path), source, nb), resources

    return KeepAnswers
