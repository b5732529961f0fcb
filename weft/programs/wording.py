"""Verdicts on programs: one table for all languages, and one for each language."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from weft.checking.verdict import Verdicts
from weft.places import Note, Place


class ProgramWords(Verdicts):
    """The table of one language; rows that it lacks come from this module's table."""

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Every row by its name, each text on one line."""
        return {**Verdicts(__file__).rows, **Verdicts(str(self.file)).rows}


def called(places: Sequence[Place]) -> list[Note]:
    """Return notes on a learner's line and on the lines that called its function."""
    return [(place, "called here" * place.calls) for place in places]
