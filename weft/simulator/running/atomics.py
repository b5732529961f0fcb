"""`cuda.atomic` as a simulated kernel sees it."""

from typing import Any

import numpy as np

from weft.simulator.arithmetic.by_name import cast_to
from weft.simulator.arithmetic.numbers import of_dtype
from weft.simulator.memory.arrays import Array
from weft.simulator.running.protocol import Launched, Waiting
from weft.simulator.running.special import Special

# The operations that Numba does not have for every type of number.
_KINDS = {"inc": "u", "dec": "u"} | dict.fromkeys(
    ("and_", "or_", "xor", "exch", "cas"), "iu"
)
_ALLOWED = {
    "iuf": "int32, uint32, int64, uint64, float32 and float64",
    "iu": "int32, uint32, int64 and uint64",
    "u": "uint32 and uint64",
}


class Atomic:
    """`cuda.atomic`: each call reads, changes and writes in one go; gives the old.

    One before which others may run is a generator.
    """

    def __init__(self, run: Launched) -> None:
        self._run = run

    def _change(
        self, name: str, array: Any, index: Any, new: Any, value: Any = None
    ) -> Any:
        """Replace an element by `new(old, type of the elements)`.

        name: of the operation. value: what it adds, where that is of interest.
        """
        self._check(name, array)
        array._check(index, "atomically change")
        with self._run.specially(Special(_kinds(name, array, index, value))):
            old = array[index]
            if isinstance(old, Array):
                self._run.fault("type", "an atomic operation needs one element")
            array[index] = new(old, array.dtype.type)
        return old

    def _check(self, name: str, array: Any) -> None:
        """Refuse what Numba does not have this operation for."""
        if not isinstance(array, Array):
            self._run.fault(
                "type",
                "`cuda.atomic` works on an element of an array",
                "It takes the array and the index separately: `cuda.atomic.add(out, 0, "
                "1)` "
                "for `out[0] += 1`.",
            )
        holds = _KINDS.get(name, "iuf")
        if array.dtype.kind not in holds or array.dtype.itemsize not in (4, 8):
            self._run.fault(
                "type",
                f"calls cuda.atomic.{name} on {array._name}, which holds {array.dtype}",
                f"Numba has this operation for {_ALLOWED[holds]}.",
            )

    def add(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            "add", array, index, lambda old, t: old + _as(t, value), value
        )

    def sub(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("sub", array, index, lambda old, t: old - _as(t, value))

    def and_(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("and_", array, index, lambda old, t: old & _as(t, value))

    def or_(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("or_", array, index, lambda old, t: old | _as(t, value))

    def xor(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("xor", array, index, lambda old, t: old ^ _as(t, value))

    def inc(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            "inc",
            array,
            index,
            lambda old, t: t(0) if old >= _as(t, value) else old + t(1),
        )

    def dec(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            "dec",
            array,
            index,
            lambda old, t: (
                _as(t, value) if old == 0 or old > _as(t, value) else old - t(1)
            ),
        )

    def exch(self, array: Any, index: Any, value: Any) -> Waiting:
        if self._run.try_later():
            yield
        return self._change("exch", array, index, lambda old, t: _as(t, value))

    def max(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("max", array, index, lambda old, t: max(old, _as(t, value)))

    def min(self, array: Any, index: Any, value: Any) -> Any:
        return self._change("min", array, index, lambda old, t: min(old, _as(t, value)))

    def nanmax(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            "nanmax", array, index, lambda old, t: np.fmax(old, _as(t, value))
        )

    def nanmin(self, array: Any, index: Any, value: Any) -> Any:
        return self._change(
            "nanmin", array, index, lambda old, t: np.fmin(old, _as(t, value))
        )

    def cas(self, array: Any, index: Any, old: Any, value: Any) -> Waiting:
        if self._run.try_later():
            yield
        return self._change(
            "cas",
            array,
            index,
            lambda now, t: _as(t, value) if now == _as(t, old) else now,
        )

    def compare_and_swap(self, array: Any, old: Any, value: Any) -> Waiting:
        return self.cas(array, (0,) * array.ndim, old, value)


def _kinds(name: str, array: Array, index: Any, value: Any) -> frozenset[str]:
    """What the counters know an operation by; see `Trace.atomics`."""
    kinds = {name}
    if array.dtype.kind in "iu" and array.dtype.itemsize == 4 and value == 1:
        kinds.add("one")
    parts = index if isinstance(index, tuple) else (index,)
    fixed = all(type(part) is int for part in parts)
    if fixed and name not in ("exch", "cas"):
        kinds.add("known")
    return frozenset(kinds)


def _as(kind: Any, value: Any) -> Any:
    """`value` in the type of the array's elements, wrapping around like a register."""
    number = of_dtype(np.dtype(kind))
    return value if number is None else kind(cast_to(number)(value))
