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


def setup(app: Sphinx) -> dict[str, Any]:
    for module in MODULES:
        module.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
