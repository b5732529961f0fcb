"""What is around a page's text: edit, report, version, and a way on from a lost page.

The theme has the buttons. It would lead from a lab to a notebook that is generated, and
to an empty issue.
"""

import re
from html import escape
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx

from weft.links import PUBLIC
from weft.versions import __version__, revision

NOTEBOOK = re.compile(r"(?:labs|solutions)/(\w+)")
EDIT, REPORT = "source-edit-button", "source-issues-button"
CHANGES = "book/changes"


def source_of(pagename: str, suffix: str) -> str:
    """Return the file in which a page is edited: that of a notebook is its script."""
    notebook = NOTEBOOK.fullmatch(pagename)
    return f"chapters/{notebook[1]}/lab.py" if notebook else f"{pagename}{suffix}"


def report_on(repository: str, pagename: str) -> str:
    """Return the address of an issue on a page, with its address filled in.

    template: .github/ISSUE_TEMPLATE/text.yml; `place` is one of its fields.
    """
    asked = {"template": "text.yml", "place": f"{PUBLIC}/{pagename}.html"}
    return f"{repository}/issues/new?{urlencode(asked)}"


def footer(to_changes: str) -> str:
    """Return the line on the version of the book, as HTML."""
    if revision() == "main":
        version = f"{__version__.partition('.dev')[0]}, in preparation"
    else:
        version = __version__
    changes = f'<a href="{escape(to_changes)}">what has changed</a>'
    return f'<p class="weft-version">Version {escape(version)}: {changes}</p>'


def adapt(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format != "html":
        return
    options = app.config.html_theme_options or {}
    repository = options.get("repository_url", "").rstrip("/")
    branch = options.get("repository_branch", "main")
    buttons = context.get("header_buttons", [])
    for button in [each for b in buttons for each in (b, *b.get("buttons", ()))]:
        if button.get("label") == EDIT:
            suffix = context.get("page_source_suffix") or ".md"
            source = source_of(pagename, suffix)
            button["url"] = f"{repository}/edit/{branch}/{source}"
        elif button.get("label") == REPORT:
            button["url"] = report_on(repository, pagename)
            button["text"] = button["tooltip"] = "Report a mistake"
    if CHANGES in app.env.found_docs:
        to_changes = app.builder.get_relative_uri(pagename, CHANGES)
        context["theme_extra_footer"] = footer(to_changes)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", adapt, priority=900)  # after the theme's own
