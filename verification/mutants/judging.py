"""Ask the lab's own check about a mutant."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from types import FrameType
from typing import Any

from verification import cells
from verification.mutants.tasks import Task
from weft import lesson

Said = dict[str, Any]


class TimeIsUp(BaseException):
    """Time is up; not an Exception, which a check would attribute to the kernel."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp in a computation that takes longer.

    seconds: of CPU time, in this process. Compilers run in other processes; the code
    that waits for one limits that time.
    """

    def up(signum: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGPROF, up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def unobserved() -> Iterator[None]:
    """Keep checks from marking progress, raising for a failure, and printing."""
    strict, passed = os.environ.pop("WEFT_STRICT", None), lesson.passed
    lesson.passed = lambda *_: None  # type: ignore[assignment]
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        lesson.passed = passed  # type: ignore[assignment]
        if strict is not None:
            os.environ["WEFT_STRICT"] = strict


def verdict(task: Task, lab: str, exercise: str) -> Said:
    """Return the kind of the verdict, and the numbers of the lines that it names."""
    with unobserved():
        found = cells.run(cells.checks(lab)[exercise], "<check>", task.scope)
    lines = sorted({place.line for place, _ in found.places})
    return {"check": found.kind, "lines": lines}
