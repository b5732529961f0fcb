"""Counters over the notes of a launch: requests, sectors, conflicts, bytes, arithmetic.

The numbers are those that Nsight Compute reports for the same kernel, as long as the
compiler does what the source says. A *request* is one instruction executed by one warp.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks"; Nsight Compute, metrics `l1tex__t_sectors`,
`l1tex__t_requests` and `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from operator import add

from weft.places import Place
from weft.simulator.trace import costs
from weft.simulator.trace.costs import SECTOR, WORD
from weft.simulator.trace.lines import Line, Work
from weft.simulator.trace.notes import (
    ATOMIC,
    GLOBAL,
    LOCAL,
    READ,
    SEVERAL,
    SHARED,
    Lists,
    Notes,
    Spot,
)
from weft.simulator.trace.shapes import Shapes


class Counted:
    """The counts that follow from `notes`, each computed when it is first requested."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    @cached_property
    def _instructions(self) -> list["Instruction"]:
        """The requests of each spot to each region, ordered by spot, then by region."""
        notes = self._notes
        found: dict[tuple[int, int], Shapes] = {}
        for block in notes.blocks:
            for k, spot in enumerate(notes.spots):
                lists = None
                if spot.space != LOCAL:
                    lists = notes.numbers(block, spot)
                if lists is None or not any(lists):
                    continue
                iterations = notes.iterations(block, spot)
                for region, own, when in _by_region(notes, spot, lists, iterations):
                    if (k, region) not in found:
                        found[k, region] = Shapes()
                    found[k, region].add(own, when)
        return [
            Instruction(notes, k, region, found[k, region])
            for k, region in sorted(found)
        ]

    @cached_property
    def lines(self) -> list[Line]:
        found: dict[tuple[int, int, int], Line] = {}
        for each in self._instructions:
            key, line = each.key, each.line
            found[key] = together(found[key], line) if key in found else line
        lines = [found[key] for key in sorted(found)]
        return sorted(lines, key=lambda line: (line.place.line, line.store))

    @cached_property
    def work(self) -> list[Work]:
        notes = self._notes
        places = [replace(spot.place, expression="") for spot in notes.spots]
        found = {place: Sum() for place in [*places, *notes.sums]}
        for each in self._instructions:
            found[places[each.spot]].add(each, notes.spots[each.spot])
        for k, times in local_accesses(notes).items():
            own, spot = found[places[k]], notes.spots[k]
            own.bytes[LOCAL] += times * spot.size
            own.flops += times * spot.flops
        for place, flops in notes.sums.items():
            found[place].flops += flops
        work = [own.work(place) for place, own in found.items()]
        return sorted(work, key=lambda w: w.place.line if w.place else 0)

    @cached_property
    def total(self) -> Work:
        touched = set[int]().union(*(each.touched for each in self._instructions))
        return Work(
            None,
            requested=sum(w.requested for w in self.work),
            moved=sum(w.moved for w in self.work),
            touched=len(touched) * SECTOR,
            shared=sum(w.shared for w in self.work),
            local=sum(w.local for w in self.work),
            flops=sum(w.flops for w in self.work),
        )

    def most_loads(self, space: int) -> int:
        """Return the largest number of loads from `space` by a single thread.

        Loads by `peek` do not count.
        """
        notes = self._notes
        spots = [s for s in notes.spots if s.space == space and s.operation == READ]
        spots = [spot for spot in spots if "relaxed" not in spot.kinds]
        most = 0
        for block in notes.blocks:
            made = [0] * notes.threads
            for spot in spots:
                lists = notes.numbers(block, spot)
                if lists is not None:
                    made = list(map(add, made, map(len, lists)))
            most = max(most, *made)
        return most


class Sum:
    """The total work of a line. `bytes` has a number for each memory space."""

    def __init__(self) -> None:
        self.bytes, self.moved, self.flops = [0, 0, 0], 0, 0
        self.touched: set[int] = set()

    def add(self, instruction: "Instruction", spot: Spot) -> None:
        line = instruction.line
        self.bytes[spot.space] += line.bytes
        self.moved += line.sectors * SECTOR
        self.flops += line.lanes * spot.flops
        self.touched |= instruction.touched

    def work(self, place: Place) -> Work:
        return Work(
            place,
            requested=self.bytes[GLOBAL],
            moved=self.moved,
            touched=len(self.touched) * SECTOR,
            shared=self.bytes[SHARED],
            local=self.bytes[LOCAL],
            flops=self.flops,
        )


def together(one: Line, other: Line) -> Line:
    """Return `one` with the counts of `other`, of the same instruction, added."""
    names = "requests sectors ideal conflicts lanes bytes divergent".split()
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    return replace(one, **sums)


