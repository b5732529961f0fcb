"""`math` as a kernel computes it: float32 in, float32 out, and no exceptions.

Python's own `math` works in double precision and raises for `log(0)`; a GPU returns
the type it was given, and an infinity or a NaN. Numba's rules: floats keep their
width, integers become float64, `floor` and `ceil` give integers.
"""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

_DOUBLE = "erf", "erfc", "gamma", "lgamma"  # that NumPy does not have


def _floating(value: Any) -> Any:
    return value if isinstance(value, np.floating) else np.float64(value)


def _ufunc(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(*(_floating(v) for v in values))

    return apply


def _scalar(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        value = _floating(value)
        try:
            return type(value)(function(float(value)))
        except (ValueError, OverflowError):
            return type(value)(np.nan)

    return apply


def _ldexp(value: Any, exponent: Any) -> Any:
    return np.ldexp(_floating(value), int(exponent))


def _floor(value: Any) -> int:
    whole: int = math.floor(value)
    return whole


def _ceil(value: Any) -> int:
    whole: int = math.ceil(value)
    return whole


def _trunc(value: Any) -> int:
    whole: int = math.trunc(value)
    return whole


def _gcd(a: Any, b: Any) -> int:
    return math.gcd(int(a), int(b))


_UFUNCS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "degrees": np.degrees,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.fabs,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "radians": np.radians,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
# What a kernel finds in `math`, by name.
NAMES: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
    **{name: _ufunc(function) for name, function in _UFUNCS.items()},
    **{name: _scalar(getattr(math, name)) for name in _DOUBLE},
    "ldexp": _ldexp,
    "floor": _floor,
    "ceil": _ceil,
    "trunc": _trunc,
    "gcd": _gcd,
}
MATH = ModuleType("math")
vars(MATH).update(NAMES)

_SAME_BITS: dict[str, tuple[Any, Any]] = {
    "float_as_int": (np.float32, np.int32),
    "float_as_uint": (np.float32, np.uint32),
    "int_as_float": (np.int32, np.float32),
    "uint_as_float": (np.uint32, np.float32),
    "double_as_longlong": (np.float64, np.int64),
    "longlong_as_double": (np.int64, np.float64),
}


class Libdevice:
    """`numba.cuda.libdevice`, as far as a name maps to a function of `math`.

    `fast_expf`, `expf` and `exp` are one function here: the simulator has no reduced
    precision.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function that a name of libdevice stands for."""
        if name in _SAME_BITS:
            given, wanted = _SAME_BITS[name]
            return lambda x: np.asarray(x).astype(given).view(wanted)[()]
        plain = name.removeprefix("fast_")
        wide = np.float32 if plain.endswith("f") else np.float64
        special = {
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "fma": lambda x, y, z: np.float64(x) * np.float64(y) + np.float64(z),
            "fdivide": lambda x, y: x / y,
            "fmax": np.fmax,
            "fmin": np.fmin,
            "rint": np.rint,
            "rcp": lambda x: 1 / x,
        }
        for stem in (plain, plain.removesuffix("f")):
            found = special.get(stem) or NAMES.get(stem)
            if callable(found):
                return lambda *v: wide(found(*(wide(x) for x in v)))
        raise AttributeError(f"the simulator has no libdevice.{name}")
