"""What every check does besides judging: before it, and with its verdict."""

import os
from collections.abc import Callable

from weft import lesson
from weft.checking.verdict import CheckFailed, Failed, Verdict
from weft.lesson import missing

__all__ = ["refuse_stale", "settled"]


def settled(judge: Callable[[], Verdict]) -> Verdict:
    """Return the verdict that `judge` returns, or ends with.

    A pass goes onto the progress board. Where the environment has WEFT_STRICT=1, a
    failure raises CheckFailed.
    """
    try:
        verdict = judge()
    except Failed as failed:
        verdict = failed.verdict
    if verdict:
        verdict = verdict.but(onward=lesson.passed(verdict.name))
    elif os.environ.get("WEFT_STRICT") == "1":
        raise CheckFailed(f"\n{verdict!r}")
    return verdict


def refuse_stale(name: str) -> None:
    """Raise Failed where the cell that defines `name` ended in an error."""
    if not missing.is_stale(name):
        return
    raise Failed(
        Verdict(
            name,
            "stale",
            f"The cell that defines {name} ended in an error, so {name} is still what "
            "it was before.",
            "Fix that cell and run it again until it succeeds. Then run this check.",
        )
    )
