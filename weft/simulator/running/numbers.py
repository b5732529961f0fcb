"""Arithmetic of `cuda`: on the bits of integers, and in half precision."""

import math
from typing import Any

import numpy as np


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


def unsigned(value: Any) -> tuple[int, int]:
    """The bits of an integer as a number >= 0, and how many there are."""
    width = value.dtype.itemsize * 8 if isinstance(value, np.generic) else 0
    if not width:  # a plain Python integer: int32 if it fits
        width = 32 if -(2**31) <= value < 2**32 else 64
    width = max(width, 32)
    return int(value) & (2**width - 1), width


def like(value: Any, number: int) -> Any:
    if isinstance(value, np.integer):
        return np.array(number, np.uint64).astype(value.dtype)[()]
    return number
