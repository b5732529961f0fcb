"""What is known about a value before a kernel runs: its type, as Numba infers it.

Every expression that a kernel evaluates has a kind. None means that it is not known,
and `REFUSED` that Numba has no type for the expression.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from weft.simulator.arithmetic.numbers import INT64, UINT64, Number, unified

LARGEST = 63  # bits of an int64, apart from its sign


@dataclass(frozen=True, slots=True)
class Num:
    """A number. `most` bounds an integer: its absolute value is at most 2^most.

    A `loaded` number was read from memory, or computed from one that was. A `natural`
    number is not negative, as long as no step of its computation wraps around.
    """

    number: Number
    most: int
    loaded: bool = False
    natural: bool = False

    @property
    def whole(self) -> bool:
        return self.number.whole


@dataclass(frozen=True, slots=True)
class Record:
    """An element of an array of structures, with the kinds of its fields."""

    fields: tuple[tuple[str, "Kind"], ...]

    def field(self, name: str) -> "Kind":
        return dict(self.fields).get(name, REFUSED)


@dataclass(frozen=True, slots=True)
class Arr:
    """An array of numbers, or of records if `number` is None.

    `space` is its memory: "global", "shared", "local" or "constant", or "" if that
    varies. The elements of a `packed` array are contiguous, row by row. An array that
    is not `direct`, such as `x.flat`, orders its elements differently from memory.
    """

    number: Number | None
    ndim: int
    record: Record | None = None
    space: str = "global"
    packed: bool = False
    direct: bool = True

    @property
    def element(self) -> "Kind":
        if self.number is None:
            return self.record or REFUSED
        return num(self.number, loaded=True)


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple, with the kinds of its parts, and their names if it is a named tuple."""

    parts: tuple["Kind", ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """An iterable that is neither an array nor a tuple, such as `range` or `zip`."""

    item: "Kind"


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector type of `cuda`, such as `float32x4`; if `made`, a value of that type."""

    number: Number
    size: int
    made: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A module or a member of one, by its path: ("cuda", "shared", "array")."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """A number type, which converts when it is called, or a record type."""

    number: Number | None
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an object, such as `x.view` or `grid.sync`."""

    owner: "Kind"
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """A value from outside that no other kind describes, such as a device function."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outside) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """A function that a kernel defines: a `lambda`, or a `def` in it.

    `of` holds the names of the function that contains it; see `expressions.Names`.
    """

    node: Any
    of: Any


@dataclass(frozen=True, slots=True)
class Special:
    """A kind that is fully described by its name."""

    name: str


NOTHING = Special("None")
TEXT = Special("string")
DOTS = Special("...")
SLICE = Special("slice")
GRID = Special("grid group")
ERROR = Special("exception")
REFUSED = Special("refused")  # Numba has no type for it
NEVER = Special("never")  # no value is known to get here yet

# a conversion to a number type; for a tuple, part by part
Cast = Number | tuple["Cast | None", ...]
Kind = (
    Num
    | Record
    | Arr
    | Tup
    | Each
    | Vector
    | Named
    | Conversion
    | Method
    | Outside
    | Inner
    | Special
    | None
)


def num(
    number: Number,
    most: int | None = None,
    loaded: bool = False,
    natural: bool = False,
) -> Num:
    """Return the kind of a number of type `number`. most: as in `Num`, if known."""
    own = number.bits - (number.kind == "i")
    most = own if most is None else min(most, own)
    return Num(number, most, loaded, natural or number.kind == "u")


def joined(a: Kind, b: Kind) -> Kind:
    """Return the kind of a variable that is an `a` on one path and a `b` on another.

    If the variable is Python's `None` on one path, Numba's type is optional; the kind
    here is that of the other path. Types that cannot be joined are REFUSED.
    """
    if a == b:
        return a
    if isinstance(a, Num) and isinstance(b, Num):
        number = unified(a.number, b.number)
        most = max(a.most, b.most) if number.whole else num(number).most
        natural = a.natural and b.natural
        return Num(number, most, a.loaded or b.loaded, natural)
    if a is None or b is None:
        return None
    if isinstance(a, Arr) and isinstance(b, Arr):
        return _either(a, b)
    for none in (NEVER, NOTHING):
        if none in (a, b):
            return b if a == none else a
    if isinstance(a, Tup) and isinstance(b, Tup) and len(a.parts) == len(b.parts):
        parts = tuple(map(joined, a.parts, b.parts))
        known = REFUSED not in parts
        return Tup(parts, a.names if a.names == b.names else ()) if known else REFUSED
    if isinstance(a, Each) and isinstance(b, Each):
        return Each(joined(a.item, b.item))
    return REFUSED


def _either(a: Arr, b: Arr) -> Kind:
    """Return the kind of an array that is either `a` or `b`."""
    space = a.space if a.space == b.space else ""
    packed = a.packed and b.packed
    a, b = (replace(x, space=space, packed=packed) for x in (a, b))
    return a if a == b else REFUSED


def all_joined(kinds: Iterable[Kind]) -> Kind:
    found: Kind = NEVER
    for kind in kinds:
        found = joined(found, kind)
    return found


def cast_of(here: Kind, there: Kind) -> Cast | None:
    """Return the conversion from `here` to `there`, or None if none is needed."""
    if isinstance(here, Num) and isinstance(there, Num):
        return there.number if here.number is not there.number else None
    if isinstance(here, Tup) and isinstance(there, Tup):
        parts = tuple(map(cast_of, here.parts, there.parts))
        return parts if any(parts) else None
    return None


def cast_of_any(kinds: Iterable[Kind], there: Kind) -> Cast | None:
    """Return how to convert a value of any of `kinds` to the kind `there`."""
    found: Cast | None = None
    for kind in kinds:
        found = _both(found, cast_of(kind, there))
    return found


def _both(a: Cast | None, b: Cast | None) -> Cast | None:
    """Combine two conversions, which may concern different parts of a tuple."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(_both, a, b))
    return b if a is None else a


def alike(kinds: Iterable[Kind]) -> Kind:
    """Return the common kind of values whose kinds differ at most in their bounds.

    Returns REFUSED if their types differ, or None if one of the kinds is unknown.
    """
    found = list(kinds)
    whole = all_joined(found)
    if all(same_type(kind, whole) for kind in found):
        return whole
    return None if None in found else REFUSED


def same_type(a: Kind, b: Kind) -> bool:
    """Return whether two kinds are the same type to Numba."""
    if isinstance(a, Num) and isinstance(b, Num):
        return a.number is b.number
    if isinstance(a, Tup) and isinstance(b, Tup):
        same = len(a.parts) == len(b.parts)
        return same and all(map(same_type, a.parts, b.parts))
    if isinstance(a, Arr) and isinstance(b, Arr):
        return _either(a, b) != REFUSED
    return a == b


def coarse(kind: Kind) -> Kind:
    """Return `kind` with its bound rounded up, so that functions need few versions."""
    if isinstance(kind, Num) and kind.whole:
        return replace(kind, most=_size(kind.most, (1, 8, 16, 31, 40, 48)))
    return kind


def _size(bits: int, sizes: tuple[int, ...]) -> int:
    return next((n for n in sizes if bits <= n), LARGEST)


def widened(kind: Kind, earlier: Kind) -> Kind:
    """Drop the bound of `kind` if an iteration of a loop has raised that bound.

    Further iterations then leave the kind unchanged.
    """
    if isinstance(kind, Num) and isinstance(earlier, Num) and kind.most > earlier.most:
        return replace(kind, most=num(kind.number).most)
    tuples = isinstance(kind, Tup) and isinstance(earlier, Tup)
    if tuples and len(kind.parts) == len(earlier.parts):  # type: ignore[union-attr]
        parts = tuple(map(widened, kind.parts, earlier.parts))  # type: ignore[union-attr]
        return Tup(parts, kind.names)  # type: ignore[union-attr]
    return kind


def of_integer(value: int) -> Num:
    """Return the kind of a Python integer, with its bound rounded up.

    An integer too large for an int64 is a uint64, as in Numba, which refuses one that
    is too large for a uint64.
    """
    if value >> 63 > 0:
        return num(UINT64)
    return Num(INT64, _size(value.bit_length(), (8, 16, 31, 40)), False, value >= 0)
