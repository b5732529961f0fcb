"""The device functions that exercise 7 of lab 24 uses: attention by one warpgroup.

A block has 128 threads and computes 64 queries of 64 numbers, with tiles of 64 keys.
Its shared memory has five boxes of 64 rows with the 128-byte swizzle: the queries, and
two tiles each of keys and of values. Unlike `attend`, it copies tiles with its threads.
"""

import math

from numba import cuda, float32, int32
from numba.cuda import libdevice

from weft.intrinsics import (
    bf16_pair,
    descriptor,
    descriptor_columns,
    exp2,
    fence_async,
    hold,
    hold_words,
    load4,
    store4,
    wgmma_bf16,
    wgmma_bf16_chained,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)

from .kernels import FULL, LN2, LOWEST, NOTHING

ROWS64 = 64  # queries per block, keys per tile, and numbers per row
BOX_WORDS = 2048  # 64 rows of 32 words
WORDS = 5 * BOX_WORDS  # of shared memory
SCALE64 = float32(math.log2(math.e) / 8)


@cuda.jit(device=True)
def copy_box(memory, at, x, start):
    """Copy rows of x from `start` on to a box; zeros where there are none."""
    for i in range(int32(cuda.threadIdx.x), int32(512), int32(128)):
        row, piece = i // int32(8), i % int32(8)
        to = at + int32(32) * row + int32(4) * (piece ^ row % int32(8))
        if start + row < x.shape[0]:
            a, b, c, d = load4(x, (start + row, int32(4) * piece))
            store4(memory, to, a, b, c, d)
        else:
            zero = int32(0)
            store4(memory, to, zero, zero, zero, zero)


@cuda.jit(device=True)
def load_tile(memory, k, v, j):
    """Copy keys and values of tile j to the places of tile j - 2."""
    start, box = int32(ROWS64) * int32(j), int32(j) % int32(2) * int32(BOX_WORDS)
    cuda.syncthreads()
    copy_box(memory, int32(BOX_WORDS) + box, k, start)
    copy_box(memory, int32(3 * BOX_WORDS) + box, v, start)
    fence_async()
    cuda.syncthreads()


@cuda.jit(device=True)
def load_first(o, memory, q, k, v):
    """Set o to 0, and copy this block's queries, and keys and values of tile 0."""
    for i in range(32):
        o[i] = float32(0)
    copy_box(memory, 0, q, int32(ROWS64) * int32(cuda.blockIdx.x))
    load_tile(memory, k, v, 0)


@cuda.jit(device=True)
def start_scores(s, memory, j):
    """Start s = the products of the queries and the keys of tile j: one group."""
    a = descriptor(memory, 0)
    box = int32(1) + int32(j) % int32(2)
    b = descriptor(memory, box * int32(BOX_WORDS))
    wgmma_fence()
    for step in range(4):
        wgmma_bf16(s, 64, a + 2 * step, b + 2 * step, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def start_values(o, p, memory, j):
    """Start o += the products of the weights and the values of tile j: one group."""
    box = int32(3) + int32(j) % int32(2)
    b = descriptor_columns(memory, box * int32(BOX_WORDS), int32(4 * BOX_WORDS))
    wgmma_fence()
    wgmma_bf16_chained(o, 64, p, 0, b, int32(1))
    wgmma_bf16_chained(o, 64, p, 4, b + 128, int32(1))
    wgmma_bf16_chained(o, 64, p, 8, b + 256, int32(1))
    wgmma_bf16_chained(o, 64, p, 12, b + 384, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def hide_end(s, j, seq):
    """Hide the keys of tile j that are beyond the end of the sequence."""
    t = int32(cuda.threadIdx.x) % int32(4)
    col = int32(ROWS64) * int32(j) + int32(2) * t
    for i in range(16):
        if col + int32(i // 2 * 8 + i % 2) >= seq:
            s[i // 2 * 4 + i % 2] = NOTHING
            s[i // 2 * 4 + i % 2 + 2] = NOTHING


@cuda.jit(device=True)
def soften_row(s, top, weight, k):
    """Turn scores of a row into weights; return top, weight and factor.

    k: 0 for row g, 2 for row g + 8.
    """
    high = top
    for i in range(8):
        high = max(high, max(s[4 * i + k], s[4 * i + k + 1]) * SCALE64)
    high = max(high, cuda.shfl_xor_sync(FULL, high, 1))
    high = max(high, cuda.shfl_xor_sync(FULL, high, 2))
    factor = exp2(top - high)
    total = float32(0)
    for i in range(8):
        s[4 * i + k] = exp2(s[4 * i + k] * SCALE64 - high)
        s[4 * i + k + 1] = exp2(s[4 * i + k + 1] * SCALE64 - high)
        total += s[4 * i + k] + s[4 * i + k + 1]
    return high, weight * factor + total, factor


@cuda.jit(device=True)
def pack_words(p, s):
    """Round pairs of weights to words of two bfloat16."""
    for i in range(16):
        p[i] = bf16_pair(s[2 * i], s[2 * i + 1])


@cuda.jit(device=True)
def first_tile(s, p, memory, seq):
    """Compute the weights of tile 0; return top and weight of rows g and g + 8."""
    start_scores(s, memory, 0)
    wgmma_wait(0)
    hold(s, 32)
    hide_end(s, 0, seq)
    zero = float32(0)
    top0, weight0, _ = soften_row(s, LOWEST, zero, 0)
    top1, weight1, _ = soften_row(s, LOWEST, zero, 2)
    pack_words(p, s)
    return top0, weight0, top1, weight1


@cuda.jit(device=True)
def last_tile(o, p, memory, j):
    """Add the values of tile j to the output, and wait for them."""
    start_values(o, p, memory, j)
    wgmma_wait(0)
    hold(o, 32)
    hold_words(p, 16)


@cuda.jit(device=True)
def put_fragments(out, lse, o, k, top, weight):
    """Write one row of the output: numbers k and k + 1 of each piece."""
    thread = int32(cuda.threadIdx.x)
    row = int32(ROWS64) * int32(cuda.blockIdx.x) + thread // int32(32) * int32(16)
    row += thread % int32(32) // int32(4) + int32(4 * k)
    t = thread % int32(4)
    weight += cuda.shfl_xor_sync(FULL, weight, 1)
    weight += cuda.shfl_xor_sync(FULL, weight, 2)
    if row < out.shape[0]:
        for n in range(8):
            col = int32(8 * n) + int32(2) * t
            out[row, col] = o[4 * n + k] / weight
            out[row, col + int32(1)] = o[4 * n + k + 1] / weight
        if t == 0:
            lse[row] = (top + libdevice.log2f(weight)) * LN2
