"""How long the course takes: ways through it, and hours to plan.

A page is read at WORDS_PER_MINUTE, without its listings, tables and figures; a lab
takes the minutes of its lesson.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from weft.lesson import syllabus
from weft.lesson.routes import Route, routes

from .lessons import lessons_of
from .outline import pages_with
from .page import WeftDirective, logger, table

WORDS_PER_MINUTE = 150
BLOCKS = re.compile(r"\A---\n.*?\n---\n|^(`{3,}).*?^\1$|\$\$.*?\$\$", re.M | re.S)
TARGETS = re.compile(r"\{[\w:]+\}|\]\([^)]*\)|<[^>]*>")


def words_of(text: str) -> int:
    """Return how many words of prose a page has."""
    return len(re.findall(r"\b\w[\w'’.-]*", TARGETS.sub("", BLOCKS.sub("", text))))


def reading(root: Path, stem: str) -> float:
    """Return the minutes that the pages of a chapter take to read."""
    pages = [root / "book" / f"{page['stem']}.md" for page in pages_with(root, stem)]
    return sum(words_of(p.read_text("utf8")) for p in pages) / WORDS_PER_MINUTE


def working(root: Path, stem: str) -> int:
    """Return the minutes that a lab takes."""
    return syllabus.load(stem, lessons_of(root)).minutes


def times(root: Path, stems: list[str] | tuple[str, ...]) -> tuple[int, int]:
    """Return the minutes of chapters to read, to five, and of their labs."""
    read = sum(reading(root, stem) for stem in stems)
    return 5 * round(read / 5), sum(working(root, stem) for stem in stems)


def hours(minutes: float) -> str:
    """Return `12 hours`, rounded."""
    return f"{round(minutes / 60)} hours"


class RoutesDirective(WeftDirective):
    """{routes} lists the ways through the course, each with its hours."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        rows = [("", self._row(root, route)) for route in routes()]
        columns = [
            ("name", "route"),
            ("chapters", "chapters"),
            ("count", "reading"),
            ("count", "labs"),
        ]
        return self.html(table(columns, rows))

    def _row(self, root: Path, route: Route) -> list[str]:
        read, work = times(root, route.labs)
        title = (
            f"<strong>{escape(route.title)}</strong> (<code>{route.name}</code>)<br>"
            f'<span class="weft-afterwards">{escape(route.afterwards)}</span>'
        )
        links = [f'<a href="{stem}.html">{int(stem[:2])}</a>' for stem in route.labs]
        chapters = f"<span>{', '.join(links)}</span>"  # a cell is a flex box on a phone
        return [title, chapters, hours(read), hours(work)]


class TimeRole(SphinxRole):
    """{time}`08, 09` gives the minutes of some chapters, reading + labs.

    {time}`all` gives the hours of the whole course in words.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        root = Path(self.env.srcdir)
        names = syllabus.names(lessons_of(root))
        if self.text == "all":
            read, work = times(root, names)
            text = f"{hours(read)} of reading and {hours(work)} of labs"
            return [nodes.Text(text)], []
        asked = [number.strip() for number in self.text.split(",")]
        stems = [name for name in names if name[:2] in asked]
        if len(stems) < len(asked):
            logger.warning("{time}: no such chapter", location=self.get_location())
        read, work = times(root, stems)
        return [nodes.Text(f"{read} + {work}")], []


def setup(app: Sphinx) -> None:
    app.add_directive("routes", RoutesDirective)
    app.add_role("time", TimeRole())
