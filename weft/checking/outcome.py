"""What every check does with its verdict: note a pass, be strict where asked to be."""

import os
from collections.abc import Callable

from weft import lesson
from weft.checking.simulated import Failed
from weft.checking.verdict import CheckFailed, Verdict

__all__ = ["settled"]


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
        lesson.record(lesson.current(), verdict.name)
    elif os.environ.get("WEFT_STRICT") == "1":
        raise CheckFailed(f"\n{verdict!r}")
    return verdict
