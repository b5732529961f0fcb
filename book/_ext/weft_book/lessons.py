"""What comes from a lesson: its title, its quiz, the list of labs."""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from weft.lesson import quiz_html, syllabus

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


def needs_text(needs: str | None) -> str:
    """Word what a lesson says it cannot run without: "sm_90: why", or nothing."""
    if not needs:
        return "nothing"
    what, _, why = needs.partition(":")
    capability = what.removeprefix("sm_")
    if capability != what:
        what = f"a GPU of capability {capability[:-1]}.{capability[-1]} or higher"
    else:
        what = "a GPU"
    return f"{what}: {why.strip()}"


def needs_of(notebook: Path) -> str | None:
    """What a notebook cannot run without, from its metadata; None for nothing."""
    if not notebook.is_file():
        return None
    metadata = json.loads(notebook.read_text(encoding="utf8"))["metadata"]
    needs: str | None = metadata.get("weft", {}).get("needs")
    return needs


class LabsDirective(WeftDirective):
    """{labs} lists the labs: how long they take and what they cannot do without."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        rows = []
        for stem in syllabus.names(lessons_of(root)):
            path = lessons_of(root) / stem / "lesson.toml"
            self.env.note_dependency(str(path))
            lesson = syllabus.load(stem, lessons_of(root))
            notebook = root / "solutions" / f"{stem}.ipynb"
            self.env.note_dependency(str(notebook))
            needs = needs_of(notebook)
            title = escape(lesson.label)
            if f"labs/{stem}" in self.env.found_docs:
                title = f'<a href="../labs/{stem}.html">{title}</a>'
            exercises, minutes = str(len(lesson.exercises)), str(lesson.minutes)
            rows.append(("", [title, exercises, minutes, escape(needs_text(needs))]))
        columns = [
            ("name", "lab"),
            ("count", "exercises"),
            ("count", "minutes"),
            ("needs", "cannot run without"),
        ]
        return self.html(table(columns, rows))


def setup(app: Sphinx) -> None:
    app.add_directive("labs", LabsDirective)
    app.add_directive("quiz", QuizDirective)
