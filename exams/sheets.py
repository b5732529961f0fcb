"""Sheets and their key as pages to print: each an HTML file that needs no network."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import DiffLexer, PythonLexer

from .drawing import choices, draw
from .questions import Question

LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Asked:
    """A question on a sheet: the verdicts to choose from, and the right letter."""

    question: Question
    choices: list[str]

    @property
    def letter(self) -> str:
        return LETTERS[self.choices.index(self.question.headline)]


@dataclass(frozen=True)
class Sheet:
    """The questions of one student."""

    student: str
    asked: list[Asked]


def sheet(
    pool: Sequence[Question], student: str, course: str, count: int, right: int = 0
) -> Sheet:
    """Draw a student's sheet; see `drawing.draw`."""
    drawn = draw(pool, student, course, count, right)
    return Sheet(student, [Asked(q, choices(q, pool, student)) for q in drawn])


def python(code: str, numbered: bool = False) -> Markup:
    """Return code as highlighted HTML, with line numbers if `numbered`."""
    formatter = HtmlFormatter(linenos="inline" if numbered else False, wrapcode=True)
    return Markup(highlight(code, PythonLexer(), formatter))


def changes(question: Question) -> Markup:
    return Markup(highlight("\n".join(question.changes), DiffLexer(), HtmlFormatter()))


def prose(text: str) -> Markup:
    """Return a lab's text as HTML, without its title and its offer of hints."""
    body = re.sub(r"\A## .*\n|Stuck\?\s+`hint\([^)]*\)`[^.]*\.", "", text)
    return Markup(MarkdownIt("commonmark").enable("table").render(body))


def page(template: str, sheets: Sequence[Sheet], course: str) -> str:
    """Return sheets as one HTML page, by a template: `sheets.html` or `key.html`."""
    environment = Environment(
        loader=PackageLoader("exams", "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
    )
    environment.filters |= {"python": python, "prose": prose, "changes": changes}
    style = HtmlFormatter().get_style_defs(".highlight")
    return environment.get_template(template).render(
        sheets=sheets, course=course, style=Markup(style), letters=LETTERS
    )


def table(sheets: Sequence[Sheet]) -> str:
    """Return the key as CSV: a row for each question of each student."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["student", "question", "lab", "exercise", "choice", "line", "also"])
    for one in sheets:
        for n, asked in enumerate(one.asked, 1):
            q = asked.question
            lines.writerow(
                [
                    *(one.student, n, q.lab, q.exercise, asked.letter),
                    *(q.line or "none", " ".join(map(str, q.also))),
                ]
            )
    return out.getvalue()
