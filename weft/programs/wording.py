"""Verdicts on programs: one table for all languages, and one for each language."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from weft.checking.verdict import Verdicts
from weft.places import Note, Place


class ProgramWords(Verdicts):
    """The verdicts of one language: its own rows, and those shared by all languages.

    A language's own row takes precedence over a shared row of the same name.
    """

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """All rows by name, with each text on one line."""
        return {**Verdicts(__file__).rows, **Verdicts(str(self.file)).rows}


def called(places: Sequence[Place]) -> list[Note]:
    """Return notes on a learner's line and on the lines that called its function."""
    return [(place, "called here" * place.calls) for place in places]
