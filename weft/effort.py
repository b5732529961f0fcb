"""Count the work that this process has done, which is the same on every machine.

The simulator counts launches, threads, turns (in each, a thread runs until it waits or
ends), loop iterations and recorded accesses. A check also counts the lines that a
Python function runs under its watch, the kernels it compiles, and the C programs it
builds and runs.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

done: Counter[str] = Counter()  # since this process started


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the work done in a `with` block; the counter is filled in at its end."""
    before = done.copy()
    found: Counter[str] = Counter()
    try:
        yield found
    finally:
        found.update(done - before)


MOST_ITERATIONS = 30_000_000  # iterations of all loops in all launches of one check

_begun: list[int] = []  # iterations done before each check in progress


@contextmanager
def of_one_check() -> Iterator[None]:
    """Count the launches in a `with` block as those of one check; see `iterations`."""
    _begun.append(done["iterations"])
    try:
        yield
    finally:
        _begun.pop()


def iterations() -> int | None:
    """Return how many iterations the finished launches of this check have run.

    Returns None outside a check.
    """
    return done["iterations"] - _begun[0] if _begun else None
