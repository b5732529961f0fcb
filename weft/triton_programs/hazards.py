"""Hazards between programs: races, lost updates, reads of what nobody has written.

Programs of a grid run in any order, and at the same time. Two accesses to the same
element from two programs race if one of them writes and not both are atomic. They are
ordered only where both programs also use an atomic on the same element, the first after
its access and the second before its own: a lock, or a counter of finished programs.
"""

from dataclasses import dataclass

import numpy as np

from weft.simulator.trace import columns
from weft.triton_programs.trace import ATOMIC, READ, WRITE, Columns, Trace

MOST_PAIRS = 2000  # that are held against the atomics of their programs


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


def race(trace: Trace) -> Race | None:
    """The first race of a trace, None if it has none."""
    if not len(trace.cell) or not (trace.operation != READ).any():
        return None
    pairs = _pairs(trace)
    synchronise = (trace.operation == ATOMIC) & ~np.array(
        [c.relaxed for c in trace.calls]
    )[trace.call]
    if synchronise.any():
        pairs = pairs[:MOST_PAIRS]
        free = [not _ordered(trace, synchronise, *pair) for pair in pairs.tolist()]
        pairs = pairs[np.array(free, bool)]
    if not len(pairs):
        return None
    first, second = (int(row) for row in pairs[0])
    operations = {int(trace.operation[first]), int(trace.operation[second])}
    lost = all(_updates(trace, row) for row in (first, second))
    return Race(first, second, lost, operations == {WRITE})


def _pairs(trace: Trace) -> Columns:
    """Rows of two programs that conflict, the earlier first, in order of the later."""
    rows, new = columns.order(trace.cell)
    start = np.flatnonzero(new)[np.cumsum(new) - 1]
    program, operation = trace.program[rows], trace.operation[rows]
    found = []
    for rival, against in ((WRITE, (READ, WRITE, ATOMIC)), (ATOMIC, (READ,))):
        for before in (True, False):
            other = _nearest(operation == rival, start, before)
            hit = (other >= 0) & np.isin(operation, against)
            hit &= program != program[other]
            found.append(np.sort(np.stack([rows[other[hit]], rows[hit]], 1), axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    return pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]


def _nearest(flags: Columns, start: Columns, before: bool) -> Columns:
    """For each position the nearest flagged one before or after it in its group; -1."""
    if not before:
        size = len(flags)
        ends = np.append(np.flatnonzero(np.diff(start)) + 1, size)
        end = ends[np.searchsorted(ends, np.arange(size), "right")]
        found = _nearest(flags[::-1], size - end[::-1], True)[::-1]
        return np.where(found < 0, -1, size - 1 - found)
    here = np.where(flags, np.arange(len(flags)), -1)
    last = np.append(-1, np.maximum.accumulate(here)[:-1])
    return np.where(last >= start, last, -1)


def _ordered(trace: Trace, synchronise: Columns, first: int, second: int) -> bool:
    """Whether an atomic after `first` and one before `second` meet in an element."""
    rows = np.arange(len(trace.cell))
    told = synchronise & (rows > first) & (trace.program == trace.program[first])
    heard = synchronise & (rows < second) & (trace.program == trace.program[second])
    return bool(np.isin(trace.cell[told], trace.cell[heard]).any())


def _updates(trace: Trace, row: int) -> bool:
    """Whether the program of `row` reads the element, and stores to it later."""
    mine = (trace.cell == trace.cell[row]) & (trace.program == trace.program[row])
    operations = trace.operation[mine]
    reads, stores = operations == READ, operations == WRITE
    if not (reads.any() and stores.any()):
        return False
    return bool(reads.argmax() < len(stores) - stores[::-1].argmax() - 1)


def early_read(trace: Trace) -> int | None:
    """The first row that reads an output which holds nothing yet; None if none does."""
    fresh = np.zeros(trace.arena.cells, bool)
    for region in trace.arena.regions:
        if region.fresh:
            fresh[region.first : region.first + region.span // region.itemsize] = True
    rows, new = columns.order(trace.cell)
    first = rows[new]
    early = first[fresh[trace.cell[first]] & (trace.operation[first] != WRITE)]
    return int(early.min()) if early.size else None


def duplicates(trace: Trace, row: int) -> int:
    """How many elements of the block that `row` is from have the same address."""
    same = (trace.call == trace.call[row]) & (trace.cell == trace.cell[row])
    return int(same.sum())
