"""Hazards in a trace, such as reads of unwritten memory and races.

Two accesses race if they touch the same bytes from two threads, at least one of them
writes, they are not both atomic (relaxed loads and stores count as atomic), and nothing
orders them: no barrier of the block or the grid, no warp-synchronous operation whose
mask includes both lanes, and no atomic through which one thread passes to the other
what it did before its fence. The order is decided from what each thread could know of
the others (see `clocks.View`), so it does not depend on the order in which the
simulator happened to run them.

Source: L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System",
1978; the candidates are narrowed as in C. Flanagan and S. Freund, "FastTrack", 2009.
"""

from dataclasses import dataclass

import numpy as np

from weft.places import Place
from weft.simulator.faults import Fault
from weft.simulator.trace import columns
from weft.simulator.trace.clocks import View
from weft.simulator.trace.collisions import in_use, unseen
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.trace import ATOMIC, GLOBAL, LOCAL, READ, SHARED, WRITE, Trace

_SPACE_NAMES = {GLOBAL: "global", SHARED: "shared", LOCAL: "local"}


@dataclass(frozen=True)
class Access:
    """An access in a hazard: its line, its thread, and its row in the trace."""

    place: Place
    thread: int  # its rank in the block
    block: int  # its number in the grid
    operation: int
    row: int


@dataclass(frozen=True)
class Race:
    """Two unordered accesses to the same bytes of `array`, in simulated order.

    `within` is the smallest group with both threads: 'warp', 'block' or 'grid', or
    'cluster' for shared memory of one of two blocks. A `lost_update` is a race of two
    read-modify-writes. A race is `unfenced` if one fence by the second thread would
    prevent it. The fence belongs before that thread's access, and after `told`, the
    atomic operation through which the thread learns of the first access.
    """

    array: str
    space: str
    first: Access
    second: Access
    within: str
    lost_update: bool
    unfenced: bool = False
    told: Access | None = None


@dataclass(frozen=True)
class Unwritten:
    """A read of bytes of `array` that no thread had written."""

    array: str
    space: str
    access: Access


@dataclass(frozen=True)
class Left:
    """An access to the shared memory of `owner`, a block that may have ended by then.

    The access is not ordered before the end of any thread of `owner`.
    """

    array: str
    access: Access
    owner: int


@dataclass(frozen=True)
class Unfinished:
    """A read of bytes of `array` before the copy into them had completed.

    begun: the access that started the copy.
    """

    array: str
    access: Access
    begun: Access


def races(trace: Trace, guesses_are_fine: bool = True) -> Race | None:
    """Return the most telling race in a trace, or None if there is none.

    This is the first race, with two exceptions. A race in shared memory is preferred to
    two stores to the same global element, which often follow from it. A race between
    two warps is preferred to one within a warp in the same memory space, because it
    shows that the whole block must wait.
    guesses_are_fine: whether a read may race with atomics if it only guesses the value
    for a compare-and-swap.
    """
    guesses = _guesses(trace) if guesses_are_fine else frozenset()
    # the words of a wide access have the same rows
    groups = {rows.tobytes(): rows for rows in _candidates(trace)}
    found = [_unordered(trace, rows, guesses) for rows in groups.values()]
    pairs = [pair for some in found for pair in some]
    if not pairs:
        return None
    first = min(pairs, key=max)
    if all(trace.space[row] == GLOBAL for row in first) and all(
        trace.operation[row] == WRITE for row in first
    ):
        inside = [pair for pair in pairs if trace.space[pair[0]] == SHARED]
        first = min(inside, key=max, default=first)
    alike = [p for p in pairs if trace.space[p[0]] == trace.space[first[0]]]
    lines = {int(trace.site[row]) for row in first}
    same = [p for p in alike if {int(trace.site[row]) for row in p} == lines]
    for some in (same, alike):
        if apart := [p for p in some if not _one_warp(trace, p)]:
            return _race(trace, *min(apart, key=max))
    return _race(trace, *first)


def _one_warp(trace: Trace, pair: tuple[int, int]) -> bool:
    """Return whether the same warp made both accesses."""
    return _in_one_warp(*(trace.views[trace.view[row]] for row in pair))


def _in_one_warp(a: View, b: View) -> bool:
    return (a.block, a.warp) == (b.block, b.warp)


