"""Python's operators on numbers, as Numba compiles them for a GPU.

`binary("add", INT64, UINT8)` is the function that adds two such numbers;
`BINARY["add"]` finds out at each call what the numbers are. An integer divided by zero
is zero, as Numba has it where nothing is raised; a shift by too much shifts everything
out.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.casts import cast_to, wrapped
from weft.simulator.arithmetic.numbers import (
    FLOAT64,
    INT64,
    Number,
    number_of,
    rule_of_one,
    rule_of_two,
)

Two = Callable[[Any, Any], Any]
One = Callable[[Any], Any]

SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//"},
    **{"mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>"},
    **{"and_": "&", "or_": "|", "xor": "^"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}
COMPARISONS = frozenset(["lt", "le", "gt", "ge", "eq", "ne"])
_MOST_MULTIPLIED = 0x10000  # a larger exponent goes through `math.pow`
_LOWEST = -(1 << 63)


def _floordiv(a: int, b: int) -> int:
    return 0 if b == 0 or (a == _LOWEST and b == -1) else a // b


def _mod(a: int, b: int) -> int:
    return 0 if b == 0 or (a == _LOWEST and b == -1) else a % b


def _lshift(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _rshift(a: int, b: int) -> int:
    if 0 <= b < 64:
        return a >> b
    return -1 if a < 0 else 0


_WHOLE: dict[str, Callable[[int, int], int]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul")},
    **{name: getattr(operator, name) for name in ("and_", "or_", "xor")},
    **{"floordiv": _floordiv, "mod": _mod, "lshift": _lshift, "rshift": _rshift},
}
_REAL: dict[str, Two] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv")},
    **{name: getattr(operator, name) for name in COMPARISONS},
}


def _quotient(a: Any, b: Any) -> Any:
    """`a // b` of two floats: rounded down, as C's `fmod` leaves it to be."""
    return np.floor_divide(a, b) if b != 0 else a / b


def _remainder(a: Any, b: Any) -> Any:
    """`a % b` of two floats: with the sign of `b`."""
    return np.mod(a, b) if b != 0 else np.fmod(a, b)


def _multiplied(base: Any, exponent: int, one: Any) -> Any:
    """`base ** exponent` by squaring, as Numba unrolls or loops it."""
    result = one
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        base = base * base
    return result


def _whole_power(base: int, exponent: int, number: Number) -> int:
    """`base ** exponent` of integers; see Numba's `int_power_impl`."""
    if exponent < 0:
        if base == 0:
            return _LOWEST
        if base not in (1, -1):
            return 0
        exponent = -exponent
    if exponent > _MOST_MULTIPLIED:
        with np.errstate(all="ignore"):
            return int(
                cast_to(number)(np.power(np.float64(base), np.float64(exponent)))
            )
    if exponent < 64:
        return int(base**exponent)
    return pow(base, exponent, 1 << 64)


def _real_power(a: Any, b: Any) -> Any:
    """A float to the power of a float, or of an integer by multiplying."""
    if isinstance(b, (int, np.integer)):
        kind, exponent = type(a), int(b)
        if abs(exponent) > _MOST_MULTIPLIED:
            return np.power(a, kind(exponent))
        result = _multiplied(a, abs(exponent), kind(1))
        return kind(1) / result if exponent < 0 else result
    return np.power(a, b)


@cache
def binary(name: str, a: Number, b: Number) -> Two | None:
    """The function for `a name b`, None where Numba has none."""
    rule = rule_of_two(name, a, b)
    if rule is None:
        return None
    first, second = (cast_to(operand) for operand in rule.operands)
    result = rule.result
    if name in COMPARISONS:
        compare: Two = getattr(operator, name)
        return lambda x, y: bool(compare(first(x), second(y)))
    if not result.whole:
        if name == "truediv" and rule.operands[0].whole:
            first = second = cast_to(FLOAT64)
        real = _REAL.get(name) or {
            "floordiv": _quotient,
            "mod": _remainder,
            "pow": _real_power,
        }.get(name)
        assert real is not None
        return lambda x, y: real(first(x), second(y))
    give = cast_to(result)
    if result.kind == "b":
        both: Two = _WHOLE[name]
        return lambda x, y: bool(both(bool(x), bool(y)))
    if name == "pow":
        return lambda x, y: give(_whole_power(int(x), int(y), result))
    whole = _WHOLE[name]
    if result is INT64:
        if (a.kind == "u" and a.bits == 64) or (b.kind == "u" and b.bits == 64):
            return lambda x, y: wrapped(whole(wrapped(int(x)), wrapped(int(y))))
        return lambda x, y: wrapped(whole(int(x), int(y)))
    return lambda x, y: give(whole(int(x), int(y)))


@cache
def unary(name: str, a: Number) -> One | None:
    """The function for an operator of one number: "neg", "pos", "invert", "not_"."""
    rule = rule_of_one(name, a)
    if rule is None:
        return None
    if a.kind == "b" and name == "invert":
        return operator.not_
    if name == "not_":
        return operator.not_
    apply: One = getattr(operator, name)
    give = cast_to(rule.result)
    if not a.whole:
        return lambda x: apply(give(x))
    if a.kind == "b":
        return lambda x: apply(int(x))
    narrow = cast_to(a)  # negated and inverted before they are widened
    return lambda x: give(int(narrow(apply(int(x)))))


def _either(name: str) -> Two:
    """The operator for whatever it meets; Python's own for what is no number."""
    plain: Two = getattr(operator, name)

    def apply(a: Any, b: Any) -> Any:
        of_a, of_b = number_of(a), number_of(b)
        if of_a is None or of_b is None:
            return plain(a, b)
        function = binary(name, of_a, of_b)
        return plain(a, b) if function is None else function(a, b)

    return apply


def _any(name: str) -> One:
    plain: One = getattr(operator, name)

    def apply(a: Any) -> Any:
        number = number_of(a)
        function = None if number is None else unary(name, number)
        return plain(a) if function is None else function(a)

    return apply


BINARY: dict[str, Two] = {name: _either(name) for name in SYMBOLS}
UNARY: dict[str, One] = {name: _any(name) for name in ("neg", "pos", "invert")}


# Those of the module `operator`, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = BINARY | UNARY


class Operand:
    """The right side of `x[i] += value`: lets the element meet it by Numba's rules.

    apply: the function for their types; without it the values are looked at.
    """

    __slots__ = ("_apply", "_value")
    __array_ufunc__ = None

    def __init__(self, value: Any, apply: Two | None = None) -> None:
        self._value, self._apply = value, apply


def _reflected(name: str) -> Callable[[Operand, Any], Any]:
    either = BINARY[name]
    return lambda self, left: (self._apply or either)(left, self._value)


for _name in SYMBOLS.keys() - COMPARISONS:
    setattr(Operand, f"__r{_name.strip('_')}__", _reflected(_name))
