"""Specifications and data for the checks of lab 23, and a test by differences."""

import numpy as np
from numba import cuda
from numpy.lib.stride_tricks import sliding_window_view

from .kernels import grad_weights
from .transforms import POINTS


def image_and_filter(rng, h, w, kh, kw):
    """Random numbers: an image and a filter."""
    return (
        rng.standard_normal((h, w), np.float32),
        rng.standard_normal((kh, kw), np.float32),
    )


def blocks_of(height, width):
    """Blocks of 8 x 32 threads that cover height x width results."""
    return (-(-width // 32), -(-height // 8)), (32, 8)


def slide(x, w):
    """Valid cross-correlation, in NumPy."""
    return np.einsum("ijpq,pq->ij", sliding_window_view(x, w.shape), w)


def turned_round(x, w, above, beside):
    """Valid convolution of x, in a frame of zeros, with w, in NumPy."""
    framed = np.pad(x, ((above, above), (beside, beside)))
    return slide(framed, w[::-1, ::-1])


def lists_to_transform(rng):
    """What you did by hand, and some that nobody would."""
    by_hand = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 0, 0, 0], [1, 0, -1, 0]]
    more = [rng.standard_normal(n).tolist() for n in (1, 3, 8, 30)]
    turning = np.exp(2j * np.pi * rng.random(5)).tolist()
    return [(x,) for x in [*by_hand, *more, turning]]


def roots(n):
    """The n-th roots of unity: w^0, w^1, ... w^(n - 1), clockwise."""
    return np.exp(-2j * np.pi * np.arange(n) / n).astype(np.complex64)


def rows_to_transform(rng, rows):
    """Random complex rows, and the table of roots."""
    parts = rng.standard_normal((2, rows, POINTS), np.float32)
    return parts[0] + 1j * parts[1], roots(POINTS)


def loss(x, w):
    return 0.5 * (slide(x, w) ** 2).sum()


def by_differences(of, at, eps=1e-4):
    """Return the gradient of `of` at an array, one element at a time."""
    found = np.empty(at.shape)
    for place in np.ndindex(*at.shape):
        step = np.zeros(at.shape)
        step[place] = eps
        found[place] = (of(at + step) - of(at - step)) / (2 * eps)
    return found


def relative(got, wanted):
    """Return the error of an array, relative to its size."""
    return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)


def finite_differences(grad_data):
    """Compare both gradients with finite differences; return their errors."""
    rng = np.random.default_rng(23)
    x = rng.standard_normal((9, 8), np.float32)
    w = rng.standard_normal((3, 2), np.float32)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    dy = slide(x64, w64).astype(np.float32)
    d_x, d_w, d_dy, d_dx, d_dw = map(
        cuda.to_device, (x, w, dy, np.zeros_like(x), np.zeros_like(w))
    )
    grad_data[blocks_of(*x.shape)](d_dy, d_w, d_dx)
    grad_weights[(2, 3), 256](d_x, d_dy, d_dw)
    dx, dw = d_dx.copy_to_host(), d_dw.copy_to_host()

    dx_error = relative(dx, by_differences(lambda a: loss(a, w64), x64))
    dw_error = relative(dw, by_differences(lambda a: loss(x64, a), w64))
    print(f"dx: {dx_error:.0e}\ndw: {dw_error:.0e}")
    return dx_error, dw_error
