"""Waiting for a GPU that may never finish."""

import time
from typing import Any

from weft.checking.verdict import Failed, common

LONGEST = 20.0  # seconds that a launch may take

RESTART = common("restart")["why"]


def wait_for(done: Any, name: str, what: str, when: str, *, ended_in: str) -> None:
    """Wait for a GPU event; raise `Failed` after LONGEST seconds.

    done: an event of Numba or PyTorch. what: what is running, such as "The kernel".
    ended_in: where the same code ended before, such as "the simulator".
    """
    until = time.monotonic() + LONGEST
    while not done.query():
        if time.monotonic() > until:
            told = {"what": what, "ended": ended_in, "restart": RESTART, "when": when}
            raise Failed(common.verdict(name, "hang", (), seconds=LONGEST, **told))
        time.sleep(0.001)
