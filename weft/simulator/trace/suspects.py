"""Proving quickly, from notes, that a launch has no hazard: or saying where one may be.

Two threads race only over an element that both touch between the same two barriers, one
of them writing. A read is early only where no thread had written the element. Sets of
elements show for most kernels that there is neither. What they cannot decide is a
*suspect*: fences, operations of a warp and the order of a thread's own accesses are not
in the notes. Who suspects too much is safe, who suspects nothing has proved it: then
`races`, `unwritten` and `unfinished` of the sanitizer find nothing either.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from weft.simulator.trace.notes import (
    ATOMIC,
    GLOBAL,
    LOCAL,
    READ,
    SEVERAL,
    SHARED,
    WRITE,
    Block,
    Lists,
    Notes,
    Numbers,
    Spot,
)

Source = list[Collection[int]]  # what each owner, a thread or a block, touched


class Suspect(NamedTuple):
    """Bytes from `start` to `stop` of a space that may have to do with a hazard.

    block: whose shared memory, None in the others.
    """

    space: int
    block: int | None
    start: int
    stop: int


def suspects(notes: Notes) -> list[Suspect]:
    """What may be in a race, or read before it is written; [] for a proof of neither."""
    found: list[Suspect] = []
    for memory in pieces(notes):
        if memory.space == LOCAL:
            unwritten = Local(notes, memory).early()
            found += ranges(memory, None, unwritten)
        elif memory.space == SHARED:
            for block in notes.blocks:
                found += ranges(memory, block.number, of_block(memory, block))
        else:
            found += ranges(memory, None, of_grid(notes, memory))
    return found


class Memory:
    """Arrays that share memory, and the spots that touch them, sorted by what they do.

    `unit` divides all that they touch. `changes` are atomic operations and relaxed
    stores: they are fine among themselves, and with `peeks`.
    """

    def __init__(self, notes: Notes, space: int, spots: list[Spot]) -> None:
        self.notes, self.space, self.spots = notes, space, spots
        self.unit = min(spot.unit for spot in spots)
        plain = [spot for spot in spots if "relaxed" not in spot.kinds]
        loose = [spot for spot in spots if "relaxed" in spot.kinds]
        self.reads = [spot for spot in plain if spot.operation == READ]
        self.writes = [spot for spot in plain if spot.operation == WRITE]
        self.peeks = [spot for spot in loose if spot.operation == READ]
        self.changes = [spot for spot in plain if spot.operation == ATOMIC]
        self.changes += [spot for spot in loose if spot.operation == WRITE]
        sampled = space == GLOBAL and len(notes.blocks) < notes.all_blocks
        self.fresh = set() if sampled else {s for s in spots if fresh(notes, s)}
        self.begun = [spot for spot in spots if "begun" in spot.kinds]

    def touched(self, block: Block, spot: Spot, at: int | None = None) -> Lists | None:
        """What threads touch at `spot`, all along or before barrier `at`, in units."""
        lists = self.notes.numbers(block, spot)
        if at is not None:
            lists = between(block, lists, spot.list, at)
        if lists is None or not any(lists):
            return None
        if spot.size == self.unit:
            return lists
        each, parts = spot.unit // self.unit, range(spot.size // self.unit)
        return [[n * each + k for n in one for k in parts] for one in lists]

    def sources(
        self, block: Block, spots: list[Spot], at: int | None = None
    ) -> list[Lists]:
        """What they touch at each of some spots, where that is anything."""
        found = (self.touched(block, spot, at) for spot in spots)
        return [lists for lists in found if lists is not None]


def fresh(notes: Notes, spot: Spot) -> bool:
    """Whether memory that held nothing may be touched at `spot`."""
    if spot.space != GLOBAL:
        return True
    if spot.region == SEVERAL:
        return any(r.fresh for r in notes.regions if r.space == GLOBAL)
    return notes.regions[spot.region].fresh


def between(
    block: Block, lists: Lists | None, number: int, at: int
) -> Lists | None:
    """The part of the lists with this number that was noted just before barrier `at`."""
    marks = block.marks
    if lists is None or not marks:
        return lists
    begin = marks[at - 1][number] if at else None
    end = marks[at][number] if at < len(marks) else None
    if begin is None:
        return [one[:n] for one, n in zip(lists, end or (), strict=True)]
    if end is None:
        return [one[n:] for one, n in zip(lists, begin, strict=True)]
    if begin == end:
        return None
    return [one[n:m] for one, n, m in zip(lists, begin, end, strict=True)]


# Which arrays share memory


def pieces(notes: Notes) -> Iterator[Memory]:
    """The launch's memory, in pieces that no spot and no array joins."""
    joined: list[tuple[set[int], list[Spot]]] = []
    for spot in notes.spots:
        mine = regions_of(notes, spot)
        near = [one for one in joined if meet(notes, mine, one[0])]
        if near:
            mine = mine.union(*(regions for regions, _ in near))
        spots = [s for _, some in near for s in some] + [spot]
        joined = [one for one in joined if one not in near] + [(mine, spots)]
    for _, spots in joined:
        yield Memory(notes, spots[0].space, spots)