def unwritten(trace: Trace) -> Unwritten | None:
    """Return the first read of unwritten shared, local or fresh memory, or None."""
    fresh = np.array([*trace.fresh, False])[trace.array]
    if trace.blocks < trace.all_blocks:
        fresh &= trace.space != GLOBAL  # a block left out may have written it
    rows = np.flatnonzero(fresh)
    if not rows.size:
        return None
    rows, word = _words(trace, rows)
    view = trace.view[rows]
    shared, local = trace.space[rows] == SHARED, trace.space[rows] == LOCAL
    owner = np.where(shared, trace.owner[rows], 0)
    owner = np.where(local, trace.of_views("number")[view], owner)
    order, new = columns.order(trace.space[rows], owner, word)
    starts = rows[order[new]]
    early = starts[trace.operation[starts] != WRITE]
    if not early.size:
        return None
    row = int(early.min())
    return Unwritten(
        trace.arrays[trace.array[row]],
        _SPACE_NAMES[int(trace.space[row])],
        _access(trace, row),
    )


def unfinished(trace: Trace) -> Unfinished | None:
    """Return the first read of shared memory that a copy may still be filling, or None.

    The last store to that memory before the read is the start of an asynchronous copy
    that has not yet arrived.
    """
    begun = trace.atomics["begun"]
    if not begun.size:
        return None
    rows, word = _words(trace, np.flatnonzero(trace.space == SHARED))
    order, new = columns.order(trace.owner[rows], word)
    at = rows[order]
    writes = trace.operation[at] == WRITE
    last = np.maximum.accumulate(np.where(writes | new, np.arange(at.size), 0))
    here = trace.bulk.copies
    arrived = [here[b].arrived if b in here else None for b in begun.tolist()]
    never = len(trace)
    until = np.full(len(trace) + 1, 0)
    until[begun] = [never if row is None else row for row in arrived]
    early = (trace.operation[at] == READ) & (at < until[at[last]])
    if not early.any():
        return None
    which = int(np.flatnonzero(early)[np.argmin(at[early])])
    row, start = int(at[which]), int(at[last[which]])
    return Unfinished(
        trace.arrays[trace.array[row]], _access(trace, row), _access(trace, start)
    )


def left(trace: Trace) -> Left | None:
    """Return an access to the memory of a block that may have ended, or None.

    Such an access is not ordered before the end of any thread of that block.
    CUDA C++ Programming Guide, "Distributed Shared Memory": all accesses to the memory
    of a block come before its end. This includes arrivals at its mbarriers.
    """
    if not (rows := np.flatnonzero(trace.remote)).size:
        return None
    seen: dict[tuple[int, int], int] = {}  # the last row of each view in each block
    for row in rows.tolist():
        seen[int(trace.view[row]), int(trace.owner[row])] = row
    late = [
        row
        for (view, owner), row in seen.items()
        if (ends := trace.bulk.ends.get(owner))
        and not any(trace.views[end].sees(row, trace.views[view]) for end in ends)
    ]
    if not late:
        return None
    row = min(late)
    array = trace.arrays[trace.array[row]]
    return Left(array, _access(trace, row), int(trace.owner[row]))


def refuse(trace: Trace) -> None:
    """Raise `Fault` if a launch has a hazard.

    This function can be passed to `install(check=...)`. Hazards are conflicts with the
    TMA or wgmma, races, reads of shared memory before a copy into it completes, reads
    of memory that no thread wrote, and accesses to the memory of a block that may have
    ended. The fault's `places` are the lines involved.
    """
    _refuse_beside(trace)
    race, copying, early = races(trace), unfinished(trace), unwritten(trace)
    gone = left(trace)
    if race is not None:
        one, two = _did(trace, race.first), _did(trace, race.second)
        message = f"a race on the {race.space} array `{race.array}`: {one}, {two}"
        why = "No barrier orders the two, and no atomic operation between fences."
        raise Fault("race", message, why, places=_places(race.first, race.second))
    if copying is not None:
        message = f"{_did(trace, copying.access)} `{copying.array}` too early"
        why = "A copy into it has begun, and nothing has waited for it to arrive."
        places = _places(copying.access, copying.begun)
        raise Fault("race", message, why, places=places)
    if early is not None:
        message = f"{_did(trace, early.access)} `{early.array}`, which nothing wrote"
        why = "On a GPU this memory holds whatever was there before."
        raise Fault("uninitialised", message, why, places=_places(early.access))

    if gone is not None:
        message = (
            f"{_did(trace, gone.access)} `{gone.array}` of block {gone.owner}, which "
            "may have ended"
        )
        why = "No cluster_sync of the two blocks follows the access."
        raise Fault("race", message, why, places=_places(gone.access))


