"""Comparing an output with what it should be, and saying how it differs."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

from weft.simulator.memory.arrays import poisoned_by

Array = np.ndarray[Any, Any]
BELOW_1 = np.nextafter(np.float32(1), np.float32(0))


class Pattern(Enum):
    """What kind of wrong an output looks like."""

    NONE = auto()
    UNSET = auto()  # a NaN from memory that no thread has written
    MOVED = auto()  # the right values in other places
    MULTIPLE = auto()  # every element is the same multiple of what it should be
    SHIFTED = auto()  # each value is where its neighbour belongs
    TAIL = auto()  # wrong from one element on
    SMALL = auto()  # little beside the largest values, and no rounding


@dataclass(frozen=True)
class Difference:
    """The first wrong element of an output, and how the whole looks.

    hint: a sentence on the pattern. belongs: where the first wrong value would be
    right, if that is a single place.
    """

    index: tuple[int, ...]
    got: Any
    wanted: Any
    wrong: int
    size: int
    pattern: Pattern = Pattern.NONE
    hint: str = ""
    belongs: tuple[int, ...] | None = None

    def where(self, name: str) -> str:
        return f"{name}[{', '.join(map(str, self.index))}]" if self.index else name

    def sentence(self, name: str) -> str:
        share = ""
        if self.size > 1:
            verb = "is" if self.wrong == 1 else "are"
            share = f"; {self.wrong:,} of {self.size:,} elements {verb} wrong"
        got, wanted = apart(self.got, self.wanted)
        return f"{self.where(name)} is {got} and should be {wanted}{share}."


Looks = tuple[Pattern, str] | tuple[Pattern, str, tuple[int, ...]]
NOTHING: Looks = (Pattern.NONE, "")


def close(got: Array, wanted: Array, tolerance: float) -> Array:
    """Which elements agree: relative to themselves and to the size of the whole."""
    if got.dtype.kind not in "fc":
        return np.asarray(got == wanted)
    # squares, and small tolerances, leave the range of float16
    wanted = wanted.astype(np.result_type(wanted.dtype, np.float32))
    finite = np.isfinite(wanted)
    scale = (
        float(np.sqrt(np.mean(np.square(np.abs(wanted[finite])))))
        if finite.any()
        else 0
    )
    agree: Array = np.isclose(
        got.astype(wanted.dtype), wanted, tolerance, tolerance * scale, equal_nan=True
    )
    return agree


def difference(got: Array, wanted: Array, tolerance: float) -> Difference | None:
    """How `got` differs from `wanted`; None if it does not."""
    with np.errstate(all="ignore"):
        right = close(got, wanted, tolerance)
        if right.all():
            return None
        wrong = np.argwhere(~right)
        first = tuple(int(i) for i in wrong[0])
        looks = pattern(got, wanted, right, got[first], tolerance)
    return Difference(first, got[first], wanted[first], len(wrong), got.size, *looks)


def agrees(got: Array, wanted: Array, tolerance: float) -> bool:
    """Whether all elements of `got` agree with those of `wanted`."""
    with np.errstate(all="ignore"):
        return bool(close(got, wanted, tolerance).all())


def doubtful(got: Array, wanted: Array, tolerance: float) -> Array:
    """Which elements agree only because others of the output are larger.

    Measured by themselves they are far off: by more than rounding alone would make of
    them, unless they are the small difference of large numbers.
    """
    if got.dtype.kind not in "fc":
        return np.zeros(got.shape, bool)
    with np.errstate(all="ignore"):
        allowed = max(tolerance, min(100 * tolerance, 0.1)) * np.abs(wanted)
        apart = np.abs(got.astype(wanted.dtype) - wanted) > allowed
        return np.asarray(apart & np.isfinite(wanted) & np.isfinite(got))


def at_first(wrong: Array, got: Array, wanted: Array, hint: str) -> Difference:
    """The difference at the first of these `wrong` elements, which are `SMALL`."""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = int(np.count_nonzero(wrong))
    at = first, got[first], wanted[first], count, got.size
    return Difference(*at, Pattern.SMALL, hint)


def pattern(got: Array, wanted: Array, right: Array, first: Any, tol: float) -> Looks:
    """What kind of wrong this looks like, and a sentence on it.

    first: the first wrong value. If it would be right in one place only, that too.
    """
    space = poisoned_by(first)
    if space in ("shared", "local"):
        return (
            Pattern.UNSET,
            f"The NaN comes from {space} memory that no thread had written when it was "
            f"read.",
        )
    if space == "global":
        hint = "The NaN comes from an output that was read before it was written."
        return Pattern.UNSET, hint
    if got.dtype.kind in "fc" and np.isnan(first):
        return NOTHING
    if got.size > 2 and agrees(
        np.sort(got, axis=None), np.sort(wanted, axis=None), tol
    ):
        there = "All the right values are there, but in the wrong places"
        places = np.argwhere(close(np.full_like(wanted, first), wanted, tol))
        if len(places) != 1:
            return Pattern.MOVED, f"{there}."
        belongs = tuple(map(int, places[0]))
        at = ", ".join(map(str, belongs))
        return Pattern.MOVED, f"{there}: this value belongs at [{at}].", belongs
    flat, aim = got.ravel(), wanted.ravel()
    if aim.size > 3 and agrees(flat[1:], aim[:-1], tol):
        return Pattern.SHIFTED, "Each result is where the next one belongs."
    if aim.size > 3 and agrees(flat[:-1], aim[1:], tol):
        return Pattern.SHIFTED, "Each result is where the previous one belongs."
    nonzero = wanted != 0
    if got.size > 2 and nonzero.any() and not right.any():
        ratios = got[nonzero] / wanted[nonzero]
        ratio = ratios.flat[0]
        if np.isclose(ratios, ratio, rtol=1e-4).all() and show(ratio) != "1":
            times = " times what it should be" if ratio else ""
            return Pattern.MULTIPLE, f"Every element is {show(ratio)}{times}."
    if got.ndim != 1 or got.size < 3 or not right.any():
        return NOTHING
    start = int(right.argmin())
    if not right[:start].all() or right[start:].any():
        return NOTHING
    if start == 1:
        hint = "The first element is right, and all those after it are wrong."
        return Pattern.TAIL, hint
    return (
        Pattern.TAIL,
        f"The first {start:,} elements are right, and all those after them are wrong.",
    )


def apart(got: Any, wanted: Any) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart.

    The float32 just below 1 is not written as 1: where it comes up, this matters.
    """
    pairs = [(show(got, digits), show(wanted, digits)) for digits in (4, 5, 6, 8, 12)]
    different = [pair for pair in pairs if pair[0] != pair[1]]
    exact = [p for p in different if "1" not in p or not just_below_1(got, wanted)]
    return next(iter(exact or different), pairs[0])


def just_below_1(*values: Any) -> bool:
    """Whether one of some numbers is the largest float32 below 1."""
    return any(not np.iscomplexobj(v) and np.float32(v) == BELOW_1 for v in values)


def show(value: Any, digits: int = 4) -> str:
    """Write a number briefly: with so many significant digits."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{value + 0.0:.{digits}g}"  # no -0
