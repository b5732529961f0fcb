"""Every access of a simulated launch, written down.

`TracedRun` is a `Run` whose arrays note who touched what, from which line, and what
that thread could know of the others at that moment. `Trace` is the result: one row an
access, as NumPy columns.
"""

import contextlib
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .faults import Place, place
from .limits import WARP
from .memory import Array
from .scheduler import Run, Thread

READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "constant": GLOBAL}
_ALIGNMENT = 256  # bytes: where a GPU's allocator puts an array
_FIELDS = 5  # of an entry of the log: view, code, offset, address, what
_VECTOR = 4  # in `what`: the access is one of 16 bytes

MOST_BLOCKS = 64  # written down; of a larger grid a sample

Columns = np.ndarray[Any, np.dtype[np.int64]]


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


def _latest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()}


class View:
    """What one thread knows of the others between two synchronisations.

    `epoch` counts the barriers its block has passed, `grid` those of the whole grid;
    `lanes[k]` is the row before which everything lane k did is known.
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
    )

    def __init__(
        self,
        thread: Thread,
        index: int,
        epoch: int = 0,
        grid: int = 0,
        lanes: tuple[int, ...] | None = None,
        known: Known | None = None,
    ) -> None:
        self.thread = thread.number
        self.block = thread.block.number
        self.number = thread.block.number * len(thread.block.threads) + thread.number
        self.warp, self.lane = thread.warp, thread.lane
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
    space; two arrays never overlap. `blocks` of `all_blocks` were written down.
    """

    places: list[Place]
    arrays: list[str]
    fresh: list[bool]
    views: list[View]
    view: Columns
    site: Columns
    array: Columns
    space: Columns
    address: Columns
    size: Columns
    operation: Columns
    bases: dict[str, int]
    blocks: int
    all_blocks: int

    def _of_view(self, name: str) -> Columns:
        values = np.array([getattr(v, name) for v in self.views] or [0], np.int64)
        return values[self.view]

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

    def last_store(self, name: str, byte: int) -> int | None:
        """The row of the last store to byte `byte` of the global array `name`."""
        at = self.bases[name] + byte
        hit = np.flatnonzero(
            (self.space == GLOBAL)
            & (self.operation != READ)
            & (self.address <= at)
            & (at < self.address + self.size)
        )
        return int(hit[-1]) if hit.size else None


class TracedRun(Run):
    """A launch that writes down its accesses; `trace()` gives them afterwards."""

    patience = 150_000

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.log: list[int] = []
        self.atomic = False
        self.noting = True
        self.view = 0  # that of the current thread
        self._views: list[View] = []
        self._of: dict[Thread, View] = {}
        self._arrays: list[tuple[str, str]] = []
        self._sizes: list[int] = []
        self._fresh: list[bool] = []
        self._ids: dict[tuple[str, str], int] = {}
        self._bases: dict[tuple[str, str], int] = {}
        self._ends = dict.fromkeys(_SPACES, 0)
        self._released: dict[int, Known] = {}
        self._fenced: set[Thread] = set()
        gx, gy, gz = self.grid
        self._blocks = gx * gy * gz
        self._sample = sample(self._blocks)

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        name: str,
        space: str,
        owner: Any = None,
        written: np.ndarray[Any, Any] | None = None,
        readonly: bool = False,
    ) -> Array:
        key = (space, name)
        if key not in self._bases:
            step = _ALIGNMENT if space == "global" else 16
            self._bases[key] = -(-self._ends[space] // step) * step
            self._ends[space] = self._bases[key] + max(data.nbytes, 1)
            self._ids[key] = len(self._arrays)
            self._arrays.append(key)
            self._sizes.append(data.itemsize)
            self._fresh.append(space != "global" or name in self.fresh)
        traced = traced_class(data)(data, name, space, self.fault, written, readonly)
        traced.attach(self, self._ids[key], self._bases[key] - _pointer(data))
        return traced

    @contextlib.contextmanager
    def atomically(self) -> Iterator[None]:
        self.atomic = True
        try:
            yield
        finally:
            self.atomic = False

    # Synchronisation

    def execute(self, args: tuple[Any, ...]) -> None:
        collecting = gc.isenabled()
        gc.disable()  # the log is large and has no cycles
        try:
            super().execute(args)
        finally:
            if collecting:
                gc.enable()

    def started(self, thread: Thread) -> None:
        view = self._of.get(thread)
        if view is None:
            view = self._renew(thread)
        self.view = view.index
        self.noting = thread.block.number in self._sample

    def _renew(self, thread: Thread, **changes: Any) -> View:
        """Give `thread` a new view: its last one with `changes`."""
        old = self._of.get(thread)
        if old is not None:
            changes = {
                "epoch": old.epoch,
                "grid": old.grid,
                "lanes": old.lanes,
                "known": old.known,
            } | changes
        view = View(thread, len(self._views), **changes)
        self._views.append(view)
        self._of[thread] = view
        return view

    def met(self, threads: list[Thread], scope: str) -> None:
        """Note that `threads` have just synchronised, in a warp, block or grid."""
        known: Known | None = None
        for one in {id(k): k for t in threads if (k := self._of[t].known)}.values():
            known = one if known is None else known.with_(one)
        if scope == "warp":
            row = len(self.log) // _FIELDS
            seen = [0] * WARP
            for thread in threads:
                for lane, at in enumerate(self._of[thread].lanes or ()):
                    seen[lane] = max(seen[lane], at)
            for thread in threads:
                seen[thread.lane] = row
            lanes = tuple(seen)
            for thread in threads:
                self._renew(thread, lanes=lanes, known=known)
            return
        for thread in threads:
            old = self._of[thread]
            self._renew(
                thread,
                lanes=None,
                known=known,
                epoch=old.epoch + 1,
                grid=old.grid + (scope == "grid"),
            )

    def fenced(self) -> None:
        self._fenced.add(self.current)

    def _exchange(self, address: int) -> None:
        """Pass on knowledge through an atomic operation on `address`.

        What a thread did before a fence is released with its next atomics; whoever
        then has an atomic operation on the same address acquires it.
        """
        thread = self.current
        view = self._of[thread]
        there = self._released.get(address)
        if there is not None:
            known = there if view.known is None else view.known.with_(there)
            view = self._renew(thread, known=known)
            self.view = view.index
        if thread in self._fenced:
            row = len(self.log) // _FIELDS
            mine = Known({view.block: view.epoch}, {view.number: row})
            if view.known is not None:
                mine = mine.with_(view.known)
            if view.lanes is not None:
                base = view.number - view.lane
                mine = mine.with_(
                    Known({}, {base + k: at for k, at in enumerate(view.lanes)})
                )
            self._released[address] = mine if there is None else mine.with_(there)

    # The result

    def caller(self, frame: FrameType | None) -> FrameType:
        """The learner's frame at or above `frame`."""
        while frame is not None and frame.f_code not in self.lines:
            frame = frame.f_back
        assert frame is not None, "only the learner's code touches arrays"
        return frame

    def trace(self) -> Trace:
        """The accesses so far."""
        codes = {id(code): code for code in self.lines}
        view, code, lasti, address, what = (
            np.array(self.log, np.int64).reshape(-1, _FIELDS).T
        )
        array, operation = what >> 3, what & 3
        sizes = np.array(self._sizes or [0], np.int64)[array]
        size = np.where(what & _VECTOR, 16, sizes)
        where, site = np.unique(np.stack([code, lasti]), axis=1, return_inverse=True)
        first: dict[tuple[CodeType, int], int] = {}
        renamed = [
            first.setdefault(self.instruction((codes[c], at)), len(first))
            for c, at in where.T.tolist()
        ]
        site = np.array(renamed or [0], np.int64)[site.reshape(-1)]
        spaces = np.array([_SPACES[s] for s, _ in self._arrays] or [0], np.int64)
        return Trace(
            places=[place(c, at, self.lines[c]) for c, at in first],
            arrays=[name for _, name in self._arrays],
            fresh=list(self._fresh),
            views=self._views,
            view=view,
            site=site,
            array=array,
            space=spaces[array],
            address=address,
            size=size,
            operation=operation,
            bases={n: b for (s, n), b in self._bases.items() if s == "global"},
            blocks=len(self._sample),
            all_blocks=self._blocks,
        )


def sample(blocks: int, most: int = MOST_BLOCKS) -> frozenset[int]:
    """Which blocks of a grid to write down: all, or some from all over it."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])


class Traced(Array):
    """An array that writes down every access to one of its elements."""

    __slots__ = (
        "_at",
        "_base",
        "_id",
        "_log",
        "_read_what",
        "_run",
        "_s0",
        "_s1",
        "_whole",
    )

    def attach(self, run: TracedRun, number: int, base: int) -> None:
        """Say where the notes go; `base` is the address of NumPy's address 0."""
        data = self._data
        self._run, self._id, self._base, self._log = run, number, base, run.log
        self._at = base + _pointer(data)
        self._read_what = number << 3 | READ
        self._s0 = data.strides[0]
        self._s1 = data.strides[1] if data.ndim > 1 else 0
        self._whole = 0  # bytes of the vector access going on, -1 once it is noted

    def __getitem__(self, index: Any) -> Any:
        return self._note_read(index, sys._getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index, "write")
        self._store(index, value)
        if not self._run.atomic:
            self._note(index, WRITE, sys._getframe(1))

    def _note_read(self, index: Any, frame: FrameType) -> Any:
        found = self._read(index)
        if not isinstance(found, Array):
            self._note(index, ATOMIC if self._run.atomic else READ, frame)
        return found

    def _note(self, index: Any, operation: int, frame: FrameType) -> None:
        run = self._run
        parts = index if isinstance(index, tuple) else (index,)
        if self._whole < 0 or any(isinstance(p, (slice, str)) for p in parts):
            return
        address = self._at
        for part, stride in zip(parts, self._data.strides, strict=False):
            address += int(part) * stride
        if operation == ATOMIC:
            run._exchange(address)
        if not run.noting:
            return
        what = self._id << 3 | operation
        if self._whole:
            what |= _VECTOR
            self._whole = -1
        frame = run.caller(frame)
        self._log.extend((run.view, id(frame.f_code), frame.f_lasti, address, what))

    def _view(
        self, data: np.ndarray[Any, Any], written: np.ndarray[Any, Any] | None
    ) -> "Array":
        view = traced_class(data)(
            data, self._name, self._space, self._fault, written, self._readonly
        )
        view.attach(self._run, self._id, self._base)
        return view

    @contextlib.contextmanager
    def as_one(self, size: int) -> Iterator[None]:
        self._whole = size
        try:
            yield
        finally:
            self._whole = 0


class Traced1(Traced):
    """One dimension: the common case, without the detours."""

    __slots__ = ()

    def __getitem__(self, i: Any) -> Any:
        run = self._run
        frame = sys._getframe(1)
        try:
            if 0 <= i < self._n0 and run.noting and not run.atomic and not self._whole:
                found = self._data[i]
                self._log.extend(
                    (
                        run.view,
                        id(frame.f_code),
                        frame.f_lasti,
                        self._at + i * self._s0,
                        self._read_what,
                    )
                )
                return found
        except (TypeError, IndexError):
            pass
        return self._note_read(i, frame)


class Traced2(Traced):
    """Two dimensions, likewise."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        run = self._run
        frame = sys._getframe(1)
        try:
            i, j = index
            if (
                0 <= i < self._n0
                and 0 <= j < self._n1
                and run.noting
                and not run.atomic
                and not self._whole
            ):
                found = self._data[index]
                self._log.extend(
                    (
                        run.view,
                        id(frame.f_code),
                        frame.f_lasti,
                        self._at + i * self._s0 + j * self._s1,
                        self._read_what,
                    )
                )
                return found
        except (TypeError, ValueError, IndexError):
            pass
        return self._note_read(index, frame)


def traced_class(data: np.ndarray[Any, Any]) -> type[Traced]:
    """The quickest class for `data`."""
    if data.dtype.names:
        return Traced
    return {1: Traced1, 2: Traced2}.get(data.ndim, Traced)


def _pointer(data: np.ndarray[Any, Any]) -> int:
    return int(data.__array_interface__["data"][0])
