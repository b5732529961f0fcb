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


def noted(trace: Trace) -> Notes:
    """The notes of a launch, as a recorder is to write them.

    The spots of a local array share a list. So do those of other memory that held
    nothing where a thread reads after it has written, with no barrier in between.
    """
    regions = [region_of(trace, k) for k in range(len(trace.arrays))]
    found = spots_of(trace, regions)
    steps: list[int] = []
    number = np.zeros(len(trace), np.int64)
    list_of = np.zeros(len(trace), np.int64)
    for some in lists_of(trace, found):
        for code, one in enumerate(some):
            one.spot.list, one.spot.code = len(steps), code
            entries = trace.address[one.rows] // one.spot.unit * len(some) + code
            list_of[one.rows], number[one.rows] = len(steps), entries
        steps.append(len(some))
    return Notes(
        trace.name,
        trace.grid_size,
        trace.block_size,
        [one.spot for one in found],
        regions,
        steps,
        blocks_of(trace, list_of, number, len(steps)),
        dict(trace.flops),
    )


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
            spot = Spot(trace.places[site], operation, space, array, unit, size, mine)
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


def lists_of(trace: Trace, found: list[Found]) -> list[list[Found]]:
    """Which spots share a list."""
    together: defaultdict[Any, list[Found]] = defaultdict(list)
    for k, one in enumerate(found):
        region = one.spot.region
        held = region == SEVERAL or not trace.fresh[region]
        key = k if held else (one.spot.space, one.piece, one.spot.unit)
        together[key].append(one)
    lists = []
    for some in together.values():
        if some[0].spot.space == LOCAL or reads_after_writing(trace, some):
            lists.append(some)
        else:
            lists += [[one] for one in some]
    return lists


def reads_after_writing(trace: Trace, found: list[Found]) -> bool:
    """Whether a thread reads in an interval in which it has written."""
    rows = np.concatenate([one.rows for one in found])
    view = trace.of_views("number")[trace.view[rows]] * (int(trace.epoch.max()) + 1)
    view += trace.epoch[rows]
    order = np.lexsort((rows, view))
    writes = (trace.operation[rows[order]] == WRITE).astype(np.int64)
    new = np.diff(view[order], prepend=-1) != 0
    before = np.cumsum(writes) - writes
    at_start = before[np.maximum.accumulate(np.where(new, np.arange(rows.size), 0))]
    return bool(((before > at_start) & (writes == 0)).any())


def blocks_of(trace: Trace, list_of: Any, number: Any, lists: int) -> list[Block]:
    threads = int(np.prod(trace.block_size))
    epochs: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for view in trace.views:
        epochs[view.block][view.epoch] = view.grid
    all_noted = trace.blocks == trace.all_blocks
    blocks = dict.fromkeys(sorted(epochs) if all_noted else trace.block.tolist())
    made = {b: empty(b, epochs[b], lists) for b in blocks}
    key = (trace.block * threads + trace.thread) * lists + list_of
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order], prepend=-1)).tolist()
    values, epoch = number[order].tolist(), trace.epoch[order]
    for start, end in zip(edges, [*edges[1:], len(trace)], strict=True):
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
        block.meetings = meetings_of(trace, b, list_of, lists)
    return list(made.values())


def empty(number: int, grids: dict[int, int], lists: int) -> Block:
    """A block that has passed its barriers; grids: those of the grid, by all."""
    last = max(grids)
    of_grid = [e for e in range(last) if grids[e + 1] > grids[e]]
    marks: list[Any] = [[None] * lists for _ in range(last)]
    return Block(number, [None] * lists, marks, of_grid)


def meetings_of(trace: Trace, block: int, list_of: Any, lists: int) -> list[Meeting]:
    """The meetings of warps. After one, its lanes have views with the same `lanes`."""
    together: dict[int, list[Any]] = {}
    for view in trace.views:
        if view.block == block and view.lanes:
            together.setdefault(id(view.lanes), []).append(view)
    mine = np.flatnonzero(trace.block == block)
    found = []
    for views in sorted(together.values(), key=lambda views: views[0].index):
        before = mine[mine < max(views[0].lanes)]
        threads = tuple(sorted({view.thread for view in views}))
        key = trace.thread[before] * lists + list_of[before]
        size = int(np.prod(trace.block_size)) * lists
        counts = np.bincount(key, minlength=size).reshape(-1, lists)
        lengths = [counts[list(threads), k].tolist() for k in range(lists)]
        found.append(Meeting(views[0].epoch, threads, lengths))
    return found
