"""Waiting for a GPU that may not come back."""

import time
from typing import Any

from weft.checking.verdict import Failed, Verdict

LONGEST = 20.0  # seconds that a launch may take

RESTART = (
    "Restart the notebook's kernel (Kernel ▸ Restart Kernel), fix the line, and run "
    "the setup cell again."
)


def wait_for(done: Any, name: str, what: str, when: str, *, ended_in: str) -> None:
    """Wait for an event of a GPU, but not for ever. Raises `Failed`.

    done: an event of Numba's or PyTorch's. what: what is running, "The kernel".
    ended_in: where it came to its end before, "the simulator".
    """
    until = time.monotonic() + LONGEST
    while not done.query():
        if time.monotonic() > until:
            raise Failed(
                Verdict(
                    name,
                    "hang",
                    f"{what} is still running after {LONGEST:.0f} seconds.",
                    f"It ended in {ended_in}, on small sizes. {RESTART}",
                    when=when,
                )
            )
        time.sleep(0.001)
