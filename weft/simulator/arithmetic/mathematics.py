"""The functions of `math`, as Numba compiles them for a GPU, on Python numbers.

`of_math("sqrt", FLOAT32)` returns the `Operation` that computes a square root. Floats
keep their width; integers become float64. Everything is computed in float64 and rounded
at the end. That is exact for a square root; other results may differ from a float32
function's in the last digit. Nothing is raised: the logarithm of zero is minus
infinity, the root of a negative number NaN. Unlike Python's, `floor`, `ceil` and
`trunc` return floats.
"""

import math
from collections.abc import Callable
from functools import cache
from math import copysign, fmod, inf, modf, nan
from typing import Any

from weft.simulator.arithmetic.bits import round32
from weft.simulator.arithmetic.conversions import Conversion, conversion
from weft.simulator.arithmetic.numbers import (
    FLOAT32,
    FLOAT64,
    Number,
    Rule,
    rule_of_one,
    rule_of_two,
)
from weft.simulator.arithmetic.operations import Operation, power, quotient

One = Callable[[float], float]
Two = Callable[[float, float], float]

CONSTANTS = {name: float(getattr(math, name)) for name in "pi e tau inf nan".split()}


def _nan(_: float) -> float:
    return nan


def _calm(function: One, otherwise: One = _nan) -> One:
    """Wrap `function` to return `otherwise(x)` where `function` raises an error."""

    def apply(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return otherwise(x)

    return apply


def _infinite(_: float) -> float:
    return inf


def _infinite_as_given(x: float) -> float:
    return copysign(inf, x)


def _logarithm(function: One, zero: float = 0.0) -> One:
    return _calm(function, lambda x: -inf if x == zero else nan)


_ALL_WHOLE = 4503599627370496.0  # from here on every float64 is an integer


def floor(x: float) -> float:
    return x // 1.0 if -_ALL_WHOLE < x < _ALL_WHOLE else x


def ceil(x: float) -> float:
    return -(-x // 1.0) if -_ALL_WHOLE < x < _ALL_WHOLE else x


def cut(x: float) -> float:
    """Compute `trunc`: drop the fraction."""
    return modf(x)[1]


def nearest(x: float) -> float:
    """Compute `rint`: round to the nearest integer, ties to even."""
    if -_ALL_WHOLE < x < _ALL_WHOLE:
        return copysign(float(round(x)), x)
    return x


def exp10(x: float) -> float:
    return power(10.0, x)


def rsqrt(x: float) -> float:
    return quotient(1.0, root(x))


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return copysign(inf, x)
    except ValueError:  # at 0 and the negative integers
        return copysign(inf, x) if x == 0 else nan


root = _calm(math.sqrt)
logarithm, logarithm2 = _logarithm(math.log), _logarithm(math.log2)
logarithm10 = _logarithm(math.log10)
exponential = _calm(math.exp, _infinite)
exponential2 = _calm(math.exp2, _infinite)
sine, cosine = _calm(math.sin), _calm(math.cos)

# Functions whose result has the width of their argument; these compute in float64.
ONE: dict[str, One] = {
    **{"acos": _calm(math.acos), "acosh": _calm(math.acosh), "asin": _calm(math.asin)},
    **{"asinh": math.asinh, "atan": math.atan},
    "atanh": _calm(math.atanh, lambda x: copysign(inf, x) if abs(x) == 1 else nan),
    **{"cos": cosine, "sin": sine, "tan": _calm(math.tan), "tanh": math.tanh},
    "cosh": _calm(math.cosh, _infinite),
    "sinh": _calm(math.sinh, _infinite_as_given),
    **{"exp": exponential, "exp2": exponential2},
    "expm1": _calm(math.expm1, _infinite),
    **{"log": logarithm, "log2": logarithm2, "log10": logarithm10},
    "log1p": _logarithm(math.log1p, -1.0),
    **{"sqrt": root, "fabs": math.fabs, "floor": floor, "ceil": ceil, "trunc": cut},
    **{"degrees": math.degrees, "radians": math.radians},
    **{"erf": math.erf, "erfc": math.erfc, "gamma": _gamma},
    "lgamma": _calm(math.lgamma, _infinite),
}
TESTS: dict[str, Callable[[float], bool]] = {
    **{"isfinite": math.isfinite, "isinf": math.isinf, "isnan": math.isnan},
}
PARTS: dict[str, Callable[[float], tuple[Any, ...]]] = {
    **{"frexp": math.frexp, "modf": modf},
}
EXACT = frozenset(["fabs", "floor", "ceil", "trunc", "fmod", "copysign"])


_PI = round32(math.pi)
_TO_DEGREES, _TO_RADIANS = round32(180 / _PI), round32(_PI / 180)
_OF_FLOAT32: dict[str, One] = {  # the factor is a float32 as well
    "degrees": lambda x: x * _TO_DEGREES,
    "radians": lambda x: x * _TO_RADIANS,
}


def length(a: float, b: float) -> float:
    """Compute C's `hypot` as the absolute value of a Python complex number."""
    try:
        return abs(complex(a, b))
    except OverflowError:
        return inf


def rest(a: float, b: float) -> float:
    """Compute C's `fmod`, whose result has the sign of `a`."""
    try:
        return fmod(a, b)
    except ValueError:
        return nan


def scaled(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return copysign(inf, x)


TWO: dict[str, Two] = {
    **{"atan2": math.atan2, "copysign": copysign, "fmod": rest, "hypot": length},
    **{"pow": power},
}


@cache
def of_math(name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a function of `math`, or None if Numba lacks it."""
    rule = _rule(name, given)
    if rule is None:
        return None
    if name in TESTS:  # Python's tests take integers unconverted
        return Operation(rule.results, TESTS[name], (None,))
    wide = rule.result is FLOAT64
    takes = [FLOAT64 if n.whole and wide else n for n in rule.operands]
    if name == "ldexp":
        takes[1] = rule.operands[1]
    converts = tuple(conversion(n, to) for n, to in zip(given, takes, strict=True))
    return computed(name, rule.results, converts)


def computed(
    name: str, results: tuple[Number, ...], converts: tuple[Conversion | None, ...]
) -> Operation:
    """Return the `Operation` for a `math` function with the given result types.

    converts: the conversions that are applied to the operands first.
    """
    rounds = None if results[0] is FLOAT64 or name in EXACT else results[0]
    if name in PARTS:
        return Operation(results, PARTS[name], converts)
    if name == "ldexp":
        return Operation(results, scaled, converts, "", rounds)
    if name in _OF_FLOAT32 and results[0] is FLOAT32:
        return Operation(results, _OF_FLOAT32[name], converts, "", rounds)
    function = ONE.get(name) or TWO[name]
    return Operation(results, function, converts, "", rounds)


def _rule(name: str, given: tuple[Number, ...]) -> Rule | None:
    if len(given) == 1 and name in (*ONE, *TESTS, *PARTS):
        return rule_of_one(name, *given)
    if len(given) == 2 and name in (*TWO, "ldexp"):
        return rule_of_two("math.pow" if name == "pow" else name, *given)
    return None


@cache
def known() -> frozenset[str]:
    """Return the names that a kernel can use from `math`."""
    return frozenset([*ONE, *TESTS, *PARTS, *TWO, "ldexp", *CONSTANTS])
