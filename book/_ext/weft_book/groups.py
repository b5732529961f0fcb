"""Long pages of evidence: groups of rows that are closed at first, and a filter."""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from .page import WeftDirective

SCRIPT = "groups.js"
BOX = "weft-filter"


def counted(number: int, one: str, several: str = "") -> str:
    """Return "1 kernel", "2,000 kernels"."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def folded(summary: str, inside: str) -> str:
    """Return HTML under a summary that opens it.

    A section's own address, and that of anything inside, opens the group (groups.js).
    """
    return (
        f'<details class="weft-group"><summary>{escape(summary)}</summary>'
        f"{inside}</details>"
    )


class FilterDirective(WeftDirective):
    """{filter} rows: a box that shows only the rows of all groups with some words.

    Its argument says what the rows are. Without JavaScript there is no box.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        rows = escape(self.arguments[0])
        return self.html(
            f'<div class="{BOX}" data-rows="{rows}" hidden>'
            f'<label for="{BOX}">Show only {rows} with</label>'
            f'<input type="search" id="{BOX}" autocomplete="off" spellcheck="false">'
            '<button type="button">Open all</button>'
            '<output role="status"></output></div>'
        )


def load_where_filtered(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Load the script on pages that have groups."""
    if 'class="weft-group"' in context.get("body", ""):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Sphinx) -> None:
    app.add_directive("filter", FilterDirective)
    app.connect("html-page-context", load_where_filtered)
