"""Every access of a simulated launch, written down.

`TracedRun` is a `Run` whose arrays note who touched what, from which line, and what
that thread could know of the others at that moment. `Trace` is the result: one row an
access, as NumPy columns.
"""

import contextlib
import struct
import sys
from array import array as numbers
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .columns import Columns
from .faults import Fault, Place, place
from .limits import WARP, Dim
from .memory import Array, Record
from .noting import LOAD, SUMS
from .scheduler import Run, Thread

READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "constant": GLOBAL}
_ALIGNMENT = 256  # bytes: where a GPU's allocator puts an array
_FIELDS = 4  # of an entry of the log: place and operation, array, two indices
_OPERATION = 3  # bits of the operation in the first of them
_VECTOR = 4  # in the operation: the access is one of 16 bytes
_MOST_SITES = 1 << 16  # numbers of places: see `TracedRun.site`
_PACK = 1 << 18  # numbers in the log, after which they are packed
_LOOK = 1 << 16  # accesses, after which `look` is asked; then after 4 times as many

MOST_BLOCKS = 64  # written down; of a larger grid a sample
MOST_ACCESSES = 2_000_000  # after which no further block is begun


@dataclass(frozen=True)
class Known:
    """What a thread learnt of others through atomics: a piece of a vector clock.

    `blocks[b] = e`: everything block b did before its barrier e. `threads[t] = row`:
    everything thread t (numbered over the whole grid) did before that row.
    """

    blocks: dict[int, int]
    threads: dict[int, int]

    def with_(self, other: "Known") -> "Known":
        return Known(
            _latest(self.blocks, other.blocks), _latest(self.threads, other.threads)
        )


EVERYONE = -1
Passed = dict[int, Known]  # what is known, by the block that may learn it, or EVERYONE


def _joined(a: Passed, b: Passed) -> Passed:
    return a | {to: a[to].with_(k) if to in a else k for to, k in b.items()}


def _latest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()}


class View:
    """What one thread knows of the others between two synchronisations.

    `epoch` counts the barriers its block has passed, `grid` those of the whole grid;
    `lanes[k]` is the row before which everything lane k did is known. `thread` is the
    rank in its block, `number` that in the whole grid.
    """

    __slots__ = (
        "block",
        "epoch",
        "grid",
        "index",
        "known",
        "lane",
        "lanes",
        "number",
        "thread",
        "warp",
        "who",
    )

    def __init__(
        self,
        who: tuple[int, int, int, int, int],
        index: int,
        epoch: int = 0,
        grid: int = 0,
        lanes: tuple[int, ...] | None = None,
        known: Known | None = None,
    ) -> None:
        self.who = who
        self.thread, self.block, self.number, self.warp, self.lane = who
        self.index, self.epoch, self.grid = index, epoch, grid
        self.lanes, self.known = lanes, known

    def sees(self, row: int, other: "View") -> bool:
        """Whether row `row`, made under `other`, happens before what is made now."""
        if other.number == self.number or other.grid < self.grid:
            return True
        if other.block == self.block:
            if other.epoch < self.epoch:
                return True
            if other.warp == self.warp and self.lanes and row < self.lanes[other.lane]:
                return True
        known = self.known
        return known is not None and (
            known.blocks.get(other.block, 0) > other.epoch
            or known.threads.get(other.number, 0) > row
        )


