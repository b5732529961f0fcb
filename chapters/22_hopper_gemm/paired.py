"""The GEMM of chapter 22 for ragged shapes: c = a @ w.T in pairs of tiles.

`paired` is `warp_specialised` for clusters of two blocks, with tiles whose width is
any multiple of 8, and with four changes for matrices that are not cut evenly:

If the number of rows of tiles is odd, the tiles of the last row are computed in pairs
side by side. Two such tiles need the same rows of a, and `load_part` shares these
instead of rows of w. With BESIDE, all pairs are side by side.

If the width of a tile is not a multiple of 64, its last columns are stored from
registers.

With TURNED, the kernel computes the transpose of c, so the roles of a and w are
exchanged, and a tile has BN rows of c and BM columns. `put_turned` transposes it on its
way through shared memory.

If at most 48 numbers along k are left for the last stage, TAIL is the number of `wgmma`
for this stage, each of which covers 16 numbers.
"""

from numba import cuda, float32, int32, uint8, uint64

import weft
from weft.intrinsics import (
    bf16_pair,
    bulk_commit,
    bulk_wait_read,
    cluster_rank,
    cluster_sync,
    descriptor,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    griddep_launch,
    griddep_wait,
    hold,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x2_trans,
    tma_load,
    tma_load_multicast,
    tma_store,
    wgmma_bf16,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)
from weft.tensor_maps import tensor_map

from .kernels import compiled, multiply, next_stage, put_by_tma, release, tile_of

if weft.GPU:
    import torch

BM, BN, DEPTH, CLUSTER = 192, 200, 4, 2  # `sized` has these constants for any tile
A_BYTES, STAGE_BYTES, LINE, SUMS = 128 * BM, 128 * (BM + BN), 64, BN // 2
CONSUMERS, BUFFERS, FEWER, MORE = 3, 1, 32, 160
BESIDE, TURNED, EARLY, TAIL, PIECE = 0, 0, 0, 0, 8192
BOXES = 3  # stores of 8 rows in a group; up to two groups are on their way


