"""Comparing an array with the right one, and finding how it differs."""

from typing import Any

import numpy as np

from weft.checking.differences import NOTHING, Difference, Looks, Pattern, show, times
from weft.simulator.memory.arrays import poisoned_by

Array = np.ndarray[Any, Any]

LARGE = 1e20  # what is as large is a filler, in the results of the labs


def close(got: Array, wanted: Array, tolerance: float) -> Array:
    """Return a mask of the elements that agree within a tolerance.

    A float or complex number may be off by `tolerance` times the sum of the wanted
    number's magnitude and the RMS of all `ordinary` wanted numbers. Other values must
    be equal.
    """
    if got.dtype.kind not in "fc":
        return np.asarray(got == wanted)
    # squares and small tolerances are out of range for float16
    wanted = wanted.astype(np.result_type(wanted.dtype, np.float32))
    some = ordinary(wanted, got.dtype)
    scale = (
        float(np.sqrt(np.mean(np.square(np.abs(wanted[some]))))) if some.any() else 0
    )
    agree: Array = np.isclose(
        got.astype(wanted.dtype), wanted, tolerance, tolerance * scale, equal_nan=True
    )
    return agree


def ordinary(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return a mask of the finite values that no program of `dtype` uses as a filler.

    Beside a filler, such as the lowest float32 for a maximum of nothing, any error of
    the other values would count as small.
    """
    limit = min(LARGE, float(np.finfo(dtype).max) / 2)
    return np.asarray(np.abs(values) < limit)


def difference(got: Array, wanted: Array, tolerance: float) -> Difference | None:
    """Return how `got` differs from `wanted`, or None if it does not."""
    with np.errstate(all="ignore"):
        right = close(got, wanted, tolerance)
        if right.all():
            return None
        wrong = np.argwhere(~right)
        first = tuple(int(i) for i in wrong[0])
        looks = pattern(got, wanted, right, got[first], tolerance)
    return Difference(first, got[first], wanted[first], len(wrong), got.size, *looks)


def agrees(got: Array, wanted: Array, tolerance: float) -> bool:
    """Return whether all elements of `got` agree with those of `wanted`."""
    with np.errstate(all="ignore"):
        return bool(close(got, wanted, tolerance).all())


def doubtful(got: Array, wanted: Array, tolerance: float) -> Array:
    """Return a mask of the elements that are far off relative to their own magnitude.

    If `close` accepts them, it is because other elements are larger. Rounding explains
    such an error only in a small difference between large numbers.
    """
    if got.dtype.kind not in "fc":
        return np.zeros(got.shape, bool)
    with np.errstate(all="ignore"):
        allowed = max(tolerance, min(100 * tolerance, 0.1)) * np.abs(wanted)
        apart = np.abs(got.astype(wanted.dtype) - wanted) > allowed
        return np.asarray(apart & np.isfinite(wanted) & np.isfinite(got))


def at_first(wrong: Array, got: Array, wanted: Array, hint: str) -> Difference:
    """Return a `SMALL` difference at the first element for which `wrong` is true."""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = int(np.count_nonzero(wrong))
    at = first, got[first], wanted[first], count, got.size
    return Difference(*at, Pattern.SMALL, hint)


def pattern(got: Array, wanted: Array, right: Array, first: Any, tol: float) -> Looks:
    """Classify the error, and describe it in a sentence.

    first: the first wrong value. If the values are right but in the wrong places, and
    `first` belongs at exactly one index, the sentence names that index.
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
    if got.size > 2 and wanted.all() and not right.any():
        ratios = got / wanted
        ratio = ratios.flat[0]
        same = np.isfinite(ratio) and np.isclose(ratios, ratio, rtol=1e-4).all()
        if same and show(ratio) != "1":
            return Pattern.MULTIPLE, f"Every element is {times(ratio)}."
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
