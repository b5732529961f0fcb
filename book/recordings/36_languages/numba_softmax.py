"""The softmax of rows of at most 4096 float32 numbers in Numba."""

import math

import numpy as np
from numba import cuda, float32

from weft.launching import prepare

BLOCK, WARPS, EACH = 256, 8, 16  # threads, warps, numbers per thread
FULL = 0xFFFFFFFF
NOTHING = np.float32(-np.inf)


@cuda.jit(device=True)
def block_max(value):
    tops = cuda.shared.array(WARPS, float32)
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, step))
    if cuda.threadIdx.x % 32 == 0:
        tops[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    value = tops[0]
    for i in range(1, WARPS):
        value = max(value, tops[i])
    return value


@cuda.jit(device=True)
def block_sum(value):
    sums = cuda.shared.array(WARPS, float32)
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    if cuda.threadIdx.x % 32 == 0:
        sums[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    value = sums[0]
    for i in range(1, WARPS):
        value += sums[i]
    return value


@cuda.jit("void(float32[:, ::1], float32[:, ::1])")
def softmax(x, out):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    v = cuda.local.array(EACH, float32)

    top = NOTHING
    for i in range(EACH):
        col = t + BLOCK * i
        v[i] = x[row, col] if col < x.shape[1] else NOTHING
        top = max(top, v[i])
    top = block_max(top)

    total = float32(0)
    for i in range(EACH):
        v[i] = math.exp(v[i] - top)
        total += v[i]
    scale = float32(1) / block_sum(total)

    for i in range(EACH):
        col = t + BLOCK * i
        if col < x.shape[1]:
            out[row, col] = v[i] * scale


launch = prepare(softmax)


def bind(x, out):
    return lambda: launch(x.shape[0], BLOCK, x, out)