def _refuse_beside(trace: Trace) -> None:
    """Raise `Fault` if an access conflicts with the TMA or a wgmma operation."""
    early, missed = in_use(trace), unseen(trace)
    if early is not None:
        access, held = _access(trace, early.row), early.held
        message = f"{_did(trace, access)} `{held.name}` before {held.call} is done"
        why = "No wgmma_wait says that the product is done."
        places = list(dict.fromkeys((access.place, held.place)))
        raise Fault("race", message, why, places=places)
    if missed is not None:
        one, two = _access(trace, missed.write), _access(trace, missed.read)
        array = trace.arrays[trace.array[missed.write]]
        message = f"{_did(trace, one)} `{array}`, and {missed.apart.call} reads it"
        why = "No fence_async of that thread comes in between."
        raise Fault("race", message, why, places=_places(one, two))


_DOES = {READ: "reads", WRITE: "writes", ATOMIC: "updates atomically"}


def _did(trace: Trace, access: Access) -> str:
    return f"{trace.thread_at(access.row, with_block=True)} {_DOES[access.operation]}"


def _places(*accesses: Access) -> list[Place]:
    return list(dict.fromkeys(access.place for access in accesses))


def _candidates(trace: Trace) -> list[Columns]:
    """Return groups of rows that may race: same bytes, several threads, a write.

    Barriers order everything else: two accesses of one block race only if they have the
    same epoch, and two of different blocks only if they have the same epoch of the
    grid.
    """
    rows = np.flatnonzero(trace.space != LOCAL)
    if not rows.size or not (trace.operation[rows] != READ).any():
        return []
    rows, word = _words(trace, rows)
    block, epoch, grid = map(trace.of_views, ("block", "epoch", "grid"))
    packed, _ = columns.pack(block, grid, epoch)
    assert packed is not None, "blocks and barriers fit into 63 bits"
    region = columns.dense(packed) * 2
    shared = trace.space[rows] == SHARED
    view = trace.view[rows]
    number = trace.of_views("number")[view]
    inside = _inside(trace, rows, number, region[view] + shared, word)
    wide = ~shared
    if trace.all_blocks == 1 or not wide.any():
        return inside
    rows, word, view = rows[wide], word[wide], view[wide]
    return inside + _groups(trace, rows, block[view], grid[view], word)


def _inside(
    trace: Trace, rows: Columns, who: Columns, region: Columns, word: Columns
) -> list[Columns]:
    """Return groups of rows that may race within a block, or in its shared memory.

    The blocks of a cluster pass their barriers separately, so a block's access to
    another block's shared memory falls in no particular epoch of that other block.
    """
    if not trace.bulk.remote:
        return _groups(trace, rows, who, region, word)
    remote, shared = trace.remote[rows], trace.space[rows] == SHARED
    here = ~remote
    found = _groups(trace, rows[here], who[here], region[here], word[here])
    place, _ = columns.pack(trace.owner[rows], word)
    assert place is not None, "blocks and addresses fit into 63 bits"
    met = shared & np.isin(place, place[remote])
    return found + _groups(trace, rows[met], who[met], place[met])


def _groups(trace: Trace, rows: Columns, who: Columns, *keys: Columns) -> list[Columns]:
    """Return the groups of rows with equal keys that may race. who: threads or blocks.

    In such a group, `who` differs, not all rows are reads, and at least one row is
    neither atomic nor relaxed.
    """
    if not rows.size:
        return []
    order, new = columns.order(*keys)
    starts = np.flatnonzero(new)
    rows, who = rows[order], who[order]
    operation = trace.operation[rows]
    relaxed = np.isin(rows, trace.atomics["relaxed"])
    several = np.minimum.reduceat(who, starts) != np.maximum.reduceat(who, starts)
    writes = np.logical_or.reduceat(operation != READ, starts)
    plain = np.logical_or.reduceat((operation != ATOMIC) & ~relaxed, starts)
    ends = np.append(starts[1:], rows.size)
    chosen = np.flatnonzero(several & writes & plain)
    return [rows[starts[g] : ends[g]] for g in chosen]


