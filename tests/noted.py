"""Notes made from a trace with a row for every access: both say the same."""

from collections import defaultdict
from typing import Any

import numpy as np

import weft  # noqa: F401  before Numba
from weft.simulator.trace.notes import LOCAL, SEVERAL, Block, Notes, Region, Spot
from weft.simulator.trace.trace import ATOMIC, Trace

MARKED = "cas", "relaxed", "begun"  # kinds that make a spot of their own
SHARED_KINDS = "one", "known"  # kinds that all accesses of a spot have, or none


def noted(trace: Trace) -> Notes:
    """The notes of a launch. Local arrays share a list each."""
    regions = [region_of(trace, k) for k in range(len(trace.arrays))]
    unit = units(trace)
    marks = {
        kind: np.isin(np.arange(len(trace)), trace.atomics[kind])
        for kind in (*MARKED, *SHARED_KINDS)
    }
    keys = np.stack(
        [
            trace.site,
            trace.space,
            trace.operation,
            trace.size,
            unit,
            *(marks[kind] for kind in MARKED),
        ]
    ).astype(np.int64)
    found, spot = np.unique(keys, axis=1, return_inverse=True)
    spot = spot.reshape(-1)

    spots: list[Spot] = []
    steps: list[int] = []
    list_of = np.zeros(len(trace), np.int64)
    code_of = np.zeros(len(trace), np.int64)
    local: dict[int, list[Any]] = defaultdict(list)
    for k in range(found.shape[1]):
        site, space, operation, size, each, *flags = found[:, k].tolist()
        mine = np.flatnonzero(spot == k)
        kinds = [kind for kind, flag in zip(MARKED, flags, strict=True) if flag]
        for rows, region in parts(trace, mine, regions, operation, marks):
            more = [
                n for n in SHARED_KINDS if operation == ATOMIC and marks[n][rows].all()
            ]
            one = Spot(
                trace.places[site],
                operation,
                space,
                region,
                each,
                size,
                [*kinds, *more],
            )
            if space == LOCAL:
                local[region].append((one, rows))
            else:
                one.list = len(steps)
                list_of[rows] = len(steps)
                steps.append(1)
            spots.append(one)
    for some in cluster(local, regions):
        for code, (one, rows) in enumerate(some):
            one.list, one.code = len(steps), code
            list_of[rows], code_of[rows] = len(steps), code
        steps.append(len(some))
    step = np.array(steps or [1])[list_of]
    number = trace.address // unit * step + code_of
    return Notes(
        trace.name,
        trace.grid_size,
        trace.block_size,
        spots,
        regions,
        steps,
        blocks_of(trace, list_of, number, len(steps)),
        dict(trace.flops),
    )


def units(trace: Trace) -> Any:
    """The unit of each access: that of its array's elements, or less."""
    sizes = np.array([d.itemsize for d in trace.dtypes] or [1])
    bits = sizes[trace.array] if len(trace) else np.zeros(0, np.int64)
    bits = bits | trace.address | trace.size
    each = np.minimum(bits & -bits, 32)
    found = np.full(len(trace.arrays) or 1, 32, np.int64)
    np.minimum.at(found, trace.array, each)
    return found[trace.array]


def region_of(trace: Trace, k: int) -> Region:
    rows = np.flatnonzero(trace.array == k)
    begin, shape = trace.extents[k]
    dtype = trace.dtypes[k]
    low, high = begin, begin + int(np.prod(shape)) * dtype.itemsize
    if not shape:
        low = int(trace.address[rows].min()) if rows.size else 0
        high = int((trace.address + trace.size)[rows].max()) if rows.size else 0
    space = int(trace.space[rows[0]]) if rows.size else 0
    kind = f"{dtype.kind}{8 * dtype.itemsize}" if dtype.kind in "iufc" else ""
    return Region(space, low, high - low, trace.arrays[k], kind, shape, trace.fresh[k])


def overlap(a: Region, b: Region) -> bool:
    return a.space == b.space and (
        a.first < b.first + b.size and b.first < a.first + a.size
    )


def parts(trace: Trace, rows: Any, regions: list[Region], operation: int, marks: Any):
    """One spot for all arrays of an instruction, if they can be told apart."""
    arrays = np.unique(trace.array[rows]).tolist()
    flags = {
        tuple(bool(marks[n][rows[trace.array[rows] == a]].all()) for n in SHARED_KINDS)
        for a in arrays
    }
    apart = not any(
        overlap(regions[a], other)
        for a in arrays
        for k, other in enumerate(regions)
        if k != a
    )
    local = regions[arrays[0]].space == LOCAL
    if (
        len(arrays) > 1
        and apart
        and not local
        and (operation != ATOMIC or len(flags) < 2)
    ):
        return [(rows, SEVERAL)]
    return [(rows[trace.array[rows] == a], a) for a in arrays]


def cluster(local: dict[int, list[Any]], regions: list[Region]) -> list[list[Any]]:
    """The spots of local arrays, those of one piece of memory and unit together."""
    found: list[tuple[set[int], int, list[Any]]] = []
    for k, some in local.items():
        for spot, rows in some:
            for others, unit, list_ in found:
                if unit == spot.unit and any(
                    overlap(regions[k], regions[o]) for o in others
                ):
                    others.add(k)
                    list_.append((spot, rows))
                    break
            else:
                found.append(({k}, spot.unit, [(spot, rows)]))
    return [some for _, _, some in found]


def blocks_of(trace: Trace, list_of: Any, number: Any, lists: int) -> list[Block]:
    threads = int(np.prod(trace.block_size))
    epochs: dict[int, dict[int, int]] = defaultdict(dict)
    for view in trace.views:
        epochs[view.block][view.epoch] = view.grid
    order = np.lexsort((np.arange(len(trace)), list_of, trace.thread, trace.block))
    key = (trace.block * threads + trace.thread) * lists + list_of
    key = key[order]
    edges = np.flatnonzero(np.diff(key, prepend=-1))
    ends = [*edges[1:].tolist(), len(trace)]
    made: dict[int, Block] = {}
    seen = list(dict.fromkeys(trace.block.tolist()))
    for b in seen:
        last = max(epochs[b])
        made[b] = Block(
            b,
            [None] * lists,
            [[None] * lists for _ in range(last)],
            [e for e in range(last) if epochs[b].get(e + 1, 0) > epochs[b].get(e, 0)],
        )
    values = number[order].tolist()
    epoch = trace.epoch[order]
    for start, end in zip(edges.tolist(), ends, strict=False):
        who, k = divmod(int(key[start]), lists)
        b, t = divmod(who, threads)
        block = made[b]
        if block.lists[k] is None:
            block.lists[k] = [[] for _ in range(threads)]
            for mark in block.marks:
                mark[k] = [0] * threads
        block.lists[k][t] = values[start:end]
        if block.marks:
            counts = np.searchsorted(epoch[start:end], range(len(block.marks)), "right")
            for mark, n in zip(block.marks, counts.tolist(), strict=True):
                mark[k][t] = n
    return list(made.values())
