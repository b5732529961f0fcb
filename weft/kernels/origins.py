"""Trace the elements of shared memory: which thread stored them, or why none did."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.checking.compare import Array
from weft.places import Note, Place
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns, Flags
from weft.simulator.trace.trace import GLOBAL, LOCAL, READ, SHARED, WRITE, Trace
from weft.wording import joined, several


def written_by(trace: Trace, row: int, name: str, ends: Sequence[int]) -> str:
    """Describe how many threads of a block stored to an array.

    If all did, say to how many elements they stored. row: an access to the array.
    ends: the lines on which threads may have ended earlier.
    """
    here = trace.block == trace.block[row]
    mine = here & (trace.array == trace.array[row])
    rows = np.flatnonzero(mine & (trace.operation == WRITE))
    threads = int(np.prod(trace.block_size))
    if not rows.size:
        return f"No thread of this block stores to `{name}` at all."
    busy = np.unique(trace.thread[rows]).size
    if busy < threads:
        idle = threads - np.unique(trace.thread[here]).size
        ended = ""
        if ends and idle:
            line = f"line{'s' * (len(ends) > 1)} {joined(ends)}"
            ended = f"; {idle:,} have ended before, on {line}"
        verb = "stores" if busy == 1 else "store"
        return (
            f"Only {busy:,} of the {threads:,} threads of this block {verb} to "
            f"`{name}`{ended}."
        )
    cells = touched(trace, rows)
    counts = np.unique(cells, return_counts=True)[1]
    reached, times = counts.size, int(counts[0])
    often = 2 <= times < 99 and (counts == times).all()
    each = f", to each of them {several(times, 'time')}" if often else ""
    shape = trace.extents[int(trace.array[row])][1]
    stored, read = stored_and_read(trace, row)
    return (
        f"The threads of the block store to {reached:,} of the "
        f"array's {int(np.prod(shape)):,} elements{each}"
        + (f": {stored}. They read {read}." if stored and read else ".")
    )


def stored_and_read(trace: Trace, row: int) -> tuple[str, str]:
    """Describe the parts of a matrix that a block's threads store to and read.

    row: an access to the matrix. Either is "" if that part is no rectangle.
    """
    mine = (trace.block == trace.block[row]) & (trace.array == trace.array[row])
    found = [np.flatnonzero(mine & (trace.operation == kind)) for kind in (WRITE, READ)]
    stored, read = (
        rectangle(trace, row, touched(trace, rows)) if rows.size else ""
        for rows in found
    )
    return stored, read


def touched(trace: Trace, rows: Columns) -> Columns:
    """Return the addresses of the elements of one array, in elements, that rows touch.

    An element that is touched twice is there twice.
    """
    itemsize = trace.dtypes[trace.array[rows[0]]].itemsize
    begin = trace.address[rows] // itemsize
    return columns.spread(begin, begin + trace.size[rows] // itemsize)[0]


def rectangle(trace: Trace, row: int, cells: Columns) -> str:
    """Describe elements of a matrix, such as 'columns 0–33 of rows 0–9'.

    row: an access to the matrix. cells: their addresses, in elements. Returns "" if
    they are no rectangle.
    """
    array = int(trace.array[row])
    start, shape = trace.extents[array]
    if len(shape) != 2:
        return ""
    found = np.unique(cells) - start // trace.dtypes[array].itemsize
    ends = [(int(k.min()), int(k.max())) for k in np.unravel_index(found, shape)]
    if found.size != np.prod([last - first + 1 for first, last in ends]):
        return ""
    rows, columns = (
        f"{axis}s {first}–{last}" if first < last else f"{axis} {first}"
        for axis, (first, last) in zip(("row", "column"), ends, strict=True)
    )
    return f"{columns} of {rows}"


def way_of(trace: Trace, row: int, byte: int) -> tuple[str, list[Note]]:
    """Trace the value that the store at `row` took from shared memory.

    byte: the offset in the bytes stored. Returns a question, and notes on two lines,
    the one that read the value from shared memory and the one that had stored it there.
    Returns "" and [] if the thread's access before the store was not such a read, or if
    the value's origin is unknown.
    """
    same = (trace.thread == trace.thread[row]) & (trace.block == trace.block[row])
    before = np.flatnonzero(same[:row])
    if not before.size:
        return "", []
    read = int(before[-1])
    if trace.space[read] != SHARED or trace.operation[read] != READ:
        return "", []
    if trace.size[read] != trace.size[row]:
        return "", []
    at = int(trace.address[read]) + byte
    put = last_put(trace, read, at)
    what = element_at(trace, read, at)
    if put is None or not what:
        return "", []
    who = trace.thread_at(put)
    said = f"Should it come from `{what}`, and who should have stored what there?"
    return said, [
        (trace.places[trace.site[read]], f"it comes from `{what}`"),
        (trace.places[trace.site[put]], f"`{what}` was stored here, by {who}"),
    ]


def touching(trace: Trace, row: int, start: int) -> Flags:
    """Return which accesses touch the byte at `start` in the memory that `row` uses."""
    mine: Flags = (trace.address <= start) & (start < trace.address + trace.size)
    mine &= trace.space == trace.space[row]
    if trace.space[row] in (SHARED, LOCAL):
        mine &= trace.block == trace.block[row]
    if trace.space[row] == LOCAL:
        mine &= trace.thread == trace.thread[row]
    return mine


def last_put(trace: Trace, read: int, at: int) -> int | None:
    """Return the row of the last store to byte `at` before row `read`, or None."""
    hit = touching(trace, read, at)[:read] & (trace.operation[:read] != READ)
    rows = np.flatnonzero(hit)
    return int(rows[-1]) if rows.size else None


def element_at(trace: Trace, row: int, at: int) -> str:
    """Name the element at address `at` of the array that the access at `row` uses.

    Returns "" if the array's shape is unknown.
    """
    array = int(trace.array[row])
    start, shape = trace.extents[array] if trace.extents else (0, ())
    if not shape:
        return ""
    index = np.unravel_index((at - start) // trace.dtypes[array].itemsize, shape)
    return f"{trace.arrays[array]}[{', '.join(str(int(i)) for i in index)}]"


@dataclass(frozen=True)
class Lost:
    """Loads whose values go to shared memory, and which of the values are read there.

    loads: the rows of loads whose values the same thread's next access stores to shared
    memory. stores: the rows of those stores, in the same order. used: for each element
    stored, row by row, whether it has been read there.
    """

    loads: Columns
    stores: Columns
    used: Columns

    def marks(
        self, trace: Trace, name: str, x: Array
    ) -> tuple[Array, dict[int, tuple[str, Place]]]:
        """Mark the elements of a global array that were used, and trace the others.

        Returns the marks, and for each unused element: flat index → the shared element
        that holds it, and the line that stored it there.
        """
        marks = np.zeros(x.size, bool)
        here = reading(trace, name, GLOBAL)
        others = np.setdiff1d(np.flatnonzero(here), self.loads)
        marks[elements(trace, name, x, others)[0]] = True
        at, which = elements(trace, name, x, self.loads)
        many = trace.size[self.loads] // x.itemsize
        mine = here[self.loads][which]
        marks[at[mine & self.used]] = True
        lost: dict[int, tuple[str, Place]] = {}
        before = np.concatenate([[0], np.cumsum(many)])
        for k in np.flatnonzero(mine & ~self.used)[::-1].tolist():
            store = int(self.stores[which[k]])
            step = (k - int(before[which[k]])) * x.itemsize
            what = element_at(trace, store, int(trace.address[store]) + step)
            lost[int(at[k])] = what, trace.places[trace.site[store]]
        return marks.reshape(x.shape), lost


def never_fetched(trace: Trace) -> Lost:
    """Find values loaded into shared memory, and which of them are read there."""
    thread = trace.block * (int(trace.thread.max(initial=0)) + 1) + trace.thread
    order, new = columns.order(thread)
    first, then = order[:-1], order[1:]
    pairs = ~new[1:] & (trace.space[first] == GLOBAL) & (trace.operation[first] == READ)
    pairs &= (trace.space[then] == SHARED) & (trace.operation[then] == WRITE)
    pairs &= trace.size[first] == trace.size[then]
    sizes = np.array([d.itemsize for d in trace.dtypes] or [1])
    pairs &= sizes[trace.array[first]] == sizes[trace.array[then]]
    loads, stores = first[pairs], then[pairs]
    rows = np.flatnonzero(trace.space == SHARED)
    if not stores.size or not rows.size:
        none = np.zeros(0, np.int64)
        return Lost(none, none, none.astype(bool))
    item = sizes[trace.array[rows]]
    unit = int(item.min())
    begin = trace.address[rows] // unit
    cells, which = columns.spread(begin, begin + trace.size[rows] // unit)
    row = rows[which]
    order, new = columns.order(trace.block[row], cells, row)
    later = order[1:]
    same = (trace.block[row[order[:-1]]] == trace.block[row[later]]) & (
        cells[order[:-1]] == cells[later]
    )
    fetched = np.zeros(len(row), bool)
    fetched[order[:-1]] = same & (trace.operation[row[later]] != WRITE)
    at = np.full(len(trace), -1, np.int64)
    at[rows] = np.searchsorted(which, np.arange(len(rows)))
    step = sizes[trace.array[stores]] // unit
    many = trace.size[stores] // sizes[trace.array[stores]]
    inner, of = columns.spread(np.zeros(len(stores), np.int64), many)
    return Lost(loads, stores, fetched[at[stores][of] + inner * step[of]])


def reading(trace: Trace, name: str, space: int) -> Flags:
    """Mark the accesses that read the array `name` in a memory space."""
    here: Flags = np.array([a == name for a in trace.arrays] or [False])[trace.array]
    here &= (trace.space == space) & (trace.operation != WRITE)
    return here


def elements(
    trace: Trace, name: str, x: Array, rows: Columns
) -> tuple[Columns, Columns]:
    """Return the elements accessed at `rows`: flat indices, and positions in `rows`."""
    begin = (trace.address[rows] - trace.bases[name]) // x.itemsize
    return columns.spread(begin, begin + trace.size[rows] // x.itemsize)


def stale(trace: Trace, row: int) -> tuple[str, list[Note]]:
    """Report that the thread of a store has read a value left from an earlier stage.

    The thread read several elements on one line between two barriers. One element was
    stored in an earlier stage than another, although the same line stored both. If it
    was older already when first read, it is meant to stay. Returns "" and [] if there
    is no such read.
    """
    mine = (trace.block == trace.block[row]) & (trace.thread == trace.thread[row])
    mine &= (trace.space == SHARED) & (trace.operation == READ)
    rows = np.flatnonzero(mine[:row])
    order, new = columns.order(trace.epoch[rows], trace.site[rows], trace.array[rows])
    fresh: set[int] = set()  # stores whose values were read with none that is newer
    for group in np.split(rows[order], np.flatnonzero(new)[1:]):
        put = [last_put(trace, int(r), int(trace.address[r])) for r in group]
        pairs = [(int(r), p) for r, p in zip(group, put, strict=True) if p is not None]
        last = max((int(trace.epoch[p]) for _, p in pairs), default=0)
        newest = {p for _, p in pairs if trace.epoch[p] == last}
        again = {int(trace.site[p]) for p in newest}
        for read, p in pairs:
            if p in fresh - newest and int(trace.site[p]) in again:
                return left_over(trace, read, p)
        fresh |= newest
    return "", []


def left_over(trace: Trace, read: int, put: int) -> tuple[str, list[Note]]:
    """Describe a read of a value that an earlier turn of a loop stored.

    Returns a sentence, and notes on the lines of the read and of the store.
    """
    what = trace.element(read) or "an element"
    store, load = (trace.places[trace.site[row]] for row in (put, read))
    said = (
        f"On line {load.line}, `{what}` is read, which still has the value of an "
        f"earlier turn of the loop: line {store.line} has stored to others since, and "
        f"to this one no line has."
    )
    return said, [
        (load, f"reads `{what}`, an old value"),
        (store, "stores to it in an earlier turn alone"),
    ]
