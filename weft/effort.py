"""How much work has been done here: counted, so it is the same on every machine.

The simulator counts launches, threads, turns (a thread runs until it waits or ends),
loop iterations and accesses written down; a check also counts the lines it watches a
Python function run, the kernels it compiles and the C programs it builds and runs.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

done: Counter[str] = Counter()  # since this process began


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count what is done inside; the counter is filled in at the end."""
    before = done.copy()
    found: Counter[str] = Counter()
    try:
        yield found
    finally:
        found.update(done - before)
