"""The fast kernels of chapter 37, and what the exercises of lab 37 are given.

The cache holds keys and values in pages of `PAGE` keys, each of which belongs to one
sequence. Row `(page * kv_heads + head) * PAGE + i` of the cache is key i of a page, for
one key/value head. The rows of the fast kernels are words of two float16.
"""

import numpy as np
from numba import cuda, float32, int32

from weft.intrinsics import exp2, f16_high, f16_low, load4_nc

D = 64  # numbers per row, in the lab
COLS = D // 32  # of them, per lane
SCALE = float32(D**-0.5)
GROUP, PAGE = 2, 4  # query heads per key/value head, keys per page, in the lab
ROWS = 4  # threads per column of `merge_slices`, in the lab
LOWEST = float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = float32(-np.inf)
FULL = 0xFFFFFFFF
LN2 = float32(np.log(2))

WIDE = 128  # numbers per row of the fast kernels
TILE = 16  # keys that a warp of `decode` takes at a time: a piece begins at a multiple
WARPS = 12  # per block of `decode`, one block per SM
PITCH = WIDE + 1  # numbers from row to row of the warps' results
EACH = 4  # keys that half a warp of `wide_group` loads at a time
AHEAD = True  # whether a warp loads its next keys before it uses these
LAST_MERGES = True  # whether the last block of a head merges


@cuda.jit(device=True)
def warp_sum(x):
    """Return the sum of x over the 32 lanes of a warp, in every lane."""
    for step in (16, 8, 4, 2, 1):
        x += cuda.shfl_xor_sync(FULL, x, step)
    return x


@cuda.jit(device=True)
def neutral(top, weight, total):
    """Set the maxima, weights and sums of a group to those of no keys."""
    for g in range(GROUP):
        top[g], weight[g] = LOWEST, float32(0)
        for i in range(COLS):
            total[g, i] = float32(0)


@cuda.jit(device=True)
def row_of(table, seq, head, kv_heads, key):
    """Return the row of the cache that holds a key."""
    page = table[seq, key // int32(PAGE)]
    return (page * kv_heads + head) * int32(PAGE) + key % int32(PAGE)


@cuda.jit
def wide_group(q, k, v, table, lengths, scale, tops, weights, totals):
    """Attend to a slice of the keys, 16 bytes per load: exercise 5 with wide loads.

    q: words (seqs * heads, WIDE / 2). k, v: words (rows, WIDE / 2). tops, weights:
    (seqs, heads, slices), totals: (seqs, heads, slices, WIDE). One warp per slice and
    key/value head. Half a warp has one key, and its own sums, which are merged at the
    end. Scores are to base 2 until then.
    """
    mine = cuda.local.array((GROUP, 8), float32)  # columns 8 * lane % 16 of the queries
    total = cuda.local.array((GROUP, 8), float32)
    top = cuda.local.array(GROUP, float32)
    weight = cuda.local.array(GROUP, float32)
    s = cuda.local.array((GROUP, EACH), float32)
    kw = cuda.local.array((EACH, 4), int32)
    vw = cuda.local.array((EACH, 4), int32)
    lane = int32(cuda.threadIdx.x)
    part, head, seq = (
        int32(cuda.blockIdx.x),
        int32(cuda.blockIdx.y),
        int32(cuda.blockIdx.z),
    )
    half, word = lane // int32(16), lane % int32(16) * int32(4)
    kv_heads, length = int32(cuda.gridDim.y), int32(lengths[seq])
    size = (length + int32(cuda.gridDim.x) - int32(1)) // int32(cuda.gridDim.x)
    stop = min(part * size + size, length)

    for g in range(GROUP):
        row = (seq * kv_heads + head) * int32(GROUP) + int32(g)
        four = load4_nc(q, (row, word))
        for i in range(4):
            mine[g, 2 * i] = f16_low(four[i]) * scale
            mine[g, 2 * i + 1] = f16_high(four[i]) * scale
        for i in range(8):
            total[g, i] = float32(0)
        top[g], weight[g] = LOWEST, float32(0)

    for start in range(part * size, stop, int32(2 * EACH)):
        for u in range(EACH):
            key = min(start + int32(2 * u) + half, stop - int32(1))
            place = row_of(table, seq, head, kv_heads, key), word
            four = load4_nc(k, place)
            kw[u, 0], kw[u, 1], kw[u, 2], kw[u, 3] = four
            four = load4_nc(v, place)
            vw[u, 0], vw[u, 1], vw[u, 2], vw[u, 3] = four
        for g in range(GROUP):
            new = top[g]
            for u in range(EACH):
                x = float32(0)
                for i in range(4):
                    x += mine[g, 2 * i] * f16_low(kw[u, i])
                    x += mine[g, 2 * i + 1] * f16_high(kw[u, i])
                for step in (8, 4, 2, 1):
                    x += cuda.shfl_xor_sync(FULL, x, step)
                if start + int32(2 * u) + half >= stop:
                    x = NOTHING
                s[g, u] = x
                new = max(new, x)
            factor = exp2(top[g] - new)
            top[g] = new
            weight[g] *= factor
            for i in range(8):
                total[g, i] *= factor
            for u in range(EACH):
                s[g, u] = exp2(s[g, u] - new)
                weight[g] += s[g, u]
        for u in range(EACH):
            for i in range(4):
                low, high = f16_low(vw[u, i]), f16_high(vw[u, i])
                for g in range(GROUP):
                    total[g, 2 * i] += s[g, u] * low
                    total[g, 2 * i + 1] += s[g, u] * high

    for g in range(GROUP):
        new = max(top[g], cuda.shfl_xor_sync(FULL, top[g], 16))
        factor = exp2(top[g] - new)
        query = head * int32(GROUP) + int32(g)
        weight[g] *= factor
        weight[g] += cuda.shfl_xor_sync(FULL, weight[g], 16)
        for i in range(8):
            total[g, i] *= factor
            total[g, i] += cuda.shfl_xor_sync(FULL, total[g, i], 16)
        if half == 0:
            for i in range(8):
                column = int32(2) * word + int32(i)
                totals[seq, query, part, column] = total[g, i]
            if lane == 0:
                tops[seq, query, part] = new * LN2
                weights[seq, query, part] = weight[g]
