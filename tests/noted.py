"""Notes made from a trace with a row for every access: both say the same."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft  # noqa: F401  before Numba
from weft.simulator.trace.notes import (
    GLOBAL,
    LOCAL,
    SEVERAL,
    WRITE,
    Block,
    Meeting,
    Notes,
    Region,
    Spot,
)
from weft.simulator.trace.trace import Trace

OWN_SPOT = "cas", "relaxed", "begun"  # kinds that make a spot of their own
OF_ALL = "one", "known"  # kinds that all accesses of a spot have, or none


@dataclass
class Found:
    """A spot, its rows in the trace, and the arrays that share memory with its own."""

    spot: Spot
    rows: Any
    piece: int


@dataclass
class Entries:
    """What goes into the lists: for each entry a row of the trace."""

    rows: list[Any]
    lists: list[Any]
    numbers: list[Any]
    steps: list[int]

    def add(self, rows: Any, numbers: Any, step: int = 1) -> int:
        """Add a list; its number."""
        self.steps.append(step)
        self.more(rows, numbers)
        return len(self.steps) - 1

    def more(self, rows: Any, numbers: Any) -> None:
        self.rows.append(rows)
        self.numbers.append(numbers)
        self.lists.append(np.full(rows.size, len(self.steps) - 1))


def noted(trace: Trace) -> Notes:
    """The notes of a launch, as a recorder is to write them."""
    regions = [region_of(trace, k) for k in range(len(trace.arrays))]
    found = spots_of(trace, regions)
    entries = Entries([], [], [], [])
    local: defaultdict[Any, list[Found]] = defaultdict(list)
    for one in found:
        if one.spot.space == LOCAL:
            local[one.piece, one.spot.unit].append(one)
        else:
            one.spot.list = entries.add(one.rows, numbers_of(trace, one))
            if trace.iteration[one.rows].any():
                iterations = trace.iteration[one.rows]
                one.spot.iterations = entries.add(one.rows, iterations)
    for some in local.values():
        entries.steps.append(len(some))
        for code, one in enumerate(some):
            one.spot.list, one.spot.code = len(entries.steps) - 1, code
            entries.more(one.rows, numbers_of(trace, one) * len(some) + code)
    count_reads(trace, found, entries)
    return Notes(
        trace.name,
        trace.grid_size,
        trace.block_size,
        [one.spot for one in found],
        regions,
        entries.steps,
        blocks_of(trace, entries),
        dict(trace.flops),
        trace.barriers,
        trace.partial,
        trace.excused,
    )


def numbers_of(trace: Trace, found: Found) -> Any:
    return trace.address[found.rows] // found.spot.unit


def count_reads(trace: Trace, found: list[Found], entries: Entries) -> None:
    """Add the counts of `Spot.counts`, where a thread reads after a write.

    In the same interval, of the same memory, which held nothing.
    """
    who = trace.of_views("number")[trace.view].astype(np.int64) * len(trace)
    near = [
        f
        for f in found
        if f.spot.space != LOCAL
        and (f.spot.region == SEVERAL or trace.fresh[f.spot.region])
    ]
    for write in near:
        for read in near:
            if write.spot.operation != WRITE or read.spot.operation == WRITE:
                continue
            if write.spot.space != read.spot.space or write.piece != read.piece:
                continue
            reads, writes = who[read.rows] + read.rows, who[write.rows] + write.rows
            reads.sort()
            next_ = np.searchsorted(reads, writes)
            after = reads[np.minimum(next_, reads.size - 1)]
            same = (next_ < reads.size) & (after // len(trace) == writes // len(trace))
            same &= trace.epoch[after % len(trace)] == trace.epoch[write.rows]
            if same.any():
                before = next_ - np.searchsorted(reads, who[write.rows])
                write.spot.counts[read.spot.list] = entries.add(write.rows, before)


def region_of(trace: Trace, k: int) -> Region:
    rows = np.flatnonzero(trace.array == k)
    begin, shape = trace.extents[k]
    dtype = trace.dtypes[k]
    low, high = begin, begin + int(np.prod(shape)) * dtype.itemsize
    if not shape and rows.size:
        low = int(trace.address[rows].min())
        high = int((trace.address + trace.size)[rows].max())
    space = int(trace.space[rows[0]]) if rows.size else GLOBAL
    kind = f"{dtype.kind}{8 * dtype.itemsize}" if dtype.kind in "iufc" else ""
    return Region(space, low, high - low, trace.arrays[k], kind, shape, trace.fresh[k])


def spots_of(trace: Trace, regions: list[Region]) -> list[Found]:
    """The spots: accesses alike in all that a spot says of them."""
    rows = np.arange(len(trace))
    kinds = {k: np.isin(rows, trace.atomics[k]) for k in (*OWN_SPOT, *OF_ALL)}
    alike = np.stack(
        [
            *(trace.site, trace.space, trace.operation, trace.size),
            *(units(trace), *(kinds[k] for k in OWN_SPOT)),
        ]
    ).astype(np.int64)
    keys, number = np.unique(alike, axis=1, return_inverse=True)
    piece = pieces(regions)
    found = []
    for k, (site, space, operation, size, unit, *flags) in enumerate(keys.T.tolist()):
        for rows, array in parts(trace, np.flatnonzero(number.ravel() == k), piece):
            mine = [n for n, flag in zip(OWN_SPOT, flags, strict=True) if flag]
            mine += [n for n in OF_ALL if kinds[n][rows].all()]
            spot = Spot(
                trace.places[site],
                *(operation, space, array, unit, size, frozenset(mine)),
                site=site,
            )
            found.append(Found(spot, rows, -1 if array == SEVERAL else piece[array]))
    return found


def units(trace: Trace) -> Any:
    """The unit of each access: the size of its array's elements, or less."""
    sizes = np.array([dtype.itemsize for dtype in trace.dtypes] or [1])
    bits = sizes[trace.array] | trace.address | trace.size
    found = np.full(sizes.size, 32)
    np.minimum.at(found, trace.array, np.minimum(bits & -bits, 32))
    return found[trace.array]


