"""Comparing an output with what it should be, and saying how it differs."""

from dataclasses import dataclass, replace
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
        found = Difference(first, got[first], wanted[first], len(wrong), got.size)
        return seen(found, got, wanted, right, tolerance)


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


def seen(
    found: Difference, got: Array, wanted: Array, right: Array, tolerance: float
) -> Difference:
    """The difference with the kind of wrong that the whole output looks like."""
    space = poisoned_by(found.got)
    if space in ("shared", "local"):
        return replace(
            found,
            pattern=Pattern.UNSET,
            hint=f"The NaN comes from {space} memory that no thread had written when "
            "it was read.",
        )
    if space == "global":
        hint = "The NaN comes from an output that was read before it was written."
        return replace(found, pattern=Pattern.UNSET, hint=hint)
    if got.dtype.kind in "fc" and np.isnan(found.got):
        return found
    if got.size > 2 and agrees(
        np.sort(got, axis=None), np.sort(wanted, axis=None), tolerance
    ):
        return moved(found, wanted, tolerance)
    flat, aim = got.ravel(), wanted.ravel()
    if aim.size > 3 and agrees(flat[1:], aim[:-1], tolerance):
        hint = "Each result is where the next one belongs."
        return replace(found, pattern=Pattern.SHIFTED, hint=hint)
    if aim.size > 3 and agrees(flat[:-1], aim[1:], tolerance):
        hint = "Each result is where the previous one belongs."
        return replace(found, pattern=Pattern.SHIFTED, hint=hint)
    nonzero = wanted != 0
    if got.size > 2 and nonzero.any() and not right.any():
        ratios = got[nonzero] / wanted[nonzero]
        alike = np.isclose(ratios, ratios.flat[0], rtol=1e-4).all()
        if alike and show(ratios.flat[0]) != "1":
            times = " times what it should be" if ratios.flat[0] else ""
            hint = f"Every element is {show(ratios.flat[0])}{times}."
            return replace(found, pattern=Pattern.MULTIPLE, hint=hint)
    return tail(found, right)


def moved(found: Difference, wanted: Array, tolerance: float) -> Difference:
    """The difference of an output whose values are right, but in other places."""
    hint = "All the right values are there, but in the wrong places"
    places = np.argwhere(close(np.full_like(wanted, found.got), wanted, tolerance))
    if len(places) != 1:
        return replace(found, pattern=Pattern.MOVED, hint=f"{hint}.")
    belongs = tuple(int(i) for i in places[0])
    hint += f": this value belongs at [{', '.join(map(str, belongs))}]."
    return replace(found, pattern=Pattern.MOVED, hint=hint, belongs=belongs)


def tail(found: Difference, right: Array) -> Difference:
    """The difference, if the output is right up to an element and wrong after it."""
    if right.ndim != 1 or right.size < 3 or not right.any():
        return found
    first = int(right.argmin())
    if not right[:first].all() or right[first:].any():
        return found
    hint = (
        f"The first {first:,} elements are right, and all those after them are wrong."
    )
    if first == 1:
        hint = "The first element is right, and all those after it are wrong."
    return replace(found, pattern=Pattern.TAIL, hint=hint)


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
