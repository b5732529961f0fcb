"""What the names of arithmetic in a translated kernel stand for.

`__pure_add_i64_u8` adds an int64 and a uint8, `__pure_to_i64_f32` converts one to the
other, `__pure_math.exp_f32` is a function of `math`.
"""

import ast
import math
from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.casts import cast_to, wrapped
from weft.simulator.arithmetic.functions import BUILTINS, MATH
from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    NUMBERS,
    Number,
)
from weft.simulator.arithmetic.operators import Operand, binary, unary

CELL = memoryview(bytearray(4)).cast("f")  # what goes in comes out as a float32
_cell = CELL

OPERATORS: dict[str, ast.operator] = {
    **{"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div()},
    **{"floordiv": ast.FloorDiv(), "mod": ast.Mod(), "pow": ast.Pow()},
    **{"lshift": ast.LShift(), "rshift": ast.RShift()},
    **{"and_": ast.BitAnd(), "or_": ast.BitOr(), "xor": ast.BitXor()},
}


class Below(IndexError):
    """A negative index, which Python would count from the end."""


def below(index: int) -> Any:
    raise Below(index)


def as_float32(value: float) -> float:
    _cell[0] = value
    return _cell[0]


def plain(value: Any) -> Any:
    """A number of NumPy's as Python's; what it holds, of a tuple."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(plain, value)) if type(value) is tuple else value


def divide(a: float, b: float) -> float:
    """`a / b`; by zero an infinity, or NaN."""
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def each(array: Any) -> Any:
    """The elements of an array, as plain numbers."""
    return map(plain, array)


def from_data(index: Any) -> Any:
    """An index that was computed from what memory holds; see `Trace.atomics`."""
    if type(index) is tuple:
        return tuple(map(np.int64, index))
    return np.int64(index)


@cache
def conversion(given: Number, to: Number) -> Any:
    """The function that converts, None where nothing has to be done."""
    if given is to:
        return None
    if to.kind == "f" and given.kind == "f":
        if to.bits > given.bits:
            return None
        if to is FLOAT32:
            return as_float32
    if to is FLOAT64 and given.bits < 54:
        return float
    if to.kind in "iu" and given.kind in "biu" and _fits(given, to):
        return int if given is BOOL else None
    if to is INT64 and given.kind in "biu":
        return wrapped
    if to is BOOL:
        return bool
    one, two = cast_to(given), cast_to(to)
    return lambda value: plain(two(one(value)))


def converted(value: Any, given: Number, to: Number) -> Any:
    apply = conversion(given, to)
    return value if apply is None else apply(value)


def _fits(given: Number, to: Number) -> bool:
    """Whether every integer of one type is one of the other."""
    if given.kind == "b":
        return True
    if given.kind == "u":
        return to.bits - (to.kind == "i") >= given.bits
    return to.kind == "i" and to.bits >= given.bits


def _two(name: str, a: Number, b: Number) -> Any:
    apply = binary(name, a, b)
    assert apply is not None
    one, two = cast_to(a), cast_to(b)
    return lambda x, y: plain(apply(one(x), two(y)))


def _one(name: str, a: Number) -> Any:
    apply = unary(name, a)
    assert apply is not None
    one = cast_to(a)
    return lambda x: plain(apply(one(x)))


def _function(apply: Any, kinds: list[Number]) -> Any:
    casts = list(map(cast_to, kinds))

    def call(*values: Any) -> Any:
        given = [cast(v) for cast, v in zip(casts, values, strict=True)]
        return plain(apply(*given))

    return call


def _variable(to: Number) -> Any:
    """What converts a variable, which may have had either of two types."""
    if to.kind == "f":
        return float
    return bool if to is BOOL else int


@cache
def helper(name: str) -> Any:
    """What a name that a translation has put into a kernel stands for."""
    if name in _FIXED:
        return _FIXED[name]
    parts = name.removeprefix("__pure_").split("_")
    kinds: list[Number] = []
    while len(parts) > 1 and parts[-1] in NUMBERS:
        kinds.insert(0, NUMBERS[parts.pop()])
    operation = "_".join(parts)
    if operation == "to":
        return conversion(*kinds)
    if operation == "as":
        return _variable(kinds[0])
    if operation == "numpys":
        return cast_to(kinds[0])
    if operation.startswith("math."):
        return _function(MATH[operation[5:]], kinds)
    if operation.startswith("of."):
        return _function(_of_python(operation[3:]), kinds)
    return _two(operation, *kinds) if len(kinds) == 2 else _one(operation, kinds[0])


def _of_python(name: str) -> Any:
    from weft.simulator.arithmetic.operators import FUNCTIONS

    return BUILTINS.get(name) or FUNCTIONS[name]


_FIXED: dict[str, Any] = {
    "__cell__": CELL,
    "__pure_f32": as_float32,
    "__pure_wrap64": wrapped,
    "__pure_divide": divide,
    "__pure_int": int,
    "__pure_float": float,
    "__pure_bool": bool,
    "__pure_min": min,
    "__pure_max": max,
    "__pure_plain": plain,
    "__pure_below": below,
    "__pure_each": each,
    "__pure_from_data": from_data,
    "__weft_operand__": Operand,
}
_ = FLOAT16