@dataclass
class Trace:
    """The accesses of one launch, in the order in which they happened.

    Columns with one entry an access: `view` (index into `views`), `site` (into
    `places`), `array` (into `arrays`), `space` (GLOBAL, SHARED, LOCAL), `address` and
    `size` in bytes, `operation` (READ, WRITE, ATOMIC). Addresses are those of each
    space; two arrays overlap only where they share memory. `atomics` are the rows of
    compare-and-swaps ("cas"), of additions of 1 ("one"), of operations on an element
    that is no matter of data ("known") and of relaxed loads and stores ("relaxed": READ
    and WRITE in `operation`), `flops` the floating-point operations of each line.
    `blocks` of `all_blocks` were written down. `partial` lists the barriers that a
    block passed without some of its threads: block, place, and who came. `barriers`
    gives for block and place how often the block passed the barrier there. `extents`
    gives for each array where it begins, and its shape, () for one whose elements do
    not follow one another.
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
    barriers: Counter[tuple[int, Place]] = field(default_factory=Counter)
    extents: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def of_views(self, name: str) -> Columns:
        """An attribute of every view."""
        return np.array([getattr(v, name) for v in self.views] or [0], np.int64)

    def _of_view(self, name: str) -> Columns:
        return self.of_views(name)[self.view]

    @cached_property
    def block(self) -> Columns:
        return self._of_view("block")

    @cached_property
    def thread(self) -> Columns:
        """The thread's rank in its block."""
        return self._of_view("thread")

    @cached_property
    def epoch(self) -> Columns:
        """How many barriers the thread had passed."""
        return self._of_view("epoch")

    @cached_property
    def grid_epoch(self) -> Columns:
        return self._of_view("grid")

    @property
    def warp(self) -> Columns:
        return self.thread // WARP

    def __len__(self) -> int:
        return len(self.site)

    def stores(self, name: str, byte: int | None = None) -> Columns:
        """The rows of stores to the global array `name`, or to one byte of it."""
        if byte is None:
            mine = np.array([a == name for a in self.arrays] or [False])[self.array]
        else:
            at = self.bases[name] + byte
            mine = (self.address <= at) & (at < self.address + self.size)
        return np.flatnonzero(mine & (self.space == GLOBAL) & (self.operation != READ))

    def element(self, row: int) -> str:
        """What the access at `row` touches, as `tile[3, 7]`; '' where that is unclear.

        Of several elements it is the first.
        """
        array = int(self.array[row])
        start, shape = self.extents[array] if self.extents else (0, ())
        if not shape:
            return ""
        at = (int(self.address[row]) - start) // self.dtypes[array].itemsize
        index = np.unravel_index(at, shape)
        return f"{self.arrays[array]}[{', '.join(str(int(i)) for i in index)}]"

    def last_store(self, name: str, byte: int) -> int | None:
        """The row of the last store to byte `byte` of the global array `name`."""
        hit = self.stores(name, byte)
        return int(hit[-1]) if hit.size else None


