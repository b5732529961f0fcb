"""Formulas as MathML, which browsers typeset themselves: no script, no fonts.

MathJax would be 260 KB on every page with a formula. What latex2mathml does not know is
a warning, so no formula is shown as its source.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from .page import logger

# latex2mathml has no `aligned`; `split` looks the same.
ALIGNED = re.compile(r"\\(begin|end)\{aligned\}")
# An operator made of another, as \mathrel makes it, has a row inside, which is invalid.
MADE = re.compile(r"<mo><mrow>(<mo>[^<]*</mo>)</mrow></mo>")
SOURCE = re.compile(r"<mi>(&amp;|&|\\[^<]*)</mi>|\\[a-zA-Z]+")


def mathml(formula: str, block: bool = False) -> str:
    """Return a LaTeX formula as MathML; raise ValueError where that has no word."""
    latex = ALIGNED.sub(r"\\\1{split}", formula.strip())
    try:
        made = convert(latex, display="block" if block else "inline")
    except Exception as error:  # it has many, and says nothing of their kinds
        raise ValueError(f"{type(error).__name__} {error}") from None
    made = MADE.sub(r"\1", made)
    if unknown := SOURCE.search(made):
        raise ValueError(f"no MathML for {unknown[0]}")
    return made


def visit(self: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        html = mathml(node.astext(), block)
    except ValueError as error:
        logger.warning("%s: %s", node.astext(), error, location=node, type="weft")
        html = ""
    if block:  # it may be wider than the page
        html = f'<div class="weft-formula">{html}</div>'
    self.body.append(html)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit, None), (visit, None))
