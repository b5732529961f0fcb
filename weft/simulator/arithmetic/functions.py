"""Python's functions of numbers, and those of `math`, as Numba compiles them for a GPU.

Floats keep their width, integers become float64, and nothing is raised: the logarithm
of zero is an infinity, the root of a negative number NaN. Unlike Python's, `floor`,
`ceil` and `trunc` give floats.
"""

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from weft.simulator.arithmetic.casts import cast_to
from weft.simulator.arithmetic.numbers import (
    BOOL,
    INT64,
    Number,
    Rule,
    number_of,
    rule_of_one,
    rule_of_two,
    unified,
)
from weft.simulator.arithmetic.operators import BINARY

Function = Callable[..., Any]


def _scalar(function: Callable[[float], float]) -> Function:
    """A function that NumPy does not have, worked out in double precision."""

    def apply(value: Any) -> Any:
        try:
            return type(value)(function(float(value)))
        except (ValueError, OverflowError):
            return type(value)(np.nan)

    return apply


def _gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except OverflowError:
        return math.inf
    except ValueError:  # at 0 and the negative integers
        return math.copysign(math.inf, value) if value == 0 else math.nan


def _lgamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except (OverflowError, ValueError):
        return math.inf


def _frexp(value: Any) -> tuple[Any, Any]:
    fraction, exponent = np.frexp(value)
    return fraction, np.int32(exponent)


def _modf(value: Any) -> tuple[Any, Any]:
    fraction, whole = np.modf(value)
    return fraction, whole


_ONE: dict[str, Function] = {
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "sin", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cosh", "sinh", "tanh")},
    **{
        name: getattr(np, name)
        for name in tuple(
            (
                "cos cosh sin sinh tan tanh exp exp2 expm1 log log10 log1p log2 "
                "sqrt fabs floor ceil trunc degrees radians"
            ).split()
        )
    },
    "erf": _scalar(math.erf),
    "erfc": _scalar(math.erfc),
    "gamma": _scalar(_gamma),
    "lgamma": _scalar(_lgamma),
    "frexp": _frexp,
    "modf": _modf,
}
_TESTS: dict[str, Function] = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
}


def _power(a: Any, b: Any) -> Any:
    return np.power(a, type(a)(b))


_TWO: dict[str, tuple[str, Function]] = {
    "atan2": ("atan2", np.arctan2),
    "copysign": ("copysign", np.copysign),
    "fmod": ("fmod", np.fmod),
    "hypot": ("hypot", np.hypot),
    "ldexp": ("ldexp", np.ldexp),
    "pow": ("math.pow", _power),
}


def _refused(name: str, *values: Any) -> TypeError:
    kinds = ", ".join(str(number_of(v) or type(v).__name__) for v in values)
    return TypeError(f"{name} of {kinds} is nothing that Numba compiles")


def _converted(rule: Rule, values: tuple[Any, ...]) -> list[Any]:
    """The arguments in the types that a function of `math` computes in."""
    made = [cast_to(n)(v) for n, v in zip(rule.operands, values, strict=True)]
    wide = any(result.name == "f64" for result in rule.results)
    return [
        np.float64(v) if wide and isinstance(v, (int, np.uint64)) else v for v in made
    ]


def _of_one(name: str, function: Function) -> Function:
    def apply(value: Any) -> Any:
        number = number_of(value)
        rule = None if number is None else rule_of_one(name, number)
        if rule is None:
            raise _refused(f"math.{name}", value)
        if rule.result is BOOL:
            return bool(
                function(np.float64(value) if isinstance(value, int) else value)
            )
        with np.errstate(all="ignore"):
            return function(*_converted(rule, (value,)))

    return apply


