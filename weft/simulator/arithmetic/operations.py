"""Python's operators on Python numbers, as Numba compiles them for a GPU.

`binary("add", INT64, UINT8)` is an `Operation`: data from which a code generator writes
an expression. If Python's own operator gives the GPU's result, it is the `symbol`;
otherwise `function` is called. An integer divided by zero is zero, as in Numba with
exceptions off. A shift by too many bits shifts everything out. A float divided by zero
is infinite or NaN.

The sum, difference, product, quotient and square root of float32 values are computed in
float64 and then rounded. The first of these two roundings does no harm, as 53 >= 2 * 24
+ 2. (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995.)
The same holds for float16, which has 11 bits.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import copysign, floor, fmod, inf, isinf, nan
from typing import Any

from weft.simulator.arithmetic.bits import FOUR_SINGLES, round32
from weft.simulator.arithmetic.conversions import (
    Conversion,
    conversion,
    finish,
    holds,
)
from weft.simulator.arithmetic.numbers import (
    FLOAT32,
    FLOAT64,
    INT64,
    Number,
    rule_of_one,
    rule_of_two,
)

Function = Callable[..., Any]

SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>"},
    **{"and_": "&", "or_": "|", "xor": "^"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}
PREFIXES = {"neg": "-", "pos": "+", "invert": "~", "not_": "not "}
COMPARISONS = frozenset(["lt", "le", "gt", "ge", "eq", "ne"])
_MOST_MULTIPLIED = 0x10000  # a larger exponent goes through `math.pow`
_LOWEST = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Operation:
    """How to compute with numbers of certain types.

    results: the result types, several for a function such as `divmod`. converts: the
    function that is applied to each operand first; None for most. symbol: Python's
    operator, equivalent to `function`, or "" if `function` has to be called. rounds:
    the type to which the result is converted at the end, by its `finish`; None if no
    conversion is needed. Converting an integer has no effect if it is in the range of
    that type.
    """

    results: tuple[Number, ...]
    function: Function
    converts: tuple[Conversion | None, ...] = ()
    symbol: str = ""
    rounds: Number | None = None

    @property
    def result(self) -> Number:
        return self.results[0]

    def whole(self) -> Function:
        """Return a single function that converts, computes and rounds."""
        inner, converts = self.function, self.converts
        if any(converts):
            inner = _converting(inner, converts)
        if self.rounds is None:
            return inner
        last, applied = finish(self.rounds), inner
        if len(converts) == 2:
            return lambda a, b: last(applied(a, b))
        return lambda *values: last(applied(*values))


def _converting(
    function: Function, converts: tuple[Conversion | None, ...]
) -> Function:
    every = [one or _same for one in converts]
    if len(every) == 1:
        only = every[0]
        return lambda a: function(only(a))
    if len(every) == 2:
        first, second = every
        return lambda a, b: function(first(a), second(b))
    return lambda *values: function(
        *(one(v) for one, v in zip(every, values, strict=True))
    )


def _same(value: Any) -> Any:
    return value


# Division


def quotient(a: float, b: float) -> float:
    """Compute `a / b`, where at least one operand is a float."""
    if b:
        return a / b
    return nan if a != a or a == 0 else copysign(inf, a) * copysign(1.0, b)


def floor_quotient(a: float, b: float) -> float:
    """Compute `a // b` for float64 values."""
    return a // b if b else quotient(a, b)


def floor_quotient32(a: float, b: float) -> float:
    """Compute `a // b` for float32 values, rounding after each step."""
    if not b or isinf(a):
        return nan if b else quotient(a, b)
    rest = fmod(a, b)
    found = round32(round32(a - rest) / b)
    if rest and (b < 0) != (rest < 0):
        found = round32(found - 1.0)
    if not found or isinf(found):
        return found or copysign(0.0, a) * copysign(1.0, b)
    if found != found:
        return found
    below = float(floor(found))
    return below + 1.0 if found - below > 0.5 else below


def remainder(a: float, b: float) -> float:
    """Compute `a % b` for floats, with the sign of `b`."""
    return a % b if b else nan


def _floordiv(a: int, b: int) -> int:
    return 0 if not b or (b == -1 and a == _LOWEST) else a // b


def _mod(a: int, b: int) -> int:
    return a % b if b else 0


def _floordiv_unsigned(a: int, b: int) -> int:
    return a // b if b else 0


# Shifts


def _lshift(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _rshift(a: int, b: int) -> int:
    if 0 <= b < 64:
        return a >> b
    return -1 if a < 0 else 0


# Powers


def power(a: float, b: float) -> float:
    """Compute C's `pow`, which raises no exception."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:
        if a:
            return nan
        return copysign(inf, a) if b % 2 == 1 else inf  # 0 to a negative power


def _square(base: Any, _: int) -> Any:
    return base * base


def _multiplied(base: float, exponent: int) -> float:
    """Compute `base ** exponent` by squaring, in the order that Numba uses."""
    result = 1.0
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        base = base * base
    return result