def pieces(regions: list[Region]) -> list[int]:
    """For each region the first one that it shares memory with."""
    return [
        next(k for k, other in enumerate(regions) if k == n or other.overlaps(one))
        for n, one in enumerate(regions)
    ]


def parts(trace: Trace, rows: Any, piece: list[int]) -> list[tuple[Any, int]]:
    """One spot for all the arrays of an instruction, if addresses tell them apart."""
    arrays = np.unique(trace.array[rows]).tolist()
    apart = all(piece.count(piece[a]) == 1 for a in arrays)
    plain = trace.operation[rows[0]] <= WRITE and trace.space[rows[0]] != LOCAL
    if len(arrays) > 1 and apart and plain:
        return [(rows, SEVERAL)]
    return [(rows[trace.array[rows] == a], a) for a in arrays]


def blocks_of(trace: Trace, entries: Entries) -> list[Block]:
    threads, lists = int(np.prod(trace.block_size)), len(entries.steps)
    nothing = np.zeros(0, np.int64)
    rows, list_of, number = (
        np.concatenate([nothing, *each])
        for each in (entries.rows, entries.lists, entries.numbers)
    )
    epochs: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for view in trace.views:
        epochs[view.block][view.epoch] = view.grid
    all_noted = trace.blocks == trace.all_blocks
    blocks = dict.fromkeys(sorted(epochs) if all_noted else trace.block.tolist())
    made = {b: empty(b, epochs[b], lists) for b in blocks}
    key = (trace.block * threads + trace.thread)[rows] * lists + list_of
    order = np.lexsort((rows, key))
    edges = np.flatnonzero(np.diff(key[order], prepend=-1)).tolist()
    values, epoch = number[order].tolist(), trace.epoch[rows[order]]
    for start, end in zip(edges, [*edges[1:], rows.size], strict=True):
        who, k = divmod(int(key[order[start]]), lists)
        block, thread = made[who // threads], who % threads
        if block.lists[k] is None:
            block.lists[k] = [[] for _ in range(threads)]
            for mark in block.marks:
                mark[k] = [0] * threads
        block.lists[k][thread] = values[start:end]
        passed = np.searchsorted(epoch[start:end], range(len(block.marks)), "right")
        for mark, n in zip(block.marks, passed.tolist(), strict=True):
            mark[k][thread] = n
    for b, block in made.items():
        block.meetings = meetings_of(trace, b, rows, list_of)
    return list(made.values())


def empty(number: int, grids: dict[int, int], lists: int) -> Block:
    """A block that has passed its barriers; grids: those of the grid, by all."""
    last = max(grids)
    of_grid = [e for e in range(last) if grids[e + 1] > grids[e]]
    marks: list[Any] = [[None] * lists for _ in range(last)]
    return Block(number, [None] * lists, marks, of_grid)


def meetings_of(trace: Trace, block: int, rows: Any, list_of: Any) -> list[Meeting]:
    """The meetings of warps. After one, its lanes have views with the same `lanes`."""
    together: dict[int, list[Any]] = {}
    for view in trace.views:
        if view.block == block and view.lanes:
            together.setdefault(id(view.lanes), []).append(view)
    mine, lists = trace.block[rows] == block, int(list_of.max(initial=-1)) + 1
    found = []
    for views in sorted(together.values(), key=lambda views: views[0].index):
        before = mine & (rows < max(views[0].lanes))
        threads = tuple(sorted({view.thread for view in views}))
        key = trace.thread[rows[before]] * lists + list_of[before]
        size = int(np.prod(trace.block_size)) * lists
        counts = np.bincount(key, minlength=size).reshape(-1, lists)
        lengths = [counts[list(threads), k].tolist() for k in range(lists)]
        found.append(Meeting(views[0].epoch, threads, lengths))
    return found
