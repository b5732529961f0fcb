"""The device functions that the exercises of lab 24 use: copies, products, stores.

The constants are those of the lab; a measurement compiles the kernels with others.
"""

import math

import numpy as np
from numba import cuda, float32, int32
from numba.cuda import libdevice

from weft.intrinsics import ldmatrix_x4, ldmatrix_x4_trans, load4, mma_f16, store4

D, KEYS = 8, 8  # numbers per row, keys per tile
SCALE = float32(D**-0.5)
LOWEST = float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = float32(-np.inf)
HEAD, TILE, WARPS = 16, 16, 2  # numbers per row, keys per tile, warps
HW = HEAD // 2  # words per row
HEAD8, HEAD16, TILE8, TILE16 = HEAD // 8, HEAD // 16, TILE // 8, TILE // 16
PITCH = HW + 4  # words from row to row of a tile: ldmatrix without conflicts
EACH = 1  # pieces of 4 words that a thread copies, if all threads copy as many
SCALE2 = float32(math.log2(math.e) * HEAD**-0.5)
LN2 = float32(math.log(2))
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def copy_tile(tile, x, head, start):
    """Copy rows of x[head] from `start` on; zeros where there are none."""
    rows, cols = tile.shape
    for i in range(cuda.threadIdx.x, rows * cols, cuda.blockDim.x):
        row, col = i // cols, i % cols
        if start + row < x.shape[1]:
            tile[row, col] = x[head, start + row, col]
        else:
            tile[row, col] = float32(0)


@cuda.jit(device=True)
def copy_words(tile, x, head, start):
    """Copy rows of x[head] from `start` on; zeros where there are none."""
    pieces = int32(TILE * HW // 4)
    for at in range(int32(cuda.threadIdx.x), pieces, int32(32 * WARPS)):
        row, word = at // int32(HW // 4), at % int32(HW // 4) * int32(4)
        if start + row < x.shape[1]:
            a, b, c, d = load4(x[head], (start + row, word))
            store4(tile, (row, word), a, b, c, d)
        else:
            zero = int32(0)
            store4(tile, (row, word), zero, zero, zero, zero)


@cuda.jit(device=True)
def copy_words_first(tile, x, head, start):
    """Do the same, but load all pieces of a thread before the first is stored."""
    held = cuda.local.array((EACH, 4), int32)
    end = int32(x.shape[1])
    for i in range(EACH):
        at = int32(cuda.threadIdx.x) + int32(32 * WARPS * i)
        row, word = at // int32(HW // 4), at % int32(HW // 4) * int32(4)
        four = load4(x[head], (min(start + row, end - int32(1)), word))
        held[i, 0], held[i, 1], held[i, 2], held[i, 3] = four
    for i in range(EACH):
        at = int32(cuda.threadIdx.x) + int32(32 * WARPS * i)
        row, word = at // int32(HW // 4), at % int32(HW // 4) * int32(4)
        if start + row >= end:
            for part in range(4):
                held[i, part] = int32(0)
        place = row, word
        store4(tile, place, held[i, 0], held[i, 1], held[i, 2], held[i, 3])


@cuda.jit(device=True)
def load_queries(fq, q, head, row, t):
    """Load the fragments of 16 queries: rows `row` and row + 8 of this lane."""
    last = int32(q.shape[1]) - int32(1)
    near, far = min(row, last), min(row + int32(8), last)
    for i in range(HEAD16):
        w = int32(8 * i) + t
        fq[i, 0] = q[head, near, w]
        fq[i, 1] = q[head, far, w]
        fq[i, 2] = q[head, near, w + int32(4)]
        fq[i, 3] = q[head, far, w + int32(4)]


@cuda.jit(device=True)
def scores_of(s, fq, tk, lane):
    """Write the scaled scores of 16 queries and a tile of keys into s."""
    row = lane % int32(8) + lane // int32(16) * int32(8)
    word = lane // int32(8) % int32(2) * int32(4)
    for n in range(TILE8):
        for m in range(4):
            s[n, m] = float32(0)
    for n in range(TILE16):
        for m in range(HEAD16):
            at = int32(16 * n) + row, int32(8 * m) + word
            fk = ldmatrix_x4(tk, at)
            mma_f16(s[2 * n], fq[m], fk[:2])
            mma_f16(s[2 * n + 1], fq[m], fk[2:])
    for n in range(TILE8):
        for m in range(4):
            s[n, m] *= SCALE2


@cuda.jit(device=True)
def add_values(o, p, tv, lane):
    """Add the products of the weights p and a tile of values to o."""
    row = lane % int32(16)
    word = lane // int32(16) * int32(4)
    for m in range(TILE16):
        for n in range(HEAD16):
            at = int32(16 * m) + row, int32(8 * n) + word
            fv = ldmatrix_x4_trans(tv, at)
            mma_f16(o[2 * n], p[m], fv[:2])
            mma_f16(o[2 * n + 1], p[m], fv[2:])


@cuda.jit(device=True)
def put_row(out, lse, head, row, o, k, t, top, total):
    """Write one row of the output from numbers k and k + 1 of the fragments."""
    if row < out.shape[1]:
        for n in range(HEAD8):
            col = int32(8 * n) + int32(2) * t
            out[head, row, col] = o[n, k] / total
            out[head, row, col + int32(1)] = o[n, k + 1] / total
        if t == 0:
            lse[head, row] = (top + libdevice.log2f(total)) * LN2


@cuda.jit(device=True)
def put_scores(scores, s, head, row, start, t):
    """Write the fragments of 16 queries and a tile of keys, where the query exists."""
    for n in range(TILE8):
        col = start + int32(8 * n) + int32(2) * t
        for m in range(4):
            line = row + int32(m // 2 * 8)
            if line < scores.shape[1]:
                scores[head, line, col + int32(m % 2)] = s[n, m]


@cuda.jit(device=True)
def load_scores(s, scores, row, start, t):
    """Load the fragments of 16 rows of scores and a tile of columns."""
    for n in range(TILE8):
        col = start + int32(8 * n) + int32(2) * t
        for m in range(4):
            s[n, m] = scores[row + int32(m // 2 * 8), col + int32(m % 2)]


@cuda.jit(device=True)
def put_sums(out, lse, row, o, t, k, top, weight):
    """Write numbers k and k + 1 of the fragments, divided by the row's whole weight.

    weight: of this lane alone. lse: to base 2.
    """
    for lanes in (1, 2):
        weight += cuda.shfl_xor_sync(FULL, weight, lanes)
    for n in range(TILE8):
        col = int32(8 * n) + int32(2) * t
        out[row, col] = o[n, k] / weight
        out[row, col + int32(1)] = o[n, k + 1] / weight
    if t == 0:
        lse[row] = top + libdevice.log2f(weight)
