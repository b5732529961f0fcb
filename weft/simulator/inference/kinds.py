"""What is known of a value before a kernel runs: its type, as Numba would infer it.

None stands for "not known": such a value is looked at when the kernel runs.
"""

from dataclasses import dataclass
from typing import Any

from weft.simulator.arithmetic.numbers import INT64, Number, unified

LARGEST = 63  # bits of an int64, apart from its sign


@dataclass(frozen=True, slots=True)
class Num:
    """A number. Of an integer, `most` bounds it: its absolute value is 2^most at most.

    A `plain` one is a Python integer when the kernel runs, whatever its type is. It is
    one of NumPy's if that is False; where it is None it may be either.
    """

    number: Number
    most: int
    plain: bool | None = False

    @property
    def whole(self) -> bool:
        return self.number.whole


@dataclass(frozen=True, slots=True)
class Arr:
    """An array of numbers, of records where `number` is None.

    One from outside the kernel is `constant` to it. One that is not `direct` shows its
    elements in another order than they have in memory: `x.flat`.
    """

    number: Number | None
    ndim: int
    constant: bool = False
    direct: bool = True


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple, with what is known of its parts."""

    parts: tuple["Kind", ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Something of `cuda`, `math` or Python by name: ("cuda", "shared", "array")."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """A number type, which converts when it is called."""

    number: Number


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """Anything else from outside the kernel, such as a device function."""

    value: Any


Kind = Num | Arr | Tup | Named | Conversion | Outside | None


def num(number: Number, most: int | None = None, plain: bool | None = False) -> Num:
    """A number of which nothing more is known than its type, or `most`."""
    own = number.bits - (number.kind == "i")
    return Num(number, own if most is None else min(most, own), plain)


def joined(a: Kind, b: Kind) -> Kind:
    """What a variable is that is an `a` on one path and a `b` on another."""
    if isinstance(a, Num) and isinstance(b, Num):
        number = unified(a.number, b.number)
        if number.whole:
            plain = a.plain if a.plain == b.plain else None
            return Num(number, max(a.most, b.most), plain)
        return num(number)
    if isinstance(a, Tup) and isinstance(b, Tup) and len(a.parts) == len(b.parts):
        parts = zip(a.parts, b.parts, strict=True)
        # Nothing converts what is inside of a tuple.
        return Tup(tuple(x if x == y else None for x, y in parts))
    return a if a == b else None


def widened(kind: Kind, earlier: Kind) -> Kind:
    """`kind`, which a further turn of a loop has changed, so that none changes it."""
    if isinstance(kind, Num) and isinstance(earlier, Num) and kind.most > earlier.most:
        return num(kind.number, None, kind.plain)
    return kind


def of_integer(value: int) -> Num:
    """A Python integer, in one of few sizes."""
    bits = value.bit_length()
    most = next((n for n in (8, 16, 31, 40) if bits <= n), LARGEST)
    return Num(INT64, most, plain=True)
