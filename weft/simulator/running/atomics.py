"""`cuda.atomic` as a simulated kernel sees it."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.simulator.arithmetic.by_name import cast_to
from weft.simulator.arithmetic.numbers import of_dtype
from weft.simulator.memory.arrays import Array
from weft.simulator.running.protocol import Launched, Waiting
from weft.simulator.running.special import Special

# The operations that Numba supports only for some kinds of numbers.
_KINDS = {"inc": "u", "dec": "u"} | dict.fromkeys(
    ("and_", "or_", "xor", "exch", "cas"), "iu"
)
_ALLOWED = {
    "iuf": "int32, uint32, int64, uint64, float32 and float64",
    "iu": "int32, uint32, int64 and uint64",
    "u": "uint32 and uint64",
}


def _operation(name: str, new: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Make the atomic operation `name`. new: combines the old and given values."""

    def operation(self: "Atomic", array: Any, index: Any, value: Any) -> Any:
        return self._change(name, array, index, value, new)

    # shown in Python's messages about wrong arguments
    operation.__qualname__ = f"Atomic.{name}"
    return operation


class Atomic:
    """`cuda.atomic`: a call reads, changes and writes an element in a single step.

    Each call returns the old value. An operation that may let other threads run first
    is a generator.
    """

    def __init__(self, run: Launched) -> None:
        self._run = run

    def _change(
        self,
        name: str,
        array: Any,
        index: Any,
        value: Any,
        new: Callable[[Any, Any], Any],
    ) -> Any:
        """Replace an element with `new(old, value)`, and return the old value."""
        self._check(name, array)
        array._check(index, "atomically change")
        given = _as(array.dtype, value)
        with self._run.specially(Special(_kinds(name, array, index, value))):
            old = array[index]
            if isinstance(old, Array):
                self._run.fault("type", "an atomic operation needs one element")
            array[index] = new(old, given)
        return old

    def _check(self, name: str, array: Any) -> None:
        """Refuse an array for which Numba lacks the operation `name`."""
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

    add = _operation("add", operator.add)
    sub = _operation("sub", operator.sub)
    and_ = _operation("and_", operator.and_)
    or_ = _operation("or_", operator.or_)
    xor = _operation("xor", operator.xor)
    max, min = _operation("max", max), _operation("min", min)
    nanmax, nanmin = _operation("nanmax", np.fmax), _operation("nanmin", np.fmin)
    inc = _operation("inc", lambda old, most: 0 if old >= most else old + 1)
    dec = _operation(
        "dec", lambda old, most: most if old == 0 or old > most else old - 1
    )

    def exch(self, array: Any, index: Any, value: Any) -> Waiting:
        if self._run.try_later():
            yield
        return self._change("exch", array, index, value, lambda old, new: new)

    def cas(self, array: Any, index: Any, old: Any, value: Any) -> Waiting:
        if self._run.try_later():
            yield
        return self._change(
            "cas",
            array,
            index,
            value,
            lambda now, new: new if now == _as(array.dtype, old) else now,
        )

    def compare_and_swap(self, array: Any, old: Any, value: Any) -> Waiting:
        return self.cas(array, (0,) * array.ndim, old, value)


def _kinds(name: str, array: Array, index: Any, value: Any) -> frozenset[str]:
    """Return the names under which an operation is counted (see `Trace.atomics`)."""
    kinds, kind = {name}, array.dtype
    if name == "add" and kind.kind in "iu" and kind.itemsize == 4 and value == 1:
        kinds.add("one")
    parts = index if isinstance(index, tuple) else (index,)
    fixed = all(type(part) is int for part in parts)
    if fixed and name not in ("exch", "cas"):
        kinds.add("known")
    return frozenset(kinds)


def _as(kind: np.dtype[Any], value: Any) -> Any:
    """Convert `value` to `kind`, an array's element type; integers wrap around."""
    number = of_dtype(kind)
    return value if number is None else kind.type(cast_to(number)(value))
