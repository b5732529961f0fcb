"""Specifications and data for the checks of lab 8."""

import numpy as np


def both(x, table):
    """Compute with whole arrays what even_odd does."""
    risen, folded = np.zeros_like(x), x
    for t in table:
        risen, folded = risen * x + t, t - folded * folded
    return np.where(np.arange(x.size) % 2 == 0, risen, folded)


def far_below_zero(rng, n):
    """n numbers, each group of 32 below the last; n sets their scale."""
    numbers = rng.random(n) - 2 - np.arange(n) // 32
    return (numbers * 10.0 ** (n % 13 * 3)).astype(np.float32)


def kept(x):
    """Compute slowly what warp_filter does."""
    out, counts = np.zeros_like(x), []
    for i in range(0, x.size, 32):
        group = x[i : i + 32]
        counts.append(np.count_nonzero(group > 0))
        out[i : i + counts[-1]] = group[group > 0]
    return out, np.array(counts, np.int32)
