"""What is wrong with a Triton program, in words: the table, and the lines it names."""

from collections.abc import Sequence

from weft.checking.verdict import Verdicts
from weft.places import Note, Place

words = Verdicts(__file__)


def called(places: Sequence[Place]) -> list[Note]:
    """A line of the learner's, and the lines that called its function."""
    return [(place, "called here" * place.calls) for place in places]
