"""A launch whose threads note which elements they touch; see `notes`.

Such notes are faster to make than a record of every access in order. They are enough
for counting costs, and for proving that most kernels have no hazards.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

from weft.simulator.faults import Fault
from weft.simulator.inference.kinds import Kind
from weft.simulator.language.binding import Bound
from weft.simulator.memory.addresses import pointer
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Block, Thread
from weft.simulator.trace.notes import (
    GLOBAL,
    LOCAL,
    SEVERAL,
    SHARED,
    Lists,
    Meeting,
    Notes,
    Region,
    Spot,
)
from weft.simulator.trace.notes import Block as NotedBlock
from weft.simulator.trace.suspects import suspects
from weft.simulator.trace.watched_arrays import Watched, load
from weft.simulator.trace.watched_run import WatchedRun
from weft.simulator.translation.iterations import DURING
from weft.simulator.translation.notes import LOAD, NOTES, OPERATION, Noting

# iterations and accesses before the first look; later ones at 4 times as many
LOOK = 1 << 16
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "constant": GLOBAL}


class Suspicious(Fault):
    """Raised to end a launch that is recorded in notes and may contain a hazard."""


class NotedRun(WatchedRun):
    """A launch that notes what it touches; `noted()` returns the notes afterwards."""

    noting_of = Noting.NUMBERS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._blocks_noted: dict[int, NotedBlock] = {}
        # blocks that may note more, and how many of their accesses have been counted
        self._open: dict[int, int | None] = {}
        self._touched = 0
        self._more: list[Spot] = []  # spots found as the kernel runs
        self._done, self._next_look = 0, LOOK
        # the number of the list of each of these spots, by its key
        self._numbers: dict[Any, int] = {}
        self._unmarked: set[int] = set()  # the numbers of the lists of iterations

    def bind(self, given: tuple[Kind, ...]) -> None:
        super().bind(given)
        self._static = len(self.bound.spots)
        numbers = {number: k for k, (number, _) in enumerate(self.bound.spots)}
        found = (spot.iterations for _, spot in self.bound.spots if spot is not None)
        self._unmarked = {numbers[number] for number in found if number >= 0}

    @property
    def touched(self) -> int:
        """The number of accesses noted so far.

        The accesses of a block that waits for others are added in two parts: when it
        first waits, and when it has ended.
        """
        alive = {block.number for block in self._alive}
        for number, counted in list(self._open.items()):
            if counted is None or number not in alive:
                found = self._touched_in(self._blocks_noted[number])
                self._touched += found - (counted or 0)
                self._open[number] = found
            if number not in alive:
                del self._open[number]
        return self._touched

    def _touched_in(self, block: NotedBlock) -> int:
        lengths = [s is None or s.operation < 0 for _, s in self.bound.spots]
        return sum(
            sum(map(len, lists))
            for k, lists in enumerate(block.lists)
            if lists is not None
            and k not in self._unmarked
            and not (k < self._static and lengths[k])
        )

    # Looking at the notes before there are too many

    def _ended(self, thread: Thread, result: Any) -> None:
        super()._ended(thread, result)
        self._did(thread.looped)

    def _did(self, steps: int) -> None:
        """Count iterations and accesses; from time to time check whether to go on.

        Raises `Suspicious` if `look` was given and the notes do not rule out a hazard.
        """
        self._done += steps
        if self._done < self._next_look or self.recording.look is None:
            return
        self._next_look = 4 * self._done
        if suspects(self.noted()):
            raise Suspicious("seen", "there may be a hazard")

    # Notes

    def attached(self, x: Watched) -> None:
        """Set the number of an array's first element, and its strides in elements."""
        data = x._data
        x._start, size = x._base + pointer(data), data.dtype.itemsize
        x._unit = size if size in (1, 2, 4, 8, 16, 32) else 1
        x._first = x._start // size
        x._steps = tuple(stride // size for stride in data.strides)

    def notes(self) -> dict[str, Any]:
        own = {LOAD: load, NOTES: self._of_current, DURING: self._during}
        return own | self.summing()

    def _of_current(self) -> tuple[Any, ...]:
        """Return the functions with which the current thread takes notes."""
        lists = self._blocks_noted[self.current.block.number].lists[: self._static]
        number = self.current.number
        return tuple([each and each[number].append for each in lists])

    def given_to(
        self, block: Block, bound: Bound, args: tuple[Any, ...]
    ) -> Iterator[tuple[Any, ...]]:
        if bound is self.bound:
            lists: list[Lists | None] = [
                None if spotted is None else [[] for _ in block.threads]
                for _, spotted in bound.spots
            ]
            self._blocks_noted[block.number] = NotedBlock(block.number, lists)
            self._open[block.number] = None
        return super().given_to(block, bound, args)

    def lists(self, block: Block, which: Any) -> Iterable[Any]:
        lists = self._blocks_noted[block.number].lists
        if which != NOTES:
            return _appends(lists[which])
        return zip(*map(_appends, lists), strict=False) if lists else repeat(())

    def accessed(self, x: Watched, offset: int, operation: int, site: Any) -> None:
        """Note an access that the kernel itself does not note."""
        block = self._blocks_noted.get(self.current.block.number)
        if block is None:
            return
        self._did(1)
        special = self.special
        size = (special and special.size) or x.itemsize
        own, every = kinds_of(special)
        at = x._start + offset
        unit = x._unit
        while at % unit or size % unit:
            unit //= 2
        site = self.site(sys._getframe(1)) if site is None else site
        key = site, x._id, operation, unit, size, own
        if key in self._numbers:
            spot = self._more[(self._numbers[key] - self._static) // 2]
            spot.kinds = own | (spot.kinds & every)
        else:
            self._numbers[key] = self._static + 2 * len(self._more)
            self._unmarked.add(self._numbers[key] + 1)
            where, space = self.place_of(site >> OPERATION), _SPACES[x._space]
            spot = Spot(where, operation, space, x._id, unit, size, own | every)
            spot.site = site >> OPERATION
            self._more.append(spot)
        self._add(block, self._numbers[key], at // unit)
        self._add(block, self._numbers[key] + 1, self.current.iteration or 0)

    def _add(self, block: NotedBlock, number: int, entry: int) -> None:
        """Append `entry` to the current thread's list `number`.

        The list is made if it does not exist yet.
        """
        lists = block.lists
        while len(lists) <= number:
            lists.append(None)
        if (each := lists[number]) is None:
            each = lists[number] = [[] for _ in self.current.block.threads]
        each[self.current.number].append(entry)

    # Synchronisation

    def met(self, threads: list[Thread], scope: str) -> None:
        super().met(threads, scope)
        if scope == "warp":
            self._met_in_a_warp(threads)
            return
        for number in {thread.block.number for thread in threads}:
            block = self._blocks_noted.get(number)
            if block is None:
                continue
            if scope == "grid":
                block.grids.append(len(block.marks))
            block.marks.append(
                [
                    None
                    if lists is None or k in self._unmarked
                    else list(map(len, lists))
                    for k, lists in enumerate(block.lists)
                ]
            )

    def _met_in_a_warp(self, threads: list[Thread]) -> None:
        block = self._blocks_noted.get(threads[0].block.number)
        if block is None:
            return
        ranks = tuple(thread.number for thread in threads)
        lengths = [
            None
            if lists is None or k in self._unmarked
            else [len(lists[rank]) for rank in ranks]
            for k, lists in enumerate(block.lists)
        ]
        block.meetings.append(Meeting(len(block.marks), ranks, lengths))

    # The result

    def _spots(self) -> list[Spot | None]:
        """Return each list's spot, in order, with None for a list without accesses."""
        regions = {name: k for k, (space, name) in enumerate(self.addresses.arrays)}
        mine = self.bound.noted
        found: list[Spot | None] = []
        numbers = {number: k for k, (number, _) in enumerate(self.bound.spots)}
        for k, (number, spotted) in enumerate(self.bound.spots):
            if spotted is None or spotted.operation < 0:
                found.append(None)
                continue
            where, flops = mine[number]
            region = regions.get(spotted.array, SEVERAL) if spotted.array else SEVERAL
            space = _SPACES[spotted.space]
            if region != SEVERAL and _SPACES[self.addresses.arrays[region][0]] != space:
                region = SEVERAL
            floating = region == SEVERAL or self.addresses.dtypes[region].kind in "fc"
            spot = Spot(
                where,
                spotted.operation,
                space,
                region,
                spotted.unit,
                kinds=spotted.kinds,
                flops=flops if floating else 0,
                list=k,
            )
            spot.site = number
            spot.counts = {numbers[r]: numbers[c] for r, c in spotted.counts.items()}
            spot.iterations = numbers.get(spotted.iterations, -1)
            found.append(spot)
        for k, spot in enumerate(self._more):
            spot.list = self._static + 2 * k
            spot.iterations = spot.list + 1
            found.append(spot)
        return found

    def given_up(self) -> Notes:
        """Return all notes, and keep none of them.

        The run is part of reference cycles, so anything that it kept would stay in
        memory until the garbage collector ran, perhaps for several launches.
        """
        notes = self.noted()
        self._blocks_noted = {}
        return notes

    def noted(self) -> Notes:
        """Return all notes that have been taken so far."""
        known = self.addresses
        regions = []
        for k, (space, name) in enumerate(known.arrays):
            (first, size), (_, shape) = known.spans[k], known.extents[k]
            dtype = known.dtypes[k]
            kind = f"{dtype.kind}{8 * dtype.itemsize}" if dtype.kind in "iufc" else ""
            regions.append(
                Region(_SPACES[space], first, size, name, kind, shape, known.fresh[k])
            )
        spots = [spot for spot in self._spots() if spot is not None]
        steps = [1] * (self._static + 2 * len(self._more))
        blocks = [replace(block) for block in self._blocks_noted.values()]
        for block in blocks:
            complete(block, len(steps))
        return Notes(
            self.call.__name__,
            self.grid,
            self.block,
            spots,
            regions,
            steps,
            blocks,
            self.arithmetic({}),
            self.barriers_passed(),
            self.partial_barriers(),
            self.excused_places(),
        )


def _appends(lists: Lists | None) -> Iterable[Any]:
    """Return each list's `append` method; without lists, None for each thread."""
    return repeat(None) if lists is None else [one.append for one in lists]


def complete(block: NotedBlock, lists: int) -> None:
    """Extend a block's notes to `lists` lists, and replace empty lists with None.

    A list's length becomes 0 at the barriers and meetings before it was added.
    """
    block.lists = block.lists + [None] * (lists - len(block.lists))
    for k, each in enumerate(block.lists):
        if each is not None and not any(each):
            block.lists[k] = None
    lengths: list[tuple[Any, Any]] = [(mark, None) for mark in block.marks]
    lengths += [(meeting.lengths, meeting.threads) for meeting in block.meetings]
    for found, threads in lengths:
        found += [None] * (lists - len(found))
        for k, each in enumerate(block.lists):
            if each is not None and found[k] is None:
                found[k] = [0] * len(each if threads is None else threads)


def kinds_of(special: Special | None) -> tuple[frozenset[str], frozenset[str]]:
    """Return an operation's kinds, in two sets.

    A spot has the kinds in the second set only if all its operations have them.
    """
    if special is None:
        return frozenset(), frozenset()
    own = special.kinds & {"cas"}
    own |= {"relaxed"} if special.relaxed else set()
    own |= {"begun"} if special.begins else set()
    return frozenset(own), special.kinds & {"one", "known"}
