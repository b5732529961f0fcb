"""Reads what a learner has handed in, and says at once if it is the wrong thing."""

import json
from pathlib import Path
from typing import Any

from grading.paper import Paper, cells_of
from grading.pieces import where
from weft.errors import LearnerError
from weft.lesson import syllabus

OTHER = "This is lab {}; {} was to be handed in."


class NotGraded(LearnerError):
    """A submission cannot be graded. kind: why, in a word."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def read(path: Path, paper: Paper) -> list[str]:
    """Return a submission's code cells. Raises NotGraded."""
    try:
        cells = cells_of(path)
    except LearnerError as error:
        raise NotGraded(str(error), "unreadable") from None
    if 2 * _defined(cells, paper.lab) >= len(paper.exercises):
        return cells
    lab = _named(path) or max(syllabus.names(), key=lambda lab: _defined(cells, lab))
    if _defined(cells, lab) > _defined(cells, paper.lab):
        raise NotGraded(OTHER.format(lab, paper.lab), "other-lab")
    return cells


def _named(path: Path) -> str:
    """The lab that a notebook says it is, "" if it says nothing."""
    found: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    stamp = found.get("metadata", {}).get("weft", {})
    return str(stamp.get("lab", "")) if isinstance(stamp, dict) else ""


def _defined(cells: list[str], lab: str) -> int:
    """How many of a lab's exercises the cells define."""
    if lab not in syllabus.names():
        return 0
    return sum(bool(where(cells, e.name)) for e in syllabus.load(lab).exercises)
