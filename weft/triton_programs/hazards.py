"""Hazards between programs, as `weft.sanitizer` finds them in a trace.

Programs of a grid run in any order, and at the same time. They are ordered only where
both also use an atomic on the same element, the first after its access and the second
before its own: a lock, or a counter of finished programs.
"""

from dataclasses import dataclass

from weft.sanitizer import races
from weft.simulator.trace.trace import READ, WRITE
from weft.triton_programs.trace import Accesses


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders, as rows of the trace, in the order they ran.

    lost_update: both programs read the element, and stored to it afterwards. stores:
    both accesses are plain stores.
    """

    first: int
    second: int
    lost_update: bool
    stores: bool


def race(trace: Accesses) -> Race | None:
    """The first race of a trace, None if it has none."""
    found = races(trace, guesses_are_fine=False)
    if found is None:
        return None
    one, two = found.first, found.second
    lost = _updates(trace, one.row) and _updates(trace, two.row)
    return Race(one.row, two.row, lost, one.operation == two.operation == WRITE)


def _updates(trace: Accesses, row: int) -> bool:
    """Whether the program of `row` reads the element, and stores to it later."""
    mine = (trace.address == trace.address[row]) & (trace.block == trace.block[row])
    operations = trace.operation[mine]
    reads, stores = operations == READ, operations == WRITE
    if not (reads.any() and stores.any()):
        return False
    return bool(reads.argmax() < len(stores) - stores[::-1].argmax() - 1)


def duplicates(trace: Accesses, row: int) -> int:
    """How many elements of the block that `row` is from have the same address."""
    same = (trace.call == trace.call[row]) & (trace.address == trace.address[row])
    return int(same.sum())
