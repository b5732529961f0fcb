"""Evidence in closed groups: a count, rows that can be linked to, and a filter.

The pages that prove something have thousands of rows. Each group of them is closed
until a reader opens it. Its id is its address, as each row's is. With a script
(`evidence.js`) such an address opens the group, and the rows can be filtered.

The rows are in a <noscript>. Where scripts run, a browser reads that as text: 44,000
elements are made only of what is opened. Where none runs, it is a part of the page, and
the style hides the filter. It has its room from the start, so that nothing jumps.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from .page import WeftDirective

SCRIPT = "evidence.js"
ENDING = "</noscript></details></div>"
NAME = 'span class="weft-title"'
FILTER = (
    '<search class="weft-filter">'
    '<label for="weft-filter">Filter the rows</label>'
    '<input id="weft-filter" type="search" autocomplete="off" spellcheck="false" '
    'aria-describedby="weft-filter-help">'
    '<output for="weft-filter" aria-live="polite"></output>'
    '<span class="weft-unseen" id="weft-filter-help">Shows the rows that contain all '
    "these words, and opens their groups.</span></search>"
)


class ClosedSection(nodes.section):
    """A group that is also a section: in the contents of its page, and in the search.

    anchor: its address; count: what it contains. The first of its `ids` is where the
    contents lead: the theme cannot find an id that begins with a digit.
    """


class ClosedTitle(nodes.title):
    """The title of a ClosedSection, which writes it into its summary."""


def visit_closed(self: HTML5Translator, node: ClosedSection) -> None:
    self.section_level += 1
    heading = f'h{self.section_level} class="weft-title" id="{node["ids"][0]}"'
    self.body.append(opening(node["anchor"], node[0].astext(), node["count"], heading))


def depart_closed(self: HTML5Translator, node: ClosedSection) -> None:
    self.section_level -= 1
    self.body.append(ENDING)


def skip(self: HTML5Translator, node: ClosedTitle) -> None:
    raise nodes.SkipNode


def visit_section(self: nodes.NodeVisitor, node: ClosedSection) -> None:
    self.visit_section(node)  # type: ignore[attr-defined]


def depart_section(self: nodes.NodeVisitor, node: ClosedSection) -> None:
    self.depart_section(node)  # type: ignore[attr-defined]


def visit_title(self: nodes.NodeVisitor, node: ClosedTitle) -> None:
    self.visit_title(node)  # type: ignore[attr-defined]


def depart_title(self: nodes.NodeVisitor, node: ClosedTitle) -> None:
    self.depart_title(node)  # type: ignore[attr-defined]


def opening(anchor: str, title: str, count: str, tag: str = NAME) -> str:
    """Return the beginning of a group: its name, its address, what it contains.

    tag: the name's tag, with its attributes. The address is a link beside the summary:
    a link inside a summary is lost on screen readers.
    """
    end = tag.partition(" ")[0]
    return (
        f'<div class="weft-place">{permalink(anchor)}'
        f'<details class="weft-group" id="{escape(anchor)}"><summary>'
        f"<{tag}>{escape(title)}</{end}>"
        f' <span class="weft-count">{escape(count)}</span></summary><noscript>'
    )


def permalink(anchor: str, what: str = "group") -> str:
    """Return the link to a place, as the theme shows it beside headings."""
    address = escape(anchor)
    return f'<a class="headerlink" href="#{address}" title="Link to this {what}">#</a>'


def group(anchor: str, title: str, count: str, html: str) -> str:
    """Return a closed group of rows."""
    return f"{opening(anchor, title, count)}{html}{ENDING}"


def slugs(names: Iterable[str]) -> list[str]:
    """Return names as parts of an address; of equal ones the later get a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "row"
        seen[slug] += 1
        found.append(slug if seen[slug] == 1 else f"{slug}-{seen[slug]}")
    return found


def counted(number: int, one: str, several: str = "") -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def findings(pairs: Sequence[tuple[str, str]]) -> str:
    """Return what a page proves: large numbers, each with what it counts."""
    shown = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>"
        for number, what in pairs
    )
    return f'<dl class="weft-findings">{shown}</dl>'


def index(places: Iterable[tuple[str, str, str]]) -> str:
    """Return links to groups, as (address, name, what it contains)."""
    shown = "".join(
        f'<li><a href="{escape(address)}">{escape(name)}</a> '
        f'<span class="weft-count">{escape(count)}</span></li>'
        for address, name, count in places
    )
    return f'<ul class="weft-index">{shown}</ul>'


class FilterDirective(WeftDirective):
    """{filter} puts a box here that filters the rows of all groups of the page."""

    def run(self) -> list[nodes.Node]:
        return self.html(FILTER)


def load_where_grouped(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Load the script on pages that have groups."""
    if 'class="weft-group"' in context.get("body", ""):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Sphinx) -> None:
    formats = ("latex", "text", "man", "texinfo")
    section = dict.fromkeys(formats, (visit_section, depart_section))
    title = dict.fromkeys(formats, (visit_title, depart_title))
    app.add_node(ClosedSection, html=(visit_closed, depart_closed), **section)
    app.add_node(ClosedTitle, html=(skip, None), **title)
    app.add_directive("filter", FilterDirective)
    # After gpus.js, which picks the GPU whose rows are counted.
    app.connect("html-page-context", load_where_grouped, priority=600)
