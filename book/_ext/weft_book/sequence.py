"""The titles of pages and the order of reading: past solutions, to the next chapter.

A phone cannot run a lab. There, the arrows of a chapter's page lead past labs too, to
the page before or after that is to be read: `to_read`, which the style shows instead.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LABS, SOLUTIONS = "labs/", "solutions/"


def beyond(app: Sphinx, pagename: str, step: int, *passed: str) -> str | None:
    """Return the page before (step 1) or after (2) one, those of folders left out."""
    relations: dict[str, list[str | None]] = app.builder.relations  # type: ignore[attr-defined]
    found: str | None = pagename
    while found and (found == pagename or found.startswith(passed)):
        found = relations.get(found, [None] * 3)[step]
    return found


def numbered(pagename: str, title: str) -> str:
    """Return the title of a page, a chapter's with its number."""
    number = re.match(r"book/(\d\d)_", pagename)
    return f"{number[1]} · {title}" if number else title


def name_and_order(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format != "html":
        return
    if context.get("title"):
        context["title"] = numbered(pagename, context["title"])
    for name, step in (("prev", 1), ("next", 2)):
        if not context.get(name):
            continue
        other = beyond(app, pagename, step, SOLUTIONS)
        to_read = beyond(app, pagename, step, SOLUTIONS, LABS)
        context[name] = other and linked(app, pagename, other)
        if other and to_read and other != to_read:
            context[name]["to_read"] = linked(app, pagename, to_read)


def linked(app: Sphinx, pagename: str, other: str) -> dict[str, Any]:
    """Return the link from a page to another, and the other's title."""
    return {
        "link": app.builder.get_relative_uri(pagename, other),
        "title": numbered(other, escape(app.env.titles[other].astext())),
    }


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", name_and_order)
