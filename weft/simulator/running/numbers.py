"""Arithmetic of `cuda`: on the bits of integers, and in half precision."""

import math
from typing import Any

import numpy as np

from weft.simulator.arithmetic.casts import cast_to
from weft.simulator.arithmetic.numbers import (
    NUMBERS,
    UINT32,
    UINT64,
    Number,
    number_of,
)


class Half:
    """`cuda.fp16`: half-precision arithmetic by function."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HALF:
            raise AttributeError(f"cuda.fp16 has no {name}")
        function = _HALF[name]

        def apply(*values: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*(np.float16(v) for v in values))
            return (
                result if isinstance(result, (bool, np.bool_)) else np.float16(result)
            )

        return apply


_HALF: dict[str, Any] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hfma": lambda a, b, c: float(a) * float(b) + float(c),
    "hneg": np.negative,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda a: 10 ** float(a),
    "hsqrt": np.sqrt,
    "hrcp": np.reciprocal,
    "hrsqrt": lambda a: 1 / math.sqrt(a) if a > 0 else np.inf,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "heq": np.equal,
    "hne": np.not_equal,
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
    "hmax": np.maximum,
    "hmin": np.minimum,
}


def bits_of(value: Any) -> tuple[int, Number]:
    """The bits of an integer as a number >= 0, and its type: a Boolean is an int8."""
    number = number_of(value)
    if number is None or number.kind == "f":
        raise TypeError(f"this takes an integer; got {value!r}")
    if number.kind == "b":
        number = NUMBERS["i8"]
    return int(value) & (2**number.bits - 1), number


def popc(value: Any) -> Any:
    """How many bits are set, in the type of the number."""
    held, number = bits_of(value)
    return cast_to(number)(held.bit_count())


def clz(value: Any) -> Any:
    """How many bits are zero above the highest one that is set."""
    held, number = bits_of(value)
    return cast_to(number)(number.bits - held.bit_length())


def ffs(value: Any) -> Any:
    """The position of the lowest bit that is set, counted from 1; 0 if none is."""
    held, _ = bits_of(value)
    return np.uint32((held & -held).bit_length())


def brev(value: Any) -> Any:
    """The bits in reverse: of a uint64 all, of every other type 32, as Numba has it."""
    _, number = bits_of(value)
    wide = UINT64 if number is UINT64 else UINT32
    held = int(cast_to(wide)(value))
    return cast_to(wide)(int(f"{held:0{wide.bits}b}"[::-1], 2))
