"""Specifications, inputs and explanations for the checks of lab 19."""

import numpy as np


def operands(rng, m, n, k, beta):
    """Return alpha, a, b and beta; 2 stands for -2."""
    a = rng.random((m, k), np.float32) - np.float32(0.3)
    b = rng.random((k, n), np.float32) - np.float32(0.2)
    return np.float32(1.5), a, b, np.float32(beta if beta < 2 else -beta)


def before(alpha, a, b, beta):
    """Return what c holds at first: NaN if beta is 0, not to be read."""
    c = np.full((len(a), b.shape[1]), np.nan, np.float32)
    if beta:
        c[:] = np.arange(c.size).reshape(c.shape) % 7 - 3
    return c


def gemm(alpha, a, b, beta):
    """Return what should be in c afterwards."""
    product = alpha * (a @ b)
    return product + beta * before(alpha, a, b, beta) if beta else product


def needed(BM, BN, TM, TN, BK, stages):
    """Count what the arrays of gemm_pipeline hold."""
    threads = len([(i, j) for i in range(0, BM, TM) for j in range(0, BN, TN)])
    tile_a, tile_b = np.empty((BK, BM + 4)), np.empty((BK, BN))
    arrays = np.empty((TM, TN)), np.empty((2, TM)), np.empty((2, TN))
    loads = len(range(0, TM, 4)) + len(range(0, TN, 4))
    shared = stages * (tile_a.size + tile_b.size) * np.float32().nbytes
    return threads, shared, sum(x.size for x in arrays), loads / (TM * TN)


def shared_out(m, n, BM, BN, slots):
    """Deal out the blocks, wave by wave, and count the results."""
    blocks = [(r, s) for r in range(0, m, BM) for s in range(0, n, BN)]
    waves = [blocks[i : i + slots] for i in range(0, len(blocks), slots)]
    wanted = sum(min(BM, m - r) * min(BN, n - s) for r, s in blocks)
    return wanted / (len(waves) * slots * BM * BN)


def why_not(m, n, BM, BN, slots, answer):
    """Say what a wrong answer has counted."""
    whole = len(range(0, m, BM)) * len(range(0, n, BN))
    if abs(answer - m * n / (whole * BM * BN)) < 1e-6:
        return "That counts only the edges. What do the SMs do in the last wave?"
    if abs(answer - whole / (-(-whole // slots) * slots)) < 1e-6:
        return "That counts only the waves. Blocks at the edge have fewer results."
    if answer > 1:
        return "A share is at most 1. Round waves and blocks up, not down."
    return "How many blocks, how many waves, how many results are wanted?"
