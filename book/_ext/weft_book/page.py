"""What the directives share: a warning in their name, and tables for any width."""

from collections.abc import Iterable, Sequence
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def load_for(
    app: Sphinx, doctree: nodes.document | None, mark: str, style: str, script: str
) -> None:
    """Load a style and a script on a page whose HTML has `mark` in it."""
    if doctree is None:
        return
    if any(mark in raw.astext() for raw in doctree.findall(nodes.raw)):
        app.add_css_file(style)
        app.add_js_file(script, loading_method="defer")


class Computed(nodes.inline):
    """A number in the text that the build filled in; `source` says from where."""


def visit_computed(self: HTML5Translator, node: Computed) -> None:
    source = node.get("source", "")
    title = {"title": source} if source else {}
    self.body.append(self.starttag(node, "span", "", CLASS="weft-measured", **title))


def depart_computed(self: HTML5Translator, node: Computed) -> None:
    self.body.append("</span>")


def as_it_is(self: nodes.NodeVisitor, node: Computed) -> None:
    """Show the text alone, where pages are not HTML."""


def load_where_measured(
    app: Sphinx, page: str, _: str, context: dict, doctree: nodes.document | None
) -> None:
    """Load what says where a number is from on pages that have one."""
    if 'class="weft-measured" title' in context.get("body", ""):
        app.add_js_file("measured.js", loading_method="defer")


class WeftDirective(SphinxDirective):
    """A directive that puts HTML into the page; other builders leave it out."""

    def warn(self, message: object) -> list[nodes.Node]:
        """Warn, naming the directive and its argument; return nothing to show."""
        written = " ".join([f"{{{self.name}}}", *self.arguments])
        logger.warning(
            "%s: %s",
            written,
            message,
            location=self.get_location(),
            type="weft",
            subtype=self.name,
        )
        return []

    def html(self, html: str) -> list[nodes.Node]:
        return [nodes.raw("", html, format="html")]


def table(
    columns: Sequence[tuple[str, str]],
    rows: Iterable[tuple[str, Sequence[str]]],
    caption: str = "",
    kind: str = "weft-table",
    ids: Sequence[str] = (),
) -> str:
    """Return a table that falls apart into labelled lines on a phone.

    columns: (class, title) pairs; rows: (class, cells), the first cell naming its row.
    Cells and caption are HTML; ids: the rows' own addresses, if they have any. The
    roles are said because CSS that lays a table out anew takes its meaning from it.
    """
    scrolls = ' tabindex="0"' if "weft-wide" in kind else ""  # by keyboard too
    out = [f'<div class="{kind}"{scrolls}><table role="table">']
    if caption:
        out.append(f"<caption>{caption}</caption>")
    out.append('<thead role="rowgroup"><tr role="row">')
    for name, title in columns:
        text = escape(title) or '<span class="weft-unseen">name</span>'
        out.append(f'<th class="{name}" role="columnheader" scope="col">{text}</th>')
    out.append('</tr></thead><tbody role="rowgroup">')
    anchors = iter(ids)
    for mark, cells in rows:
        anchor = next(anchors, "")
        said = f' class="{mark}"' if mark else ""
        said += f' id="{escape(anchor)}"' if anchor else ""
        out.append(f'<tr role="row"{said}>')
        first, *others = cells
        name = columns[0][0]
        out.append(f'<th class="{name}" role="rowheader" scope="row">{first}</th>')
        for (name, title), cell in zip(columns[1:], others, strict=True):
            label = escape(title)
            out.append(
                f'<td class="{name}" role="cell" data-label="{label}">{cell}</td>'
            )
        out.append("</tr>")
    out.append("</tbody></table></div>")
    return "".join(out)


def setup(app: Sphinx) -> None:
    plain = (as_it_is, as_it_is)
    html = (visit_computed, depart_computed)
    app.add_node(Computed, html=html, latex=plain, text=plain, man=plain, texinfo=plain)
    app.connect("html-page-context", load_where_measured)
