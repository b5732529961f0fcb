"""Properties that distinguish a kernel's memory access from a plain load or store."""

from dataclasses import dataclass


@dataclass(slots=True)
class Special:
    """An operation that accesses memory other than by a plain load or store.

    `kinds` are the names under which an atomic operation is counted: see
    `Trace.atomics`. `relaxed` is 'load' for `peek` and 'store' for `poke`. An operation
    that moves `size` bytes at once touches several elements, and counts as one access
    to the first; `counted` says whether it has been counted. `begins` marks an
    asynchronous copy, which leaves the element without a value until it arrives.
    """

    kinds: frozenset[str] = frozenset()
    relaxed: str = ""
    size: int = 0
    counted: bool = False
    begins: bool = False
