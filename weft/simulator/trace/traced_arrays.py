"""Arrays that write down every access, for a `TracedRun`."""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Protocol

import numpy as np

from weft.simulator.memory.addresses import Addresses, pointer
from weft.simulator.memory.arrays import Array, Record
from weft.simulator.running.special import Special
from weft.simulator.trace.log import WIDE, Log
from weft.simulator.trace.trace import ATOMIC, READ, WRITE


class Recorder(Protocol):
    """What the arrays of a launch write in; it is the launch.

    `note` adds an access to `log`, `noting` says whether to. `special` describes the
    operation going on, None for a plain load or store; `atomics` are the rows of some
    of these operations, see `Trace`.
    """

    log: Log
    note: Callable[[Iterable[int]], None]
    noting: bool
    special: Special | None
    atomics: dict[str, list[int]]
    addresses: Addresses

    def site(self, frame: FrameType) -> int:
        """The number of the place at which the learner is, above `frame`."""

    def exchange(self, space: str, address: int, relaxed: str) -> None:
        """Pass on knowledge through an atomic or relaxed operation on `address`."""

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        """Say how the accesses within differ from plain loads and stores."""


class Traced(Array):
    """An array that writes down every access to one of its elements."""

    __slots__ = ("_base", "_fields", "_id", "_number", "_run")

    def attach(self, run: Recorder, number: int, base: int) -> None:
        """Say where the notes go; `base` is the address of NumPy's address 0."""
        data = self._data
        self._run, self._id, self._base = run, number, base
        self._fields: dict[str, Array] = {}
        start = base + pointer(data)
        self._number = run.log.number(number, start, data.strides)

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
        special = self._run.special
        if special is None or not special.kinds:  # an atomic is noted as it reads
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

    def _load(self, index: Any, site: int) -> Any:
        found = self._read(index)
        if not isinstance(found, (Array, Record)):
            special = self._run.special
            atomic = special is not None and special.kinds
            self._note(index, ATOMIC if atomic else READ, site)
        return found

    def field(self, name: str) -> Array:
        if name not in self._fields:
            data = self._data[name]
            number = self._run.addresses.field(self._id, data.dtype)
            self._fields[name] = self._view(data, self._written, number)
        return self._fields[name]

    def view(self, dtype: Any) -> Array:
        found = super().view(dtype)
        assert isinstance(found, Traced)
        number = self._run.addresses.retyped(self._id, found.dtype)
        found.attach(self._run, number, self._base)
        return found

    def _note(self, index: Any, operation: int, site: int) -> None:
        """Write down an access to the element at `index`, by a byte offset."""
        run, special = self._run, self._run.special
        if special is not None and special.counted:
            return
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, (slice, str)) for p in parts):
            return
        strides = zip(parts, self._data.strides, strict=False)
        offset = sum(int(part) * stride for part, stride in strides)
        size = 0
        if special is not None:
            if special.kinds or special.relaxed:
                address = run.log.start(self._number) + offset
                run.exchange(self._space, address, special.relaxed)
            if run.noting:
                for kind in special.kinds & run.atomics.keys():
                    run.atomics[kind].append(run.log.rows)
                if special.relaxed:
                    run.atomics["relaxed"].append(run.log.rows)
                if special.begins:
                    run.atomics["begun"].append(run.log.rows)
            size = special.size
            special.counted = size > 0
        if run.noting:
            operation |= WIDE if size else 0
            run.note((site | operation, self._number + 1, offset, size))

    def _view(
        self,
        data: np.ndarray[Any, Any],
        written: np.ndarray[Any, Any] | None,
        number: int | None = None,
    ) -> "Array":
        view = traced_class(data)(data, self._memory, self._fault, written)
        view.attach(self._run, self._id if number is None else number, self._base)
        return view

    def as_one(self, size: int) -> AbstractContextManager[Any]:
        return self._run.specially(Special(size=size))


class Traced1(Traced):
    """One dimension: the common case, without the detours."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        run = self._run
        site = run.site(sys._getframe(1))
        try:
            if index >= 0 and run.noting and run.special is None:
                found = self._data[index]
                run.note((site, self._number, index, 0))
                return found
        except (TypeError, ValueError, IndexError):
            pass
        return self._load(index, site)

    def __setitem__(self, index: Any, value: Any) -> None:
        run = self._run
        try:
            plain = run.special is None and not self._readonly
            if index >= 0 and run.noting and plain:
                self._data[index] = value
                if self._written is not None:
                    self._written[index] = True
                site = run.site(sys._getframe(1)) | WRITE
                run.note((site, self._number, index, 0))
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
            if i >= 0 <= j and run.noting and run.special is None:
                found = self._data[index]
                run.note((site, self._number, i, j))
                return found
        except (TypeError, ValueError, IndexError):
            pass
        return self._load(index, site)

    def __setitem__(self, index: Any, value: Any) -> None:
        run = self._run
        try:
            i, j = index
            plain = run.special is None and not self._readonly
            if i >= 0 <= j and run.noting and plain:
                self._data[index] = value
                if self._written is not None:
                    self._written[index] = True
                site = run.site(sys._getframe(1)) | WRITE
                run.note((site, self._number, i, j))
                return
        except (TypeError, ValueError, IndexError, OverflowError):
            pass
        Traced.__setitem__(self, index, value)


def traced_class(data: np.ndarray[Any, Any]) -> type[Traced]:
    """The quickest class for `data`."""
    if data.dtype.names:
        return Traced
    return {1: Traced1, 2: Traced2}.get(data.ndim, Traced)


def load(x: Any, index: Any, site: int) -> Any:
    """What `x[i]` becomes in a kernel where no shorter way is known."""
    return x._load(index, site) if isinstance(x, Traced) else x[index]
