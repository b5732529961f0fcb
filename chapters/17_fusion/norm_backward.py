"""The backward pass of a norm in one kernel, for LayerNorm and for RMSNorm."""

import functools

from numba import cuda, float32, int32

import weft
from weft.intrinsics import commit_group, copy4_async, load4, store4, wait_group

from .kernels import warp_sum

WIDE = "shared"  # where x of the next row arrives, for 8192 columns
if weft.GPU and weft.device.find().capability < (8, 0):
    WIDE = "no"  # there is no copy4_async


@cuda.jit(device=True, inline=True)
def fetch(x, row, first, pieces, threads, v):
    """Load a thread's part of a row into v."""
    for k in range(pieces):
        four = load4(x, (row, first + 4 * threads * k))
        for n in range(4):
            v[4 * k + n] = four[n]


@cuda.jit(device=True, inline=True)
def send(x, row, first, pieces, threads, tile):
    """Start copying a thread's part of a row into a tile in shared memory."""
    for k in range(pieces):
        col = first + 4 * threads * k
        copy4_async(tile, (0, col), x, (row, col), True)
    commit_group()


@functools.cache
def norm_backward(centred, pieces, threads, ahead="no", most=None):
    """Make the backward pass of a norm, with at most `most` registers.

    ahead: "no", or where x of the next row arrives: "registers", "shared".
    """
    count, warps = 4 * pieces, threads // 32
    early, sent = ahead != "no", ahead == "shared"
    cols = count * threads if sent else 4
    options = {"max_registers": most} if most else {}

    @cuda.jit(**options)
    def kernel(x, dy, gamma, mean, rstd, dx, dgammas, dbetas):
        """Write dx, and the sums of the columns in the rows of this block."""
        cells = cuda.shared.array((2, 2, 32), float32)
        tile = cuda.shared.array((1, cols), float32, alignment=16)
        v = cuda.local.array(count, float32)  # x, then normalised
        w = cuda.local.array(count, float32)  # dy, then times gamma
        v2 = cuda.local.array(count, float32)  # of the next row
        w2 = cuda.local.array(count, float32)
        dg = cuda.local.array(count, float32)  # sums of columns
        db = cuda.local.array(count, float32)
        gs = cuda.local.array(count, float32)
        me = int32(cuda.threadIdx.x)
        first, lane = 4 * me, me % 32
        rows, step = int32(x.shape[0]), int32(cuda.gridDim.x)
        share = float32(1) / float32(x.shape[1])
        for k in range(pieces):
            four = load4(gamma, first + 4 * threads * k)
            for n in range(4):
                gs[4 * k + n] = four[n]
                dg[4 * k + n] = db[4 * k + n] = float32(0)

        row, turn = int32(cuda.blockIdx.x), int32(0)
        mu2 = r2 = float32(0)
        if row < rows:
            mu2, r2 = mean[row], rstd[row]
            if sent:
                send(x, row, first, pieces, threads, tile)
            elif early:
                fetch(x, row, first, pieces, threads, v2)
            if early:
                fetch(dy, row, first, pieces, threads, w2)
        while row < rows:
            mu, r, then = mu2, r2, row + step
            if sent:
                wait_group(0)
                fetch(tile, 0, first, pieces, threads, v)
            for i in range(count):
                if early:
                    w[i] = w2[i]
                if early and not sent:
                    v[i] = v2[i]
            if not early:
                fetch(x, row, first, pieces, threads, v)
                fetch(dy, row, first, pieces, threads, w)
            if then < rows:
                mu2, r2 = mean[then], rstd[then]
                if sent:
                    send(x, then, first, pieces, threads, tile)
                elif early:
                    fetch(x, then, first, pieces, threads, v2)
                if early:
                    fetch(dy, then, first, pieces, threads, w2)

            a = b = float32(0)
            for i in range(count):
                if centred:
                    v[i] -= mu
                v[i] *= r
                dg[i] += w[i] * v[i]
                if centred:
                    db[i] += w[i]
                w[i] *= gs[i]
                a += w[i]
                b += w[i] * v[i]
            b = warp_sum(b)
            if centred:
                a = warp_sum(a)
            if lane == 0:
                cells[turn, 0, me // 32] = b
                if centred:
                    cells[turn, 1, me // 32] = a
            cuda.syncthreads()
            b = share * warp_sum(cells[turn, 0, lane] if lane < warps else float32(0))
            a = float32(0)
            if centred:
                a = share * warp_sum(
                    cells[turn, 1, lane] if lane < warps else float32(0)
                )
            turn = int32(1) - turn

            for k in range(pieces):
                i = 4 * k
                p = r * (w[i] - a - v[i] * b)
                q = r * (w[i + 1] - a - v[i + 1] * b)
                s = r * (w[i + 2] - a - v[i + 2] * b)
                t = r * (w[i + 3] - a - v[i + 3] * b)
                store4(dx, (row, first + 4 * threads * k), p, q, s, t)
            row = then

        for k in range(pieces):
            i, at = 4 * k, (int32(cuda.blockIdx.x), first + 4 * threads * k)
            store4(dgammas, at, dg[i], dg[i + 1], dg[i + 2], dg[i + 3])
            if centred:
                store4(dbetas, at, db[i], db[i + 1], db[i + 2], db[i + 3])

    return kernel


@cuda.jit
def add_parts(dgammas, dbetas, dgamma, dbeta):
    """Add up the rows of both; blocks of (32, 16), 32 columns each."""
    cells = cuda.shared.array((16, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col = 32 * cuda.blockIdx.x + x
    parts, out = dgammas, dgamma
    if cuda.blockIdx.y == 1:
        parts, out = dbetas, dbeta

    total = float32(0)
    if col < parts.shape[1]:
        for part in range(y, parts.shape[0], 16):
            total += parts[part, col]
    cells[y, x] = total
    cuda.syncthreads()

    if y == 0 and col < parts.shape[1]:
        for k in range(1, 16):
            total += cells[k, x]
        out[col] = total
