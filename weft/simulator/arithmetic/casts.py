"""Converting a number to another type as a GPU does.

Integers wrap around. A float becomes an integer by dropping its fraction; one that is
out of range becomes the nearest integer there is (PTX ISA, "cvt"). A NaN becomes 0 if
it is a float32 and the integer has at most 32 bits; otherwise only the highest bit is
set. That is what an H200 does; see `verification/edges.json`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.numbers import INT64, Number

_EXACT = 1 << 53  # every integer up to here is a float64
_SIGN, _WIDTH = 1 << 63, 1 << 64


def wrapped(value: int) -> int:
    """An integer as 64 bits with a sign hold it."""
    return value if -_SIGN <= value < _SIGN else (value + _SIGN) % _WIDTH - _SIGN


def _int64(value: Any) -> int:
    if isinstance(value, (float, np.floating)):
        return _whole(value, 64, True)
    return wrapped(int(value))


def _whole(value: Any, bits: int, signed: bool) -> int:
    """A float as an integer of so many bits."""
    low = -(1 << bits - 1) if signed else 0
    high = (1 << bits - signed) - 1
    if value != value:
        return (
            0 if bits < 64 and isinstance(value, np.float32) else low or high // 2 + 1
        )
    if value <= low:
        return low
    return min(int(value), high) if value < 2.0**bits else high


def _integer(number: Number) -> Callable[[Any], Any]:
    """The conversion to an integer type other than int64.

    There is no conversion from a float to 8 bits: it goes through 16.
    """
    kind, mask = number.dtype.type, (1 << number.bits) - 1
    signed, sign = number.kind == "i", 1 << number.bits - 1
    through = max(number.bits, 16)

    def cast(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        if isinstance(value, (float, np.floating)):
            value = _whole(value, through, signed)
        value = int(value) & mask
        return kind(value - 2 * sign if signed and value & sign else value)

    return cast


def _floating(number: Number) -> Callable[[Any], Any]:
    """The conversion to a float: one rounding, also of a large integer."""
    kind = number.dtype.type

    def cast(value: Any) -> Any:
        if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
            wide = np.int64 if value < _SIGN else np.uint64
            return wide(value).astype(kind)
        return kind(value)

    return cast


def _boolean(value: Any) -> bool:
    return bool(value != 0)


@cache
def cast_to(number: Number) -> Callable[[Any], Any]:
    """The function that converts a value to `number`.

    An int64 is a Python integer, a Boolean Python's; every other number is NumPy's.
    """
    if number is INT64:
        return _int64
    if number.kind == "b":
        return _boolean
    return _integer(number) if number.whole else _floating(number)
