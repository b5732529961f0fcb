"""Numba's number types, and the result types of operations on numbers.

The rules are Numba's own: `number_types.json` is written by
`verification.number_types`, which asks the typing context of `numba.cuda`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Number:
    """A number type: `name` is short, as in "u8"; `kind` is a letter of "biufc".

    `bits` is the width of a value, `bytes` the size of an array element.
    """

    name: str
    kind: str
    bits: int

    def __repr__(self) -> str:
        return self.name

    @property
    def whole(self) -> bool:
        """Whether this is an integer or Boolean type."""
        return self.kind in "biu"

    @property
    def bytes(self) -> int:
        return -(-self.bits // 8)

    @property
    def lowest(self) -> int:
        """The lowest integer that the type can represent."""
        return -(1 << self.bits - 1) if self.kind == "i" else 0

    @property
    def highest(self) -> int:
        """The highest integer that the type can represent."""
        return (1 << self.bits - (self.kind == "i")) - 1

    @property
    def half(self) -> "Number":
        """The type of a complex number's real part."""
        return NUMBERS[f"f{self.bits // 2}"]

    @property
    def dtype(self) -> Any:
        """The NumPy type of the same name."""
        return _dtype(self.name)


@cache
def _dtype(name: str) -> Any:
    import numpy as np  # there is none in a browser

    return np.dtype("?" if name == "b" else f"{name[0]}{int(name[1:]) // 8}")


def _number(name: str) -> Number:
    return Number(name, name[0], int(name[1:] or 1))


@dataclass(frozen=True, slots=True)
class Rule:
    """The result types of an operation, and the types its operands are converted to.

    A function such as `divmod` has several `results`; most operations have one.
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
    **{bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}
}
_WORDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_OF_NUMPY = {_WORDS[n.kind] + n.name[1:]: n for n in NUMBERS.values()}


def number_of(value: Any) -> Number | None:
    """Return the type that a value has in a kernel, or None if it is not a number."""
    found = _OF_CLASS.get(value.__class__)
    return _of_class(value.__class__) if found is None else found


def _of_class(kind: type) -> Number | None:
    if kind.__module__ == "numpy" and kind.__name__ in _OF_NUMPY:
        return _OF_CLASS.setdefault(kind, _OF_NUMPY[kind.__name__])
    return INT64 if issubclass(kind, int) else None  # such as a member of an IntEnum


def of_dtype(dtype: Any) -> Number | None:
    """Return the type of an array's elements, or None for records."""
    return _OF_CLASS.get(dtype.type) or _of_class(dtype.type)


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
    """Return the rule for `a operation b`, or None if Numba refuses it.

    Comparisons have names such as "lt".
    """
    if operation not in _TABLE["two"]:
        return None
    matrix = _TABLE["matrices"][_TABLE["two"][operation]]
    return _rule(matrix[_ORDER[a]][_ORDER[b]])


@cache
def rule_of_one(operation: str, a: Number) -> Rule | None:
    """Return the rule for a function or operator of one number, or None if unknown."""
    row = _TABLE["one"].get(operation)
    return None if row is None else _rule(row[_ORDER[a]])


@cache
def unified(a: Number, b: Number) -> Number:
    """Return the type of a variable that is an `a` on one path and a `b` on another."""
    return NUMBERS[_TABLE["unify"][_ORDER[a]][_ORDER[b]]]


def wide(number: Number) -> Number:
    """Return the type in which array elements are summed: integers in 64 bits."""
    if not number.whole:
        return number
    return UINT64 if number.kind == "u" else INT64


def range_number(given: list[Number]) -> Number:
    """Return the type of a `range` counter, given the types of its arguments."""
    if all(n.kind in "bi" and n.bits <= 32 for n in given):
        return INT32
    return UINT64 if all(n.kind == "u" for n in given) else INT64
