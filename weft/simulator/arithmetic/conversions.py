"""Converting a Python number from one of Numba's types to another as a GPU does.

Integers wrap around. A float becomes an integer by dropping its fraction; if it is out
of range, it becomes the nearest integer in range (PTX ISA, "cvt"). A NaN becomes 0 if
it is a float32 and the integer has at most 32 bits; otherwise only the highest bit is
set. A float becomes an 8-bit integer through a 16-bit one, which wraps around. That is
what an H200 does; see `verification/edges.json`. An integer becomes a float with one
rounding, however large it is.
"""

import operator
from collections.abc import Callable
from functools import cache
from math import trunc
from typing import Any

from weft.simulator.arithmetic.bits import (
    cut8,
    cut16,
    cut32,
    cut64,
    round16,
    round32,
    round_complex,
    wrap8,
    wrap16,
    wrap32,
    wrap64,
)
from weft.simulator.arithmetic.numbers import Number

Conversion = Callable[[Any], Any]

# Functions that convert a result to a type, from an integer of any size or a float of
# any width. A code generator omits them for an integer that it knows to be in range.
FINISHES: dict[str, Conversion] = {
    **{"i8": wrap8, "i16": wrap16, "i32": wrap32, "i64": wrap64},
    **{"u8": cut8, "u16": cut16, "u32": cut32, "u64": cut64},
    **{"f16": round16, "f32": round32, "c64": round_complex, "b": bool},
}


def finish(number: Number) -> Conversion:
    """Return the function that converts a result to type `number`; see FINISHES."""
    return FINISHES[number.name]


@cache
def conversion(given: Number, to: Number) -> Conversion | None:
    """Return the function that converts `given` to `to`, or None if none is needed.

    Raises TypeError for a complex number that would become real.
    """
    if given is to:
        return None
    if to.kind == "b":
        return bool
    if given.kind == "c" and to.kind != "c":
        raise TypeError(f"Numba does not convert a {given} to a {to}")
    if to.whole:
        return _to_integer(given, to)
    return _to_float(given, to) if to.kind == "f" else _to_complex(given, to)


def convert(value: Any, given: Number, to: Number) -> Any:
    """Convert `value` from the type `given` to the type `to`."""
    function = conversion(given, to)
    return value if function is None else function(value)


def holds(to: Number, given: Number) -> bool:
    """Return whether an integer type `to` holds every value of the type `given`."""
    return to.lowest <= given.lowest and given.highest <= to.highest


def _to_integer(given: Number, to: Number) -> Conversion | None:
    if given.kind == "b":
        return operator.pos  # True becomes 1
    if given.whole:
        return None if holds(to, given) else finish(to)
    if to.bits > 8:
        return _cut_off(given, to)
    # There is no conversion from a float to 8 bits: it goes through 16.
    wide, narrow = _cut_off(given, Number(f"{to.kind}16", to.kind, 16)), finish(to)
    return lambda x: narrow(wide(x))


def _cut_off(given: Number, to: Number) -> Conversion:
    """Return a function that truncates a float, and saturates it to `to`'s range."""
    low, high = to.lowest, to.highest
    lowest, beyond = float(low), float(high + 1)
    nan = 0 if to.bits < 64 and given.name == "f32" else low or high // 2 + 1

    def whole(x: float) -> int:
        if lowest < x < beyond:
            return trunc(x)
        if x != x:
            return nan
        return low if x <= lowest else high

    return whole


def _to_float(given: Number, to: Number) -> Conversion | None:
    if given.kind == "f":
        return finish(to) if given.bits > to.bits else None
    if given.bits <= {16: 11, 32: 24, 64: 64}[to.bits]:
        return float
    if to.bits == 16:
        return _half_of_integer
    return round32 if given.bits <= 32 else _single_of_integer


def _half_of_integer(x: int) -> float:
    # an integer that float64 must round is too large for a float16
    return round16(float(x))


def _single_of_integer(x: int) -> float:
    """Round the 64-bit integer `x` to float32.

    Beyond 53 bits, converting it to float64 would round it twice. The last 11 bits only
    decide whether `x` is above the midpoint of two float32 values, so one bit can
    replace them.
    """
    if -0x20_0000_0000_0000 <= x <= 0x20_0000_0000_0000:
        return round32(x)
    return round32((x >> 11 | (x & 0x7FF != 0)) << 11)


def _to_complex(given: Number, to: Number) -> Conversion | None:
    if given.kind == "c":
        return finish(to) if given.bits > to.bits else None
    part = conversion(given, to.half)
    if part is None or part is float:
        return complex
    return lambda x: complex(part(x))
