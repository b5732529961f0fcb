"""The titles of pages and the order of reading: past solutions, to the next chapter."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

SOLUTIONS = "solutions/"


def beyond(app: Sphinx, pagename: str, step: int) -> str | None:
    """Return the page before (step 1) or after (2) one, solutions left out."""
    relations: dict[str, list[str | None]] = app.builder.relations  # type: ignore[attr-defined]
    found: str | None = pagename
    while found and (found == pagename or found.startswith(SOLUTIONS)):
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
        other = beyond(app, pagename, step)
        context[name] = other and {
            "link": app.builder.get_relative_uri(pagename, other),
            "title": numbered(other, escape(app.env.titles[other].astext())),
        }


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", name_and_order)
