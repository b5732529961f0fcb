"""Exercises in finding a bug: no verdict before the learner has said what they suspect.

diagnosis = None   # the learner writes theirs here
check(invert, diagnosis, spec=...)
"""

from typing import Any

from weft import dispatch
from weft.checking.verdict import Verdict

ASKED = "#4878a8"  # as a verdict that says where to begin
WRONG = "#c8473c"


class Asked(Verdict):
    """Stands in for a verdict until there is a diagnosis."""

    @property
    def title(self) -> str:
        return f"○ {self.name} — {self.headline}"

    def _repr_html_(self) -> str:
        return super()._repr_html_().replace(WRONG, ASKED)


def check(function: Any, diagnosis: str | None, **exercise: Any) -> Verdict:
    """Check as `weft.check` does, once there is a diagnosis; it is repeated below.

    exercise: the arguments of `weft.check`. The diagnosis is not judged.
    """
    if not isinstance(diagnosis, str) or not diagnosis.strip():
        return Asked(
            getattr(function, "__name__", repr(function)),
            "suspect",
            "Write your diagnosis into the cell above, run that cell, then this one.",
            'A letter of the list will do, or a few words, in quotes: "a". Changing '
            "the kernel can wait until you have seen the verdict.",
            headline="what do you suspect?",
        )
    verdict = dispatch.check(function, **exercise)
    if not verdict:
        verdict.facts.append(f"Your diagnosis was: {diagnosis.strip()}")
    return verdict
