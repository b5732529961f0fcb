"""Inputs, launches and specifications for the checks of lab 14."""

import numpy as np

from .kernels import BLOCK


def nearly_cancelling(rng, n):
    """Return n numbers; in a block, i and i + 128 have a small sum."""
    large = rng.uniform(1e6, 1.9e6, (-(-n // BLOCK), 1, BLOCK // 2))
    pairs = np.concatenate([large, -large], axis=1).ravel()[:n]
    return (pairs + rng.random(n)).astype(np.float32)


def width_for(n):
    """Return how many threads a block has: three warps, or 32 for large n."""
    return 96 if n < 1000 else 1024


def launch_for(n):
    """Return few blocks of two warps; for large n more blocks than threads."""
    return (3, 64) if n < 10_000 else (40, 32)


def sums_of_blocks(x):
    """Return what each block of such a launch has to put into parts."""
    blocks, width = launch_for(x.size)
    i = np.arange(x.size)
    block = i // (16 * width) % blocks
    rest = x.size // 4 * 4
    block[rest:] = 0  # the first threads take what is left
    return np.bincount(block, x, blocks)


def tied(rng, m, n):
    """Return m rows of 4 * n negative numbers; maxima move right by row."""
    x = rng.integers(-n - 1, -n // 2, (m, 4 * n))
    for row in range(m):
        x[row, : 4 * n * (row + 1) // (m + 1)] -= n
    return np.ldexp(x, 90).astype(np.float32)
