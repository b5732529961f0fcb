"""Specifications, data and explanations for the checks of lab 18."""

import numpy as np


def operands(rng, m, n, k, beta):
    """Return alpha, a, b and beta; 2 stands for -2."""
    a = rng.random((m, k), np.float32) - np.float32(0.3)
    b = rng.random((k, n), np.float32) - np.float32(0.2)
    return np.float32(1.5), a, b, np.float32(beta if beta < 2 else -beta)


def before(alpha, a, b, beta):
    """Return what is in c at first: NaN if beta is 0, as nobody may look."""
    c = np.full((len(a), b.shape[1]), np.nan, np.float32)
    if beta:
        c[:] = np.arange(c.size).reshape(c.shape) % 7 - 3
    return c


def gemm(alpha, a, b, beta):
    """Return what should be in c afterwards."""
    product = alpha * (a @ b)
    return product + beta * before(alpha, a, b, beta) if beta else product


def sized(m, n, k, beta):
    """Return how a verdict names a size; see `operands`."""
    return f"m={m}, n={n}, k={k}, beta={beta if beta < 2 else -beta}"


def with_turned(rng, m, n, k, beta):
    """Return alpha, a, b and beta, where b is (n, k)."""
    alpha, a, b, beta = operands(rng, m, n, k, beta)
    return alpha, a, np.ascontiguousarray(b.T), beta


def beyond(alpha, a, b, beta, c):
    """Say what the tiles hold beyond the end of k, if that explains c."""
    more, right = -a.shape[1] % 16, gemm(alpha, a, b, beta)
    last = a[:, -1:] @ b[-1:]
    for what, each in (("ones", 1.0), ("the last elements again", last)):
        if more and np.allclose(c, right + alpha * more * each, 1e-3, 1e-3):
            return f"This is the result if tiles contain {what} beyond the end of k."
    return ""


def not_turned(alpha, a, b, beta, c):
    """Say that b was taken as it lies, if that explains c."""
    fits = b.shape[0] == a.shape[1] and b.shape[1] == c.shape[1]
    if fits and np.allclose(c, gemm(alpha, a, b, beta), 1e-3, 1e-3):
        return "This is the result for `a @ b`, and it should be `a @ b.T`."
    return ""


def counted(m, n, k, tile):
    """Return the bytes, block by block."""
    a, b = np.empty((m, k), np.float32), np.empty((k, n), np.float32)
    return sum(
        a[row : row + tile].nbytes + b[:, col : col + tile].nbytes
        for row in range(0, m, tile)
        for col in range(0, n, tile)
    )


def why(m, n, k, tile, answer):
    """Say what an answer that is wrong has counted."""
    down, across = -(-m // tile), -(-n // tile)
    rows = [min(tile, m - row) for row in range(0, m, tile)]
    cols = [min(tile, n - col) for col in range(0, n, tile)]
    if answer == sum((row + col) * k for row in rows for col in cols):
        return "That is the number of elements. How many bytes does each take?"
    if answer == 4 * (m * k + k * n):
        return "That loads each element once. How many blocks load a row of a?"
    if answer == 4 * (down * m * k + across * k * n):
        return (
            "The blocks that load one row of a are side by side: which of the "
            "two matrices says how many these are?"
        )
    if answer == 4 * (n // tile * m * k + m // tile * k * n):
        return "A block that extends beyond the edge loads rows and columns, too."
    if answer == 4 * (across * m * k + down * k * n + m * n):
        return "That counts c as well. The question is for the bytes of a and b."
    if answer in (4 * across * m * k, 4 * down * k * n):
        return "Those are the bytes of one matrix. The blocks load two matrices."
    if answer == 4 * down * across * tile * 2 * k:
        return "At the edge a block has fewer rows, or fewer columns, to load."
    return (
        "Take one row of a: which blocks load it, and how many are they? Then "
        "the same for one column of b."
    )
