"""Whether results are right: a comparison that owes nothing to that of the checks."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SLACK = 8  # how many times the right kernels' own error is still an error like theirs
ENDLESS = 1e18  # numbers beyond it stand for infinity, as the lowest of float32 does


def errors(got: Array, wanted: Array) -> Array:
    """How far off each element is: 0 where both are the same, NaN included."""
    exact = got == wanted
    if got.dtype.kind in "fc":
        exact |= np.isnan(got) & np.isnan(wanted)
    if got.dtype.kind not in "fc":
        return np.where(exact, 0.0, np.inf)
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(wanted.dtype, copy=False) - wanted)
    off = np.where(np.isnan(off), np.inf, off)
    return np.where(exact, 0.0, off)


def sizes(wanted: Array) -> Array:
    """The magnitudes of the ordinary elements, those by which errors are judged."""
    magnitudes: Array = np.abs(wanted)
    return magnitudes[magnitudes < ENDLESS]


def right(got: Array, wanted: Array, tolerance: float, noise: float) -> bool:
    """Whether each element is near what is wanted: relative to itself.

    An error that the right kernels make as well, anywhere, is none.
    """
    if got.shape != wanted.shape:
        return False
    ordinary = sizes(wanted)
    rms = float(np.sqrt(np.mean(ordinary**2))) if ordinary.size else 0.0
    least = SLACK * noise + 4 * float(np.finfo(np.float32).eps) * rms
    with np.errstate(all="ignore"):
        allowed = tolerance * np.abs(wanted) + least
    allowed = np.where(np.isfinite(allowed), allowed, 0)
    return bool((errors(got, wanted) <= allowed).all())
