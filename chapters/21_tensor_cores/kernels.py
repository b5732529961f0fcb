"""The device functions and kernels of lab 21 that are given, and those that are timed.

The sizes are those of the lab; `specialise` compiles with others.
"""

from numba import cuda, float32, int32

from weft.intrinsics import (
    bf16_pair,
    commit_group,
    copy4_async,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mma_bf16,
    mma_f16,
    mma_f16_acc16,
    wait_group,
)

BM, BN, BK = 16, 64, 64  # the block's tile, and its stride along k
WM, WN = 16, 32  # the warp's piece of it
KW, NW = BK // 2, BN // 2  # words in a row of ta, of tb
MF, NF = WM // 16, WN // 8  # fragments of a warp
THREADS = 32 * (BM // WM) * (BN // WN)
STAGES = 3
LAST = STAGES - 1
WAIT = STAGES - 2
TILE_A, TILE_B = BM * KW, BK * NW  # words of a tile
PIECES_A, PIECES_B = TILE_A // 4 // THREADS, TILE_B // 4 // THREADS
ROWS_A, ROWS_B = THREADS // (KW // 4), THREADS // (NW // 4)
DEEP_A, DEEP_B = STAGES * BM, STAGES * BK  # rows of all pairs
WORDS_A = DEEP_A * KW  # of all tiles of a
PAIR = TILE_A + TILE_B
TWICE = NF // 2
SETS = 1  # of fragments
PENDING = STAGES - 2  # groups, when a pair is multiplied
GROUP = 8
SUMS, KIND = 4, float32  # what a lane holds of c


@cuda.jit(device=True)
def put_fragment(c, row, col, lane, fc):
    """Write a fragment of 16 x 8 into c, its corner at (row, col)."""
    g, t = lane // int32(4), lane % int32(4)
    r, s = row + g, col + int32(2) * t
    c[r, s], c[r, s + int32(1)] = fc[0], fc[1]
    c[r + int32(8), s], c[r + int32(8), s + int32(1)] = fc[2], fc[3]


@cuda.jit(device=True)
def place(row, piece):
    """Return the word at which a piece of a swizzled row begins."""
    return int32(4) * (piece ^ (row & int32(7)))


@cuda.jit(device=True)
def four(x, row, word):
    """Return x[row, word : word + 4], zeros outside; word divides by 4."""
    if row < x.shape[0] and word < x.shape[1]:
        return load4(x, (row, word))
    return int32(0), int32(0), int32(0), int32(0)


@cuda.jit(device=True)
def put(c, sums, row, col, lane):
    """Write the sums of a warp into c, its corner at (row, col)."""
    g, t = lane // int32(4), lane % int32(4)
    for i in range(MF):
        for j in range(NF):
            r, s = row + int32(16 * i) + g, col + int32(8 * j) + int32(2) * t
            if s < c.shape[1]:
                if r < c.shape[0]:
                    c[r, s] = sums[i, j, 0]
                    c[r, s + int32(1)] = sums[i, j, 1]
                if r + int32(8) < c.shape[0]:
                    c[r + int32(8), s] = sums[i, j, 2]
                    c[r + int32(8), s + int32(1)] = sums[i, j, 3]


@cuda.jit(device=True)
def clear(sums):
    """Set the sums of a warp to zero."""
    for i in range(MF):
        for j in range(NF):
            for v in range(4):
                sums[i, j, v] = float32(0)


@cuda.jit(device=True)
def fetch(ta, tb, stage, a, b, row0, col0, start):
    """Start to copy the tiles at word `start` along k into pair `stage`."""
    t = int32(cuda.threadIdx.x)
    end, last = int32(a.shape[1]), int32(a.shape[0]) - int32(1)
    y, x = t // int32(KW // 4), t % int32(KW // 4)
    w = start + int32(4) * x
    for _ in range(PIECES_A):  # the next is ROWS_A rows below
        to = stage * int32(BM) + y, place(y, x)
        copy4_async(ta, to, a, (min(row0 + y, last), w), w < end)
        y += int32(ROWS_A)
    y, x = t // int32(NW // 4), t % int32(NW // 4)
    w = min((col0 >> int32(1)) + int32(4) * x, int32(b.shape[1]) - int32(4))
    for _ in range(PIECES_B):
        to, k = stage * int32(BK) + y, int32(2) * start + y
        copy4_async(tb, (to, place(y, x)), b, (k, w), k < int32(2) * end)
        y += int32(ROWS_B)


@cuda.jit(device=True)
def multiply(sums, ta, tb, stage, wm, wn, lane):
    """Add the product of pair `stage` of the tiles to the sums of a warp."""
    loaded = cuda.local.array((NF, 2), int32)
    low, high = lane & int32(15), lane >> int32(4)
    on_a, on_b = stage * int32(BM) + wm + low, stage * int32(BK) + low
    twist = place(low, high)  # of the first piece; an xor leads to the others
    for s in range(BK // 16):
        for n in range(NF // 2):
            w = twist ^ ((wn >> int32(1)) + int32(8 * n))
            f = ldmatrix_x4_trans(tb, (on_b + int32(16 * s), w))
            loaded[2 * n, 0], loaded[2 * n, 1] = f[:2]
            loaded[2 * n + 1, 0], loaded[2 * n + 1, 1] = f[2:]
        for i in range(MF):
            w = twist ^ int32(8 * s)
            of_a = ldmatrix_x4(ta, (on_a + int32(16 * i), w))
            for j in range(NF):
                mma_f16(sums[i, j], of_a, loaded[j])


@cuda.jit
def gemm_half(a, bt, c):
    """As gemm_warp does, for one tile, with sums in float16: c is words."""
    half = cuda.local.array(2, int32)
    g, t = cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
    half[0], half[1] = int32(0), int32(0)
    for w in range(0, a.shape[1], 8):
        fa = a[g, w + t], a[g + 8, w + t], a[g, w + t + 4], a[g + 8, w + t + 4]
        mma_f16_acc16(half, fa, (bt[g, w + t], bt[g, w + t + 4]))
    c[g, t], c[g + 8, t] = half[0], half[1]


@cuda.jit
def mma_alone(out, rounds):
    """Execute mma after mma, eight at a time that are independent.

    They share a fragment of a, and each has its own of b: no word has to be moved.
    """
    sums = cuda.local.array((8, SUMS), KIND)
    fa = cuda.local.array(4, int32)
    fb = cuda.local.array((8, 2), int32)
    for v in range(4):
        fa[v] = int32(cuda.threadIdx.x * 2654435 + v * 7919) & int32(0x3F3F3F3F)
    for i in range(8):
        fb[i, 0], fb[i, 1] = fa[i % 4] ^ int32(i), fa[(i + 1) % 4] ^ int32(0x2A + i)
        for v in range(SUMS):
            sums[i, v] = KIND(0)

    for n in range(rounds):
        fa[0] ^= int32(n & 63)  # or the compiler would keep the products
        for i in range(8):
            mma_f16(sums[i], fa, fb[i])

    for i in range(8):
        for v in range(SUMS):
            if sums[i, v] == KIND(12345):  # never: but it has to be computed
                out[0] = sums[i, v]


@cuda.jit(device=True)
def plain(row, piece):
    """Return the word at which a piece begins in a row that is not swizzled."""
    return int32(4) * piece


@cuda.jit(device=True)
def put_bf16(c, sums, row, col, lane):
    """Write the sums of a warp into c, as words of two bfloat16."""
    g, t = lane >> int32(2), lane & int32(3)
    for i in range(MF):
        for j in range(NF):
            r = row + int32(16 * i) + g
            w = (col >> int32(1)) + int32(4 * j) + t
            if w < c.shape[1]:
                if r < c.shape[0]:
                    c[r, w] = bf16_pair(sums[i, j, 0], sums[i, j, 1])
                if r + int32(8) < c.shape[0]:
                    c[r + int32(8), w] = bf16_pair(sums[i, j, 2], sums[i, j, 3])


@cuda.jit(device=True)
def tile_of(block, down, across):
    """Return the tile of a block: GROUP rows of tiles go across together."""
    width = int32(GROUP) * across
    first = block // width * int32(GROUP)
    height = min(down - first, int32(GROUP))
    return first + block % width % height, block % width // height


@cuda.jit(device=True)
def fetch_at(pool, to_a, to_b, a, b, from_a, from_b, lda, ldb, left_a, left_b):
    """Start the copies of this thread, each a constant away from the first."""
    for i in range(PIECES_A):
        to, source = int32(i * ROWS_A * KW), int32(i * ROWS_A) * lda
        copy4_async(pool, to_a + to, a, from_a + source, left_a > int32(0))
    for i in range(PIECES_B):
        to, source = int32(i * ROWS_B * NW), int32(i * ROWS_B) * ldb
        inside = left_b > int32(i * ROWS_B)
        copy4_async(pool, to_b + to, b, from_b + source, inside)


@cuda.jit(device=True)
def load_at(fa, fb, fragment_set, pool, at_a, at_b, twist, columns, step):
    """Load the fragments of a step into set z."""
    at = at_a + (twist ^ int32(8 * step))
    for i in range(MF):
        f = ldmatrix_x4(pool, at + int32(16 * i * KW))
        (
            fa[fragment_set, i, 0],
            fa[fragment_set, i, 1],
            fa[fragment_set, i, 2],
            fa[fragment_set, i, 3],
        ) = f
    for j in range(TWICE):
        at = at_b + columns[j] + int32(16 * step * NW)
        f = ldmatrix_x4_trans(pool, at)
        fb[fragment_set, 2 * j, 0], fb[fragment_set, 2 * j, 1] = f[0], f[1]
        fb[fragment_set, 2 * j + 1, 0], fb[fragment_set, 2 * j + 1, 1] = f[2], f[3]


@cuda.jit
def gemm_large(a, b, c, k):
    """Write a @ b into c: a, b flat; tiles in full, k is any multiple of 8."""
    pool = cuda.shared.array(0, int32)
    sums = cuda.local.array((MF, NF, 4), float32)
    fa = cuda.local.array((SETS, MF, 4), int32)
    fb = cuda.local.array((SETS, NF, 2), int32)
    columns = cuda.local.array(TWICE, int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t & int32(31), t >> int32(5)
    n = int32(c.shape[1]) * int32(2)
    lda, ldb = int32(k) >> int32(1), n >> int32(1)
    down, across = int32(c.shape[0]) // int32(BM), n // int32(BN)
    row, col = tile_of(int32(cuda.blockIdx.x), down, across)
    row0, col0 = row * int32(BM), col * int32(BN)
    wm = warp // int32(BN // WN) * int32(WM)
    wn = warp % int32(BN // WN) * int32(WN)

    ra, pa = t // int32(KW // 4), t % int32(KW // 4)  # its first pieces
    rb, pb = t // int32(NW // 4), t % int32(NW // 4)
    to_a = ra * int32(KW) + place(ra, pa)
    to_b = int32(TILE_A) + rb * int32(NW) + place(rb, pb)
    from_a = (row0 + ra) * lda + int32(4) * pa
    from_b = rb * ldb + (col0 >> int32(1)) + int32(4) * pb
    left_a, left_b = lda - int32(4) * pa, int32(k) - rb  # until the end of k

    low, high = lane & int32(15), lane >> int32(4)
    at_a = (wm + low) * int32(KW)
    at_b = int32(TILE_A) + low * int32(NW)
    twist = place(low, high)
    for j in range(TWICE):
        columns[j] = place(low, (wn >> int32(3)) + int32(2 * j) + high)
    clear(sums)

    write = int32(0)
    for _ in range(LAST):
        on_a, on_b = to_a + write, to_b + write
        fetch_at(pool, on_a, on_b, a, b, from_a, from_b, lda, ldb, left_a, left_b)
        commit_group()
        from_a, from_b = from_a + int32(KW), from_b + int32(BK) * ldb
        left_a, left_b = left_a - int32(KW), left_b - int32(BK)
        write += int32(PAIR)
    read = int32(0)
    if SETS == 2:  # the fragments of the first step
        wait_group(PENDING)
        cuda.syncthreads()
        load_at(fa, fb, 0, pool, at_a, at_b, twist, columns, 0)
    for _ in range(int32(0), lda, int32(KW)):
        for step in range(BK // 16):  # written out
            # With one set, wait before the first step; with two sets, before the last,
            # which loads the fragments of the next iteration's first step.
            if step == (SETS - 1) * (BK // 16 - 1):
                wait_group(PENDING)
                cuda.syncthreads()
                if SETS == 2:  # those of the next step are in the next pair
                    end = read == int32(LAST * PAIR)
                    read = int32(0) if end else read + int32(PAIR)
            # The set to load now, and the step that will use it.
            fragment_set, ahead = (step + 1) % SETS, (step + SETS - 1) % (BK // 16)
            on_a, on_b = read + at_a, read + at_b
            load_at(fa, fb, fragment_set, pool, on_a, on_b, twist, columns, ahead)
            if step == 0:
                on_a, on_b = to_a + write, to_b + write
                where = on_a, on_b, a, b, from_a, from_b
                fetch_at(pool, *where, lda, ldb, left_a, left_b)
                commit_group()
                from_a, from_b = from_a + int32(KW), from_b + int32(BK) * ldb
                left_a, left_b = left_a - int32(KW), left_b - int32(BK)
                end = write == int32(LAST * PAIR)
                write = int32(0) if end else write + int32(PAIR)
            for i in range(MF):
                for j in range(NF):
                    mma_bf16(sums[i, j], fa[step % SETS, i], fb[step % SETS, j])
        if SETS == 1:
            end = read == int32(LAST * PAIR)
            read = int32(0) if end else read + int32(PAIR)

    put_bf16(c, sums, row0 + wm, col0 + wn, lane)


def sized(BM, BN, WM, WN, BK=64, STAGES=3, SETS=1, GROUP=8):
    """Return every constant that follows from these."""
    KW, NW, THREADS = BK // 2, BN // 2, 32 * (BM // WM) * (BN // WN)
    chosen = dict(locals())
    return chosen | {
        "MF": WM // 16,
        "NF": WN // 8,
        "TWICE": WN // 16,
        "LAST": STAGES - 1,
        "WAIT": STAGES - 2,
        "PENDING": STAGES - 2,
        "DEEP_A": STAGES * BM,
        "DEEP_B": STAGES * BK,
        "WORDS_A": STAGES * BM * KW,
        "TILE_A": BM * KW,
        "TILE_B": BK * NW,
        "PAIR": BM * KW + BK * NW,
        "PIECES_A": BM * KW // 4 // THREADS,
        "PIECES_B": BK * NW // 4 // THREADS,
        "ROWS_A": THREADS // (KW // 4),
        "ROWS_B": THREADS // (NW // 4),
        "mma_f16": mma_bf16,
        "put": put_bf16,
    }


@cuda.jit
def narrowed(c, out):
    """Write float32 into words of two bfloat16, for gemm_warp's result."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = bf16_pair(c[row, 2 * col], c[row, 2 * col + 1])
