"""The data of a check: a case for each listed size, and one for an unlisted size.

A kernel that works only at the listed sizes must not pass, so a check adds a case at a
size between those. The size and its data are derived from the learner's source: they
are the same in every run until the source changes.
"""

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Arrays = tuple[Any, ...]
SEED = 20_26  # for the cases that an exercise lists


@dataclass(frozen=True)
class Case:
    """The data of one size.

    inputs: the arguments of the learner's code. expected: the spec's results for them,
    computed in double precision. listed: whether the exercise lists this case. told:
    how a verdict names the size, "" for the default, such as 'size 16 × 1,024'.
    """

    size: tuple[Any, ...]
    inputs: Arrays
    expected: Arrays
    listed: bool = True
    named: bool = True  # whether the size is one of the exercise's
    told: str = ""

    @property
    def written(self) -> str:
        """The size as a verdict names it, for example 'size 16 × 1,024'."""
        return self.told or "size " + " × ".join(f"{s:,}" for s in self.size)

    @property
    def label(self) -> str:
        """The name of the case in a verdict."""
        written = self.written
        if self.listed:
            return written if self.size else ""
        if self.named:
            return f"{written}, on other data" if self.size else "on other data"
        return f"{written}, which the check does not list"


def as_tuple(value: Any) -> Arrays:
    return value if isinstance(value, tuple) else (value,)


def copies(values: Arrays) -> Arrays:
    """Return the same values, with every array copied."""
    return tuple(v.copy() if is_array(v) else v for v in values)


def is_array(value: Any) -> bool:
    """Return whether `value` is a NumPy array, without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def widened(value: Any) -> Any:
    """Convert floats to double precision, where the spec's rounding is negligible."""
    if getattr(getattr(value, "dtype", None), "kind", "") != "f":
        return value
    return value.astype("float64") if is_array(value) else float(value)


def unseen_size(sizes: Sequence[Any], number: int) -> Any:
    """Choose, by `number`, a size between the given ones.

    On each axis the size is a power of two if all the given ones are, and otherwise a
    multiple of their greatest common divisor. If no new size fits, it is one of the
    given ones. Returns None unless the sizes consist of non-negative integers.
    """
    rows = [as_tuple(s) for s in sizes]
    if not all(isinstance(part, int) and part >= 0 for row in rows for part in row):
        return None
    low, *_, high = sorted(rows * 2, key=math.prod)
    for step in range(16):
        share = 0.25 + 0.5 * (((number >> 4 * step) + 5 * step) % 16) / 15
        found = tuple(
            _between(a, b, share, [row[axis] for row in rows])
            for axis, (a, b) in enumerate(zip(low, high, strict=True))
        )
        if found not in rows:
            return found if isinstance(sizes[0], tuple) else found[0]
    return sizes[len(sizes) // 2]


def _between(a: int, b: int, share: float, given: list[int]) -> int:
    """Return a number about `share` of the way from `a` to `b` that resembles `given`.

    If the given numbers are powers of two and not all equal, the result is a power of
    two as well. Otherwise it is a multiple of their greatest common divisor and, if
    that is 1, odd if possible.
    """
    value = a + share * (b - a)
    if len(set(given)) > 1 and all(g & (g - 1) == 0 for g in given if g):
        return max(min(given), 1 << math.floor(math.log2(max(value, 1))))
    step = math.gcd(*given) or 1
    found = max(int(value) // step * step, min(given))
    return found + 1 if step == 1 and found % 2 == 0 and found < max(given) else found


def evened(size: Any, sizes: Sequence[Any]) -> Any:
    """Return `size` with its odd parts made even on axes that allow any number.

    An axis allows any number if its listed `sizes` differ and have no common divisor
    above 1. An odd part becomes an even number that is not a multiple of four, because
    the even sizes that are listed may all be multiples of four.
    """
    rows = [as_tuple(one) for one in sizes]
    found = []
    for part, column in zip(as_tuple(size), zip(*rows, strict=True), strict=True):
        free = math.gcd(*column) == 1 and len(set(column)) > 1 and part % 2
        found.append(part // 4 * 4 + 2 if free else part)
    return tuple(found) if isinstance(size, tuple) else found[0]


def unseen_arguments(cases: Sequence[Any], number: int) -> list[Arrays]:
    """Return sets of arguments that lie between those of the given cases.

    The list is empty if any argument is not an integer. For one or two arguments there
    may be several sets: one with odd numbers, one with even numbers and, if some but
    not all of the cases pair a number with a multiple of it, one with such a pair.
    """
    rows = [as_tuple(c) for c in cases]
    if len({len(row) for row in rows}) != 1 or len(rows) < 2:
        return []
    if not all(type(part) is int for row in rows for part in row):
        return []
    size = unseen_size(rows, number)
    if size is None:
        return []
    between = as_tuple(size)
    found = [between]
    if len(between) <= 2:  # more arguments may depend on each other in many ways
        found += [as_tuple(evened(between, rows)), *divided(between, rows)]
    return [one for one in dict.fromkeys(found) if one not in rows]


def divided(between: Arrays, rows: Sequence[Arrays]) -> list[Arrays]:
    """Return variants of `between` with one argument a multiple of another.

    Considers only pairs of arguments of which one is a multiple of the other in some of
    the `rows`, but not in all.
    """
    found = []
    for a, b in itertools.permutations(range(len(between)), 2):
        pairs = [(row[a], row[b]) for row in rows if row[b] > 1]
        multiples = [n % d == 0 and n > d for n, d in pairs]
        least, step = min((n for n, _ in pairs), default=0), between[b]
        if not any(multiples) or all(multiples) or step < 2:
            continue
        value = max(between[a] // step * step, step)
        if value >= least:
            found.append((*between[:a], value, *between[a + 1 :]))
    return found
