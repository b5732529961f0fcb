"""Sphinx extension of the book: measured numbers, quizzes, verdicts, drawings.

Whatever a page shows of a measurement, a stamp or a lesson is read from the
repository while the book is built, and what is missing is a warning.
"""

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:  # the book words its numbers with weft's own code
    sys.path.insert(0, str(ROOT))

from . import (  # noqa: E402
    access,
    agreement,
    answers,
    around,
    bugs,
    checks,
    citing,
    closed,
    drawing,
    evidence,
    facts,
    formulas,
    gpus,
    icons,
    kills,
    lean,
    lessons,
    measured,
    mentions,
    mutants,
    network,
    outline,
    page,
    play,
    routes,
    searching,
    sequence,
    stack,
    stamps,
    strands,
    switches,
    verdict,
)

MODULES = (
    access,
    agreement,
    answers,
    around,
    bugs,
    checks,
    citing,
    closed,
    drawing,
    evidence,
    facts,
    formulas,
    gpus,
    icons,
    kills,
    lean,
    lessons,
    measured,
    mentions,
    mutants,
    network,
    outline,
    page,
    play,
    routes,
    searching,
    sequence,
    stack,
    stamps,
    strands,
    switches,
    verdict,
)
# Extensions that begin when all pages are read, but do not say that they are safe.
LATE = {"sphinx_jupyterbook_latex", "sphinx_multitoc_numbering"}


def declare_safe(app: Sphinx) -> None:
    """Let pages be read by several processes in spite of extensions that are `LATE`."""
    for name in app.extensions.keys() & LATE:
        app.extensions[name].parallel_read_safe = True


def setup(app: Sphinx) -> dict[str, Any]:
    for module in MODULES:
        module.setup(app)
    app.connect("builder-inited", declare_safe)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