def _multiplied32(base: float, exponent: int) -> float:
    result = 1.0
    while exponent:
        if exponent & 1:
            result = round32(result * base)
        exponent >>= 1
        base = round32(base * base)
    return result


def _real_power(multiplied: Callable[[float, int], float]) -> Function:
    """Return a function that raises a float to an integer power.

    The function uses `multiplied` if the exponent is small enough.
    """

    def apply(base: float, exponent: int) -> float:
        if not -_MOST_MULTIPLIED <= exponent <= _MOST_MULTIPLIED:
            return power(base, float(exponent))
        if exponent >= 0:
            return multiplied(base, exponent)
        return quotient(1.0, multiplied(base, -exponent))

    return apply


@cache
def _whole_power(number: Number) -> Callable[[int, int], int]:
    """Return a function that computes a power as Numba's `int_power_impl` does."""
    cut = conversion(FLOAT64, number)
    assert cut is not None

    def apply(base: int, exponent: int) -> int:
        if exponent < 0:
            if base == 0:
                return _LOWEST
            if base not in (1, -1):
                return 0
            exponent = -exponent
        if exponent > _MOST_MULTIPLIED:
            return int(cut(power(float(base), float(exponent))))
        if exponent < 64:
            return int(base**exponent)
        return pow(base, exponent, 1 << 64)

    return apply


# Complex numbers


def product(z: complex, w: complex) -> complex:
    """Compute `z * w` without the rules for infinities that Python 3.14 introduced."""
    a, b, c, d = z.real, z.imag, w.real, w.imag
    return complex(a * c - b * d, a * d + b * c)


def product32(z: complex, w: complex) -> complex:
    """Compute `z * w` for complex64 values, rounding after each step."""
    a, b, c, d, cell = z.real, z.imag, w.real, w.imag, FOUR_SINGLES
    cell[0], cell[1] = a * c, b * d
    cell[2], cell[3] = a * d, b * c
    cell[0], cell[1] = cell[0] - cell[1], cell[2] + cell[3]
    return complex(cell[0], cell[1])


def _as_it_is(x: float) -> float:
    return x


def _ratio(rounded: Callable[[float], float]) -> Callable[[complex, complex], complex]:
    """Return a function that computes `z / w` by Smith's method, as Numba does.

    rounded: the function that rounds the result of each step.
    """

    def apply(z: complex, w: complex) -> complex:
        a, b, c, d = z.real, z.imag, w.real, w.imag
        if not c and not d:
            by = abs(c)
            return complex(quotient(a, by), quotient(b, by))
        if abs(c) >= abs(d):
            part = rounded(d / c)
            under = rounded(c + rounded(d * part))
            real = rounded(a + rounded(b * part))
            imag = rounded(b - rounded(a * part))
        elif d:
            part = rounded(c / d)
            under = rounded(rounded(c * part) + d)
            real = rounded(rounded(a * part) + b)
            imag = rounded(rounded(b * part) - a)
        else:  # c is NaN
            return complex(nan, nan)
        return complex(rounded(quotient(real, under)), rounded(quotient(imag, under)))

    return apply


_FOR_COMPLEX: dict[str, tuple[Function, Function]] = {  # for (complex128, complex64)
    "mul": (product, product32),
    "truediv": (_ratio(_as_it_is), _ratio(round32)),
}


def _complex(name: str, a: Number, b: Number, number: Number) -> Operation | None:
    """Return the `Operation` for complex numbers, or None if Numba cannot compute it.

    number: the type to which both operands are converted.
    """
    converts = conversion(a, number), conversion(b, number)
    if name in ("add", "sub"):
        rounds = number if number.bits == 64 else None
        own: Function = getattr(operator, name)
        return Operation((number,), own, converts, SYMBOLS[name], rounds)
    if name not in _FOR_COMPLEX:
        return None  # `**` has a type, but Numba has no function for it
    return Operation((number,), _FOR_COMPLEX[name][number.bits == 64], converts)


# Binary operators


@cache
def binary(
    name: str, a: Number, b: Number, by: float | None = None
) -> Operation | None:
    """Return the `Operation` for operator `name` on types `a` and `b`.

    Returns None if Numba refuses it.

    by: the value of `b`, if it is known.
    """
    rule = rule_of_two(name, a, b)
    if rule is None:
        return None
    if name in COMPARISONS:
        to = rule.operands[0]
        converts = _compared(a, to), _compared(b, to)
        own: Function = getattr(operator, name)
        return Operation(rule.results, own, converts, SYMBOLS[name])
    if rule.result.kind == "c":
        return _complex(name, a, b, rule.result)
    if rule.result.kind == "f":
        return _real(name, a, b, rule.operands, rule.result, by)
    if rule.result.kind == "b":
        return Operation(rule.results, getattr(operator, name), symbol=SYMBOLS[name])
    return _integer(name, a, b, rule.result, by)


def _compared(given: Number, to: Number) -> Conversion | None:
    """Return the conversion of a comparison's operand, or None if none is needed."""
    return conversion(given, to) if _is_rounded(given, to) else None


