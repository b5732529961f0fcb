"""Python's numeric built-ins as Numba compiles them, applied to Python numbers.

`of_python("min", FLOAT32, FLOAT32)` returns the `Operation` that computes a minimum.
"""

from collections.abc import Callable
from functools import cache, reduce
from math import copysign
from typing import Any

from weft.simulator.arithmetic.conversions import (
    Conversion,
    conversion,
    holds,
)
from weft.simulator.arithmetic.mathematics import length
from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Number,
    rule_of_one,
    rule_of_two,
    unified,
)
from weft.simulator.arithmetic.operations import Operation, binary


@cache
def of_python(name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a Python built-in, or None if Numba lacks it.

    given: the types of the arguments; for `sum`, those of the elements and of the start
    value, as in `total`.
    """
    if name in ("min", "max"):
        return _extreme(name, given)
    if name == "pow":
        return binary("pow", *given) if len(given) == 2 else None
    if name == "sum":
        return total(*given)
    if len(given) == 1:
        return _of_one(name, given[0])
    return _of_two(name, *given) if len(given) == 2 else None


def _of_one(name: str, given: Number) -> Operation | None:
    if name not in ("abs", "round", "int", "float", "bool", "complex"):
        return None
    rule = rule_of_one(name, given)
    if rule is None:
        return None
    if name == "abs":
        return _absolute(given, rule.result)
    if name == "round":
        return Operation(rule.results, _rounded(given, rule.operands[0]))
    converts = (conversion(given, rule.result),)
    return Operation(rule.results, _unchanged, converts)


def _unchanged(value: Any) -> Any:
    return value


def _of_two(name: str, a: Number, b: Number) -> Operation | None:
    rule = {"divmod": "divmod", "round": "round2", "complex": "complex"}.get(name)
    found = None if rule is None else rule_of_two(rule, a, b)
    if found is None:
        return None
    if name == "divmod":
        return _quotient_and_rest(a, b, found.operands[0])
    if name == "round":
        rounds = FLOAT32 if found.result is FLOAT32 else None
        converts = conversion(a, found.operands[0]), conversion(b, INT64)
        return Operation(found.results, _to_digits, converts, "", rounds)
    if "c" in (a.kind, b.kind):
        return None  # it has a type, but Numba has no function for it
    half = found.result.half
    parts = conversion(a, half), conversion(b, half)
    return Operation(found.results, complex, parts)


# abs


def _absolute(given: Number, result: Number) -> Operation:
    """Return the `Operation` for `abs`.

    An integer keeps its type, so the lowest integer stays negative.
    """
    if given.kind == "c":
        rounds = result if result is FLOAT32 else None
        return Operation((result,), _length, (None,), "", rounds)
    rounds = result if given.kind == "i" else None
    converts = (conversion(given, result),) if given is BOOL else (None,)
    return Operation((result,), abs, converts, "", rounds)


def _length(z: complex) -> float:
    return length(z.real, z.imag)


# round


def _rounded(given: Number, through: Number) -> Callable[[Any], int]:
    """Return a function that rounds a number to the nearest integer, ties to even."""
    if given.whole:  # through a float64, as in NumPy
        cut = conversion(FLOAT64, INT64)
        exact = holds(INT64, given) and given.bits <= 32
        return (lambda x: +x) if exact else _through_float(cut)
    beyond = conversion(through, INT64)
    assert beyond is not None

    def nearest(x: float) -> int:
        if -9e18 < x < 9e18:
            return round(x)
        return int(beyond(x))

    return nearest


def _through_float(cut: Conversion | None) -> Callable[[int], int]:
    assert cut is not None
    return lambda x: int(cut(float(x)))


def _to_digits(x: float, digits: int) -> float:
    try:
        return round(x, digits)
    except OverflowError:  # too large, or with more digits than a C number can hold
        return copysign(float("inf"), x) if -400 < digits < 400 else x


# divmod


def _quotient_and_rest(a: Number, b: Number, through: Number) -> Operation | None:
    """Return the `Operation` for `divmod`, which converts its operands to `through`."""
    quotient = binary("floordiv", through, through)
    rest = binary("mod", through, through)
    assert quotient is not None
    assert rest is not None
    first, second = quotient.whole(), rest.whole()
    converts = conversion(a, through), conversion(b, through)
    results = quotient.result, rest.result
    return Operation(results, lambda x, y: (first(x, y), second(x, y)), converts)


# min and max


def _extreme(name: str, given: tuple[Number, ...]) -> Operation | None:
    """Return the `Operation` for `min` or `max`, in the common type of the numbers.

    Returns None if a number is complex, or if there are no numbers.
    """
    if not given or any(number.kind == "c" for number in given):
        return None
    number = reduce(unified, given)
    converts = tuple(conversion(one, number) for one in given)
    if len(given) == 2 and all(n.kind == "f" and n.bits > 16 for n in given):
        return Operation((number,), {"min": least, "max": greatest}[name], converts)
    if len(given) == 2:
        return Operation((number,), {"min": _less, "max": _more}[name], converts)
    return Operation((number,), {"min": min, "max": max}[name], converts)


def _less(a: Any, b: Any) -> Any:
    return b if b < a else a


def _more(a: Any, b: Any) -> Any:
    return b if b > a else a


def least(a: float, b: float) -> float:
    """Compute the minimum as GPUs do: -0.0 is less than 0.0, and a NaN is ignored."""
    if a < b:
        return a
    if b < a:
        return b
    if a == b:
        return a if a or copysign(1.0, a) < 0 else b
    return a if b != b else b


def greatest(a: float, b: float) -> float:
    """Compute the maximum as GPUs do: 0.0 exceeds -0.0, and a NaN is ignored."""
    if a > b:
        return a
    if b > a:
        return b
    if a == b:
        return a if a or copysign(1.0, a) > 0 else b
    return a if b != b else b


# sum


def total(element: Number, start: Number = INT64) -> Operation | None:
    """Return the `Operation` for a sum of numbers, which adds as a kernel's `+` does.

    element, start: the types of the numbers and of the start value, which is first
    converted to the type of the result. Returns None if Numba refuses the addition.
    """
    once = binary("add", start, element)
    again = None if once is None else binary("add", once.result, element)
    if again is None:
        return None
    number, add = again.result, again.whole()
    begin = conversion(start, number)

    def apply(values: Any, first: Any = 0) -> Any:
        return reduce(add, values, first)

    return Operation((number,), apply, (None, begin))
