"""What the lab's own check says of a mutant."""

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
    """Not an Exception, or a check would take it for the kernel's."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp in what computes for longer, whatever else the machine does.

    seconds: of a core, in this process. The compilers are other processes; who waits
    for one says how long.
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
    """Let no check mark progress, raise for a failure, or print."""
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
    """The kind of the verdict, and the lines that it names."""
    with unobserved():
        found = cells.run(cells.checks(lab)[exercise], "<check>", task.scope)
    lines = sorted({place.line for place, _ in found.places})
    return {"check": found.kind, "lines": lines}
