"""Every access of a simulated launch, as NumPy columns: one row per access."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from weft.places import Place, named, unravel
from weft.simulator.limits import WARP, Dim
from weft.simulator.trace.clocks import View
from weft.simulator.trace.columns import Columns

READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2

Index = tuple[int, ...]


@dataclass
class Copied:
    """A bulk copy, and the state of its mbarrier when it began.

    bar: the mbarrier that counts its bytes. phase: how many phases of this mbarrier
    were complete. announced: whether bytes had been announced there. arrived: the row
    before which the copy arrived; None if it never has.
    """

    bar: str
    phase: int
    announced: bool
    arrived: int | None = None


@dataclass
class Apart:
    """An operation that runs alongside the threads.

    thread: the number of the thread that started it.
    """

    call: str
    thread: int
    place: Place


@dataclass
class Held:
    """Registers that a product uses or changes, from row `row` to row `landed`.

    thread: the number, in the whole grid, of the thread that holds them. start: their
    address. change: whether the product changes them. committed: the row before which
    the product's group was committed. kept: the row before which `hold` was called, or
    another product was begun, after the wait at the place `waited`. What has not
    happened is None.
    """

    call: str
    thread: int
    name: str
    start: int
    nbytes: int
    change: bool
    site: int
    place: Place
    row: int = 0
    committed: int | None = None
    landed: int | None = None
    waited: Place | None = None
    kept: int | None = None


@dataclass
class Mismatch:
    """An operand read with a swizzle other than that used to load its array.

    of: the array's name. one: the operation that reads the operand.
    """

    one: int
    call: str
    place: Place
    of: str
    wanted: int
    found: int


@dataclass
class Bulk:
    """The operations that run alongside a launch's threads, and the waits for them.

    copies: bulk loads, by the row at which they begin. passes: for each completed wait
    at an mbarrier, the row, the thread's number in the whole grid, the mbarrier, and
    how many of its phases were complete. apart: operations, by the number that each
    has instead of a thread's number. fences: the rows of fences of the async proxy.
    waits: for each `wgmma_wait`, the row, the thread's number, how many groups it does
    not wait for, and how many it left running. ends: for each block, the views of its
    threads when they ended.
    remote: whether a block has accessed another's shared memory.
    """

    copies: dict[int, Copied] = field(default_factory=dict)
    passes: list[tuple[int, int, str, int]] = field(default_factory=list)
    apart: dict[int, Apart] = field(default_factory=dict)
    fences: list[int] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    waits: list[tuple[int, int, int, int]] = field(default_factory=list)
    ends: dict[int, list[int]] = field(default_factory=dict)
    remote: bool = False


@dataclass
class Trace:
    """The accesses of one launch, in the order in which they happened.

    Columns with one entry per access: `view` (index into `views`), `site` (into
    `places`), `array` (into `arrays`), `space` (GLOBAL, SHARED, LOCAL), `address` and
    `size` in bytes, `operation` (READ, WRITE, ATOMIC). Each space has its own
    addresses; two arrays overlap only if they share memory. `atomics` has the rows of
    compare-and-swaps ("cas"), of additions of 1 ("one"), of operations on an element
    whose index does not depend on data ("known"), of relaxed loads and stores
    ("relaxed": READ and WRITE in `operation`), and of the stores that represent the
    beginning of an asynchronous copy ("begun"). `flops` counts the floating-point
    operations of each line. `blocks` out of `all_blocks` were recorded. `partial` lists
    the barriers that a block passed without some of its threads: block, place, and the
    threads that came. `excused` lists the warp operations that lanes of the mask missed
    because they had ended. `barriers` counts, for each block and place, how many times
    the block passed the barrier at that place. `extents` has the address and the shape
    of each array, with () as the shape if its elements are not contiguous. `bulk` has
    the operations that run alongside the threads. `iterations` has the number of the
    iteration for rows at which lanes may be out of step.
    """

    places: list[Place]
    arrays: list[str]
    dtypes: list[np.dtype[Any]]
    fresh: list[bool]
    views: list[View]
    view: Columns
    site: Columns
    array: Columns
    space: Columns
    address: Columns
    size: Columns
    operation: Columns
    atomics: dict[str, Columns]
    bases: dict[str, int]
    flops: dict[Place, int]
    name: str
    grid_size: Dim
    block_size: Dim
    blocks: int
    all_blocks: int
    partial: list[tuple[int, Place, frozenset[int]]] = field(default_factory=list)
    excused: list[Place] = field(default_factory=list)
    barriers: Counter[tuple[int, Place]] = field(default_factory=Counter)
    extents: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    bulk: Bulk = field(default_factory=Bulk)
    iterations: dict[int, int] = field(default_factory=dict)

    def of_views(self, name: str) -> Columns:
        """Return the attribute `name` of every view, or `[0]` if there are no views."""
        return np.array([getattr(v, name) for v in self.views] or [0], np.int64)

    def _of_view(self, name: str) -> Columns:
        return self.of_views(name)[self.view]

    @cached_property
    def block(self) -> Columns:
        return self._of_view("block")

    @cached_property
    def remote(self) -> Columns:
        """For each access, whether it is to another block's shared memory."""
        if not self.bulk.remote:
            return np.zeros(len(self), bool)
        found: Columns = (self._of_view("memory") >= 0) & (self.space == SHARED)
        return found

    @cached_property
    def owner(self) -> Columns:
        """For each access, the block whose shared memory it touches.

        For any other memory, it is the block that makes the access.
        """
        if not self.bulk.remote:
            return self.block
        return np.where(self.remote, self._of_view("memory"), self.block)

    @cached_property
    def iteration(self) -> Columns:
        """For each access, the rank of its iteration; 0 where lanes are in step."""
        found = np.zeros(len(self), np.int64)
        rank = {at: k for k, at in enumerate(sorted(set(self.iterations.values())), 1)}
        rows = [row for row in self.iterations if row < len(self)]
        found[rows] = [rank[self.iterations[row]] for row in rows]
        return found

    @cached_property
    def thread(self) -> Columns:
        """For each access, its thread's rank in the block."""
        return self._of_view("thread")

    @cached_property
    def epoch(self) -> Columns:
        """For each access, how many barriers its thread had passed before it."""
        return self._of_view("epoch")

    @property
    def warp(self) -> Columns:
        return self.thread // WARP

    def __len__(self) -> int:
        return len(self.site)

    def stores(self, name: str, byte: int | None = None) -> Columns:
        """Return the rows of stores to the global array `name`, or to a byte of it."""
        if byte is None:
            mine = np.array([a == name for a in self.arrays] or [False])[self.array]
        else:
            at = self.bases[name] + byte
            mine = (self.address <= at) & (at < self.address + self.size)
        return np.flatnonzero(mine & (self.space == GLOBAL) & (self.operation != READ))

    def element(self, row: int) -> str:
        """Format the element that the access at `row` touches, such as `tile[3, 7]`.

        If the access touches several, formats the first. Returns '' if the index is
        unknown.
        """
        array = int(self.array[row])
        start, shape = self.extents[array] if self.extents else (0, ())
        if not shape:
            return ""
        at = (int(self.address[row]) - start) // self.dtypes[array].itemsize
        index = np.unravel_index(at, shape)
        return f"{self.arrays[array]}[{', '.join(str(int(i)) for i in index)}]"

    def by(self, row: int) -> tuple[Index, Index]:
        """Return the indices of the thread and block that made the access at `row`."""
        thread, block = int(self.thread[row]), int(self.block[row])
        return unravel(thread, self.block_size), unravel(block, self.grid_size)

    def thread_at(self, row: int, with_block: bool = False) -> str:
        """Name the thread of access `row`: 'thread 3' or 'thread 3 of block 0'."""
        thread, block = self.by(row)
        return f"thread {named(thread)}" + f" of block {named(block)}" * with_block

    def last_store(self, name: str, byte: int) -> int | None:
        """Return the row of the last store to a byte of the array `name`, or None."""
        hit = self.stores(name, byte)
        return int(hit[-1]) if hit.size else None