class TracedRun(Run):
    """A launch that writes down its accesses; `trace()` gives them afterwards.

    An access is four small integers in a list: that is quickest, and every so often
    they are packed. Who it was follows from when `started` was called. `look` is
    shown the trace so far, now and then where it is long; it may raise to end the run.
    """

    patience = 150_000
    look: Callable[[Trace], None] | None = None

    def __init__(self, *args: Any) -> None:
        self.log = self.new_log()
        self._packed: list[Columns] = []
        self._kept = 0
        self._next_look = _LOOK
        self._memory: list[tuple[int, int, int, int]] = []
        self.atomic = False
        self.kinds: set[str] = set()  # of the atomic operation going on
        self.relaxing = ""  # the relaxed access going on: 'peek' or 'poke'
        kinds = "cas", "one", "known", "relaxed"
        self.atomics: dict[str, list[int]] = {kind: [] for kind in kinds}
        self.noting = True
        self._flops: dict[int, int] = {}
        super().__init__(*args)
        self._sites: dict[int, int] = {}
        self._instructions: list[tuple[CodeType, int]] = []
        self._turns, self._turn_views = numbers("q"), numbers("q")
        self._views: list[View] = []
        self._of: dict[Thread, View] = {}
        self._arrays: list[tuple[str, str]] = []
        self._dtypes: list[np.dtype[Any]] = []
        self._fresh: list[bool] = []
        self._extents: list[tuple[int, tuple[int, ...]]] = []
        self._ids: dict[tuple[str, str, int], int] = {}
        self._regions: list[tuple[int, int, int]] = []
        self._regions_of: dict[tuple[str, Any], int] = {}
        self._bases: dict[tuple[str, str], int] = {}
        self._retyped: dict[tuple[int, np.dtype[Any]], int] = {}
        self._ends = dict.fromkeys(_SPACES, 0)
        self._released: dict[tuple[str, int | None, int], Passed] = {}
        self._fenced: dict[Thread, Passed] = {}
        gx, gy, gz = self.grid
        self._blocks = gx * gy * gz
        self._sample = sample(self._blocks)
        self._noted: set[int] = set()
        self._partial: list[tuple[int, tuple[CodeType, int], frozenset[int]]] = []
        self._passed: Counter[tuple[int, tuple[CodeType, int]]] = Counter()

    def new_log(self) -> list[int]:
        return []

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        name: str,
        space: str,
        site: Any = None,
        written: np.ndarray[Any, Any] | None = None,
        readonly: bool = False,
    ) -> Array:
        root = data
        while isinstance(root.base, np.ndarray):
            root = root.base
        low, high = np.lib.array_utils.byte_bounds(root)
        base = self._base(space, name if site is None else site, low, high)
        key = space, name, base
        if key not in self._ids:
            self._ids[key] = len(self._arrays)
            self._arrays.append((space, name))
            self._dtypes.append(data.dtype)
            self._fresh.append(space != "global" or name in self.fresh)
            begin = base - low + _pointer(data)
            self._extents.append((begin, data.shape if data.flags.c_contiguous else ()))
            self._bases.setdefault((space, name), begin)
        traced = traced_class(data)(data, name, space, self.fault, written, readonly)
        traced.attach(self, self._ids[key], base - low)
        return traced

    def field(self, array: int, dtype: np.dtype[Any]) -> int:
        """Number the fields with `dtype` of the records of an array."""
        space, name = self._arrays[array]
        self._arrays.append((space, name))
        self._dtypes.append(dtype)
        self._fresh.append(self._fresh[array])
        self._extents.append((0, ()))
        return len(self._arrays) - 1

    def retyped(self, array: int, dtype: np.dtype[Any]) -> int:
        """The number of an array seen as another type, by `view`."""
        if dtype == self._dtypes[array]:
            return array
        if (array, dtype) not in self._retyped:
            self._retyped[array, dtype] = self.field(array, dtype)
        return self._retyped[array, dtype]

    def _base(self, space: str, key: Any, low: int, high: int) -> int:
        """The address at which the memory from `low` to `high` begins in its space.

        Global arrays share memory where the host's do, those of a block or a thread
        where the same call made them.
        """
        if space == "global":
            for start, end, base in self._regions:
                if start < high and low < end:
                    return base + low - start
        elif (space, key) in self._regions_of:
            return self._regions_of[space, key]
        step = _ALIGNMENT if space == "global" else 16
        base = -(-self._ends[space] // step) * step
        self._ends[space] = base + max(high - low, 1)
        if space == "global":
            self._regions.append((low, high, base))
        else:
            self._regions_of[space, key] = base
        return base

    @contextlib.contextmanager
    def atomically(self, kinds: set[str]) -> Iterator[None]:
        self.atomic, self.kinds = True, kinds
        try:
            yield
        finally:
            self.atomic = False

    @contextlib.contextmanager
    def relaxed(self, kind: str) -> Iterator[None]:
        self.relaxing = kind
        try:
            yield
        finally:
            self.relaxing = ""

    # Synchronisation

    def started(self, thread: Thread) -> None:
        view = self._of.get(thread)
        if view is None:
            block = thread.block.number
            number = block * len(thread.block.threads) + thread.number
            who = thread.number, block, number, thread.warp, thread.lane
            view = self._renew(thread, who, 0, 0, None, None)
        if len(self.log) >= _PACK:
            self._pack()
            if self.look is not None and self.rows >= self._next_look:
                self._next_look *= 4
                self.look(self.trace(so_far=True))
        block = view.block
        self.noting = block in self._noted
        if not self.noting and block in self._sample:
            self.noting = self.rows < MOST_ACCESSES or not self._noted
            if self.noting:
                self._noted.add(block)
        self._turns.append(self._kept + len(self.log))
        self._turn_views.append(view.index)

    def _pack(self) -> None:
        try:
            packed = struct.pack(f"{len(self.log)}i", *self.log)
            self._packed.append(np.frombuffer(packed, np.int32))
        except struct.error:  # an offset of more than 2 GiB
            self._packed.append(np.array(self.log, np.int64))
        self._kept += len(self.log)
        self.log.clear()

    @property
    def rows(self) -> int:
        """How many accesses have been written down."""
        return (self._kept + len(self.log)) // _FIELDS

    def _renew(
        self,
        thread: Thread,
        who: tuple[int, int, int, int, int],
        epoch: int,
        grid: int,
        lanes: tuple[int, ...] | None,
        known: Known | None,
    ) -> View:
        """Give `thread` a new view."""
        view = View(who, len(self._views), epoch, grid, lanes, known)
        self._views.append(view)
        self._of[thread] = view
        return view

    def met(self, threads: list[Thread], scope: str) -> None:
        """Note that `threads` have just synchronised, in a warp, block or grid."""
        known: Known | None = None
        for one in {id(k): k for t in threads if (k := self._of[t].known)}.values():
            known = one if known is None else known.with_(one)
        if self._fenced:
            self._share_fences(threads)
        block = threads[0].block
        if scope == "block":
            self._passed[block.number, threads[0].waiting.site] += 1
        if scope == "block" and len(threads) < len(block.threads):
            came = frozenset(t.number for t in threads)
            self._partial.append((block.number, threads[0].waiting.site, came))
        if scope == "warp":
            row = self.rows
            seen = [0] * WARP
            for thread in threads:
                for lane, at in enumerate(self._of[thread].lanes or ()):
                    seen[lane] = max(seen[lane], at)
            for thread in threads:
                seen[thread.lane] = row
            lanes = tuple(seen)
            for thread in threads:
                old = self._of[thread]
                self._renew(thread, old.who, old.epoch, old.grid, lanes, known)
            return
        further = int(scope == "grid")
        for thread in threads:
            old = self._of[thread]
            self._renew(thread, old.who, old.epoch + 1, old.grid + further, None, known)

    def fenced(self, wide: bool) -> None:
        """Whatever the thread knows now, its next atomics may hand on."""
        view = self._of[self.current]
        mine = Known({view.block: view.epoch}, {view.number: self.rows})
        if view.known is not None:
            mine = mine.with_(view.known)
        if view.lanes is not None:
            base = view.number - view.lane
            mine = mine.with_(
                Known({}, {base + k: at for k, at in enumerate(view.lanes)})
            )
        now = {view.block: mine} | ({EVERYONE: mine} if wide else {})
        self._fenced[self.current] = self._fenced.get(self.current, {}) | now

    def _share_fences(self, threads: list[Thread]) -> None:
        """After a barrier, what one thread has fenced another may hand on."""
        passed: Passed = {}
        fences = [self._fenced[t] for t in threads if t in self._fenced]
        for one in {id(f): f for f in fences}.values():
            passed = _joined(passed, one)
        for thread in threads:
            self._fenced[thread] = passed

    def exchange(self, space: str, address: int) -> None:
        """Pass on knowledge through an atomic operation on `address`.

        What a thread knew at a fence is released with its next atomics; whoever then
        has an atomic operation on the same address acquires it, if the fence was for
        more than the thread's block or both are in that block. Of the relaxed accesses
        a store releases, in place of what was there, and a load acquires.
        """
        thread = self.current
        view = self._of[thread]
        key = space, None if space == "global" else view.block, address
        if self.relaxing == "poke":
            self._released[key] = self._fenced.get(thread, {})
            return
        there = self._released.get(key, {})
        known = view.known
        for to in (EVERYONE, view.block):
            if to in there:
                known = there[to] if known is None else known.with_(there[to])
        if known is not view.known:
            self._renew(thread, view.who, view.epoch, view.grid, view.lanes, known)
            self._turns.append(self._kept + len(self.log))
            self._turn_views.append(self._of[thread].index)
        if thread in self._fenced and not self.relaxing:
            self._released[key] = _joined(there, self._fenced[thread])

    # Notes

    def memory(self, array: int, start: int, strides: tuple[int, ...]) -> int:
        """Number a view of an array, for the log.

        With this number go two indices, with the next one an offset in bytes.
        """
        s0, s1 = (*strides, 0, 0)[:2]
        self._memory += (array, start, s0, s1), (array, start, 1, 0)
        return len(self._memory) - 2

    def address(self, number: int) -> int:
        return self._memory[number][1]

    def notes(self) -> dict[str, Any]:
        return {LOAD: self._loader(), SUMS: self._summer()}

    def _loader(self) -> Callable[[Any, Any, int], Any]:
        """The function that `x[i]` in a kernel becomes, for the common cases."""
        run, note = self, self.log.extend

        def load(x: Any, index: Any, site: int) -> Any:
            kind = type(x)
            try:
                if kind is Traced2:
                    i, j = index
                    if i >= 0 <= j:
                        found = x._data[index]
                        if run.noting:
                            note((site, x._number, i, j))
                        return found
                elif kind is Traced1 and index >= 0:
                    found = x._data[index]
                    if run.noting:
                        note((site, x._number, index, 0))
                    return found
            except (TypeError, ValueError, IndexError):
                pass
            return x._load(index, site) if isinstance(x, Traced) else x[index]

        return load

    def _summer(self) -> Callable[[Any, int], Any]:
        """The function that counts arithmetic on what no array holds."""
        run, flops = self, self._flops

        def sums(value: Any, site: int) -> Any:
            if run.noting and isinstance(value, (float, np.floating)):
                flops[site] = flops.get(site, 0) + 1
            return value

        return sums

    def site(self, frame: FrameType) -> int:
        """The number of the instruction at which the learner is, above `frame`.

        Loads that `noting` has numbered count up from 0, the others down from
        the last number.
        """
        while True:
            # Within a code object lie its bytes: this is a number for each of them.
            key = id(frame.f_code) + frame.f_lasti
            if key in self._sites:
                return self._sites[key]
            if frame.f_code in self.lines:
                break
            assert frame.f_back is not None, "only the learner's code touches arrays"
            frame = frame.f_back
        instruction = self.instruction((frame.f_code, frame.f_lasti))
        if instruction not in self._instructions:
            self._instructions.append(instruction)
        number = _MOST_SITES - 1 - self._instructions.index(instruction)
        self._sites[key] = number << _OPERATION
        return self._sites[key]

    # The result

    def trace(self, so_far: bool = False) -> Trace:
        """The accesses: at the end they are handed over, and can be had once."""
        self._pack()
        pieces = self._packed.copy() if so_far else self._packed
        rows = self._kept // _FIELDS
        memory = np.array(self._memory or [(0, 0, 0, 0)], np.int64).T
        sizes = np.array([d.itemsize for d in self._dtypes] or [0])
        spaces = np.array([_SPACES[s] for s, _ in self._arrays] or [0])
        floating = np.array([d.kind in "fc" for d in self._dtypes] or [False])
        number, array, size = (np.empty(rows, np.int32) for _ in range(3))
        space, operation = (np.empty(rows, np.int8) for _ in range(2))
        address = np.empty(rows, np.int64)
        loads = np.zeros(_MOST_SITES, np.int64)
        done = 0
        while pieces:  # one at a time, to be spared a second copy
            first, view, i, j = pieces.pop(0).reshape(-1, _FIELDS).T
            part = slice(done, done + len(first))
            done = part.stop
            array[part], start, s0, s1 = memory[:, view]
            address[part] = start + i * s0 + j * s1
            number[part] = first >> _OPERATION
            space[part] = spaces[array[part]]
            wide = first & _VECTOR != 0
            size[part] = np.where(wide, 16, sizes[array[part]])
            operation[part] = first & 3
            counted = number[part][floating[array[part]]]
            loads += np.bincount(counted, minlength=_MOST_SITES)
        turns = np.frombuffer(self._turns, np.int64) // _FIELDS
        turn_views = np.frombuffer(self._turn_views, np.int64).astype(np.int32)
        places, renamed = self._places(np.unique(number).tolist())
        return Trace(
            places=places,
            arrays=[name for _, name in self._arrays],
            dtypes=list(self._dtypes),
            fresh=list(self._fresh),
            views=self._views,
            view=np.repeat(turn_views, np.diff(turns, append=rows)),
            site=renamed[number],
            array=array,
            space=space,
            address=address,
            size=size,
            operation=operation,
            atomics={k: np.array(v, np.int64) for k, v in self.atomics.items()},
            bases={n: b for (s, n), b in self._bases.items() if s == "global"},
            flops=self._arithmetic(loads),
            name=self.call.__name__,
            grid_size=self.grid,
            block_size=self.block,
            blocks=len(self._noted),
            all_blocks=self._blocks,
            partial=[
                (block, place(*site, self.lines[site[0]]), came)
                for block, site, came in self._partial
            ],
            barriers=self._barriers_passed(),
            extents=list(self._extents),
        )

    def _barriers_passed(self) -> Counter[tuple[int, Place]]:
        """How often each block has passed the barriers of each place."""
        passed: Counter[tuple[int, Place]] = Counter()
        for (block, site), times in self._passed.items():
            passed[block, place(*site, self.lines[site[0]])] += times
        return passed

    def _arithmetic(self, loads: Columns) -> dict[Place, int]:
        """How many floating-point operations each line has done."""
        done = {site >> _OPERATION: times for site, times in self._flops.items()}
        for at in np.flatnonzero(loads).tolist():
            done[at] = int(loads[at])
        flops: dict[Place, int] = {}
        for at, times in done.items():
            spot, each = self.bound.noted.get(at, (None, 0))
            if spot is not None and each:
                line = replace(spot, expression="")
                flops[line] = flops.get(line, 0) + each * times
        return flops

    def _places(self, sites: list[int]) -> tuple[list[Place], Columns]:
        """The places of the numbers `sites`, and a table from these to those."""
        places: list[Place] = []
        renamed = np.zeros(_MOST_SITES, np.int32)
        for number in sites:
            renamed[number] = len(places)
            if number in self.bound.noted:
                places.append(self.bound.noted[number][0])
            else:
                code, at = self._instructions[_MOST_SITES - 1 - number]
                places.append(place(code, at, self.lines[code]))
        return places, renamed


class CalledRun(TracedRun):
    """A launch run again, to learn which calls led to the accesses `wanted`, by row.

    `calls` has for each row the place of the access and of the calls. The run ends
    with `Enough` when it has all of them.
    """

    def __init__(self, wanted: frozenset[int], *args: Any) -> None:
        self.wanted = wanted
        self.calls: dict[int, list[Place]] = {}
        super().__init__(*args)

    def new_log(self) -> list[int]:
        return _Log(self)


class _Log(list[int]):
    """A log that looks who writes into it."""

    def __init__(self, run: CalledRun) -> None:
        super().__init__()
        self._run = run

    def extend(self, entry: Iterable[int]) -> None:
        run = self._run
        if run.rows in run.wanted:
            run.calls[run.rows] = run.places(sys._getframe(1))
            if len(run.calls) == len(run.wanted):
                raise Enough("seen", "the run has shown what was asked for")
        super().extend(entry)


class Enough(Fault):
    """Ends a `CalledRun`."""


def sample(blocks: int, most: int = MOST_BLOCKS) -> frozenset[int]:
    """Which blocks of a grid to write down: all, or some from all over it."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])


class Traced(Array):
    """An array that writes down every access to one of its elements."""

    __slots__ = ("_base", "_fields", "_id", "_number", "_run", "_whole")

    def attach(self, run: TracedRun, number: int, base: int) -> None:
        """Say where the notes go; `base` is the address of NumPy's address 0."""
        data = self._data
        self._run, self._id, self._base = run, number, base
        self._fields: dict[str, Array] = {}
        self._whole = 0  # bytes of the vector access going on, -1 once it is noted
        self._number = run.memory(number, base + _pointer(data), data.strides)

    def __getitem__(self, index: Any) -> Any:
        return self._load(index, self._run.site(sys._getframe(1)))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index, "write")
        site = self._run.site(sys._getframe(1))
        part = self._data[index]
        if isinstance(part, np.ndarray) and part.ndim:
            self._read(index)._fill(value, site)
            return
        self._store(index, value)
        if not self._run.atomic:
            self._note(index, WRITE, site)

    def _fill(self, value: Any, site: int) -> None:
        """Store to every element: `x[2:5] = y` is three loads and three stores."""
        loads = isinstance(value, Traced) and value.shape == self.shape
        if not loads:
            whole = value._data if isinstance(value, Array) else value
            try:
                value = np.broadcast_to(np.asarray(whole), self.shape)
            except ValueError as error:
                self._fault("shape", f"{self._name} cannot take this: {error}")
        for at in np.ndindex(*self.shape):
            index = at if len(at) > 1 else at[0]
            self._store(index, value._load(index, site) if loads else value[index])
            self._note(index, WRITE, site)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._n0))

    def _load(self, index: Any, site: int) -> Any:
        found = self._read(index)
        if not isinstance(found, (Array, Record)):
            self._note(index, ATOMIC if self._run.atomic else READ, site)
        return found

    def field(self, name: str) -> Array:
        if name not in self._fields:
            data = self._data[name]
            number = self._run.field(self._id, data.dtype)
            self._fields[name] = self._view(data, self._written, number)
        return self._fields[name]

    def view(self, dtype: Any) -> Array:
        found = super().view(dtype)
        assert isinstance(found, Traced)
        number = self._run.retyped(self._id, found.dtype)
        found.attach(self._run, number, self._base)
        return found

    def _note(self, index: Any, operation: int, site: int) -> None:
        run = self._run
        parts = index if isinstance(index, tuple) else (index,)
        if self._whole < 0 or any(isinstance(p, (slice, str)) for p in parts):
            return
        strides = zip(parts, self._data.strides, strict=False)
        offset = sum(int(part) * stride for part, stride in strides)
        if operation == ATOMIC or run.relaxing:
            run.exchange(self._space, run.address(self._number) + offset)
        if not run.noting:
            return
        if run.relaxing:
            run.atomics["relaxed"].append(run.rows)
        if operation == ATOMIC:
            for kind in run.kinds & run.atomics.keys():
                run.atomics[kind].append(run.rows)
        if self._whole:
            operation |= _VECTOR
            self._whole = -1
        run.log.extend((site | operation, self._number + 1, offset, 0))

    def _view(
        self,
        data: np.ndarray[Any, Any],
        written: np.ndarray[Any, Any] | None,
        number: int | None = None,
    ) -> "Array":
        view = traced_class(data)(
            data, self._name, self._space, self._fault, written, self._readonly
        )
        view.attach(self._run, self._id if number is None else number, self._base)
        return view

    @contextlib.contextmanager
    def as_one(self, size: int) -> Iterator[None]:
        self._whole = size
        try:
            yield
        finally:
            self._whole = 0


