"""Prove quickly, from notes, that a launch has no hazard, or say where one may be.

Two threads race only over an element that both touch, and at least one of them writes,
between the same two barriers. A read is early only if no thread has written the element
before. For most kernels, sets of elements show that there are neither races nor early
reads. What they cannot decide is a *suspect*: notes do not include what a fence or an
atomic operation tells another thread, nor what a copy in flight waits for. Suspecting
too much is safe. If nothing is suspected, that proves that `races`, `unwritten` and
`unfinished` of the sanitizer find nothing either. To decide on suspects, the sanitizer
needs the accesses to them in order, and all atomic operations.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from weft.simulator.trace.notes import (
    ATOMIC,
    GLOBAL,
    LOCAL,
    READ,
    SEVERAL,
    SHARED,
    WRITE,
    Block,
    Lengths,
    Lists,
    Meeting,
    Notes,
    Numbers,
    Spot,
)

Source = dict[int, Numbers]  # what each owner, a thread or a block, touched at a spot
Interval = dict[Spot, Source]  # what was touched between two barriers


class Suspect(NamedTuple):
    """The bytes from `start` to `stop` of `space`, where there may be a hazard.

    block: the block whose shared memory holds the bytes; None in other spaces.
    """

    space: int
    block: int | None
    start: int
    stop: int


def suspects(notes: Notes) -> list[Suspect]:
    """Return the memory that may have races, or be read before it is written.

    An empty list proves that neither can happen.
    """
    of: dict[int, Callable[[Memory], Iterable[Suspect]]]
    of = {GLOBAL: of_global, SHARED: of_shared, LOCAL: of_local}
    memories = list(pieces(notes))
    found = [each for memory in memories for each in of[memory.space](memory)]
    return found + swapped(notes, memories) if found else []


def swapped(notes: Notes, memories: list["Memory"]) -> list[Suspect]:
    """Return the memory that compare-and-swaps touch.

    From the accesses to it, the sanitizer sees which reads only guess a swap's old
    value.
    """
    found: list[Suspect] = []
    for memory in memories:
        swaps = [spot for spot in memory.spots if "cas" in spot.kinds]
        numbers = union(memory.all_of(swaps))
        if memory.space == SHARED:
            for block in notes.blocks:
                found += ranges(memory, numbers, block.number)
        else:
            found += ranges(memory, numbers)
    return found


class Memory:
    """Arrays that share memory, and the spots that touch them, grouped by operation.

    `unit` divides all addresses and sizes of their accesses. `changes` are atomic
    operations and relaxed stores, which are allowed to run concurrently with each other
    and with `peeks`, the relaxed loads. `fresh` are the spots that touch memory that
    held nothing before the launch.
    """

    def __init__(
        self, notes: Notes, spots: list[Spot], regions: dict[Spot, set[int]]
    ) -> None:
        """Group the spots. regions: the regions that each spot touches."""
        self.notes, self.spots, self.space = notes, spots, spots[0].space
        self.unit = min(spot.unit for spot in spots)
        plain = [spot for spot in spots if "relaxed" not in spot.kinds]
        loose = [spot for spot in spots if "relaxed" in spot.kinds]
        self.reads = [spot for spot in plain if spot.operation == READ]
        self.writes = [spot for spot in plain if spot.operation == WRITE]
        self.peeks = [spot for spot in loose if spot.operation == READ]
        self.changes = [spot for spot in plain if spot.operation == ATOMIC]
        self.changes += [spot for spot in loose if spot.operation == WRITE]
        fresh = {k for spot in spots for k in regions[spot] if notes.regions[k].fresh}
        self.fresh_regions = [notes.regions[k] for k in fresh]
        private = self.space != GLOBAL
        self.fresh = {s for s in spots if private or regions[s] & fresh}
        if self.space == GLOBAL and len(notes.blocks) < notes.all_blocks:
            self.fresh = set()  # a block that was not noted may have written it

    def held_nothing(self, number: int) -> bool:
        """Return whether an element's array held nothing before the launch."""
        at = number * self.unit
        return any(r.first <= at < r.first + r.size for r in self.fresh_regions)

    def touched(self, block: Block, spot: Spot) -> dict[int, Source]:
        """Return the units a block touched at `spot`, grouped by the next barrier."""
        found = intervals(block, spot.list)
        step, code = self.notes.steps[spot.list], spot.code
        if step == 1 and spot.size == self.unit:
            return found
        each, parts = spot.unit // self.unit, range(spot.size // self.unit)
        cut: dict[int, Source] = {}
        for at, source in found.items():
            for owner, one in source.items():
                own = [n // step * each for n in one if n % step == code]
                if own:
                    own = [n + k for n in own for k in parts]
                    cut.setdefault(at, {})[owner] = own
        return cut

    def timeline(self, block: Block) -> list[tuple[int, Interval]]:
        """Return the accesses of a block between its barriers, in order.

        Each item has the number of the barrier that follows, and the accesses since the
        barrier before. Intervals without accesses are left out.
        """
        found: dict[int, Interval] = {}
        for spot in self.spots:
            for at, source in self.touched(block, spot).items():
                found.setdefault(at, {})[spot] = source
        return sorted(found.items(), key=lambda each: each[0])

    def all_of(self, spots: Iterable[Spot]) -> list[Source]:
        """Return the units touched at `spots` in the whole launch."""
        return [
            source
            for spot in spots
            for block in self.notes.blocks
            for source in self.touched(block, spot).values()
        ]


def intervals(block: Block, number: int) -> dict[int, Source]:
    """Split each thread's list `number` at the block's barriers.

    Returns a dict from the number of the barrier that ends an interval to the entries
    noted in the interval, by thread. Intervals and threads without entries are left
    out.
    """
    lists = block.lists[number]
    if lists is None:
        return {}
    begin = [0] * len(lists)
    last = list(map(len, lists))
    found: dict[int, Source] = {}
    for at, end in enumerate([*(mark[number] for mark in block.marks), last]):
        if end is None or end == begin:
            continue
        if end == last and not found:
            return {at: {t: one for t, one in enumerate(lists) if one}}
        cuts = enumerate(zip(lists, begin, end, strict=True))
        found[at] = {t: one[n:m] for t, (one, n, m) in cuts if n < m}
        begin = end
    return found


def ends(block: Block, number: int, at: int) -> tuple[Lengths, Lengths]:
    """Return where the entries between barriers `at - 1` and `at` begin and end.

    These are positions in each thread's list `number`, from its start if `at` is 0, and
    up to its end if there is no barrier `at`.
    """
    lists = block.lists[number] or []
    none = [0] * len(lists)
    begin = block.marks[at - 1][number] if at else None
    if at == len(block.marks):
        return begin or none, list(map(len, lists))
    return begin or none, block.marks[at][number] or none


# Which arrays share memory


def pieces(notes: Notes) -> Iterator[Memory]:
    """Yield the launch's memory in pieces that share neither a spot nor an array."""
    joined: list[tuple[set[int], list[Spot]]] = []
    regions = {spot: regions_of(notes, spot) for spot in notes.spots}
    for spot, mine in regions.items():
        near = [one for one in joined if meet(notes, mine, one[0])]
        spots = [s for _, some in near for s in some] + [spot]
        joined = [one for one in joined if one not in near]
        joined.append((mine.union(*(others for others, _ in near)), spots))
    for _, spots in joined:
        yield Memory(notes, spots, regions)


def meet(notes: Notes, some: set[int], others: set[int]) -> bool:
    """Return whether any of the regions `some` shares memory with one of `others`."""
    if some & others:
        return True
    pairs = ((notes.regions[a], notes.regions[b]) for a in some for b in others)
    return any(a.overlaps(b) for a, b in pairs)


def regions_of(notes: Notes, spot: Spot) -> set[int]:
    """Return the regions that are touched at `spot`."""
    if spot.region != SEVERAL:
        return {spot.region}
    found: set[int] = set()
    mine = [(k, r) for k, r in enumerate(notes.regions) if r.space == spot.space]
    for block in notes.blocks:
        some = [one for one in notes.numbers(block, spot) or () if one]
        low = min(map(min, some), default=0) * spot.unit
        high = max(map(max, some), default=-1) * spot.unit
        near = {k for k, r in mine if r.first <= high and low < r.first + r.size}
        if len(near - found) > 1:
            numbers = set[int]().union(*some)
            near = {notes.region_at(spot.space, n * spot.unit) for n in numbers}
        found |= near
    return found


# What happens between two barriers


def clash(memory: Memory, interval: Interval) -> set[int]:
    """Return the elements on which accesses by two owners conflict.

    At least one of the accesses writes, and at least one is neither atomic nor relaxed.
    """
    writes, changes, reads, peeks = (
        [interval[spot] for spot in spots if spot in interval]
        for spots in (memory.writes, memory.changes, memory.reads, memory.peeks)
    )
    found: set[int] = set()
    if writes:
        found |= shared_out(writes, [*reads, *peeks, *changes], alone=True)
    if changes and reads:
        found |= shared_out(changes, reads, alone=False)
    return found


def shared_out(own: list[Source], others: list[Source], alone: bool) -> set[int]:
    """Return the elements that one owner has in `own` and another has in `others`.

    alone: whether elements that two owners have in `own` are returned too.
    """
    everything = union(own)
    count = sum(len(one) for source in own for one in source.values())
    mine = owned(own) if count > len(everything) else None
    twice = repeated(mine, everything) if mine is not None else set()
    found = set(twice) if alone else set()
    for source in others:
        if everything.isdisjoint(chain.from_iterable(source.values())):
            continue
        if not twice and source in own:
            continue  # every owner keeps to its own elements
        mine = owned(own) if mine is None else mine
        for owner, one in source.items():
            touched = everything.intersection(one)
            if touched:
                found |= touched.difference(mine.get(owner, ())) | touched & twice
    return found


def union(sources: Iterable[Source]) -> set[int]:
    return set().union(*chain.from_iterable(source.values() for source in sources))


def owned(sources: list[Source]) -> dict[int, set[int]]:
    """Return each owner's elements, collected from all of the sources."""
    found: dict[int, set[int]] = {}
    for source in sources:
        for owner, one in source.items():
            if owner in found:
                found[owner].update(one)
            else:
                found[owner] = set(one)
    return found


def repeated(own: dict[int, set[int]], everything: set[int]) -> set[int]:
    """Return the elements that several owners have."""
    if sum(map(len, own.values())) == len(everything):
        return set()
    times = Counter(chain.from_iterable(own.values()))
    return {n for n, count in times.items() if count > 1}


def early(
    memory: Memory, block: Block, at: int, interval: Interval, *written: set[int]
) -> set[int]:
    """Return the unwritten elements that a block reads in an interval.

    at: the barrier that ends the interval. written: elements written earlier.
    """
    found: set[int] = set()
    for spot, source in interval.items():
        if spot in memory.fresh and spot.operation != WRITE:
            missing = union([source]).difference(*written)
            if missing and spot.region == SEVERAL and memory.space == GLOBAL:
                missing = set(filter(memory.held_nothing, missing))
            if missing and memory.notes.steps[spot.list] == 1:
                missing = read_first(memory, block, at, spot, missing)
            found |= missing
    return found


def read_first(
    memory: Memory, block: Block, at: int, spot: Spot, missing: set[int]
) -> set[int]:
    """Return those of `missing` that a thread read at `spot` before writing them."""
    writers = [
        s for s in memory.fresh if spot.list in s.counts and s.operation == WRITE
    ]
    begin, end = ends(block, spot.list, at)
    found: set[int] = set()
    for thread, numbers in enumerate(block.lists[spot.list] or ()):
        times = range(begin[thread], end[thread])
        reads = first_of(memory, spot, missing, [numbers[k] for k in times], times)
        for writer in writers if reads else ():
            wrote = first_write(memory, block, at, writer, spot.list, thread, missing)
            reads = {n: k for n, k in reads.items() if wrote.get(n, k + 1) > k}
        found.update(reads)
    return found


def first_write(
    memory: Memory,
    block: Block,
    at: int,
    spot: Spot,
    reads: int,
    thread: int,
    missing: set[int],
) -> dict[int, int]:
    """Return how many reads a thread had made when it first wrote each of `missing`.

    reads: which of the thread's lists has these reads. Elements that it never wrote are
    left out.
    """
    lists, counts = block.lists[spot.list], block.lists[spot.counts[reads]]
    if lists is None or counts is None:
        return {}
    begin, end = ends(block, spot.list, at)
    now = slice(begin[thread], end[thread])
    return first_of(memory, spot, missing, lists[thread][now], counts[thread][now])


def first_of(
    memory: Memory,
    spot: Spot,
    missing: set[int],
    numbers: Numbers,
    values: Sequence[int],
) -> dict[int, int]:
    """Return, for each element of `missing` in `numbers`, the first of its `values`."""
    each, parts = spot.unit // memory.unit, range(spot.size // memory.unit)
    pairs = zip(reversed(numbers), reversed(values), strict=True)
    return {
        n * each + k: value
        for n, value in pairs
        for k in parts
        if n * each + k in missing
    }


def stored(memory: Memory, interval: Interval) -> set[int]:
    """Return the elements of fresh memory that were written."""
    some = interval.items()
    return union(
        source
        for spot, source in some
        if spot in memory.fresh and spot.operation == WRITE
    )


def within(
    memory: Memory, block: Block, at: int, interval: Interval, *written: set[int]
) -> set[int]:
    """Return the suspicious elements that a block touched in one interval.

    interval: its accesses between barriers `at - 1` and `at`.
    """
    found = clash(memory, interval) | early(memory, block, at, interval, *written)
    if not found or all(meeting.at != at for meeting in block.meetings):
        return found
    return found & by_warps(memory, block, at, interval, set().union(*written))


# Warps whose lanes have met


def by_warps(
    memory: Memory, block: Block, at: int, interval: Interval, written: set[int]
) -> set[int]:
    """Return the elements that stay suspicious although some lanes have met.

    Lanes that have met know each other's earlier accesses. If groups of such lanes
    overlap, every element that the block touched stays suspicious.
    """
    companies: dict[tuple[int, ...], list[Meeting]] = {}
    for meeting in block.meetings:
        if meeting.at == at:
            companies.setdefault(meeting.threads, []).append(meeting)
    leader = {t: threads[0] for threads in companies for t in threads}
    if len(leader) < sum(map(len, companies)):
        return union(interval.values())
    found = clash(memory, by_company(interval, leader))
    alone = tuple(t for t in range(memory.notes.threads) if t not in leader)
    for threads, meetings in [*companies.items(), (alone, [])]:
        own = company(memory, block, at, threads, meetings)
        known = set(written)
        for number, part in memory.timeline(own):
            found |= clash(memory, part) | early(memory, own, number, part, known)
            known |= stored(memory, part)
    return found


def by_company(interval: Interval, leader: dict[int, int]) -> Interval:
    """Merge the accesses of threads that meet, under the first thread's number."""
    found: Interval = {}
    for spot, source in interval.items():
        whole = found[spot] = {}
        for thread, one in source.items():
            who = leader.get(thread, thread)
            whole[who] = whole[who] + one if who in whole else one
    return found


def company(
    memory: Memory,
    block: Block,
    at: int,
    threads: tuple[int, ...],
    meetings: list[Meeting],
) -> Block:
    """Return, as a block, some threads' accesses between barriers `at - 1` and `at`.

    The block's barriers are the meetings of these threads.
    """
    count = len(block.lists)
    own: list[Lists | None] = [None] * count
    marks: list[list[Lengths | None]] = [[None] * count for _ in meetings]
    for k in {spot.list for spot in memory.spots}:
        lists = block.lists[k]
        if lists is None:
            continue
        begin, end = ends(block, k, at)
        own[k] = [lists[t][begin[t] : end[t]] for t in threads]
        for mark, meeting in zip(marks, meetings, strict=True):
            lengths = meeting.lengths[k] or [begin[t] for t in threads]
            mark[k] = [n - begin[t] for n, t in zip(lengths, threads, strict=True)]
    for spot in memory.spots:
        for reads, counts in spot.counts.items():
            lists = block.lists[counts]
            if lists is not None:
                begin, end = ends(block, spot.list, at)
                less = ends(block, reads, at)[0] or [0] * len(lists)
                own[counts] = [
                    [n - less[t] for n in lists[t][begin[t] : end[t]]] for t in threads
                ]
    return Block(block.number, own, marks)


# The spaces


def of_shared(memory: Memory) -> Iterator[Suspect]:
    """Yield suspects in shared memory.

    Consecutive blocks with equal notes are analysed only once.
    """
    lists = {spot.list for spot in memory.spots}
    lists = lists.union(*(spot.counts.values() for spot in memory.spots))
    last: object = None
    found: set[int] = set()
    for block in memory.notes.blocks:
        lengths = [*block.marks, *(meeting.lengths for meeting in block.meetings)]
        noted = (
            [block.lists[k] for k in lists],
            [[each[k] for k in lists] for each in lengths],
            [(meeting.at, meeting.threads) for meeting in block.meetings],
        )
        if noted != last:
            found, last = of_block(memory, block), noted
        yield from ranges(memory, found, block.number)


def of_block(memory: Memory, block: Block) -> set[int]:
    written: set[int] = set()
    found: set[int] = set()
    for at, interval in memory.timeline(block):
        found |= within(memory, block, at, interval, written)
        written |= stored(memory, interval)
    return found | unfinished(memory)


def unfinished(memory: Memory) -> set[int]:
    """Return the elements that are read and are, at any time, a copy's destination."""
    begun = [spot for spot in memory.spots if "begun" in spot.kinds]
    reads = [spot for spot in memory.spots if spot.operation != WRITE]
    if not begun:
        return set()
    return union(memory.all_of(begun)) & union(memory.all_of(reads))


def of_global(memory: Memory) -> Iterable[Suspect]:
    """Return the suspects in global memory."""
    changing = bool(memory.writes or memory.changes)
    reading = any(spot.operation != WRITE for spot in memory.fresh)
    if not reading and (not changing or separate(memory)):
        return ()
    blocks = memory.notes.blocks
    timelines = {block.number: memory.timeline(block) for block in blocks}
    own: dict[int, set[int]] = {block.number: set() for block in blocks}
    before: set[int] = set()  # written up to the last barrier of the grid
    found = unfinished(memory)
    for grid in range(max(len(block.grids) for block in blocks) + 1):
        together: Interval = {}
        for block in blocks:
            mine = own[block.number]
            ends = [-1, *block.grids, len(block.marks)]
            for at, interval in timelines[block.number]:
                if ends[grid] < at <= ends[grid + 1]:
                    found |= within(memory, block, at, interval, before, mine)
                    mine |= stored(memory, interval)
                    join(together, block.number, interval)
        if len(blocks) > 1:
            found |= clash(memory, together)
        before = before.union(*own.values())
    return ranges(memory, found)


def join(together: Interval, block: int, interval: Interval) -> None:
    """Add what the threads of a block touched to what `together` has for the block."""
    for spot, source in interval.items():
        whole = together.setdefault(spot, {}).setdefault(block, [])
        whole.extend(chain.from_iterable(source.values()))


def separate(memory: Memory) -> bool:
    """Return whether accesses that could conflict touch different elements.

    That is so if every written element is touched only once and no changed element is
    read.
    """

    def entries(spots: list[Spot]) -> list[Numbers]:
        sources = memory.all_of(spots)
        return [one for source in sources for one in source.values()]

    wrote, changed = entries(memory.writes), entries(memory.changes)
    others = [*changed, *entries(memory.peeks), *entries(memory.reads)]
    once = set().union(*wrote)
    if sum(map(len, wrote)) > len(once) or not once.isdisjoint(chain(*others)):
        return False
    reads = chain(*entries(memory.reads))
    return not changed or set().union(*changed).isdisjoint(reads)


def of_local(memory: Memory) -> Iterable[Suspect]:
    """Return the suspects in local memory: elements read before they are written.

    Of consecutive threads that do the same, only the first is analysed.
    """
    lists = sorted({spot.list for spot in memory.spots})
    if len(lists) == 1 and memory.notes.steps[lists[0]] > 1:
        return ranges(memory, of_shared_list(memory, lists[0]))
    counts = {n for spot in memory.spots for n in spot.counts.values()}
    found: set[int] = set()
    last: object = None
    for block in memory.notes.blocks:
        for thread, noted in enumerate(by_thread(memory, block, [*lists, *counts])):
            if noted != last:
                found |= of_thread(memory, block, thread)
                last = noted
    return ranges(memory, found)


def by_thread(memory: Memory, block: Block, lists: list[int]) -> list[list[Any]]:
    """Return each thread's notes in `lists`, and their counts at synchronisations."""
    some = [k for k in lists if block.lists[k] is not None]
    if not some:
        return []
    threads = memory.notes.threads
    columns: list[list[Any]] = [block.lists[k] or [] for k in some]
    columns += [mark[k] or [0] * threads for mark in block.marks for k in some]
    found: list[list[Any]] = [[own] for own in zip(*columns, strict=True)]
    for meeting in block.meetings:
        none = [0] * len(meeting.threads)
        columns = [meeting.lengths[k] or none for k in some]
        own = zip(meeting.threads, zip(*columns, strict=True), strict=True)
        for thread, lengths in own:
            found[thread].append((meeting.at, lengths))
    return found


def of_thread(memory: Memory, block: Block, thread: int) -> set[int]:
    """Return the elements that a thread reads in its own memory before writing them."""
    found: set[int] = set()
    written: set[int] = set()
    for at in range(len(block.marks) + 1):
        meetings = []
        for meeting in block.meetings:
            if meeting.at == at and thread in meeting.threads:
                n = meeting.threads.index(thread)
                mine = [each and [each[n]] for each in meeting.lengths]
                meetings.append(Meeting(at, (thread,), mine))
        own = company(memory, block, at, (thread,), meetings)
        for number, part in memory.timeline(own):
            found |= early(memory, own, number, part, written)
            written |= stored(memory, part)
    return found


def of_shared_list(memory: Memory, number: int) -> set[int]:
    """Return the elements that a thread accesses without having written them first.

    number: the list in which all spots of `memory` note what they access.
    """
    found: set[int] = set()
    last: Numbers = []
    for block in memory.notes.blocks:
        for one in block.lists[number] or ():
            if one != last:
                found |= first_reads(memory, number, one)
                last = one
    return found


def first_reads(memory: Memory, number: int, entries: Numbers) -> set[int]:
    """Return the elements in a thread's `entries` whose first access is not a write."""
    step = memory.notes.steps[number]
    spots = [spot for spot in memory.spots if spot.list == number]
    writes = {s.code for s in spots if s.operation == WRITE and s in memory.fresh}
    wide = {spot.code: spot.size // spot.unit for spot in spots}
    if max(wide.values()) > 1:
        entries = [n + k * step for n in entries for k in range(wide[n % step])]
    entries = entries[::-1]  # so that the first one is kept
    first = dict(zip(map(step.__rfloordiv__, entries), entries, strict=True))
    return {n for n, entry in first.items() if entry % step not in writes}


def ranges(
    memory: Memory, numbers: set[int], block: int | None = None
) -> Iterator[Suspect]:
    """Yield the bytes of the elements `numbers`, in as few ranges as possible."""
    inside = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n + 1 for n in numbers if n + 1 not in numbers)
    for start, stop in zip(inside, ends, strict=True):
        unit = memory.unit
        yield Suspect(memory.space, block, start * unit, stop * unit)
