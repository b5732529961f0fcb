"""The backward pass of the family: a warp, a block or several blocks per row.

In `many_backward`, the blocks have only a sum to exchange. They send the pair (1, sum):
with equal maxima, merging is adding.
"""

from numba import cuda, float32, int32, uint32

import weft
from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    commit_group,
    copy4_async,
    load4,
    peek,
    poke,
    store4,
    wait_group,
)

from .kernels import block_sum, warp_sum
from .long_rows import find, meet, number_of_block, part_of, publish


def products(half):
    """Make functions of two registers' content."""
    if half:

        @cuda.jit(device=True, inline=True)
        def add_product(s, a, b):
            s += bf16_low(a) * bf16_low(b)
            return s + bf16_high(a) * bf16_high(b)

        @cuda.jit(device=True, inline=True)
        def gradient(a, b, s):
            low = bf16_low(a) * (bf16_low(b) - s)
            return bf16_pair(low, bf16_high(a) * (bf16_high(b) - s))

    else:

        @cuda.jit(device=True, inline=True)
        def add_product(s, a, b):
            return s + a * b

        @cuda.jit(device=True, inline=True)
        def gradient(a, b, s):
            return a * (b - s)

    return add_product, gradient


def gradients(half, pieces, width, whole):
    """Make functions that load parts of y and dy, and that store dx."""
    kind = int32 if half else float32
    add_product, gradient = products(half)

    @cuda.jit(device=True, inline=True)
    def load(y, dy, row, first, v, w):
        s = float32(0)
        for k in range(pieces):
            at = first + 4 * width * k
            if whole or at < y.shape[1]:
                four, more = load4(y, (row, at)), load4(dy, (row, at))
                for j in range(4):
                    v[4 * k + j], w[4 * k + j] = four[j], more[j]
            else:
                for j in range(4):
                    v[4 * k + j] = w[4 * k + j] = kind(0)
        for k in range(4 * pieces):
            s = add_product(s, v[k], w[k])
        return warp_sum(s)

    @cuda.jit(device=True, inline=True)
    def store(dx, row, first, v, w, s):
        for k in range(pieces):
            at = first + 4 * width * k
            if whole or at < dx.shape[1]:
                p = gradient(v[4 * k], w[4 * k], s)
                q = gradient(v[4 * k + 1], w[4 * k + 1], s)
                t = gradient(v[4 * k + 2], w[4 * k + 2], s)
                u = gradient(v[4 * k + 3], w[4 * k + 3], s)
                store4(dx, (row, at), p, q, t, u)

    return load, store


def warp_backward(half, pieces, threads, whole):
    """Make a kernel that computes the gradient with a warp per row."""
    kind, count = int32 if half else float32, 4 * pieces
    load, store = gradients(half, pieces, 32, whole)

    @cuda.jit
    def kernel(y, dy, dx):
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        row = int32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)
        first = int32(4 * cuda.threadIdx.x)
        if row >= y.shape[0]:
            return
        s = load(y, dy, row, first, v, w)
        store(dx, row, first, v, w, s)

    return kernel


def block_backward(half, pieces, threads, whole):
    """Make a kernel that computes the gradient with a block per row."""
    kind, count = int32 if half else float32, 4 * pieces
    load, store = gradients(half, pieces, threads, whole)

    @cuda.jit
    def kernel(y, dy, dx):
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        row, me = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        s = load(y, dy, row, 4 * me, v, w)
        s = block_sum(s if me % 32 == 0 else float32(0))
        store(dx, row, 4 * me, v, w, s)

    return kernel


def many_backward(half, held, kept, threads, registers, ticket=False):
    """Make a kernel whose blocks each hold pieces of y and dy; see many_kernel."""
    kind = int32 if half else float32
    count, cells, warps = 4 * held, 4 * max(kept, 1) * threads, threads // 32
    add_product, gradient = products(half)
    apart = 4 * threads

    @cuda.jit(device=True, inline=True)
    def give(dx, row, at, a, b, s):
        p, q = gradient(a[0], b[0], s), gradient(a[1], b[1], s)
        t, u = gradient(a[2], b[2], s), gradient(a[3], b[3], s)
        store4(dx, (row, at), p, q, t, u)

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(y, dy, dx, slots, turns, cuts):
        tile = cuda.shared.array((2, cells), kind, alignment=16)
        sums = cuda.shared.array(warps, float32)
        whole = cuda.shared.array(1, float32)
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        me, cols = int32(cuda.threadIdx.x), int32(y.shape[1])
        seen, ended = peek(turns, 0), uint32(0)
        row, piece, pieces = find(cuts, number_of_block(turns, ticket))
        at, fours = part_of(piece, pieces, cols, threads)

        for k in range(kept):
            to, here = 4 * me + apart * k, (row, at + apart * k)
            copy4_async(tile, (0, to), y, here, k < fours)
            copy4_async(tile, (1, to), dy, here, k < fours)
        commit_group()
        for k in range(held):
            if kept + k < fours:
                here = row, at + apart * (kept + k)
                a, b = load4(y, here), load4(dy, here)
                for j in range(4):
                    v[4 * k + j], w[4 * k + j] = a[j], b[j]
            else:
                for j in range(4):
                    v[4 * k + j] = w[4 * k + j] = kind(0)

        s = float32(0)
        for k in range(count):
            s = add_product(s, v[k], w[k])
        wait_group(0)
        for k in range(kept):
            to = 4 * me + apart * k
            a, b = load4(tile, (0, to)), load4(tile, (1, to))
            for j in range(4):
                s = add_product(s, a[j], b[j])
        s = warp_sum(s)
        if me % 32 == 0:
            sums[me // 32] = s
        cuda.syncthreads()

        turn = uint32(1) - seen
        if me < 32:
            s = warp_sum(sums[me] if me < warps else float32(0))
            if me == 0:
                publish(slots, row, piece, float32(0), s, turn)
                last = uint32(cuda.gridDim.x - 1)
                ended = cuda.atomic.inc(turns, 1, last)
            _, s = meet(slots, row, pieces, turn)
            if me == 0:
                whole[0] = s
        cuda.syncthreads()

        s = whole[0]
        for k in range(kept):
            if k < fours:
                to = 4 * me + apart * k
                a, b = load4(tile, (0, to)), load4(tile, (1, to))
                give(dx, row, at + apart * k, a, b, s)
        for k in range(held):
            if kept + k < fours:
                i = 4 * k
                a = v[i], v[i + 1], v[i + 2], v[i + 3]
                b = w[i], w[i + 1], w[i + 2], w[i + 3]
                give(dx, row, at + apart * (kept + k), a, b, s)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel
