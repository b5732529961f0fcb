"""Every access of a simulated launch, written down.

`TracedRun` is a `Run` whose arrays note who touched what, from which line. `Trace`
is the result: one row an access, as NumPy columns.
"""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .faults import Place, place
from .limits import WARP
from .memory import Array
from .scheduler import Run

READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL}
_ALIGNMENT = 256  # bytes: where a GPU's allocator puts an array

Columns = np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Trace:
    """The accesses of one launch, in the order in which they happened.

    All columns have one entry an access: `block`, `thread` (rank in its block),
    `epoch` (barriers passed), `site` (index into `places`), `array` (into `arrays`),
    `space` (GLOBAL, SHARED, LOCAL), `address` and `size` in bytes, `operation` (READ,
    WRITE, ATOMIC). Addresses are those of each space: two arrays never overlap.
    """

    places: list[Place]
    arrays: list[str]
    block: Columns
    thread: Columns
    epoch: Columns
    site: Columns
    array: Columns
    space: Columns
    address: Columns
    size: Columns
    operation: Columns
    bases: dict[str, int] = field(default_factory=dict)

    @property
    def warp(self) -> Columns:
        return self.thread // WARP

    @property
    def lane(self) -> Columns:
        return self.thread % WARP

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

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.log: list[tuple[Any, ...]] = []
        self.atomic = False
        self._arrays: list[tuple[str, str]] = []
        self._ids: dict[tuple[str, str], int] = {}
        self._bases: dict[tuple[str, str], int] = {}
        self._ends = dict.fromkeys(_SPACES, 0)

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

    def caller(self, frame: FrameType | None) -> tuple[CodeType, int]:
        """The learner's instruction at or above `frame`."""
        while frame is not None and frame.f_code not in self.lines:
            frame = frame.f_back
        assert frame is not None, "only the learner's code touches arrays"
        return frame.f_code, frame.f_lasti

    def trace(self) -> Trace:
        """The accesses so far."""
        sites: dict[tuple[CodeType, int], int] = {}
        names: dict[tuple[CodeType, int], int] = {}
        log = self.log
        for entry in log:
            found = entry[2], entry[3]
            if found not in names:
                names[found] = sites.setdefault(self.instruction(found), len(sites))
        count = len(log)
        rows = np.array(
            [
                (e[0].block.number, e[0].number, e[1], names[e[2], e[3]], *e[4:])
                for e in log
            ],
            np.int64,
        ).reshape(count, 8)
        block, thread, epoch, site, array, address, size, operation = rows.T
        spaces = np.array([_SPACES[s] for s, _ in self._arrays] or [0])
        return Trace(
            [place(code, lasti, self.lines[code]) for code, lasti in sites],
            [name for _, name in self._arrays],
            block,
            thread,
            epoch,
            site,
            array,
            spaces[array],
            address,
            size,
            operation,
            {
                name: base
                for (space, name), base in self._bases.items()
                if space == "global"
            },
        )


class Traced(Array):
    """An array that writes down every access to one of its elements."""

    __slots__ = ("_at", "_base", "_id", "_log", "_run", "_s0", "_s1", "_size", "_whole")

    def attach(self, run: TracedRun, number: int, base: int) -> None:
        """Say where the notes go; `base` is the address of NumPy's address 0."""
        data = self._data
        self._run, self._id, self._base, self._log = run, number, base, run.log
        self._at = base + _pointer(data)
        self._size = data.itemsize
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
        parts = index if isinstance(index, tuple) else (index,)
        if self._whole < 0 or any(isinstance(p, (slice, str)) for p in parts):
            return
        address = self._at
        for part, stride in zip(parts, self._data.strides, strict=False):
            address += int(part) * stride
        size = self._size
        if self._whole:
            size, self._whole = self._whole, -1
        thread = self._run.current
        code, lasti = self._run.caller(frame)
        self._log.append(
            (thread, thread.epoch, code, lasti, self._id, address, size, operation)
        )

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
            if 0 <= i < self._n0 and not run.atomic and not self._whole:
                found = self._data[i]
                thread = run.current
                self._log.append(
                    (
                        thread,
                        thread.epoch,
                        frame.f_code,
                        frame.f_lasti,
                        self._id,
                        self._at + i * self._s0,
                        self._size,
                        READ,
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
                and not run.atomic
                and not self._whole
            ):
                found = self._data[index]
                thread = run.current
                self._log.append(
                    (
                        thread,
                        thread.epoch,
                        frame.f_code,
                        frame.f_lasti,
                        self._id,
                        self._at + i * self._s0 + j * self._s1,
                        self._size,
                        READ,
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