class Instruction:
    """A spot's requests to one region: their `line`, and the sectors `touched`."""

    def __init__(self, notes: Notes, number: int, region: int, shapes: Shapes) -> None:
        """Count the requests. number: the number of the spot."""
        self.spot, self._spot = number, notes.spots[number]
        self._region = notes.regions[region]
        self.key = self._spot.site, region, self._spot.operation
        self._firsts = shapes.firsts
        self._turns = self._take_turns()
        self.touched: set[int] = set()
        self._requests = self._lanes = self._sectors = self._ideal = self._extra = 0
        for mask, firsts in shapes.firsts.items():
            for shape, own in firsts.items():
                self._requests += len(own)
                self._lanes += len(own) * mask.bit_count()
                self._add(mask, shape, own)
        self.line = self._line(shapes.divergent)

    def _line(self, divergent: int) -> Line:
        spot = self._spot
        return Line(
            spot.place,
            self._region.name,
            spot.space == SHARED,
            spot.operation != READ,
            self._requests,
            sectors=self._sectors,
            ideal=self._ideal,
            conflicts=self._extra,
            lanes=self._lanes,
            bytes=self._lanes * spot.size,
            divergent=divergent,
            atomic=spot.operation == ATOMIC,
        )

    def _take_turns(self) -> bool:
        """Return whether lanes with the same address wait for each other.

        Lanes in atomic operations do, with two exceptions. The hardware combines
        additions of 1 by several lanes to a word of shared memory. And if all threads
        change the same integer in global memory, at an index that does not depend on
        data, the compiler reduces their values first and has one lane add the result.
        """
        spot = self._spot
        if spot.operation != ATOMIC:
            return False
        if spot.space == SHARED:
            return "one" not in spot.kinds
        whole = self._region.type[:1] in ("i", "u")
        return not (whole and "known" in spot.kinds and self._one_element())

    def _one_element(self) -> bool:
        shapes = {shape for firsts in self._firsts.values() for shape in firsts}
        found = [own for firsts in self._firsts.values() for own in firsts.values()]
        return shapes == {0} and len(set().union(*found)) == 1

    def _add(self, mask: int, shape: int, firsts: list[int]) -> None:
        """Add the costs of the requests of one shape."""
        spot, lanes = self._spot, mask.bit_count()
        unit, size, turns = spot.unit, spot.size, self._turns
        if spot.space == SHARED:
            loads = spot.operation == READ
            for start, own in _by_start(firsts, WORD // unit):
                cost = costs.passes(shape, mask, start, unit, size, turns, loads)
                self._ideal += cost[0] * len(own)
                self._extra += cost[1] * len(own)
            return
        each = SECTOR // unit
        for start, own in _by_start(firsts, each):
            moved, ideal, at = costs.sectors(shape, lanes, start, unit, size, turns)
            self._sectors += moved * len(own)
            self._ideal += ideal * len(own)
            bases = {first // each for first in own}
            fewer, more = (bases, at) if len(bases) < len(at) else (at, bases)
            for sector in fewer:
                self.touched.update(map(sector.__add__, more))


def _by_start(numbers: list[int], each: int) -> list[tuple[int, list[int]]]:
    """Group numbers by their remainders modulo `each`, a power of two.

    If `each` is 0, all of them form one group.
    """
    if each <= 1:
        return [(0, numbers)]
    starts = set(map((each - 1).__and__, numbers))
    if len(starts) == 1:
        return [(starts.pop(), numbers)]
    found: dict[int, list[int]] = {start: [] for start in starts}
    for n in numbers:
        found[n & each - 1].append(n)
    return list(found.items())


Touched = tuple[int, Lists, Lists | None]  # region, numbers, iterations


def _by_region(
    notes: Notes, spot: Spot, lists: Lists, iterations: Lists | None
) -> Iterator[Touched]:
    """Yield the elements that a block touched at a spot, region by region."""
    if spot.region != SEVERAL:
        yield spot.region, lists, iterations
        return
    some = [one for one in lists if one]
    low, high = min(map(min, some)), max(map(max, some))
    first = notes.region_at(spot.space, low * spot.unit)
    if first == notes.region_at(spot.space, high * spot.unit):
        yield first, lists, iterations
        return
    yield from _split(notes, spot, lists, iterations)


def _split(
    notes: Notes, spot: Spot, lists: Lists, iterations: Lists | None
) -> Iterator[Touched]:
    """Yield each region's part of the lists of a spot that touches several regions.

    Where regions overlap, only one of them gets the accesses.
    """
    mine = [k for k, r in enumerate(notes.regions) if r.space == spot.space]
    mine.sort(key=lambda k: (notes.regions[k].first, -notes.regions[k].size))
    before = 0
    for k in mine:
        region = notes.regions[k]
        low = max(before, region.first) // spot.unit
        before = max(before, region.first + region.size)
        high = before // spot.unit
        own = [[n for n in one if low <= n < high] for one in lists]
        when = iterations and [
            [i for n, i in zip(*both, strict=False) if low <= n < high]
            for both in zip(lists, iterations, strict=True)
        ]
        if any(own):
            yield k, own, when


def local_accesses(notes: Notes) -> Counter[int]:
    """Count each spot's accesses to local memory.

    Most threads access their local memory alike, so a run of equal lists is examined
    only once.
    """
    found: Counter[int] = Counter()
    spots = {
        (spot.list, spot.code): k
        for k, spot in enumerate(notes.spots)
        if spot.space == LOCAL
    }
    for number in {each for each, _ in spots}:
        step = notes.steps[number]
        for one, times in _runs(notes, number):
            codes = Counter(map(step.__rmod__, one)) if step > 1 else {0: len(one)}
            for code, each in codes.items():
                found[spots[number, code]] += each * times
    return found


def _runs(notes: Notes, number: int) -> Iterator[tuple[list[int], int]]:
    """Yield one list and the run length for each run of equal lists numbered `number`.

    The first pair is `([], 0)` unless the first list is empty.
    """
    last: list[int] = []
    times = 0
    for block in notes.blocks:
        for one in block.lists[number] or ():
            if one != last:
                yield last, times
                last, times = one, 0
            times += 1
    yield last, times
