"""The kernels of chapter 16 that no exercise asks for, but for the family's.

First come the functions with which a warp and a block combine their values. They are
the same as in chapter 14, with one change: the shuffles are butterflies (chapter 8), so
all threads get the result.
"""

import math

import numpy as np
from numba import cuda, float32

FULL = 0xFFFFFFFF
LOWEST = np.float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = np.float32(-np.inf)


@cuda.jit(device=True)
def warp_max(value):
    """Return the largest of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, step))
    return value


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit(device=True)
def block_max(value):
    """Return the largest of a block's values, in all threads; call it once."""
    cells = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    mine = warp_max(value)
    if lane == 0:
        cells[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    return warp_max(cells[lane] if lane < cuda.blockDim.x // 32 else LOWEST)


@cuda.jit(device=True)
def block_sum(value):
    """Return the sum of a block's values, in all threads; call it once."""
    cells = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    mine = warp_sum(value)
    if lane == 0:
        cells[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    return warp_sum(cells[lane] if lane < cuda.blockDim.x // 32 else float32(0))


@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return maximum and sum of two pieces, given those of each."""
    top = max(m, m2)
    return top, s * math.exp(m - top) + s2 * math.exp(m2 - top)


@cuda.jit
def softmax_online(x, out):
    """Softmax of each row in two passes; one block of 256 per row."""
    row, me = cuda.blockIdx.x, cuda.threadIdx.x

    highest, weight = LOWEST, float32(0)
    for at in range(me, x.shape[1], cuda.blockDim.x):
        highest, weight = merge(highest, weight, x[row, at], float32(1))

    peak = block_max(highest)
    weight = block_sum(weight * math.exp(highest - peak))

    for at in range(me, x.shape[1], cuda.blockDim.x):
        out[row, at] = math.exp(x[row, at] - peak) / weight
