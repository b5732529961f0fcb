"""What a check may cost: counted by `weft.effort`, so the same on every machine.

The weights are about the microseconds that each takes on one core of a 2.5 GHz Xeon,
fitted to the checks of all right kernels. They are rough, and need not be better: a
check that costs MOST is one for which a learner waits too long.
"""

from collections.abc import Mapping

WEIGHTS = {
    "launches": 2_000,
    "threads": 20,
    "turns": 6,
    "iterations": 1,
    "accesses": 1,
    "lines": 2,
    "compilations": 100_000,
    "programs": 30_000,
}
MOST = 3_100_000  # for one check that passes


def cost(done: Mapping[str, int]) -> int:
    """What was counted, as one number."""
    return sum(WEIGHTS[what] * count for what, count in done.items())


def told(done: Mapping[str, int]) -> str:
    """What was counted, the dearest first."""
    dearest = sorted(done, key=lambda what: -WEIGHTS[what] * done[what])
    return ", ".join(f"{done[what]:,} {what}" for what in dearest)
