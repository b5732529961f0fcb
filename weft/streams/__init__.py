"""Checks of host code: copies, streams, events, and the order between them.

    check(pipeline, spec=..., inputs=..., given=..., result="out", sizes=[...])

runs the learner's function on a model of a GPU (`machine`), with a `cuda` that looks
like Numba's (`twin`), and says what is wrong with it (`wording`): a result that is read
before it has arrived, a copy that no event orders after its kernel, a buffer reused too
early, a copy that cannot overlap, a race in a kernel that it launches. No GPU is
needed, and nothing depends on timing.

`timeline` draws which operations overlap: on a GPU as measured by events, otherwise as
the model computes it.
"""

from typing import Any

from weft.checking.room import judge
from weft.checking.verdict import Verdict
from weft.streams.room import ROOM
from weft.streams.timeline import Timeline, timeline

__all__ = ["Timeline", "check", "timeline"]


def check(function: Any, **exercise: Any) -> Verdict:
    """Check a host function that copies data and launches kernels.

    exercise: the fields of `weft.streams.room.HostExercise`: spec, inputs, given,
    sizes, result, limits, timer, tolerance.

    Returns a Verdict, which is true if the check passes. With WEFT_STRICT=1 in the
    environment, a failure raises CheckFailed. Raises ValueError if the exercise itself
    is wrong.
    """
    return judge(ROOM, function, exercise)
