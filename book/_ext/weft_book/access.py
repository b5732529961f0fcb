"""What a keyboard and a screen reader need, and the theme and notebooks leave out.

Parts that scroll sideways take the focus, so that keys can scroll them; an empty corner
of a table is no heading; a source is an item of the bibliography's list; what opens a
part of the contents says so; and all that a page shows belongs to a landmark.
"""

import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FOCUS = ' tabindex="0"'
REPAIRS = (
    (
        re.compile(r'<div class="(pst-scrollable-table-container|weft-frame)"(?=>)'),
        rf'<div class="\1"{FOCUS}',
    ),
    (
        re.compile(r'<div class="weft" role="group"(?! tabindex)'),
        rf'<div class="weft" role="group"{FOCUS}',
    ),
    (
        re.compile(r'<th class="(head[^"]*)">(?:<p></p>)?</th>'),
        r'<td class="\1"></td>',
    ),
    (
        re.compile(r'<th scope="col" style="([^"]*)">\s*</th>'),
        r'<td style="\1"></td>',
    ),
    (
        re.compile(r'(<div class="citation" id="[^"]*") role="doc-biblioentry"'),
        r'\1 role="listitem"',  # ARIA 1.2 gives the other up; its list needs items
    ),
)
LANDMARKS = (
    (
        '<div class="bd-sidebar-primary',
        '<div role="complementary" aria-label="This book" class="bd-sidebar-primary',
    ),
    ('<form class="bd-search', '<form role="search" class="bd-search'),
)
OPENS = '<summary aria-label="Show or hide the pages of this chapter">'


def repaired(html: str) -> str:
    """Return the HTML of a page with what is missing filled in."""
    for pattern, replacement in REPAIRS:
        html = pattern.sub(replacement, html)
    return html


def with_landmarks(frame: str) -> str:
    """Return what surrounds the text of a page, its sidebar and search as landmarks.

    `book/_templates/layout.html` calls it with all that the theme's layout writes.
    """
    for element, landmark in LANDMARKS:
        frame = frame.replace(element, landmark)
    return frame


def named(contents: Callable[..., object]) -> Callable[..., str]:
    """Return the function that writes the contents, so that each summary has a name."""

    def write(*args: Any, **options: Any) -> str:
        return str(contents(*args, **options)).replace("<summary>", OPENS)

    return write


def repair(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format != "html":
        return
    if "body" in context:
        context["body"] = repaired(context["body"])
    context["with_landmarks"] = with_landmarks
    title = context.get("title") or context.get("docstitle", "")
    context.setdefault("pagetitle", title)  # the heading on paper
    if "generate_toctree_html" in context:
        context["generate_toctree_html"] = named(context["generate_toctree_html"])


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", repair, priority=900)  # after the theme's own
