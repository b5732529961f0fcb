"""Arrays that report every access to their elements, for recorded launches."""

import sys
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from weft.simulator.memory.arrays import Array, Record
from weft.simulator.running.special import Special
from weft.simulator.trace.notes import ATOMIC, READ, WRITE


class Watched(Array):
    """An array that reports every access to one of its elements to its `WatchedRun`."""

    __slots__ = (
        *("_base", "_fields", "_id", "_run"),
        *("_first", "_number", "_start", "_steps", "_unit"),  # see `attached`
    )

    _first: int
    _number: int
    _start: int
    _steps: tuple[int, ...]
    _unit: int

    def attach(self, run: Any, number: int, base: int) -> None:
        """Let `run` record all accesses. base: the trace's address minus the host's."""
        self._run, self._id, self._base = run, number, base
        self._fields: dict[str, Array] = {}
        run.attached(self)

    def __getitem__(self, index: Any) -> Any:
        return self._load(index, None)

    def _load(self, index: Any, site: Any) -> Any:
        found = self._read(index)
        if not isinstance(found, (Array, Record)):
            special = self._run.special
            atomic = special is not None and special.kinds
            self._note(index, ATOMIC if atomic else READ, site)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index, "write")
        part = self._data[index]
        if isinstance(part, np.ndarray) and part.ndim:
            self._read(index)._fill(value)
            return
        self._store(index, value)
        special = self._run.special
        if special is None or not special.kinds:  # an atomic is recorded when it reads
            self._note(index, WRITE, None)

    def _fill(self, value: Any) -> None:
        """Store to every element: `x[2:5] = y` is three loads and three stores."""
        site = self._run.site(sys._getframe(1))
        loads = isinstance(value, Watched) and value.shape == self.shape
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

    def _note(self, index: Any, operation: int, site: Any) -> None:
        """Report an access to the element at `index`."""
        special = self._run.special
        if special is not None and special.counted:
            return
        if index.__class__ is int:
            offset = index * self._data.strides[0]
        else:
            parts = index if isinstance(index, tuple) else (index,)
            offset = 0
            for part, stride in zip(parts, self._data.strides, strict=False):
                if isinstance(part, (slice, str)):
                    return
                offset += int(part) * stride
        self._run.accessed(self, offset, operation, site)
        if special is not None:
            special.counted = special.size > 0

    def field(self, name: str) -> Array:
        if name not in self._fields:
            data = self._data[name]
            number = self._run.addresses.field(self._id, data.dtype)
            self._fields[name] = self._view(data, self._written, number)
        return self._fields[name]

    def view(self, dtype: Any) -> Array:
        found = super().view(dtype)
        assert isinstance(found, Watched)
        number = self._run.addresses.retyped(self._id, found.dtype)
        found.attach(self._run, number, self._base)
        return found

    def _view(
        self,
        data: np.ndarray[Any, Any],
        written: np.ndarray[Any, Any] | None,
        number: int | None = None,
    ) -> Array:
        view = Watched(data, self._memory, self._fault, written)
        view.attach(self._run, self._id if number is None else number, self._base)
        return view

    def as_one(self, size: int) -> AbstractContextManager[Any]:
        return self._run.specially(Special(size=size))  # type: ignore[no-any-return]


def load(x: Any, index: Any, site: int) -> Any:
    """Load `x[index]` for a kernel whose code does not note this load itself."""
    return x._load(index, site) if isinstance(x, Watched) else x[index]
