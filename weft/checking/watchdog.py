"""A plain Python function that waits and waits: a timer looks after it.

Lines are counted, see `step_limit`; a function that sleeps runs none. So every second a
signal of the operating system looks what the thread has done: nearly nothing, for many
seconds in a row, is waiting. The seconds are only those in which this thread computed
nothing, so a slow machine, or one that was asleep, changes nothing.

It cannot end what does not let Python in: one call of C code that computes on and on,
such as `sum(range(10**12))`. Nor what catches every exception and goes on. And there is
no such signal on Windows, nor outside the main thread; there nothing is watched.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LONGEST = 10  # seconds in which a function may do nothing, in a row
_BUSY = 0.05  # of a second: with more than that the thread has computed


@contextlib.contextmanager
def watchdog(
    idle: Callable[[FrameType | None], None],
    each: Callable[[FrameType | None], None],
    longest: int = LONGEST,
) -> Iterator[None]:
    """Call `each` every second, and `idle` after `longest` of them without work.

    Both get the frame that is being executed, and may raise.
    """
    if not available():
        yield
        return
    seconds, before = 0, time.thread_time()

    def tick(_: int, frame: FrameType | None) -> None:
        nonlocal seconds, before
        now = time.thread_time()
        seconds = seconds + 1 if now - before < _BUSY else 0
        before = now
        each(frame)
        if seconds >= longest:
            idle(frame)

    previous: Any = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def available() -> bool:
    """Return whether the timer signal exists here and no other code uses it."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
    )
