"""A launch whose threads note which elements they touch; see `notes`.

That is quicker than writing down every access in order, and enough for counting what
they cost, and for proving most kernels free of hazards.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import repeat
from types import FrameType
from typing import Any

import numpy as np

from weft.simulator.inference.kinds import Kind
from weft.simulator.language.binding import Bound
from weft.simulator.memory.arrays import Array, Memory, Record
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Block, Thread
from weft.simulator.trace.notes import (
    ATOMIC,
    GLOBAL,
    LOCAL,
    READ,
    SEVERAL,
    SHARED,
    WRITE,
    Lists,
    Meeting,
    Notes,
    Region,
    Spot,
)
from weft.simulator.trace.notes import Block as NotedBlock
from weft.simulator.trace.watched_run import WatchedRun
from weft.simulator.translation.notes import LOAD, NOTES, OPERATION, Noting

_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "constant": GLOBAL}


class NotedRun(WatchedRun):
    """A launch that notes what it touches; `noted()` gives that afterwards."""

    noting_of = Noting.NUMBERS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._blocks_noted: dict[int, NotedBlock] = {}
        self._open: list[int] = []  # blocks of which nothing has been counted
        self._touched = 0
        self._more: list[Spot] = []  # spots found as the kernel runs
        self._numbers: dict[Any, int] = {}  # of these

    def bind(self, given: tuple[Kind, ...]) -> None:
        super().bind(given)
        self._static = len(self.bound.spots)

    @property
    def touched(self) -> int:
        """How many accesses have been noted; each block is counted once it is over."""
        for number in self._open:
            self._touched += self._touched_in(self._blocks_noted[number])
        self._open.clear()
        return self._touched

    def _touched_in(self, block: NotedBlock) -> int:
        lengths = [s is None or s.operation < 0 for _, s in self.bound.spots]
        return sum(
            sum(map(len, lists))
            for k, lists in enumerate(block.lists)
            if lists is not None and not (k < self._static and lengths[k])
        )

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        number, base = self.addresses.add(data, memory, self.recording.fresh)
        noted = Noted(data, memory, self.fault, written)
        noted.attach(self, number, base)
        return noted

    # Notes

    def notes(self) -> dict[str, Any]:
        return {LOAD: load, NOTES: self._of_current} | self.summing()

    def _of_current(self) -> tuple[Any, ...]:
        """What the current thread notes in."""
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
            self._open.append(block.number)
        return super().given_to(block, bound, args)

    def lists(self, block: Block, which: Any) -> Iterable[Any]:
        lists = self._blocks_noted[block.number].lists
        if which == NOTES:
            return zip(*(_appends(each) for each in lists), strict=False)
        return _appends(lists[which])

    def note(
        self, x: "Noted", offset: int, operation: int, size: int, frame: FrameType
    ) -> None:
        """Note an access that the kernel does not note by itself."""
        block = self._blocks_noted.get(self.current.block.number)
        if block is None:
            return
        special = self.special
        own, every = kinds_of(special)
        at = x._start + offset
        unit = x._unit
        while at % unit or size % unit:
            unit //= 2
        key = self.site(frame), x._id, operation, unit, size, own
        if key in self._numbers:
            spot = self._more[self._numbers[key] - self._static]
            spot.kinds = own | (spot.kinds & every)
        else:
            self._numbers[key] = self._static + len(self._more)
            site, space = key[0], _SPACES[x._space]
            where = self.place_of(site >> OPERATION)
            spot = Spot(where, operation, space, x._id, unit, size, own | every)
            spot.site = site >> OPERATION
            self._more.append(spot)
        number = self._numbers[key]
        lists = block.lists
        while len(lists) <= number:
            lists.append(None)
        if lists[number] is None:
            lists[number] = [[] for _ in self.current.block.threads]
        lists[number][self.current.number].append(at // unit)  # type: ignore[index]

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
                    None if lists is None else list(map(len, lists))
                    for lists in block.lists
                ]
            )

    def _met_in_a_warp(self, threads: list[Thread]) -> None:
        block = self._blocks_noted.get(threads[0].block.number)
        if block is None:
            return
        ranks = tuple(thread.number for thread in threads)
        lengths = [
            None if lists is None else [len(lists[rank]) for rank in ranks]
            for lists in block.lists
        ]
        block.meetings.append(Meeting(len(block.marks), ranks, lengths))

    # The result

    def _spots(self) -> list[Spot | None]:
        """The spots by the numbers of their lists; None for lists of lengths."""
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
            found.append(spot)
        for k, spot in enumerate(self._more):
            spot.list = self._static + k
            found.append(spot)
        return found

    def noted(self) -> Notes:
        """What was noted, once the launch is over."""
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
        steps = [1] * (self._static + len(self._more))
        for block in self._blocks_noted.values():
            complete(block, len(steps))
        return Notes(
            self.call.__name__,
            self.grid,
            self.block,
            spots,
            regions,
            steps,
            list(self._blocks_noted.values()),
            self.arithmetic({}),
            self.barriers_passed(),
            self.partial_barriers(),
            self.excused_places(),
        )


def _appends(lists: Lists | None) -> Iterable[Any]:
    """What adds to each of some lists; None where there are none."""
    return repeat(None) if lists is None else [one.append for one in lists]


def complete(block: NotedBlock, lists: int) -> None:
    """Say something of all `lists`, also of those found late and those never used."""
    block.lists += [None] * (lists - len(block.lists))
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
    """What an operation is, and what a spot is if all its operations are."""
    if special is None:
        return frozenset(), frozenset()
    own = special.kinds & {"cas"}
    own |= {"relaxed"} if special.relaxed else set()
    own |= {"begun"} if special.begins else set()
    return frozenset(own), special.kinds & {"one", "known"}


class Noted(Array):
    """An array of which a translated kernel notes the numbers of elements."""

    __slots__ = (
        "_base",
        "_fields",
        "_first",
        "_id",
        "_run",
        "_start",
        "_steps",
        "_unit",
    )

    def attach(self, run: NotedRun, number: int, base: int) -> None:
        """Say where the notes go; `base` is the address of NumPy's address 0."""
        data = self._data
        self._run, self._id, self._base = run, number, base
        self._fields: dict[str, Array] = {}
        self._start = base + int(data.__array_interface__["data"][0])
        size = data.dtype.itemsize
        self._unit = size if size in (1, 2, 4, 8, 16, 32) else 1
        self._first = self._start // size
        self._steps = tuple(stride // size for stride in data.strides)

    def __getitem__(self, index: Any) -> Any:
        return self._load(index, 0)

    def _load(self, index: Any, site: int) -> Any:
        found = self._read(index)
        if not isinstance(found, (Array, Record)):
            special = self._run.special
            atomic = special is not None and special.kinds
            self._note(index, ATOMIC if atomic else READ)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index, "write")
        part = self._data[index]
        if isinstance(part, np.ndarray) and part.ndim:
            self._read(index)._fill(value)
            return
        self._store(index, value)
        special = self._run.special
        if special is None or not special.kinds:  # an atomic is noted as it reads
            self._note(index, WRITE)

    def _fill(self, value: Any) -> None:
        """Store to every element: `x[2:5] = y` is three loads and three stores."""
        loads = isinstance(value, Noted) and value.shape == self.shape
        if not loads:
            whole = value._data if isinstance(value, Array) else value
            try:
                value = np.broadcast_to(np.asarray(whole), self.shape)
            except ValueError as error:
                self._fault("shape", f"{self._name} cannot take this: {error}")
        for at in np.ndindex(*self.shape):
            index = at if len(at) > 1 else at[0]
            self._store(index, value[index])
            self._note(index, WRITE)

    def _note(self, index: Any, operation: int) -> None:
        """Note an access to the element at `index`."""
        run, special = self._run, self._run.special
        if special is not None and special.counted:
            return
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, (slice, str)) for p in parts):
            return
        strides = zip(parts, self._data.strides, strict=False)
        offset = sum(int(part) * stride for part, stride in strides)
        size = self._data.itemsize
        if special is not None:
            special.counted = special.size > 0
            size = special.size or size
        run.note(self, offset, operation, size, sys._getframe(2))

    def field(self, name: str) -> Array:
        if name not in self._fields:
            data = self._data[name]
            number = self._run.addresses.field(self._id, data.dtype)
            self._fields[name] = self._view(data, self._written, number)
        return self._fields[name]

    def view(self, dtype: Any) -> Array:
        found = super().view(dtype)
        assert isinstance(found, Noted)
        number = self._run.addresses.retyped(self._id, found.dtype)
        found.attach(self._run, number, self._base)
        return found

    def _view(
        self,
        data: np.ndarray[Any, Any],
        written: np.ndarray[Any, Any] | None,
        number: int | None = None,
    ) -> "Array":
        view = Noted(data, self._memory, self._fault, written)
        view.attach(self._run, self._id if number is None else number, self._base)
        return view

    def as_one(self, size: int) -> Any:
        return self._run.specially(Special(size=size))


def load(x: Any, index: Any, site: int) -> Any:
    """What `x[i]` becomes in a kernel where no shorter way is known."""
    return x._load(index, site) if isinstance(x, Noted) else x[index]
