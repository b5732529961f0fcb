"""The device functions of lab 19, and the pipelined kernel that it reads and tunes.

The sizes are those of the lab; `specialise` compiles with others. `b` must have a width
that is a multiple of 4, because `gemm_pipeline` copies it 128 bits at a time. If n is
not a multiple of 4, `widen` first copies `b` into a wider matrix; the kernel takes n
from `c`.
"""

from numba import cuda, float32, int32

from weft.intrinsics import (
    commit_group,
    copy4_async,
    copy_async,
    load4,
    store4,
    wait_group,
)
from weft.templates import specialise

BM, BN, BK = 32, 32, 8  # the block's tile of c, and one iteration along k
TM, TN = 4, 4  # the thread's
THREADS = BM * BN // (TM * TN)
WIDTH = 36
WM, WN = 16, 32  # the warp's tile
STAGES, WAIT = 3, 1  # pairs of tiles; groups of copies left in flight
DEPTH, LAST = 24, 16  # rows of all pairs; the first row of the last pair
PAIRS, SNAKE = 1, 1  # lanes in pairs; down one column, up the next
WRITE_OUT = ("kk", "s", "q", "u")  # loops to unroll
TILE = 32


@cuda.jit(device=True)
def load(x, row, col):
    """Return x[row, col], 0 outside."""
    if row < x.shape[0] and col < x.shape[1]:
        return x[row, col]
    return float32(0)


@cuda.jit(device=True)
def put(c, row, col, total, alpha, beta):
    """Write alpha * total + beta * c into one element of c, if it is there."""
    if row < c.shape[0] and col < c.shape[1]:
        total = alpha * total
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total


@cuda.jit(device=True)
def four(x, row, col):
    """Return x[row, col : col + 4], zeros outside; col is a multiple of 4."""
    if x.shape[1] % 4 == 0:  # then a row ends with a whole four
        if row < x.shape[0] and col < x.shape[1]:
            return load4(x, (row, col))
        return float32(0), float32(0), float32(0), float32(0)
    return (
        load(x, row, col),
        load(x, row, col + int32(1)),
        load(x, row, col + int32(2)),
        load(x, row, col + int32(3)),
    )


@cuda.jit(device=True)
def put4(c, row, col, p, q, r, s, alpha, beta):
    """Write alpha * (p, q, r, s) + beta * c into c[row, col : col + 4]."""
    if c.shape[1] % 4 == 0:
        if row < c.shape[0] and col < c.shape[1]:
            p, q, r, s = alpha * p, alpha * q, alpha * r, alpha * s
            if beta != 0:
                old = load4(c, (row, col))
                p += beta * old[0]
                q += beta * old[1]
                r += beta * old[2]
                s += beta * old[3]
            store4(c, (row, col), p, q, r, s)
    else:
        put(c, row, col, p, alpha, beta)
        put(c, row, col + int32(1), q, alpha, beta)
        put(c, row, col + int32(2), r, alpha, beta)
        put(c, row, col + int32(3), s, alpha, beta)


