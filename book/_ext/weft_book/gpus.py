"""What several GPUs measured, one of them shown: radio buttons, so that no script is
needed. With one (`gpus.js`), what is picked in one place is picked in all of them."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

MOST = 8  # panels that weft.css can tell apart
SCRIPT = "gpus.js"


class Panel(NamedTuple):
    """What one GPU measured: its slug, its name, and the HTML to show."""

    gpu: str
    name: str
    html: str


def choice(panels: Sequence[Panel], group: str) -> str:
    """Return HTML that shows the first panel, and buttons for the others.

    group: an id that no other choice on the page has. One panel needs no buttons.
    """
    if len(panels) == 1:
        return panels[0].html
    if len(panels) > MOST:
        raise ValueError(f"{len(panels)} GPUs, but weft.css knows {MOST}")
    buttons = []
    for number, panel in enumerate(panels):
        name = f"{group}-{number}"
        checked = "" if number else " checked"
        buttons.append(
            f'<input type="radio" class="weft-unseen" id="{name}" name="{group}" '
            f'value="{escape(panel.gpu)}"{checked}>'
            f'<label for="{name}">{escape(panel.name)}</label>'
        )
    shown = "".join(f'<div class="weft-gpu">{panel.html}</div>' for panel in panels)
    return (
        '<div class="weft-gpus" role="radiogroup" aria-label="GPU that measured">'
        f"{''.join(buttons)}{shown}</div>"
    )


def load_where_chosen(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Load the script on pages that let a reader choose."""
    if 'class="weft-gpus"' in context.get("body", ""):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", load_where_chosen)
