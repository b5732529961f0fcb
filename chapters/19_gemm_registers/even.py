"""gemm_pipeline with cheaper indices, and with tiles cut so that all SMs end together.

Three things change. First, a and b are vectors of at most 2**31 elements, whose indices
run along: each iteration adds a constant to them, where `gemm_pipeline` computes
two-dimensional indices anew. Second, tiles are taken in groups of rows. Third, a block
need not do a whole tile of c. A *plan* gives it a tile and a part of k,
so the tiles that would not fill the last wave can be cut along k, into as many equal
parts of work as the GPU has places. The blocks with parts of the same tile write their
sums to memory, and the last of them to finish adds them up.
"""

from itertools import pairwise

import numpy as np
from numba import cuda, float32, int32, uint32

from weft.intrinsics import (
    commit_group,
    copy4_async,
    copy_async,
    load4,
    store4,
    wait_group,
)

from .kernels import fragments, multiply, place, put4

BM, BN, BK = 32, 32, 8  # as in kernels.py, from here on
TM, TN = 4, 4
THREADS = BM * BN // (TM * TN)
WIDTH = 36
WM, WN = 16, 32
STAGES, WAIT = 3, 1
DEPTH, LAST = 24, 16

ROW, COL, FIRST, COUNT, PART, PARTS, START = range(7)  # columns of a plan
HIGH = 8  # rows of tiles that are next to each other in a plan