def meet(notes: Notes, some: set[int], others: set[int]) -> bool:
    if some & others:
        return True
    pairs = ((notes.regions[a], notes.regions[b]) for a in some for b in others)
    return any(
        a.space == b.space
        and a.first < b.first + b.size
        and b.first < a.first + a.size
        for a, b in pairs
    )


def regions_of(notes: Notes, spot: Spot) -> set[int]:
    if spot.region != SEVERAL:
        return {spot.region}
    lists = [notes.numbers(block, spot) for block in notes.blocks]
    some = [one for each in lists if each is not None for one in each if one]
    ends = {n for one in some for n in (min(one), max(one))}
    found = sorted(notes.region_at(spot.space, n * spot.unit) for n in ends)
    return set(range(found[0], found[-1] + 1)) if found else set()


# Races


def clash(
    writes: list[Source], changes: list[Source], reads: list[Source],
    peeks: list[Source],
) -> set[int]:
    """The elements that two owners touch, one of them writing, not both relaxed."""
    found: set[int] = set()
    if writes:
        wrote = union(writes)
        own: list[set[int]] | None = None
        if sum(map(len, chain.from_iterable(writes))) > len(wrote):
            own = owned(writes)
            found |= repeated(own, wrote)
        for source in [*reads, *peeks, *changes]:
            if wrote.isdisjoint(chain.from_iterable(source)) or source in writes:
                continue
            own = owned(writes) if own is None else own
            for mine, one in zip(own, source, strict=True):
                touched = wrote.intersection(one)
                if not touched <= mine:
                    found |= touched - mine
    if changes and reads:
        changed = union(changes)
        near = [s for s in reads if not changed.isdisjoint(chain.from_iterable(s))]
        if near:
            own = owned(changes)
            twice = repeated(own, changed)
            for source in near:
                for mine, one in zip(own, source, strict=True):
                    touched = changed.intersection(one)
                    found |= touched - mine | touched & twice
    return found


def union(sources: list[Source]) -> set[int]:
    return set().union(*chain.from_iterable(sources))


def owned(sources: list[Source]) -> list[set[int]]:
    """What each owner touched at any of some spots."""
    return [set().union(*each) for each in zip(*sources, strict=True)]


def repeated(own: list[set[int]], everything: set[int]) -> set[int]:
    """The elements that several owners touched."""
    if sum(map(len, own)) == len(everything):
        return set()
    return {n for n, times in Counter(chain.from_iterable(own)).items() if times > 1}


def of_block(memory: Memory, block: Block) -> set[int]:
    """The suspicious elements of a block's shared memory."""
    written: set[int] = set()
    found: set[int] = set()
    for at in range(len(block.marks) + 1):
        found |= interval(memory, block, at, written)
    return found | unfinished(memory, [block])


def interval(memory: Memory, block: Block, at: int, *written: set[int]) -> set[int]:
    """Those between two barriers. `written` is what was before, the last grows."""
    writes = memory.sources(block, memory.writes, at)
    changes = memory.sources(block, memory.changes, at)
    reads = memory.sources(block, memory.reads, at)
    peeks = memory.sources(block, memory.peeks, at)
    found = clash(writes, changes, reads, peeks)
    if memory.fresh:
        for spot in memory.spots:
            if spot in memory.fresh and spot.operation != WRITE:
                lists = memory.touched(block, spot, at)
                if lists is not None:
                    found |= early(lists, written)
        stored = [s for s in memory.spots if s in memory.fresh and s.operation == WRITE]
        written[-1].update(union(memory.sources(block, stored, at)))
    return found


def early(lists: Lists, written: tuple[set[int], ...]) -> set[int]:
    """What is read, and has not been written."""
    if len(written) == 1 and written[0].issuperset(chain.from_iterable(lists)):
        return set()
    return set().union(*lists).difference(*written)


