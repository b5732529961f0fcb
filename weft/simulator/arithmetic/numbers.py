"""Numba's types of numbers, and what an operation makes of them.

The rules are Numba's own: `number_types.json` is written by
`verification.number_types`, which asks the typing context of `numba.cuda`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Number:
    """A type of number: `name` is short, as in "u8"; `kind` is one of 'b', 'i', 'u',
    'f' and 'c'.

    `dtype` is NumPy's, `bits` are those of a value.
    """

    name: str
    kind: str
    bits: int
    dtype: np.dtype[Any]

    def __repr__(self) -> str:
        return self.name

    @property
    def whole(self) -> bool:
        """Whether it holds integers, Booleans among them."""
        return self.kind in "biu"


def _number(name: str) -> Number:
    if name == "b":
        return Number(name, "b", 1, np.dtype(bool))
    bits = int(name[1:])
    return Number(name, name[0], bits, np.dtype(f"{name[0]}{bits // 8}"))


@dataclass(frozen=True, slots=True)
class Rule:
    """What an operation gives, and to what it converts each operand first.

    A function such as `divmod` gives several `results`, most operations one.
    """

    results: tuple[Number, ...]
    operands: tuple[Number, ...]

    @property
    def result(self) -> Number:
        return self.results[0]


_TABLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("number_types.json").read_text(encoding="utf-8")
)
NUMBERS: dict[str, Number] = {name: _number(name) for name in _TABLE["numbers"]}
_ORDER = {number: k for k, number in enumerate(NUMBERS.values())}

BOOL, INT32, INT64 = NUMBERS["b"], NUMBERS["i32"], NUMBERS["i64"]
UINT32, UINT64 = NUMBERS["u32"], NUMBERS["u64"]
FLOAT16, FLOAT32, FLOAT64 = NUMBERS["f16"], NUMBERS["f32"], NUMBERS["f64"]
COMPLEX64, COMPLEX128 = NUMBERS["c64"], NUMBERS["c128"]

_OF_CLASS: dict[type, Number] = {
    **{number.dtype.type: number for number in NUMBERS.values()},
    **{bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128},
}


def number_of(value: Any) -> Number | None:
    """The type of a value as a kernel has it; None for what is no such number."""
    found = _OF_CLASS.get(value.__class__)
    if found is None and isinstance(value, int):  # such as a member of an IntEnum
        return INT64
    return found


def of_dtype(dtype: np.dtype[Any]) -> Number | None:
    """The type of an array's elements; None for records."""
    return _OF_CLASS.get(dtype.type)


def _rule(text: str) -> Rule | None:
    if not text:
        return None
    given, *operands = text.split()
    return Rule(
        tuple(NUMBERS[name] for name in given.split("/")),
        tuple(NUMBERS[name] for name in operands),
    )


@cache
def rule_of_two(operation: str, a: Number, b: Number) -> Rule | None:
    """The rule for `a operation b`, None where Numba refuses. Comparisons: "lt"."""
    if operation not in _TABLE["two"]:
        return None
    matrix = _TABLE["matrices"][_TABLE["two"][operation]]
    return _rule(matrix[_ORDER[a]][_ORDER[b]])


@cache
def rule_of_one(operation: str, a: Number) -> Rule | None:
    """The rule for an operator or a function of one number."""
    row = _TABLE["one"].get(operation)
    return None if row is None else _rule(row[_ORDER[a]])


@cache
def unified(a: Number, b: Number) -> Number:
    """The type of a variable that is an `a` on one path and a `b` on another."""
    return NUMBERS[_TABLE["unify"][_ORDER[a]][_ORDER[b]]]


def wide(number: Number) -> Number:
    """The type in which the elements of an array are summed up: integers in 64 bits."""
    if not number.whole:
        return number
    return UINT64 if number.kind == "u" else INT64


def range_number(given: list[Number]) -> Number:
    """The type over which `range` counts: the first in which all arguments fit."""
    if all(n.kind in "bi" and n.bits <= 32 for n in given):
        return INT32
    return UINT64 if all(n.kind == "u" for n in given) else INT64
