"""The pages of one chapter — text, lab, solution — each lead to the others."""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .outline import pages_with

COPY = (
    '<p class="weft-copy">This is a copy to read. To work in the lab, open it in '
    "Colab, or run <code>make lab</code> in a copy of the course.</p>"
)
STEM = re.compile(r"(book|labs|solutions)/(\d\d_\w+)")


def strands_html(app: Sphinx, pagename: str) -> str:
    match = STEM.fullmatch(pagename)
    if match is None:
        return ""
    here, stem = match.groups()
    pages = pages_with(Path(app.srcdir), stem)
    stem = pages[0]["stem"]
    chapter = f"Chapter {stem[:2]}"
    if len(pages) > 1:
        chapter += f": {pages[0]['title']}"
    strands = [(f"book/{stem}", chapter)]
    strands += [(f"book/{page['stem']}", page["title"]) for page in pages[1:]]
    strands += [(f"labs/{stem}", "Lab"), (f"solutions/{stem}", "Solution")]
    items = []
    for docname, label in strands:
        if docname not in app.env.found_docs:
            continue
        uri = app.builder.get_relative_uri(pagename, docname)
        current = ' aria-current="page"' if docname == pagename else ""
        items.append(f'<a href="{escape(uri)}"{current}>{escape(label)}</a>')
    if f"labs/{stem}" in app.env.found_docs:
        options = app.config.html_theme_options
        repository = options.get("repository_url", "").partition("github.com/")[2]
        colab = options.get("launch_buttons", {}).get("colab_url")
        if repository and colab:
            branch = options.get("repository_branch", "main")
            uri = escape(f"{colab}/github/{repository}/blob/{branch}/labs/{stem}.ipynb")
            items.append(f'<a class="weft-away" href="{uri}">Lab in Colab ↗</a>')
    if len(items) < 2:
        return ""
    links = "".join(items)
    note = COPY if here == "labs" else ""
    return f'<nav class="weft-strands" aria-label="This chapter">{links}</nav>{note}'


def add_strands(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format == "html" and "body" in context:
        context["body"] = strands_html(app, pagename) + context["body"]


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_strands)