@cuda.jit(device=True)
def clusters_of(rows, cols):
    """Return how many clusters it takes to compute rows x cols tiles."""
    across = (cols + int32(CLUSTER - 1)) // int32(CLUSTER)
    if BESIDE:
        return int32(rows * across)
    return int32(rows // int32(CLUSTER) * cols + rows % int32(CLUSTER) * across)


@cuda.jit(device=True)
def pair_of(number, rank, rows, cols):
    """Return the first row and column of a block's tile, and the tiles' arrangement.

    The tiles of a cluster are one below the other (0). In a row of tiles that is left
    over, and with BESIDE in all rows, they are side by side (1).
    """
    across = (cols + int32(CLUSTER - 1)) // int32(CLUSTER)
    if BESIDE:
        i, j = tile_of(number, rows, across)
        j = int32(j * int32(CLUSTER) + rank)
        return i * int32(BM), j * int32(BN), int32(1)
    high = int32(rows // int32(CLUSTER))  # rows of clusters
    if number < high * cols:
        i, j = tile_of(number, high, cols)
        return (i * int32(CLUSTER) + rank) * int32(BM), j * int32(BN), int32(0)
    number -= high * cols
    i = int32(high * int32(CLUSTER) + number // across)
    j = int32(number % across * int32(CLUSTER) + rank)
    return i * int32(BM), j * int32(BN), int32(1)


@cuda.jit(device=True)
def load_part(memory, at, tensor, x, row, size, shared, rank, full, stage):
    """Load `size` rows. Of shared rows, load one part, for the whole cluster."""
    part = int32(size // CLUSTER)
    if shared:
        at, row = at + rank * part * int32(128), row + rank * part
        mask = int32(2**CLUSTER - 1)
        tma_load_multicast(memory, at, tensor, x, row, full, stage, mask)
    else:
        for p in range(CLUSTER):
            to, first = at + int32(128 * p) * part, row + int32(p) * part
            tma_load(memory, to, tensor, x, first, full, stage)


@cuda.jit(device=True)
def produce_pairs(map_a, map_w, memory, full, empty, tiles, sizes):
    """Load the stages of all tiles of this block."""
    if EARLY:
        griddep_launch()
        griddep_wait()  # earlier grids have ended
    (begin, stride, rank), (rows, cols, steps) = tiles, sizes
    stage, parity = int32(0), int32(1)
    for number in range(begin, clusters_of(rows, cols), stride):
        row, col, beside = pair_of(int32(number), rank, rows, cols)
        below = int32(1) - beside
        for step in range(steps):
            at, x = stage * int32(STAGE_BYTES), int32(step) * int32(LINE)
            at_w = at + int32(A_BYTES)
            mbarrier_wait(empty, stage, parity)
            mbarrier_arrive_expect_tx(full, stage, STAGE_BYTES)
            load_part(memory, at, map_a, x, row, BM, beside, rank, full, stage)
            load_part(memory, at_w, map_w, x, col, BN, below, rank, full, stage)
            stage, parity = next_stage(stage, parity)


@cuda.jit(device=True)
def put_last(c, acc, row, col, t, m, n, scale):
    """Store the columns beyond a multiple of 64, two bfloat16 at a time."""
    lane = t & int32(31)
    r = row + (t >> int32(5)) * int32(16) + (lane >> int32(2))
    q = (col >> int32(1)) + (lane & int32(3))
    for j in range(BN // 64 * 8, BN // 8):
        if q + int32(4 * j) < n >> int32(1):
            if r < m:
                pair = bf16_pair(acc[4 * j] * scale, acc[4 * j + 1] * scale)
                c[r, q + int32(4 * j)] = pair
            if r + int32(8) < m:
                pair = bf16_pair(acc[4 * j + 2] * scale, acc[4 * j + 3] * scale)
                c[r + int32(8), q + int32(4 * j)] = pair


@cuda.jit(device=True)
def put_turned(map_c, acc, memory, at, row, col, t, group, scale):
    """Transpose the sums into shared memory. The TMA stores 8 rows of c at a time.

    row, col: of the transposed c. Two groups of BOXES stores take turns.
    """
    lane = t & int32(31)
    piece = (t >> int32(5)) * int32(2) + ((lane >> int32(3)) & int32(1))
    line = lane & int32(7)
    start = line * int32(128) + (piece ^ line) * int32(16)
    groups = (BN // 8 + BOXES - 1) // BOXES
    for g in range(groups):
        here = int32(at + int32(g % 2 * BOXES * 1024))
        if t == 0:
            if g == 0 and groups % 2 == 1:
                bulk_wait_read(0)  # the previous tile's last group has been read
            else:
                bulk_wait_read(1)  # the group before the last has been read
        named_barrier(group, 128)
        for q in range(BOXES):
            if g * BOXES + q < BN // 8:
                o = (g * BOXES + q) * 4
                stmatrix_x2_trans(
                    memory,
                    here + int32(q * 1024) + start,
                    bf16_pair(acc[o] * scale, acc[o + 1] * scale),
                    bf16_pair(acc[o + 2] * scale, acc[o + 3] * scale),
                )
        fence_async()
        named_barrier(group, 128)
        if t == 0:
            for q in range(BOXES):
                if g * BOXES + q < BN // 8:
                    y = col + int32(8 * (g * BOXES + q))
                    tma_store(map_c, row, y, memory, here + int32(q * 1024))
            bulk_commit()


@cuda.jit(device=True)
def multiply_tail(acc, memory, at, offset, add):
    """Start acc += a @ w.T for the first 16 * TAIL numbers of the last stage."""
    a = descriptor(memory, at + offset)
    w = descriptor(memory, at + int32(A_BYTES))
    wgmma_fence()
    for q in range(TAIL):
        wgmma_bf16(acc, BN, a + 2 * q, w + 2 * q, add if q == 0 else int32(1))
    wgmma_commit()


@cuda.jit
def paired(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute c = scale * a @ w.T by persistent blocks, in clusters of two."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    empty = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)
    rows = int32((m + int32(BM - 1)) // int32(BM))
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    begin = int32(cuda.blockIdx.x) // int32(CLUSTER)
    stride = int32(cuda.gridDim.x) // int32(CLUSTER)
    rank = cluster_rank()

    if t == 0 and group == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
        fence_tensor_map(map_c)
    if t == 0 and group == 1:
        for q in range(DEPTH):
            mbarrier_init(full, q, 1)
            mbarrier_init(empty, q, CONSUMERS * CLUSTER)
        fence_mbarrier_init()
    cluster_sync()

    if group == 0:
        setmaxnreg_dec(FEWER)
        if t == 0:
            tiles, sizes = (begin, stride, rank), (rows, cols, steps)
            produce_pairs(map_a, map_w, memory, full, empty, tiles, sizes)
    else:
        setmaxnreg_inc(MORE)
        consumer = group - int32(1)
        out = int32(DEPTH * STAGE_BYTES) + consumer * int32(BUFFERS * PIECE)
        stage, parity = int32(0), int32(0)
        for number in range(begin, clusters_of(rows, cols), stride):
            row, col, _ = pair_of(int32(number), rank, rows, cols)
            row += consumer * int32(64)
            before, whole = int32(0), steps
            if TAIL:
                whole = int32(steps - int32(1))
            for step in range(whole):
                at = stage * int32(STAGE_BYTES)
                mbarrier_wait(full, stage, parity)
                add = int32(step > 0)
                multiply(acc, memory, at, consumer * int32(8192), add)
                wgmma_wait(1)  # the stage before has been read
                if step > 0:
                    release(empty, before, t)
                before = stage
                stage, parity = next_stage(stage, parity)
            if TAIL:
                mbarrier_wait(full, stage, parity)
                at, add = stage * int32(STAGE_BYTES), int32(whole > 0)
                multiply_tail(acc, memory, at, consumer * int32(8192), add)
                wgmma_wait(1)
                if whole > 0:
                    release(empty, before, t)
                before = stage
                stage, parity = next_stage(stage, parity)
            wgmma_wait(0)
            release(empty, before, t)
            hold(acc, SUMS)
            if TURNED:
                put_turned(map_c, acc, memory, out, row, col, t, group, scale)
            else:
                put_by_tma(map_c, acc, memory, out, row, col, t, group, scale)
                if BN % 64:
                    put_last(c, acc, row, col, t, m, n, scale)
        if t == 0:
            bulk_wait_read(0)
    cuda.syncwarp()  # the producer's warp waits for its first lane
    cluster_sync()


def paired_gemm(a, w, c, bm=192, bn=200, turned=False, **more):
    """Return a function that computes c = a @ w.T with pairs of tiles of bm x bn.

    turned: compute the transpose of c by tiles of bm x bn, and store it transposed.
    """
    more = {"CLUSTER": 2, "buffers": 1, "GROUP": 5} | more
    if turned:
        more |= {"TURNED": 1, "piece": 2048 * BOXES, "PIECE": 2048 * BOXES}
        a, w = w, a
    more.setdefault("TAIL", -(-(a.shape[1] % 64) // 16) % 4)
    launch, block, shared, _ = compiled(paired, bm, bn, **more)
    (m, k), n = a.shape, w.shape[0]
    maps = (
        tensor_map(a, (bm // 2, 64)),
        tensor_map(w, (bn // 2, 64)),
        tensor_map(c, (8 if turned else 64, 64)),
    )
    rows, cols = -(-m // bm), -(-n // bn)
    pairs = rows // 2 * cols + rows % 2 * -(-cols // 2)
    if more.get("BESIDE"):
        pairs = rows * -(-cols // 2)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    grid = 2 * min(pairs, sms // 2)
    on = *maps, c.view(torch.int32), m, n, k, 1.0

    def run():
        launch(grid, block, *on, shared=shared)

    run.held = a, w  # the tensor maps have no more than their addresses
    return run