def _of_two(name: str, key: str, function: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        of_a, of_b = number_of(a), number_of(b)
        rule = None if of_a is None or of_b is None else rule_of_two(key, of_a, of_b)
        if rule is None:
            raise _refused(f"math.{name}", a, b)
        first, second = _converted(rule, (a, b))
        if name == "ldexp":
            second = int(b)
        elif rule.operands[0].whole:
            first, second = np.float64(first), np.float64(second)
        with np.errstate(all="ignore"):
            return function(first, second)

    return apply


# What a kernel finds in `math`, by name.
MATH: dict[str, Any] = {
    **{
        name: np.float64(getattr(math, name))
        for name in ("pi", "e", "tau", "inf", "nan")
    },
    **{name: _of_one(name, function) for name, function in (_ONE | _TESTS).items()},
    **{name: _of_two(name, *two) for name, two in _TWO.items()},
}


def _of_complex(name: str) -> Function:
    known: Function = getattr(np, _NUMPYS.get(name, name))

    def apply(value: Any) -> Any:
        number = number_of(value)
        rule = None if number is None else rule_of_one(f"cmath.{name}", number)
        if rule is None:
            raise _refused(f"cmath.{name}", value)
        with np.errstate(all="ignore"):
            found = known(cast_to(rule.operands[0])(value))
        return cast_to(rule.result)(found)

    return apply


# What a kernel finds in `cmath`, by name.
_NUMPYS = {f"a{name}": f"arc{name}" for name in ("cos", "sin", "tan", "sinh", "tanh")}
CMATH: dict[str, Any] = {
    **{n: np.float64(getattr(math, n)) for n in ("pi", "e", "tau", "inf", "nan")},
    **{
        name: _of_complex(name)
        for name in (
            *("acos", "asin", "asinh", "atan", "atanh", "cos", "exp", "isfinite"),
            *("isinf", "isnan", "log", "sin", "sqrt", "tan"),
        )
    },
}


def of_numpy(function: np.ufunc) -> Function:
    """A function of NumPy's as Numba compiles it for numbers.

    Numba gives a float of the type that its rule has, and computes in that.
    """
    name = f"np.{function.__name__}"

    def apply(*values: Any) -> Any:
        numbers = [number_of(value) for value in values]
        known = None not in numbers and len(numbers) == function.nin <= 2
        rule = None
        if known:
            ask: Any = rule_of_one if len(numbers) == 1 else rule_of_two
            rule = ask(name, *numbers)
        if rule is None:
            return function(*values)
        to, kinds = rule.result, [n.dtype.type for n in numbers if n is not None]
        if not to.whole and not any(n.kind == "c" for n in numbers if n is not None):
            kinds = [to.dtype.type] * len(values)
        with np.errstate(all="ignore"):
            given = [kind(value) for kind, value in zip(kinds, values, strict=True)]
            return cast_to(to)(function(*given))

    return apply


# Python's own functions


def absolute(value: Any) -> Any:
    """`abs`: the type stays, so that the lowest integer stays negative."""
    number = number_of(value)
    if number is None:
        return abs(value)
    rule = rule_of_one("abs", number)
    assert rule is not None
    if not number.whole:
        return abs(cast_to(number)(value))
    return cast_to(rule.result)(abs(int(value)))


def nearest(value: Any, digits: Any = None) -> Any:
    """`round`: to even. With a number of digits the result is a float."""
    number = number_of(value)
    if number is None:
        return round(value)
    if digits is None:
        return cast_to(INT64)(np.rint(np.float64(value)))
    rule = rule_of_two("round2", number, INT64)
    assert rule is not None
    given = cast_to(rule.operands[0])(value)
    return (
        type(given)(round(float(given), int(digits))) if np.isfinite(given) else given
    )


def whole(value: Any = 0, *base: Any) -> Any:
    """`int`: an integer keeps its type, a float becomes an int64."""
    number = number_of(value)
    if number is None or base:
        return int(value, *base)
    rule = rule_of_one("int", number)
    assert rule is not None
    return cast_to(rule.result)(value)


def real(value: Any = 0.0) -> Any:
    """`float`: a float keeps its width, an integer becomes a float64."""
    number = number_of(value)
    rule = None if number is None else rule_of_one("float", number)
    if rule is None:
        raise _refused("float", value)
    return cast_to(rule.result)(value)


def truth(value: Any = False) -> bool:
    return bool(value)


def _extreme(
    name: str, comes_first: Callable[[Any, Any], Any], pick: Function
) -> Function:
    """`min` or `max`: of two floats the GPU's own, which passes a NaN by."""

    def apply(*values: Any) -> Any:
        """The extreme of some numbers, or of a tuple of them, in their common type."""
        if len(values) == 1:
            values = tuple(values[0])
        kinds = [number_of(value) for value in values]
        if not values or None in kinds:
            raise _refused(name, *values)
        number = kinds[0]
        for kind in kinds[1:]:
            assert number is not None
            assert kind is not None
            number = unified(number, kind)
        assert number is not None
        cast = cast_to(number)
        both = [kind.kind == "f" and kind.bits > 16 for kind in kinds if kind]
        if len(values) == 2 and all(both):
            return cast(pick(cast(values[0]), cast(values[1])))
        best = cast(values[0])
        for value in values[1:]:
            if comes_first(cast(value), best):
                best = cast(value)
        return best

    return apply


def _least(a: Any, b: Any) -> Any:
    """The smaller number; -0.0 is smaller than 0.0, and a NaN is passed by."""
    return (a if np.signbit(a) else b) if a == b == 0 else np.fmin(a, b)


def _greatest(a: Any, b: Any) -> Any:
    return (b if np.signbit(a) else a) if a == b == 0 else np.fmax(a, b)


least = _extreme("min", operator.lt, _least)
greatest = _extreme("max", operator.gt, _greatest)


def quotient_and_rest(a: Any, b: Any) -> tuple[Any, Any]:
    """`divmod`: of mixed signs where one is a uint64, in float64."""
    of_a, of_b = number_of(a), number_of(b)
    if of_a is None or of_b is None:
        raise _refused("divmod", a, b)
    rule = rule_of_two("divmod", of_a, of_b)
    assert rule is not None
    a, b = (cast_to(n)(v) for n, v in zip(rule.operands, (a, b), strict=True))
    return BINARY["floordiv"](a, b), BINARY["mod"](a, b)


def pair(*parts: Any) -> Any:
    """`complex`: of float32 a complex64, of other numbers a complex128."""
    numbers = [number_of(part) for part in parts]
    rule = rule_of("builtins", "complex", [n for n in numbers if n is not None])
    if rule is None or None in numbers:
        raise _refused("complex", *parts)
    return cast_to(rule.result)(complex(*parts))


def power(a: Any, b: Any, modulus: Any = None) -> Any:
    """`pow`, which is `**`."""
    if modulus is not None:
        raise TypeError("Numba's pow takes two numbers")
    return BINARY["pow"](a, b)


def total(values: Any, start: Any = 0) -> Any:
    """`sum`, by the `+` of a kernel."""
    for value in values:
        start = BINARY["add"](start, value)
    return start


# Python's functions that a kernel has, each by its own rules here.
BUILTINS: dict[str, Function] = {
    "abs": absolute,
    "bool": truth,
    "complex": pair,
    "divmod": quotient_and_rest,
    "float": real,
    "int": whole,
    "max": greatest,
    "min": least,
    "pow": power,
    "round": nearest,
    "sum": total,
}


def rule_of(owner: str, name: str, given: list[Number]) -> Rule | None:
    """The rule of a function of Python's ("builtins") or of `math`, if it is one."""
    if owner == "math":
        if len(given) == 2:
            return rule_of_two(_TWO[name][0], *given) if name in _TWO else None
        known = name in _ONE or name in _TESTS
        return rule_of_one(name, given[0]) if known and len(given) == 1 else None
    if name in ("min", "max"):
        found = reduce(unified, given)
        return Rule((found,), (found,) * len(given))
    key = {"round": "round2"}.get(name, name)
    if len(given) == 2:
        known = name in ("pow", "divmod", "round", "complex")
        return rule_of_two(key, *given) if known else None
    known = name in ("abs", "round", "int", "float", "bool", "complex")
    return rule_of_one(name, given[0]) if known and len(given) == 1 else None