def _words(trace: Trace, rows: Columns) -> tuple[Columns, Columns]:
    """Split accesses into units that divide them all; return rows and unit numbers.

    In most traces all accesses have the same size, and there is nothing to split.
    """
    size, address = trace.size[rows], trace.address[rows]
    unit = columns.unit(size, address)
    word, row = columns.spread(address // unit, (address + size) // unit)
    return rows[row], word


def _guesses(trace: Trace) -> frozenset[int]:
    """Return the instructions that only read the value that a compare-and-swap expects.

    If the value is stale, the swap fails, so the read is allowed to race with
    atomics. An instruction is returned if the thread's next access to the same element
    is a compare-and-swap at least once, and never anything else.
    """
    swaps = trace.atomics["cas"]
    if not swaps.size:
        return frozenset()
    touched = np.isin(trace.address, trace.address[swaps])
    rows = np.flatnonzero(touched & (trace.space != LOCAL))
    thread = trace.block[rows] * 1024 + trace.thread[rows]
    keys = trace.address[rows], trace.space[rows], thread
    order = np.lexsort((rows, *keys))
    same = np.all([np.diff(key[order]) == 0 for key in keys], axis=0)
    one, next_one = rows[order][:-1][same], rows[order][1:][same]
    swap = np.isin(next_one, swaps)
    reads = trace.operation[one] == READ
    used = set(trace.site[one[reads & swap]].tolist())
    return frozenset(used - set(trace.site[one[reads & ~swap]].tolist()))


def guessed(trace: Trace) -> frozenset[Place]:
    """Return the places of reads that merely supply what a compare-and-swap expects."""
    if isinstance(trace, Recorded) and not trace.has_swaps:
        return frozenset()
    return frozenset(trace.places[site] for site in _guesses(trace))


def _unordered(
    trace: Trace, rows: Columns, guesses: frozenset[int]
) -> list[tuple[int, int]]:
    """Return a list with the first unordered pair of a group's rows, or [].

    rows: in simulated order. If both rows of that pair are accesses to shared memory by
    one warp, the list also contains the first unordered pair from two warps, if any.
    """
    views = trace.views
    relaxed = set(trace.atomics["relaxed"].tolist())
    write: int | None = None
    others: list[int] = []  # reads and atomics since the last write
    changes: list[int] = []  # of these, atomics and relaxed stores
    reads: list[int] = []  # of these, the plain reads
    firm: list[int] = []  # of the plain reads, those that are no guesses
    found: list[tuple[int, int]] = []

    for row in rows.tolist():
        view, operation = views[trace.view[row]], int(trace.operation[row])
        guess, loose = trace.site[row] in guesses, row in relaxed
        rivals = [] if write is None else [write]
        if loose:
            if operation == WRITE:
                rivals += reads
        elif operation == READ:
            if not guess:
                rivals += changes
        elif operation == ATOMIC:
            rivals += firm
        else:
            rivals += others
        for rival in rivals:
            other = views[trace.view[rival]]
            if view.sees(rival, other):
                continue
            near = trace.space[row] == SHARED and _in_one_warp(view, other)
            if not near or not found:
                found.append((rival, row))
            if not near:
                return found
        if operation == WRITE and not loose:
            write, others, changes, reads, firm = row, [], [], [], []
            continue
        others.append(row)
        if operation != READ:
            changes.append(row)
        elif not loose:
            reads.append(row)
            if not guess:
                firm.append(row)
    return found


def _race(trace: Trace, first: int, second: int) -> Race:
    a, b = trace.views[trace.view[first]], trace.views[trace.view[second]]
    within = "warp" if a.warp == b.warp else "block"
    if a.block != b.block:
        within = "cluster" if trace.space[first] == SHARED else "grid"
    unfenced = b.awaits(first, a)
    return Race(
        trace.arrays[trace.array[first]],
        _SPACE_NAMES[int(trace.space[first])],
        _access(trace, first),
        _access(trace, second),
        within,
        _updates(trace, first, a) and _updates(trace, second, b),
        unfenced,
        _told(trace, second) if unfenced else None,
    )


def _told(trace: Trace, row: int) -> Access | None:
    """Return the last atomic operation before an access, or None.

    It is the last by the same thread or, if there is none, by the same block.
    """
    block = trace.block == trace.block[row]
    mine = block & (trace.thread == trace.thread[row])
    loose = np.zeros(len(trace), bool)
    loose[trace.atomics["relaxed"]] = True
    atomic = (trace.operation == ATOMIC) | (loose & (trace.operation == READ))
    atomic[row:] = False
    for rows in (np.flatnonzero(atomic & mine), np.flatnonzero(atomic & block)):
        if rows.size:
            return _access(trace, int(rows[-1]))
    return None


def _updates(trace: Trace, row: int, view: View) -> bool:
    """Return whether an access is part of a plain read-modify-write in one line."""
    same = (
        (trace.view == view.index)
        & (trace.address == trace.address[row])
        & (trace.space == trace.space[row])
    )
    line = trace.places[trace.site[row]].line
    operations = {
        int(trace.operation[r])
        for r in np.flatnonzero(same)
        if trace.places[trace.site[r]].line == line
    }
    return {READ, WRITE} <= operations


def _access(trace: Trace, row: int) -> Access:
    return Access(
        trace.places[trace.site[row]],
        int(trace.thread[row]),
        int(trace.block[row]),
        int(trace.operation[row]),
        row,
    )
