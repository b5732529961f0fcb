"""The functions that arithmetic in a translated kernel refers to by name."""

from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.bits import round32
from weft.simulator.arithmetic.by_name import Operand, plain, shown, single
from weft.simulator.arithmetic.conversions import finish
from weft.simulator.arithmetic.numbers import Number
from weft.simulator.arithmetic.operations import quotient
from weft.simulator.inference.kinds import Cast

# a value that is stored here is read back as a float32
CELL = memoryview(bytearray(4)).cast("f")


class Below(IndexError):
    """A negative index, with which Python would count from the end."""


def below(index: int) -> Any:
    raise Below(index)


def each(array: Any) -> Any:
    """Return an iterator over the elements of an array, as plain numbers."""
    return map(plain, array)


def from_data(index: Any) -> Any:
    """Mark an index as computed from data, by converting it to int64.

    See `Trace.atomics`.
    """
    if type(index) is tuple:
        return tuple(map(np.int64, index))
    return np.int64(index)


@cache
def numpys_of(found: tuple[Number, ...]) -> Any:
    """Return a function that converts a tuple of plain numbers to NumPy numbers."""
    return lambda values: tuple(map(shown, values, found))


def written(to: Cast | None) -> str:
    """Format a conversion as part of a name.

    Examples are "f64" and, for a tuple, "of_f64_same_".
    """
    if isinstance(to, tuple):
        return f"of_{'_'.join(map(written, to))}_"
    return "same" if to is None else to.name


@cache
def wider(to: Cast | None) -> Any:
    """Return a function that converts a value to `to`; None leaves it unchanged."""
    if isinstance(to, tuple):
        parts = list(map(wider, to))
        return lambda values: tuple(f(v) for f, v in zip(parts, values, strict=True))
    if to is None:
        return lambda value: value
    return {"f": float, "c": complex, "b": bool}.get(to.kind, int)


FUNCTIONS: dict[str, Any] = {
    "round32": round32,
    "quotient": quotient,
    "bool": bool,
    "min": min,
    "max": max,
    "plain": plain,
    "below": below,
    "each": each,
    "from_data": from_data,
    "operand": Operand,
    "single": single,
}

__all__ = [
    "CELL",
    "FUNCTIONS",
    "Below",
    "finish",
    "numpys_of",
    "plain",
    "wider",
    "written",
]
