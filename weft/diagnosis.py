"""Exercises in finding a bug: no verdict until the learner has said what they suspect.

diagnosis = None  # the learner writes a diagnosis here
check(invert, diagnosis, spec=...)
"""

from typing import Any

from weft import dispatch
from weft.checking.verdict import Verdict


def check(function: Any, diagnosis: str | None, **exercise: Any) -> Verdict:
    """Check as `weft.check` does, but only once there is a diagnosis.

    exercise: the arguments of `weft.check`. The diagnosis is repeated below the verdict
    on a failure, but not judged.
    """
    if not isinstance(diagnosis, str) or not diagnosis.strip():
        return Verdict(
            getattr(function, "__name__", repr(function)),
            "suspect",
            "Write your diagnosis above, in quotes: a letter of the list will do.",
            "Run that cell, then this one.",
        )
    verdict = dispatch.check(function, **exercise)
    if verdict:
        return verdict
    said = f"Your diagnosis was: {diagnosis.strip()}"
    return verdict.but(facts=[*verdict.facts, said])
