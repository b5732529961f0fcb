"""The kernels that the norms of the worklog use, and device functions for yours."""

import math

import numpy as np
from numba import cuda, float32, int32

from weft.intrinsics import bf16_high, bf16_low, bf16_pair, exp2, load4, store4

FULL = 0xFFFFFFFF
EPS = np.float32(1e-5)
LOG2E = np.float32(math.log2(math.e))


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit(device=True)
def block_sum(value, turn):
    """Return the sum of a block's values, in all threads; turn: 0 or 1."""
    cells = cuda.shared.array((2, 32), float32)
    me = cuda.threadIdx.x
    mine = warp_sum(value)
    if me % 32 == 0:
        cells[turn, me // 32] = mine
    cuda.syncthreads()
    inside = me % 32 < cuda.blockDim.x // 32
    return warp_sum(cells[turn, me % 32] if inside else float32(0))


@cuda.jit(device=True)
def put(out, sample, pixel, word, low, high):
    """Store the two channels of a word, as float32."""
    out[sample, pixel, 2 * word] = low
    out[sample, pixel, 2 * word + 1] = high


@cuda.jit(device=True)
def put_words(out, sample, pixel, word, low, high):
    """Store the two channels of a word, as bfloat16."""
    out[sample, pixel, word] = bf16_pair(low, high)


@cuda.jit(device=True)
def silu(z):
    """Return z / (1 + exp(-z))."""
    return z / (float32(1) + exp2(-z * LOG2E))


@cuda.jit(device=True)
def plus(word, low, high):
    """Unpack a word, and add to both of its channels."""
    return bf16_low(word) + low, bf16_high(word) + high


@cuda.jit(
    "void(int32[:, ::1], int32[:, ::1], float32[::1], int32[:, ::1], "
    "float32[:, :, :, ::1], int32, int32, int32)"
)
def add_sums(x, y, shift, out, sums, rows, mode, unit):
    """Add up the units of y + shift, + x with mode 1; store it with mode 2.

    x, y, out (n pixels, channels / 2); sums (n, chunks, units, 2), values and
    squares. A block takes rows pixels of a sample, a thread 8 channels.
    """
    cells = cuda.shared.array((2, 1280), float32)
    lane, deep = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    chunk, sample = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
    words = int32(y.shape[1])
    col, c = int32(4) * lane, int32(8) * lane
    s0, s1, s2, s3 = shift[c], shift[c + 1], shift[c + 2], shift[c + 3]
    s4, s5, s6, s7 = shift[c + 4], shift[c + 5], shift[c + 6], shift[c + 7]
    t0, t1, t2, t3 = float32(0), float32(0), float32(0), float32(0)
    q0, q1, q2, q3 = float32(0), float32(0), float32(0), float32(0)

    first = (sample * int32(cuda.gridDim.x) + chunk) * rows
    for row in range(first + deep, first + rows, int32(cuda.blockDim.y)):
        w0, w1, w2, w3 = load4(y, (row, col))
        (a, b), (d, e) = plus(w0, s0, s1), plus(w1, s2, s3)
        (f, g), (h, i) = plus(w2, s4, s5), plus(w3, s6, s7)
        if mode & int32(1):
            w0, w1, w2, w3 = load4(x, (row, col))
            (a, b), (d, e) = plus(w0, a, b), plus(w1, d, e)
            (f, g), (h, i) = plus(w2, f, g), plus(w3, h, i)
        if mode & int32(2):
            w0, w1 = bf16_pair(a, b), bf16_pair(d, e)
            store4(out, (row, col), w0, w1, bf16_pair(f, g), bf16_pair(h, i))
        t0, t1, t2, t3 = t0 + a + b, t1 + d + e, t2 + f + g, t3 + h + i
        q0, q1 = q0 + a * a + b * b, q1 + d * d + e * e
        q2, q3 = q2 + f * f + g * g, q3 + h * h + i * i

    at = deep * words + col
    cells[0, at], cells[0, at + 1] = t0, t1
    cells[0, at + 2], cells[0, at + 3] = t2, t3
    cells[1, at], cells[1, at + 1] = q0, q1
    cells[1, at + 2], cells[1, at + 3] = q2, q3
    cuda.syncthreads()
    me = deep * int32(cuda.blockDim.x) + lane
    half = unit // int32(2)
    units = words // half
    if me < int32(2) * units:
        which, u = me // units, me % units
        value = float32(0)
        for k in range(int32(cuda.blockDim.y)):
            for j in range(half):
                value += cells[which, k * words + u * half + j]
        sums[sample, chunk, u, which] = value


@cuda.jit(device=True, fastmath=True)
def finished(word, f0, m0, f1, m1, act):
    """Scale and shift both channels of a word, take SiLU if asked, and pack."""
    low, high = bf16_low(word) * f0 + m0, bf16_high(word) * f1 + m1
    if act:
        low, high = silu(low), silu(high)
    return bf16_pair(low, high)


@cuda.jit(
    "void(int32[:, ::1], int32[:, ::1], float32[::1], float32[:, :, :, ::1], "
    "float32[:, :, :, ::1], float32[::1], float32[::1], int32[:, ::1], int32, "
    "int32, int32, float32, float32)",
    fastmath=True,
)
def norm_words(
    a, b, shift, sums_a, sums_b, gamma, beta, out, rows, groups, act, scale, eps
):
    """Write the norm of a and b + shift into out, and SiLU of it if act.

    The channels of b follow those of a; b is a where there is only one.
    scale: 1 by the size of a group.
    """
    part = cuda.shared.array((2, 640), float32)
    group = cuda.shared.array((2, 32), float32)  # mean, 1 / deviation
    lane, deep = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    chunk, sample = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
    words_a, words = int32(a.shape[1]), int32(out.shape[1])
    in_a = int32(sums_a.shape[2])
    units = in_a if words == words_a else in_a + int32(sums_b.shape[2])
    threads = int32(cuda.blockDim.x) * int32(cuda.blockDim.y)
    me = deep * int32(cuda.blockDim.x) + lane
    turns, u = threads // units, me % units

    if me < turns * units:
        total, squares = float32(0), float32(0)
        for k in range(me // units, int32(sums_a.shape[1]), turns):
            if u < in_a:
                total += sums_a[sample, k, u, 0]
                squares += sums_a[sample, k, u, 1]
            else:
                total += sums_b[sample, k, u - in_a, 0]
                squares += sums_b[sample, k, u - in_a, 1]
        part[0, me], part[1, me] = total, squares
    cuda.syncthreads()
    if me < groups:
        each = units // groups
        total, squares = float32(0), float32(0)
        for k in range(turns):
            for j in range(each):
                total += part[0, k * units + me * each + j]
                squares += part[1, k * units + me * each + j]
        mean = total * scale
        group[0, me] = mean
        group[1, me] = float32(1) / math.sqrt(squares * scale - mean * mean + eps)
    cuda.syncthreads()

    f, m = cuda.local.array(8, float32), cuda.local.array(8, float32)
    for k in range(8):
        c = int32(8) * lane + int32(k)
        g = c // (int32(2) * words // groups)
        f[k] = group[1, g] * gamma[c]
        m[k] = beta[c] + (shift[c] - group[0, g]) * f[k]
    col = int32(4) * lane
    first = (sample * int32(cuda.gridDim.x) + chunk) * rows
    for row in range(first + deep, first + rows, int32(cuda.blockDim.y)):
        if col < words_a:
            w0, w1, w2, w3 = load4(a, (row, col))
        else:
            w0, w1, w2, w3 = load4(b, (row, col - words_a))
        w0 = finished(w0, f[0], m[0], f[1], m[1], act)
        w1 = finished(w1, f[2], m[2], f[3], m[3], act)
        w2 = finished(w2, f[4], m[4], f[5], m[5], act)
        w3 = finished(w3, f[6], m[6], f[7], m[7], act)
        store4(out, (row, col), w0, w1, w2, w3)
