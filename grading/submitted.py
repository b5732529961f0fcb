"""Read what a learner has handed in, and say at once if it is the wrong thing."""

import json
from typing import Any

from grading import paper as papers
from grading.paper import Paper
from grading.pieces import where
from weft.errors import LearnerError
from weft.lesson import syllabus

OTHER = "This is lab {}; {} was to be handed in."


class NotGraded(LearnerError):
    """A submission cannot be graded. kind: the reason, in a word."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def read(notebook: bytes, paper: Paper) -> list[str]:
    """Return a submission's code cells. Raises NotGraded."""
    try:
        cells = papers.read(notebook)
    except LearnerError as error:
        raise NotGraded(str(error), "unreadable") from None
    if 2 * _defined(cells, paper.lab) >= len(paper.exercises):
        return cells
    known = {lab: _defined(cells, lab) for lab in syllabus.names()}
    lab = _named(notebook) or max(known, key=lambda lab: known[lab])
    if known.get(lab, 0) > known[paper.lab]:
        raise NotGraded(OTHER.format(lab, paper.lab), "other-lab")
    return cells


def _named(notebook: bytes) -> str:
    """Return the lab that a notebook names in its metadata; "" if it names none."""
    found: Any = json.loads(notebook.decode("utf-8-sig"))
    stamp = found.get("metadata", {}).get("weft", {})
    return str(stamp.get("lab", "")) if isinstance(stamp, dict) else ""


def _defined(cells: list[str], lab: str) -> int:
    """Return how many of a lab's exercises the cells define."""
    return sum(bool(where(cells, e.name)) for e in syllabus.load(lab).exercises)
