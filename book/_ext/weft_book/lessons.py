"""What comes from a lesson: its title, its quiz, the list of labs."""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from weft.device import gpu
from weft.lesson import quiz_html, syllabus
from weft.wording import several

from .page import WeftDirective, table


def lessons_of(root: Path) -> Path:
    return root / "chapters"


def lesson_title(root: Path, stem: str) -> str:
    """Return "13 · Shared memory", or something readable where there is no lesson."""
    if stem not in syllabus.names(lessons_of(root)):
        number, _, words = stem.partition("_")
        return f"{number} · {words.replace('_', ' ')}"
    return syllabus.load(stem, lessons_of(root)).label


class QuizDirective(WeftDirective):
    """{quiz} lab puts the three questions of a lesson here."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lab = self.arguments[0]
        path = lessons_of(Path(self.env.srcdir)) / lab / "lesson.toml"
        self.env.note_dependency(str(path))
        try:
            return self.html(f'<div class="weft-quiz">{quiz_html(lab)}</div>')
        except ValueError as error:  # no such lesson, or one with mistakes in it
            return self.warn(error)


def gpu_text(lesson: syllabus.Lesson) -> str:
    """Word what a lab's solution needs of a GPU; the oldest that runs any is 7.5."""
    needs = lesson.gpu
    lowest = max(needs.capability, gpu.OLDEST_CAPABILITY)
    alone = needs.below == (lowest[0] + 1, 0)
    parts = [f"capability {lowest[0]}.{'x' if alone else lowest[1]}"]
    if needs.memory:
        parts.append(f"{needs.memory} GB")
    if needs.sms:
        parts.append(several(needs.sms, "SM"))
    if needs.count > 1:
        parts.append(several(needs.count, "GPU"))
    return ", ".join(parts)


def runs_on_cpu(notebook: Path) -> bool:
    """Whether a solution has no use for a GPU, as its metadata says."""
    if not notebook.is_file():
        return False
    metadata = json.loads(notebook.read_text(encoding="utf8"))["metadata"]
    return bool(metadata.get("weft", {}).get("runs_on") == "cpu")


class LabsDirective(WeftDirective):
    """{labs} lists the labs: how long they take and what they need of a GPU."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        rows = []
        for stem in syllabus.names(lessons_of(root)):
            path = lessons_of(root) / stem / "lesson.toml"
            self.env.note_dependency(str(path))
            lesson = syllabus.load(stem, lessons_of(root))
            notebook = root / "solutions" / f"{stem}.ipynb"
            self.env.note_dependency(str(notebook))
            needs = "no use for one" if runs_on_cpu(notebook) else gpu_text(lesson)
            title = escape(lesson.label)
            if f"labs/{stem}" in self.env.found_docs:
                title = f'<a href="../labs/{stem}.html">{title}</a>'
            exercises, minutes = str(len(lesson.exercises)), str(lesson.minutes)
            rows.append(("", [title, exercises, minutes, escape(needs)]))
        columns = [
            ("name", "lab"),
            ("count", "exercises"),
            ("count", "minutes"),
            ("needs", "GPU that it runs on"),
        ]
        return self.html(table(columns, rows))


def setup(app: Sphinx) -> None:
    app.add_directive("labs", LabsDirective)
    app.add_directive("quiz", QuizDirective)
