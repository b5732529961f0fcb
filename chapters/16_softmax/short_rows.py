"""The kernels of the family for rows that a warp or a block holds.

They are those of exercises 3 and 4, with the numbers of pieces and threads as
parameters. `half` means bfloat16: a kernel then sees a matrix of int32, each of which
contains two bfloat16. All arithmetic is in float32. `whole` means that the row fills
all pieces, so no guard is needed. To *weigh* a piece is to find its pair and to turn
its scores into powers, by `exp2`: e^x is 2^(x log2 e).
"""

import numpy as np
from numba import cuda, float32, int32

from weft.intrinsics import bf16_high, bf16_low, bf16_pair, exp2, load4, store4

from .kernels import LOWEST, NOTHING, warp_max, warp_sum

LOG2E = np.float32(np.log2(np.e))


def moves(half, pieces, width, whole):
    """Make functions that load a thread's part of a row, and store it, scaled.

    A part has `pieces` pieces of 16 bytes, `width` pieces apart.
    """
    if half:

        @cuda.jit(device=True, inline=True)
        def load(x, row, first, v):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < x.shape[1]:
                    four = load4(x, (row, at))
                    for j in range(4):
                        v[8 * k + 2 * j] = bf16_low(four[j])
                        v[8 * k + 2 * j + 1] = bf16_high(four[j])
                else:
                    for j in range(8):
                        v[8 * k + j] = NOTHING

        @cuda.jit(device=True, inline=True)
        def store(out, row, first, v, r):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < out.shape[1]:
                    p = bf16_pair(v[8 * k] * r, v[8 * k + 1] * r)
                    q = bf16_pair(v[8 * k + 2] * r, v[8 * k + 3] * r)
                    s = bf16_pair(v[8 * k + 4] * r, v[8 * k + 5] * r)
                    t = bf16_pair(v[8 * k + 6] * r, v[8 * k + 7] * r)
                    store4(out, (row, at), p, q, s, t)

    else:

        @cuda.jit(device=True, inline=True)
        def load(x, row, first, v):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < x.shape[1]:
                    four = load4(x, (row, at))
                    for j in range(4):
                        v[4 * k + j] = four[j]
                else:
                    for j in range(4):
                        v[4 * k + j] = NOTHING

        @cuda.jit(device=True, inline=True)
        def store(out, row, first, v, r):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < out.shape[1]:
                    p, q = v[4 * k] * r, v[4 * k + 1] * r
                    s, t = v[4 * k + 2] * r, v[4 * k + 3] * r
                    store4(out, (row, at), p, q, s, t)

    return load, store


def weighing(count):
    """Make a function that turns scores into powers and returns the pair."""

    @cuda.jit(device=True, inline=True)
    def weigh(v):
        m = LOWEST
        for k in range(count):
            m = max(m, v[k])
        m = warp_max(m)
        s = float32(0)
        for k in range(count):
            v[k] = exp2((v[k] - m) * LOG2E)
            s += v[k]
        return m, warp_sum(s)

    return weigh


@cuda.jit(device=True, inline=True)
def merge_warp(m, s):
    """Return the pair of 32 pairs, one in each lane."""
    peak = warp_max(m)
    return peak, warp_sum(s * exp2((m - peak) * LOG2E))


def warp_kernel(half, pieces, threads, whole):
    """Make a kernel that computes the softmax with a warp per row."""
    count = (8 if half else 4) * pieces
    load, store = moves(half, pieces, 32, whole)
    weigh = weighing(count)

    @cuda.jit
    def kernel(x, out):
        v = cuda.local.array(count, float32)
        row = int32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)
        first = int32(4 * cuda.threadIdx.x)
        if row >= x.shape[0]:
            return
        load(x, row, first, v)
        _, s = weigh(v)
        store(out, row, first, v, float32(1) / s)

    return kernel


def block_kernel(half, pieces, threads, whole):
    """Make a kernel that computes the softmax with a block per row."""
    count, warps = (8 if half else 4) * pieces, threads // 32
    load, store = moves(half, pieces, threads, whole)
    weigh = weighing(count)

    @cuda.jit
    def kernel(x, out):
        ms = cuda.shared.array(warps, float32)
        ss = cuda.shared.array(warps, float32)
        v = cuda.local.array(count, float32)
        row, me = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        load(x, row, 4 * me, v)
        m, s = weigh(v)
        if me % 32 == 0:
            ms[me // 32], ss[me // 32] = m, s
        cuda.syncthreads()
        peak, weight = LOWEST, float32(0)
        if me % 32 < warps:
            peak, weight = ms[me % 32], ss[me % 32]
        peak, weight = merge_warp(peak, weight)
        store(out, row, 4 * me, v, exp2((m - peak) * LOG2E) / weight)

    return kernel
