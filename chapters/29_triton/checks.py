"""Specifications and data for the checks of lab 29."""

import numpy as np


def normal(rng, *shape, dtype=np.float32):
    """Return random numbers around 0."""
    return rng.standard_normal(shape).astype(dtype)


def log_shares(x):
    """Return the logarithm of the softmax of each row."""
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def gapped(rng, rows, cols):
    """Return rows around 100 and -100 in turn, in a view with gaps."""
    around = 100 * (-1) ** np.arange(rows)[:, None]
    x = (normal(rng, rows, cols + 3) + around).astype(np.float32)
    return (x[:, :cols],)


def normed(x, weight, eps):
    """Return RMSNorm of each row, computed in double precision."""
    wide = x.astype(np.float64)
    mean = (wide * wide).mean(axis=1, keepdims=True)
    return (wide / np.sqrt(mean + eps) * weight).astype(np.float16)


def loud_rows(rng, rows, cols):
    """Return rows with squares too large for float16, weights and eps."""
    x = normal(rng, rows, cols) * 150
    return x.astype(np.float16), normal(rng, cols, dtype=np.float16), 1e4


def layer(x, w, bias):
    """Return relu(x @ w.T + bias), computed in double precision."""
    x, w, bias = (each.astype(np.float64) for each in (x, w, bias))
    return np.maximum(x @ w.T + bias, 0).astype(np.float16)


def layer_data(rng, m, n, k):
    """Return a layer in which large parts of each sum cancel."""
    x, w = normal(rng, m, k), normal(rng, n, k)
    half = k // 2
    x[:, :half] *= 60
    w[:, :half] *= 60
    x[:, half : 2 * half] -= x[:, :half]
    w[:, half : 2 * half] = w[:, :half]
    bias = 20 * normal(rng, n)
    return tuple(each.astype(np.float16) for each in (x, w, bias))


def order(grid_m, grid_n, group):
    """Return all tiles as (row, column), in grouped order."""
    return [
        (row, col)
        for first in range(0, grid_m, group)
        for col in range(grid_n)
        for row in range(first, min(first + group, grid_m))
    ]


def in_order(number, grid_m, grid_n, group):
    """Return a tile in grouped order: look it up."""
    return order(grid_m, grid_n, group)[number]


def grids(rng):
    """Return numbers of tiles, grids and groups, the corners among them."""
    cases = [(k, 3, 2, 2) for k in range(6)]
    cases += [(0, 1, 1, 8), (13, 4, 5, 1), (37, 5, 8, 8), (62, 9, 7, 4)]
    for _ in range(20):
        m, n, group = (int(k) for k in rng.integers(1, 12, 3))
        cases.append((int(rng.integers(0, m * n)), m, n, group))
    return cases


def same_tile(got, wanted):
    """Return "" for the right tile, or else what is wrong with it."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "Return two numbers: the row and the column of the tile."
    if any(isinstance(each, float) for each in got):
        return "Rows and columns are integers: divide with `//`."
    if tuple(got) == wanted:
        return ""
    if tuple(got) == wanted[::-1]:
        return "The right numbers in the wrong order: return row, then column."
    if got[0] != wanted[0]:
        return (
            f"It is in row {wanted[0]}, not {got[0]}. Which band is it in, and "
            "how many rows does this band have?"
        )
    return (
        f"Row {wanted[0]} is right; the column should be {wanted[1]}, not "
        f"{got[1]}. How many tiles does each column of this band have?"
    )
