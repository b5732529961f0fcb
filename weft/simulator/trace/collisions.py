"""Find conflicts between threads and operations that run alongside them.

PTX ISA, "wgmma.wait_group": registers of a product must not be accessed before it is
done. "Async proxy": what ordinary stores have written is visible to the TMA and wgmma
only after `fence.proxy.async`. The thread that has written executes this fence, and
then synchronises with the one that starts the operation. The completion of a bulk load
needs no such fence.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns, Flags
from weft.simulator.trace.trace import (
    LOCAL,
    READ,
    SHARED,
    WRITE,
    Apart,
    Held,
    Mismatch,
    Trace,
)


@dataclass(frozen=True)
class InUse:
    """An access, at `row`, to registers that a product still uses."""

    row: int
    held: Held


@dataclass(frozen=True)
class Unseen:
    """An operation's read, at row `read`, of a thread's unfenced store, at row `write`.

    `late` is the row of the storing thread's next fence, which does not order the store
    before the read, or None if there is no such fence.
    """

    write: int
    read: int
    apart: Apart
    late: int | None


def in_use(trace: Trace) -> InUse | None:
    """Return the first forbidden use of an unfinished product's registers, or None."""
    spans = [(one.row, one.landed) for one in trace.bulk.held]
    return _first_use(trace, spans, trace.space == LOCAL)


def not_held(trace: Trace) -> InUse | None:
    """Return the first use of a finished product's registers without a `hold`, or None.

    Products that use the same registers need no `hold`.
    """
    spans = [(one.landed, one.kept) for one in trace.bulk.held]
    products = {one.place for one in trace.bulk.held}
    others = np.array([place not in products for place in trace.places] or [True])
    return _first_use(trace, spans, (trace.space == LOCAL) & others[trace.site])


def _first_use(
    trace: Trace, spans: Sequence[tuple[int | None, int | None]], which: Flags
) -> InUse | None:
    """Return the first access to a product's registers within its span of rows.

    spans: of each product in `trace.bulk.held`; None is the end of the trace. which:
    the accesses that count.
    """
    held = trace.bulk.held
    if not held:
        return None
    rows = np.flatnonzero(which)
    number = trace.of_views("number")[trace.view[rows]]
    order = np.argsort(number, kind="stable")
    rows, number = rows[order], number[order]
    first: InUse | None = None
    for one, span in zip(held, spans, strict=True):
        low, high = np.searchsorted(number, (one.thread, one.thread + 1))
        mine = rows[low:high]
        ends = [len(trace) if row is None else row for row in span]
        begin, stop = np.searchsorted(mine, ends)
        touched = _touching(trace, mine[begin:stop], one)
        if touched.size and (first is None or touched[0] < first.row):
            first = InUse(int(touched[0]), one)
    return first


def _touching(trace: Trace, rows: Columns, held: Held) -> Columns:
    """Return those of `rows` that access `held` in a way that its product forbids."""
    start = trace.address[rows]
    meets = (start < held.start + held.nbytes) & (held.start < start + trace.size[rows])
    if not held.change:
        meets &= trace.operation[rows] == WRITE
    return rows[meets]


def misread(trace: Trace) -> Mismatch | None:
    """Return the first operand read with a swizzle other than its load's, or None."""
    number = trace.of_views("number")[trace.view] if trace.bulk.mismatches else None
    for one in trace.bulk.mismatches:
        rows = np.flatnonzero((number == one.one) & (trace.space == SHARED))
        if not rows.size:
            continue  # its group was never made
        row = rows[0]
        start, stop = trace.address[row], trace.address[row] + trace.size[row]
        writes = (trace.operation != READ) & (trace.space == SHARED)
        writes &= (trace.address < stop) & (start < trace.address + trace.size)
        writes &= trace.block == trace.block[row]
        before = np.flatnonzero(writes[:row])
        if before.size and int(before[-1]) in trace.bulk.copies:
            return one
    return None


def unseen(trace: Trace) -> Unseen | None:
    """Return the first read by the TMA or wgmma that may miss a store, or None."""
    apart = trace.bulk.apart
    if not apart:
        return None
    number = trace.of_views("number")
    beside = np.isin(number, list(apart))[trace.view]
    shared = np.flatnonzero(trace.space == SHARED)
    reads = beside & (trace.operation == READ)
    if not reads[shared].any():
        return None
    unit = columns.unit(trace.size[shared], trace.address[shared])
    start, stop = trace.address[shared], trace.address[shared] + trace.size[shared]
    word, each = columns.spread(start // unit, stop // unit)
    rows = shared[each]
    block = trace.of_views("block")[trace.view[rows]]
    order, new = columns.order(block, word)
    at = rows[order]
    writes = trace.operation[at] != READ
    last = np.maximum.accumulate(np.where(writes | new, np.arange(at.size), 0))
    copies = np.isin(at, list(trace.bulk.copies)) | beside[at]
    chosen = reads[at] & writes[last] & ~copies[last]
    pairs = sorted(
        {(int(r), int(w)) for r, w in zip(at[chosen], at[last[chosen]], strict=True)}
    )
    fences = _fences(trace)
    for read, write in pairs:
        view = trace.views[trace.view[read]]
        writer = trace.views[trace.view[write]]
        after = [row for row in fences[writer.number] if row > write]
        seen = any(
            row < read and view.sees(row, trace.views[trace.view[row]])
            for row in after[:1]
        )
        if not seen:
            late = after[0] if after else None
            return Unseen(write, read, apart[view.number], late)
    return None


def _fences(trace: Trace) -> dict[int, list[int]]:
    """Return the rows of each thread's fences, by the thread's number."""
    found: dict[int, list[int]] = defaultdict(list)
    for row in trace.bulk.fences:
        found[trace.views[trace.view[row]].number].append(row)
    return found
