"""Comparing plain values: numbers, texts, and tuples, lists and dicts of them.

This does the work of `weft.checking.compare` without NumPy, which pages of the book do
not have: the same tolerance, the same patterns, the same sentences. Rectangular nested
tuples are compared as arrays; anything else is a tree, whose leaves are compared one by
one.
"""

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.checking.differences import NOTHING, Difference, Looks, Pattern, show, times

Path = tuple[Any, ...]
NUMBERS = {bool: "b", int: "i", float: "f", complex: "c"}
ORDER = "bifcU"  # of two kinds, the later one can represent values of both


def is_plain(value: Any) -> bool:
    """Return whether a value, or every leaf of a tree, is a number, a string or None.

    Only numbers of Python's own types count.
    """
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if type(value) in (tuple, list):
        return all(map(is_plain, value))
    return value is None or type(value) in (*NUMBERS, str)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of a tree, each with the keys and indices that lead to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))
    else:
        yield path, value


def written(path: Path) -> str:
    """Format the path to a leaf as Python's indices, such as '[1][0]'."""
    return "".join(f"[{part!r}]" for part in path)


@dataclass(frozen=True)
class Block:
    """Numbers or texts of one kind in rows of equal length, as an array holds them.

    kind: "b", "i", "f", "c" or "U", as NumPy calls it. parts: the numbers or texts, row
    by row.
    """

    shape: tuple[int, ...]
    kind: str
    parts: tuple[Any, ...]

    def index(self, number: int) -> tuple[int, ...]:
        """Return the index, one number per axis, of the part with this flat number."""
        found = []
        for size in reversed(self.shape):
            number, at = divmod(number, size)
            found.append(at)
        return tuple(reversed(found))

    def converted(self, kind: str) -> "Block":
        """Convert the numbers to `kind`, which must be able to hold them all."""
        makers: dict[str, Callable[[Any], Any]] = {"f": _float, "c": complex}
        if kind not in makers:
            return replace(self, kind=kind)
        return replace(self, kind=kind, parts=tuple(map(makers[kind], self.parts)))


def _float(number: Any) -> float:
    """Convert a number to a float, or to an infinity of its sign if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def block(value: Any) -> Block | None:
    """Return a value as a `Block`, or None if no `Block` can hold it.

    None means that nested tuples or lists are ragged, or that the parts of the value
    have no common kind.
    """
    shape = _shape(value)
    parts = tuple(part for _, part in leaves(value)) if shape is not None else ()
    kinds = {NUMBERS.get(type(p), "U" if isinstance(p, str) else "") for p in parts}
    if shape is None or "" in kinds or ("U" in kinds and len(kinds) > 1):
        return None
    kind = max(kinds, key=ORDER.index, default="f")
    return Block(shape, kind, parts).converted(kind)


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of nested tuples or lists, or None if they have no shape.

    They have none if they are ragged or contain a dict.
    """
    if isinstance(value, dict):
        return None
    if not isinstance(value, tuple | list):
        return ()
    inner = {_shape(part) for part in value}
    if len(inner) > 1 or None in inner:
        return None
    return (len(value), *(inner.pop() or () if inner else ()))


def is_tree(value: Any) -> bool:
    """Return whether a value is nested in a way that no array can hold."""
    return isinstance(value, dict | tuple | list) and block(value) is None


def size_of(wanted: Sequence[Any]) -> float:
    """Return the root mean square of the finite numbers, or 0 if there are none."""
    finite = [abs(w) for w in wanted if cmath.isfinite(w)]
    largest = max(finite, default=0)
    if not largest:  # the divisor below, which keeps the squares in range
        return 0.0
    mean: float = sum((w / largest) ** 2 for w in finite) / len(finite)
    return float(largest * math.sqrt(mean))


def close(got: Block, wanted: Block, tolerance: float) -> list[bool]:
    """Return, for each part, whether it agrees within a tolerance.

    A float or complex number may be off by `tolerance` times the sum of the wanted
    number's magnitude and the RMS of all wanted numbers. Other parts must be equal.
    """
    pairs = list(zip(got.parts, wanted.parts, strict=True))
    if got.kind not in "fc" or wanted.kind == "U":
        return [a == b for a, b in pairs]
    most = tolerance * size_of(wanted.parts)
    return [_near(a, b, most + tolerance * abs(b)) for a, b in pairs]


def _near(a: Any, b: Any, most: float) -> bool:
    if cmath.isfinite(a) and cmath.isfinite(b):
        return bool(abs(a - b) <= most)
    return bool(a == b or (a != a and b != b))


