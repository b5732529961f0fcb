"""Use a timer to stop a plain Python function that waits for ever.

`step_limit` counts lines, but a function that sleeps runs none. So a timer signal
checks every second how much CPU time the thread has used: almost none for many seconds
in a row means that it is waiting. A slow machine, or one that was asleep, causes
no false alarm.

A timer cannot end a single call of C code that never returns to Python, such as
`sum(range(10**12))`, nor a function that catches every exception and goes on. On
Windows and outside the main thread there is no timer signal, so nothing is watched.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LONGEST = 10  # the most consecutive seconds in which a function may do nothing
_BUSY = 0.05  # CPU seconds per second: with more, the thread has computed


@contextlib.contextmanager
def watchdog(
    idle: Callable[[FrameType | None], None],
    each: Callable[[FrameType | None], None],
    longest: int = LONGEST,
) -> Iterator[None]:
    """Call `each` every second, and `idle` after `longest` seconds without work.

    Both get the frame that is being executed, and may raise exceptions.
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
    """Return whether this thread can use the timer signal and no other code does."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
    )