def unfinished(memory: Memory, blocks: list[Block]) -> set[int]:
    """What is read, and the beginning of a copy has been to it."""
    if not memory.begun:
        return set()
    begun = [s for b in blocks for s in memory.sources(b, memory.begun)]
    others = [spot for spot in memory.spots if spot.operation != WRITE]
    reads = [s for b in blocks for s in memory.sources(b, others)]
    return union(begun) & union(reads)


def of_grid(notes: Notes, memory: Memory) -> set[int]:
    """The suspicious elements of global memory."""
    if not memory.writes and not memory.changes and not memory.fresh:
        return set()
    written: set[int] = set()
    found = unfinished(memory, notes.blocks)
    if not memory.fresh and separate(notes, memory):
        return found
    bounds = {b.number: [-1, *b.grids, len(b.marks)] for b in notes.blocks}
    mine: dict[int, set[int]] = {b.number: set() for b in notes.blocks}
    for grid in range(max(map(len, bounds.values()), default=1) - 1):
        for block in notes.blocks:
            ends = bounds[block.number]
            for at in range(ends[grid] + 1, ends[grid + 1] + 1):
                found |= interval(memory, block, at, written, mine[block.number])
        found |= across(notes, memory, bounds, grid)
        for own in mine.values():
            written |= own
    return found


def separate(notes: Notes, memory: Memory) -> bool:
    """Whether every element that is written is touched once."""
    if memory.changes:
        return False
    writes = [s for b in notes.blocks for s in memory.sources(b, memory.writes)]
    wrote = union(writes)
    if sum(map(len, chain.from_iterable(writes))) > len(wrote):
        return False
    others = [*memory.reads, *memory.peeks]
    return all(
        wrote.isdisjoint(chain.from_iterable(source))
        for block in notes.blocks
        for source in memory.sources(block, others)
    )


def across(
    notes: Notes, memory: Memory, bounds: dict[int, list[int]], grid: int
) -> set[int]:
    """Elements over which blocks may race between two barriers of the grid."""
    if len(notes.blocks) == 1:
        return set()

    def flat(spots: list[Spot]) -> list[Source]:
        found: list[Source] = []
        for spot in spots:
            source: Source = []
            for block in notes.blocks:
                ends = bounds[block.number]
                whole: list[int] = []
                for at in range(ends[grid] + 1, ends[grid + 1] + 1):
                    for one in memory.touched(block, spot, at) or ():
                        whole += one
                source.append(whole)
            found.append(source)
        return found

    return clash(
        flat(memory.writes), flat(memory.changes), flat(memory.reads),
        flat(memory.peeks),
    )


class Local:
    """Local memory: the first access of a thread to an element has to be a write."""

    def __init__(self, notes: Notes, memory: Memory) -> None:
        self._notes, self._memory = notes, memory

    def early(self) -> set[int]:
        memory, notes = self._memory, self._notes
        numbers = {spot.list for spot in memory.spots}
        if len(numbers) > 1:  # in which order is not known
            return {
                n
                for block in notes.blocks
                for spot in memory.spots
                if spot.operation != WRITE
                for one in memory.touched(block, spot) or ()
                for n in one
            }
        number = numbers.pop()
        writes = {spot.code for spot in memory.spots if spot.operation == WRITE}
        wide = {spot.code: spot.size // spot.unit for spot in memory.spots}
        step = notes.steps[number]
        found: set[int] = set()
        last: Numbers = []
        for block in notes.blocks:
            for one in block.lists[number] or ():
                if one != last:
                    found |= first_reads(one, step, writes, wide)
                    last = one
        return found


def first_reads(
    entries: Numbers, step: int, writes: set[int], wide: dict[int, int]
) -> set[int]:
    """The elements that a thread did not write first."""
    if max(wide.values()) > 1:
        entries = [
            n + k * step for n in entries for k in range(wide[n % step])
        ]
    first = dict(
        zip(map(step.__rfloordiv__, reversed(entries)), reversed(entries), strict=True)
    )
    return {n for n, entry in first.items() if entry % step not in writes}


def ranges(
    memory: Memory, block: int | None, numbers: Iterable[int]
) -> Iterator[Suspect]:
    """The bytes of some elements, in as few ranges as possible."""
    start = stop = -1
    for n in sorted(numbers):
        if n != stop:
            if stop > 0:
                yield Suspect(memory.space, block, start * memory.unit, stop * memory.unit)
            start = n
        stop = n + 1
    if stop > 0:
        yield Suspect(memory.space, block, start * memory.unit, stop * memory.unit)
