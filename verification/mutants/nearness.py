"""Whether results are right, by a comparison that is independent of the checks'."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# a multiple of the right kernels' own error that still counts as such an error
SLACK = 8
# larger numbers stand for infinity, as the lowest number of float32 does
ENDLESS = 1e18


def errors(got: Array, wanted: Array) -> Array:
    """Return each element's error: 0 if both are the same, including NaN."""
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
    """Return the magnitudes of ordinary elements, by which errors are judged."""
    magnitudes: Array = np.abs(wanted)
    return magnitudes[magnitudes < ENDLESS]


def right(got: Array, wanted: Array, tolerance: float, noise: float) -> bool:
    """Return whether each element is near the wanted one, relative to itself.

    noise: the right kernels' own largest error; an error of that size is accepted
    anywhere.
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
