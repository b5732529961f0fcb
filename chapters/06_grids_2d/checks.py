"""Specifications and launches for the checks of lab 6, and a kernel to launch."""

import numpy as np
from numba import cuda


@cuda.jit
def nothing():
    pass


def answer(grid, block):
    """Launch, and say what happened."""
    try:
        nothing[grid, block]()
        cuda.synchronize()
    except Exception:
        return "refused"
    return "taken"


def square_of(m, n):
    """Return a launch that covers m x n and n x m alike."""
    side = -(-max(m, n) // 32)
    return (side, 4 * side), (32, 8)


def mean_of_nine(x):
    """Return the 3 x 3 means of x, its border repeated."""
    rows, cols = x.shape
    wide = np.pad(x, 1, mode="edge")
    shifts = [(i, j) for i in range(3) for j in range(3)]
    return sum(wide[i : i + rows, j : j + cols] for i, j in shifts) / 9