@cuda.jit(device=True)
def place():
    """Return this thread's first row and column in the block's tile."""
    t = int32(cuda.threadIdx.x)
    warp, lane = t // int32(32), t % int32(32)
    across = int32(WN // TN)  # lanes side by side

    if PAIRS:  # lane 1 is below lane 0, then come the next two columns
        y = lane // (int32(2) * across) * int32(2) + lane % int32(2)
        x = lane // int32(2) % across
    else:  # row by row
        y, x = lane // across, lane % across

    row = warp // int32(BN // WN) * int32(WM) + int32(4) * y
    col = warp % int32(BN // WN) * int32(WN) + int32(4) * x
    return row, col


@cuda.jit(device=True)
def fetch(ta, tb, at, a, b, row0, col0, start):
    """Start to copy columns of a and rows of b into the rows from `at` on."""
    t = int32(cuda.threadIdx.x)
    m, n, k = int32(a.shape[0]), int32(b.shape[1]), int32(a.shape[1])

    i, row = t % int32(BK), t // int32(BK)
    for step in range(0, BM, THREADS // BK):
        r = row + int32(step)
        there = min(row0 + r, m - int32(1)), start + i
        copy_async(ta, (at + i, r), a, there, start + i < k)

    i, col = t // int32(BN // 4), t % int32(BN // 4) * int32(4)
    for step in range(0, BK, 4 * THREADS // BN):
        j = i + int32(step)
        there = start + j, min(col0 + col, n - int32(4))
        copy4_async(tb, (at + j, col), b, there, start + j < k)
    commit_group()


@cuda.jit(device=True)
def fragments(fa, fb, turn, ta, tb, at, row, col):
    """Load this thread's part of row `at` of both tiles into registers."""
    for y in range(0, TM, 4):
        found = load4(ta, (at, row + int32(y * (WM // TM))))
        for z in range(4):
            fa[turn, y + z] = found[z]
    for x in range(0, TN, 4):
        found = load4(tb, (at, col + int32(x * (WN // TN))))
        for z in range(4):
            fb[turn, x + z] = found[z]


@cuda.jit(device=True)
def multiply(sums, fa, fb, turn):
    """Add the products of one step, column by column."""
    for x in range(TN):
        for z in range(TM):
            y = TM - 1 - z if SNAKE and x % 2 else z  # down one, up the next
            sums[y, x] += fa[turn, y] * fb[turn, x]


@cuda.jit
def gemm_pipeline(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, loading ahead of multiplying."""
    ta = cuda.shared.array((DEPTH, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((DEPTH, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array((2, TM), float32)
    fb = cuda.local.array((2, TN), float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    row, col = place()
    k = int32(a.shape[1])

    for y in range(TM):
        for x in range(TN):
            sums[y, x] = float32(0)

    for s in range(STAGES - 1):  # fill all pairs of tiles but one
        fetch(ta, tb, int32(s * BK), a, b, row0, col0, int32(s * BK))
    wait_group(WAIT)
    cuda.syncthreads()
    fragments(fa, fb, 0, ta, tb, int32(0), row, col)

    read, write, start = int32(0), int32(LAST), int32(0)
    while start < k:
        for kk in range(BK):  # unrolled
            if kk == BK - 1:  # the next fragments are those of the next tiles
                wait_group(WAIT)
                cuda.syncthreads()
                read = read + int32(BK) if read < LAST else int32(0)
            following = read + int32((kk + 1) % BK)
            fragments(fa, fb, (kk + 1) % 2, ta, tb, following, row, col)

            if kk == 0:  # the pair that was read before this one is free
                fetch(ta, tb, write, a, b, row0, col0, start + int32(LAST))
                write = write + int32(BK) if write < LAST else int32(0)

            multiply(sums, fa, fb, kk % 2)
        start += int32(BK)

    for q in range(TM):
        r = row0 + row + int32(q // 4 * 4 * (WM // TM) + q % 4)
        for x in range(0, TN, 4):
            s = col0 + col + int32(x * (WN // TN))
            e, f = sums[q, x], sums[q, x + 1]
            g, h = sums[q, x + 2], sums[q, x + 3]
            put4(c, r, s, e, f, g, h, alpha, beta)


@cuda.jit
def widen(b, out):
    """Copy b into out, which has the same rows and more columns."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = load(b, row, col)


def tuned(BM, BN, TM, TN, WM, WN, BK=8, STAGES=3, PAIRS=1, SNAKE=1):
    """Return all constants of gemm_pipeline that follow from a choice."""
    chosen = dict(locals())
    return chosen | {
        "THREADS": BM * BN // (TM * TN),
        "WIDTH": BM + 4,  # of ta
        "DEPTH": STAGES * BK,
        "LAST": (STAGES - 1) * BK,
        "WAIT": STAGES - 2,
    }


def sized(BM, BN, TM, TN, WM, WN):
    """Return a choice of the sizes of block, thread and warp."""
    return dict(locals())


def pipeline(registers=None, **choice):
    """Return gemm_pipeline compiled with these parameters."""
    return specialise(
        gemm_pipeline,
        unroll=WRITE_OUT,
        max_registers=registers,
        **tuned(**choice),
    )


@cuda.jit
def gemm_tiles(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, as chapter 18 did."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)

    for start in range(0, a.shape[1], TILE):
        ta[ty, tx] = load(a, row, start + tx)
        tb[ty, tx] = load(b, start + ty, col)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    put(c, row, col, total, alpha, beta)