def _is_rounded(given: Number, to: Number) -> bool:
    """Return whether converting an operand of a comparison can round its value."""
    if given.whole:
        return given.bits > 32 and not to.whole
    return given.bits > to.bits


def _real(
    name: str,
    a: Number,
    b: Number,
    operands: tuple[Number, ...],
    result: Number,
    by: float | None,
) -> Operation | None:
    """Return the `Operation` for an operator with a float result.

    An integer combined with a float is converted by Python itself, with one rounding.
    """
    if name == "pow":
        return _real_raised(a, b, operands, result, by)
    converts: tuple[Conversion | None, ...] = None, None
    if a.whole and b.whole:  # `/`: Python rounds the exact quotient of integers
        converts = _compared(a, FLOAT64), _compared(b, FLOAT64)
    rounds = None if result is FLOAT64 else result
    own: Function = getattr(operator, name)
    if name in ("add", "sub", "mul"):
        return Operation((result,), own, converts, SYMBOLS[name], rounds)
    if name == "floordiv" and result is FLOAT32:
        return Operation((result,), floor_quotient32, converts)
    if by:
        return Operation((result,), own, converts, SYMBOLS[name], rounds)
    called = {"truediv": quotient, "floordiv": floor_quotient, "mod": remainder}[name]
    return Operation((result,), called, converts, "", rounds)


def _real_raised(
    a: Number, b: Number, operands: tuple[Number, ...], result: Number, by: float | None
) -> Operation:
    first, second = operands
    converts = conversion(a, first), conversion(b, second)
    rounds = None if result is FLOAT64 else result
    if not second.whole:
        return Operation((result,), power, converts, "", rounds)
    if by == 2:
        return Operation((result,), _square, converts, "", rounds)
    multiplied = _multiplied32 if result is FLOAT32 else _multiplied
    return Operation((result,), _real_power(multiplied), converts, "", rounds)


_WHOLE: dict[str, tuple[Function, Function]] = {  # for (int64, uint64)
    "floordiv": (_floordiv, _floordiv_unsigned),
    "mod": (_mod, _mod),
    "lshift": (_lshift, _lshift),
    "rshift": (_rshift, _rshift),
}


def _integer(
    name: str, a: Number, b: Number, result: Number, by: float | None
) -> Operation:
    """Return the `Operation` for an operator with an int64 or uint64 result.

    Operands need not be truncated if the result is truncated to 64 bits.
    """
    own: Function = getattr(operator, name)
    converts: tuple[Conversion | None, ...] = None, None
    if name in ("and_", "or_", "xor", "floordiv", "mod"):
        converts = _of_64_bits(a, result), _of_64_bits(b, result)
    rounds = None if _fits(name, a, b, result, by) else result
    if _native(name, result, by):
        return Operation((result,), own, converts, SYMBOLS[name], rounds)
    if name == "pow":
        called: Function = _square if by == 2 else _whole_power(result)
    else:
        called = _WHOLE[name][result.kind == "u"]
    return Operation((result,), called, converts, "", rounds)


def _of_64_bits(given: Number, to: Number) -> Conversion | None:
    return None if holds(to, given) else conversion(given, to)


def _native(name: str, result: Number, by: float | None) -> bool:
    """Return whether Python's operator gives Numba's result, apart from wrap-around."""
    if name in ("floordiv", "mod"):
        return by is not None and (by > 0 or (by < -1 and result is INT64))
    if name in ("lshift", "rshift", "pow"):
        return by is not None and 0 <= by < 64 and (name, by) != ("pow", 2)
    return True


def _fits(name: str, a: Number, b: Number, result: Number, by: float | None) -> bool:
    """Return whether an operator's result is sure to be in the range of its type.

    by: the value of `b`, if it is constant.
    """
    if name in ("and_", "or_", "xor", "floordiv", "mod", "rshift"):
        return True
    pairs = [(x, y) for x in (a.lowest, a.highest) for y in (b.lowest, b.highest)]
    if name in ("add", "sub", "mul"):
        own: Function = getattr(operator, name)
        ends = [own(x, y) for x, y in pairs]
    elif name == "lshift" and by is not None:
        ends = [_lshift(x, int(by)) for x, _ in pairs]
    elif name == "pow" and by is not None and 0 <= by < 64:
        ends = [x ** int(by) for x, _ in pairs]
    else:
        return False
    low, high = min(ends), max(ends)
    return bool(result.lowest <= low and high <= result.highest)


# Unary operators


@cache
def unary(name: str, a: Number) -> Operation | None:
    """Return the `Operation` for "neg", "pos", "invert" or "not_"; None if refused."""
    rule = rule_of_one(name, a)
    if rule is None:
        return None
    if a.kind == "b" and name == "invert":
        name = "not_"
    rounds = None  # an integer is negated or inverted before it is widened
    if (name == "neg" and a.kind in "iu") or (name == "invert" and a.kind == "u"):
        rounds = a
    return Operation(
        rule.results, getattr(operator, name), (None,), PREFIXES[name], rounds
    )