class Traced1(Traced):
    """One dimension; `TracedRun` loads from it without the detours."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        run = self._run
        site = run.site(sys._getframe(1))
        try:
            special = run.atomic or run.relaxing or self._whole
            if index >= 0 and run.noting and not special:
                found = self._data[index]
                run.log.extend((site, self._number, index, 0))
                return found
        except (TypeError, ValueError, IndexError):
            pass
        return self._load(index, site)

    def __setitem__(self, index: Any, value: Any) -> None:
        run = self._run
        try:
            special = run.atomic or run.relaxing or self._whole or self._readonly
            if index >= 0 and run.noting and not special:
                self._data[index] = value
                if self._written is not None:
                    self._written[index] = True
                site = run.site(sys._getframe(1)) | WRITE
                run.log.extend((site, self._number, index, 0))
                return
        except (TypeError, ValueError, IndexError, OverflowError):
            pass
        Traced.__setitem__(self, index, value)


class Traced2(Traced):
    """Two dimensions, likewise."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        run = self._run
        site = run.site(sys._getframe(1))
        try:
            i, j = index
            special = run.atomic or run.relaxing or self._whole
            if i >= 0 <= j and run.noting and not special:
                found = self._data[index]
                run.log.extend((site, self._number, i, j))
                return found
        except (TypeError, ValueError, IndexError):
            pass
        return self._load(index, site)

    def __setitem__(self, index: Any, value: Any) -> None:
        run = self._run
        try:
            i, j = index
            special = run.atomic or run.relaxing or self._whole or self._readonly
            if i >= 0 <= j and run.noting and not special:
                self._data[index] = value
                if self._written is not None:
                    self._written[index] = True
                site = run.site(sys._getframe(1)) | WRITE
                run.log.extend((site, self._number, i, j))
                return
        except (TypeError, ValueError, IndexError, OverflowError):
            pass
        Traced.__setitem__(self, index, value)


def traced_class(data: np.ndarray[Any, Any]) -> type[Traced]:
    """The quickest class for `data`."""
    if data.dtype.names:
        return Traced
    return {1: Traced1, 2: Traced2}.get(data.ndim, Traced)


def _pointer(data: np.ndarray[Any, Any]) -> int:
    return int(data.__array_interface__["data"][0])