def plan_of(m, n, k, bm, bn, bk, places, even=True):
    """Return a plan, with a row for each block, and the number of parts of tiles.

    A row gives the tile's row and column, the first iteration along k and the number
    of iterations. If its tile has several parts, the row then gives which part this
    is, how many there are, and the first of them. places: blocks that fit on the GPU at
    a time. even: whether to cut the tiles that do not fill a wave.
    """
    down, across, steps = -(-m // bm), -(-n // bn), -(-k // bk)
    tiles = []
    for top in range(0, down, HIGH):
        high = min(HIGH, down - top)
        tiles += [(top + i % high, i // high) for i in range(high * across)]
    whole = len(tiles) // places * places if even else len(tiles)
    plan = [(*tile, 0, steps, 0, 1, 0) for tile in tiles[:whole]]
    rest, total = tiles[whole:], (len(tiles) - whole) * steps
    share = min(places, total)
    marks = {total * i // share for i in range(share + 1)} if rest else set()
    marks = sorted(marks | {steps * i for i in range(len(rest) + 1)})
    pieces = [(a // steps, a % steps, b - a) for a, b in pairwise(marks)]
    of = [tile for tile, _, _ in pieces]
    cut = [
        (*rest[tile], first, count, part, of.count(tile), of.index(tile))
        for part, (tile, first, count) in enumerate(pieces)
    ]
    cut.sort(key=lambda row: -row[COUNT])  # the longest first
    return np.array(plan + cut, np.int32), max(len(cut), 1)


@cuda.jit(device=True)
def fetch_along(ta, tb, at, a, b, i, j, k, width, left, rows, inside):
    """Start to copy columns of a and rows of b into the rows from `at` on.

    i, j: the indices of this thread's first elements; left: the columns that are left;
    rows: the rows of a from this thread's on; inside: whether b has its columns.
    """
    t = int32(cuda.threadIdx.x)
    y, row = int32(t % int32(BK)), int32(t // int32(BK))
    for step in range(0, BM, THREADS // BK):
        there = (y < left) & (int32(step) < rows)
        here = int32(i + int32(step) * k)
        copy_async(ta, (at + y, row + int32(step)), a, here, there)

    y, col = int32(t // int32(BN // 4)), t % int32(BN // 4) * int32(4)
    for step in range(0, BK, 4 * THREADS // BN):
        there = (int32(y + int32(step)) < left) & inside
        here = int32(j + int32(step) * width)
        copy4_async(tb, (at + y + int32(step), col), b, here, there)
    commit_group()


@cuda.jit
def gemm_even(alpha, a, b, beta, c, columns, wide, plan, parts, counts):
    """Write alpha * a @ b + beta * c into c, as gemm_pipeline does, by a plan.

    a, b: vectors that hold matrices of `columns` and `wide` columns. parts: BM rows for
    each part of a tile, of BN elements. counts: a uint32 for each part, 0.
    """
    ta = cuda.shared.array((DEPTH, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((DEPTH, BN), float32, alignment=16)
    ended = cuda.shared.array(1, uint32)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array((2, TM), float32)
    fb = cuda.local.array((2, TN), float32)
    me, t = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
    k, width = int32(columns), int32(wide)
    row0, col0 = int32(plan[me, ROW] * int32(BM)), int32(plan[me, COL] * int32(BN))
    first = int32(plan[me, FIRST] * int32(BK))  # along k
    row, col = place()

    for y in range(TM):
        for x in range(TN):
            sums[y, x] = float32(0)

    y = int32(row0 + t // int32(BK))
    x = int32(col0 + t % int32(BN // 4) * int32(4))
    rows, inside = int32(int32(c.shape[0]) - y), x < width
    i = int32(y * k + first + t % int32(BK))
    j = int32((first + t // int32(BN // 4)) * width + x)
    hop, left = int32(width * int32(BK)), int32(k - first)
    stop = int32(left - plan[me, COUNT] * int32(BK) - int32(LAST))
    for s in range(STAGES - 1):  # fill all pairs of tiles but one
        at = int32(s * BK)
        fetch_along(ta, tb, at, a, b, i, j, k, width, left, rows, inside)
        i, j, left = int32(i + int32(BK)), int32(j + hop), int32(left - int32(BK))
    wait_group(WAIT)
    cuda.syncthreads()
    fragments(fa, fb, 0, ta, tb, int32(0), row, col)

    read, write = int32(0), int32(LAST)
    while left > stop:
        for kk in range(BK):  # unrolled
            if kk == BK - 1:  # the next fragments are those of the next tiles
                wait_group(WAIT)
                cuda.syncthreads()
                read = int32(read + int32(BK)) if read < LAST else int32(0)
            following = int32(read + int32((kk + 1) % BK))
            fragments(fa, fb, (kk + 1) % 2, ta, tb, following, row, col)

            if kk == 0:  # the pair that was read before this one is free
                fetch_along(ta, tb, write, a, b, i, j, k, width, left, rows, inside)
                write = int32(write + int32(BK)) if write < LAST else int32(0)

            multiply(sums, fa, fb, kk % 2)
        i, j, left = int32(i + int32(BK)), int32(j + hop), int32(left - int32(BK))

    if plan[me, PARTS] == 1:
        for q in range(TM):
            r = row0 + row + int32(q // 4 * 4 * (WM // TM) + q % 4)
            for x in range(0, TN, 4):
                s = col0 + col + int32(x * (WN // TN))
                e, f = sums[q, x], sums[q, x + 1]
                g, h = sums[q, x + 2], sums[q, x + 3]
                put4(c, r, s, e, f, g, h, alpha, beta)
        return

    top = int32(plan[me, PART] * int32(BM))
    for q in range(TM):
        r = top + row + int32(q // 4 * 4 * (WM // TM) + q % 4)
        for x in range(0, TN, 4):
            s = col + int32(x * (WN // TN))
            e, f = alpha * sums[q, x], alpha * sums[q, x + 1]
            g, h = alpha * sums[q, x + 2], alpha * sums[q, x + 3]
            store4(parts, (r, s), e, f, g, h)
    cuda.threadfence()
    cuda.syncthreads()
    start, count = plan[me, START], plan[me, PARTS]
    if t == 0:
        ended[0] = cuda.atomic.inc(counts, start, uint32(count - int32(1)))
    cuda.syncthreads()
    if ended[0] < uint32(count - int32(1)):  # another block will add the parts
        return

    cuda.threadfence()
    for four in range(t, BM * BN // 4, THREADS):
        y, x = four // (BN // 4), four % (BN // 4) * 4
        e, f, g, h = load4(parts, (start * BM + y, x))
        for part in range(start + 1, start + count):
            more = load4(parts, (part * BM + y, x))
            e, f, g, h = e + more[0], f + more[1], g + more[2], h + more[3]
        put4(c, int32(row0 + y), int32(col0 + x), e, f, g, h, float32(1), beta)
