"""Writes the arithmetic of a kernel: Python's operators where they do what Numba's do."""

import ast
from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.casts import cast_to
from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    NUMBERS,
    Number,
    rule_of_two,
)
from weft.simulator.arithmetic.operators import binary, unary

ROUND = memoryview(bytearray(4)).cast("f")  # what goes in comes out as a float32
_R = ROUND
SIGN, WIDTH = 1 << 63, 1 << 64


def f32(value: float) -> float:
    _R[0] = value
    return _R[0]


def wrap64(value: int) -> int:
    return value if -SIGN <= value < SIGN else (value + SIGN & WIDTH - 1) - SIGN


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@cache
def as_numpys(number: Number) -> Any:
    return cast_to(number)


@cache
def conversion(given: Number, to: Number) -> Any:
    """The function that converts, None where nothing has to be done."""
    if given is to:
        return None
    if to is FLOAT64:
        return None if given.kind == "f" else float
    if to is FLOAT32 and given in (FLOAT16,):
        return None
    if to is FLOAT32 and given.kind == "f":
        return f32
    if to.kind in "iu" and given.kind in "biu" and fits(given, to):
        return int if given is BOOL else None
    if to is INT64 and given.kind in "biu":
        return wrap64
    one, two = as_numpys(given), as_numpys(to)
    return lambda value: plain(two(one(value)))


def fits(given: Number, to: Number) -> bool:
    """Whether every integer of one type is one of the other."""
    if given.kind == "b":
        return True
    if given.kind == "u":
        return to.bits - (to.kind == "i") >= given.bits
    return to.kind == "i" and to.bits >= given.bits


@cache
def function(name: str, a: Number, b: Number) -> Any:
    """`a name b` by a call."""
    apply = binary(name, a, b)
    one, two = as_numpys(a), as_numpys(b)
    return lambda x, y: plain(apply(one(x), two(y)))


@cache
def function_of_one(name: str, a: Number) -> Any:
    apply = unary(name, a)
    one = as_numpys(a)
    return lambda x: plain(apply(one(x)))


def divide(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or not a:
            return float("nan")
        return float("inf") if (a > 0) == (str(float(b))[0] != "-") else float("-inf")


OPERATORS: dict[str, ast.operator] = {
    **{"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div()},
    **{"floordiv": ast.FloorDiv(), "mod": ast.Mod(), "pow": ast.Pow()},
    **{"lshift": ast.LShift(), "rshift": ast.RShift()},
    **{"and_": ast.BitAnd(), "or_": ast.BitOr(), "xor": ast.BitXor()},
}


def helper(name: str) -> Any:
    """What a name in a translated kernel stands for: `__pure_add_i64_u8`."""
    if name in _FIXED:
        return _FIXED[name]
    parts = name.removeprefix("__pure_").split("_")
    kinds = []
    while parts and parts[-1] in NUMBERS:
        kinds.insert(0, NUMBERS[parts.pop()])
    operation = "_".join(parts)
    if operation == "to":
        return conversion(*kinds)
    if len(kinds) == 2:
        return function(operation, *kinds)
    return function_of_one(operation, kinds[0])


_FIXED = {
    "__pure_f32": f32,
    "__pure_wrap64": wrap64,
    "__pure_divide": divide,
    "__R": ROUND,
    "__pure_int": int,
    "__pure_float": float,
    "__pure_bool": bool,
}


def rule(name: str, a: Number, b: Number) -> Any:
    return rule_of_two(name, a, b)