def difference(got: Block, wanted: Block, tolerance: float) -> Difference | None:
    """Return how two blocks of equal shape differ, or None if they agree."""
    right = close(got, wanted, tolerance)
    if all(right):
        return None
    first = right.index(False)
    looks = pattern(got, wanted, right, tolerance)
    a, b = got.parts[first], wanted.parts[first]
    return Difference(got.index(first), a, b, right.count(False), len(right), *looks)


def pattern(got: Block, wanted: Block, right: list[bool], tolerance: float) -> Looks:
    """Classify the error and describe it; see `weft.checking.compare`."""
    first = got.parts[right.index(False)]
    if "U" in (got.kind, wanted.kind) or "c" in (got.kind, wanted.kind):
        return NOTHING
    if first != first:
        return NOTHING
    for find in (_moved, _shifted, _multiple, _tail):
        looks = find(got, wanted, right, tolerance)
        if looks is not NOTHING:
            return looks
    return NOTHING


def _agree(got: Block, wanted: Block, a: Any, b: Any, tolerance: float) -> bool:
    """Return whether the parts `a` of `got` agree with the parts `b` of `wanted`."""
    mine, aim = replace(got, parts=tuple(a)), replace(wanted, parts=tuple(b))
    return all(close(mine, aim, tolerance))


def _moved(got: Block, wanted: Block, right: list[bool], tolerance: float) -> Looks:
    """Detect whether all the right values are present, but in the wrong order."""

    def ordered(parts: Sequence[Any]) -> list[Any]:
        return sorted(parts, key=lambda x: (x != x, x))

    mine, aim = ordered(got.parts), ordered(wanted.parts)
    if len(right) < 3 or not _agree(got, wanted, mine, aim, tolerance):
        return NOTHING
    there = "All the right values are there, but in the wrong places"
    first = got.parts[right.index(False)]
    same = replace(got, parts=(first,) * len(right))
    fits = close(same, wanted, tolerance)
    if fits.count(True) != 1:
        return Pattern.MOVED, f"{there}."
    belongs = got.index(fits.index(True))
    at = ", ".join(map(str, belongs))
    return Pattern.MOVED, f"{there}: this value belongs at [{at}].", belongs


def _shifted(got: Block, wanted: Block, right: list[bool], tolerance: float) -> Looks:
    """Detect whether each value is where its neighbour belongs."""
    mine, aim = got.parts, wanted.parts
    if len(right) > 3 and _agree(got, wanted, mine[1:], aim[:-1], tolerance):
        return Pattern.SHIFTED, "Each result is where the next one belongs."
    if len(right) > 3 and _agree(got, wanted, mine[:-1], aim[1:], tolerance):
        return Pattern.SHIFTED, "Each result is where the previous one belongs."
    return NOTHING


def _multiple(got: Block, wanted: Block, right: list[bool], _: float) -> Looks:
    """Detect whether all values are off by the same factor."""
    if len(right) < 3 or any(right) or not all(wanted.parts):
        return NOTHING
    pairs = zip(got.parts, wanted.parts, strict=True)
    ratios = [_float(a) / _float(b) for a, b in pairs]
    ratio = ratios[0]
    if (
        not math.isfinite(ratio)
        or show(ratio) == "1"
        or not all(_near(each, ratio, 1e-8 + 1e-4 * abs(ratio)) for each in ratios)
    ):
        return NOTHING
    return Pattern.MULTIPLE, f"Every element is {times(ratio)}."


def _tail(got: Block, _: Block, right: list[bool], tolerance: float) -> Looks:
    """Detect whether a vector is wrong from some element on."""
    start = right.index(False)
    if len(got.shape) != 1 or len(right) < 3 or not any(right) or any(right[start:]):
        return NOTHING
    if start == 1:
        hint = "The first element is right, and all those after it are wrong."
        return Pattern.TAIL, hint
    return (
        Pattern.TAIL,
        f"The first {start:,} elements are right, and all those after them are wrong.",
    )


def one_by_one(got: Block, wanted: Block, tolerance: float) -> Difference | None:
    """Compare the numbers one by one; return the first difference, or None.

    This suits values of different kinds, where a small one matters even beside a large
    one. A number that should be 0 is not compared.
    """
    for number, (a, b) in enumerate(zip(got.parts, wanted.parts, strict=True)):
        mine, aim = replace(got, parts=(a,)), replace(wanted, parts=(b,))
        wrong = difference(mine, aim, tolerance) if b else None
        if wrong:
            return replace(wrong, index=got.index(number))
    return None
