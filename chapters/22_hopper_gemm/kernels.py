"""The GEMM of chapter 22: c = a @ w.T for bfloat16 a (m, k) and w (n, k).

All sizes of tiles and buffers are constants that `specialise` fills in. `multiply`
multiplies one stage, which covers 128 bytes along k, with four `wgmma`. A warpgroup of
128 threads multiplies its 64 rows of a with BN rows of w. Each thread keeps BN / 2 sums
in registers.

`one_pipeline`: a block computes one tile of c. All of its threads multiply, and thread
0 also starts the copies. Before it may start a copy into a stage, all threads must have
finished with that stage, which requires a `syncthreads` in every step.

`warp_specialised`: warpgroup 0 only copies, and gives most of its registers to the
other warpgroups (`setmaxnreg`). A block is persistent: it computes one tile after the
other, and while the consumers store a tile, the producer already loads the next. With
STORE_BY_TMA, the consumers write their sums to shared memory (`stmatrix`), and the TMA
stores them from there, 64 columns at a time. With CLUSTER=2, two blocks compute two
tiles, one below the other, so they need the same rows of w. Each block loads half of
these rows for both. With EARLY, a launch may begin while the previous one still runs.

The host compiles a kernel with its constants, encodes the tensor maps and launches the
kernel. A tensor map contains the address of its matrix and the size of a box. `prepare`
returns a launch function that skips Numba's checks and supports clusters.
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
    mbarrier_arrive,
    mbarrier_arrive_at,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x4,
    tma_load,
    tma_load_multicast,
    tma_store,
    wgmma_bf16,
    wgmma_commit,
    wgmma_e4m3,
    wgmma_fence,
    wgmma_wait,
)
from weft.launching import prepare
from weft.templates import large_shared, specialise
from weft.tensor_maps import tensor_map

if weft.GPU:
    import torch

BM, BN, DEPTH = 128, 256, 4  # a tile of c; stages
GROUP, CLUSTER, CONSUMERS = 16, 1, 2
A_BYTES, W_BYTES = 128 * BM, 128 * BN  # of a stage
STAGE_BYTES = A_BYTES + W_BYTES
LINE = 64  # numbers in 128 bytes
SUMS = BN // 2  # registers
BUFFERS, PENDING = 4, 3  # of results on their way out
FEWER, MORE = 40, 232  # registers of a thread: producer, consumer
STORE_BY_TMA, EARLY = 1, 0
wgmma = wgmma_bf16


@cuda.jit(device=True)
def tile_of(number, rows, cols):
    """Return the row and the column of a tile, groups from left to right."""
    size = int32(int32(GROUP) * cols)
    which = int32(number // size)
    first = int32(which * int32(GROUP))
    height = min(int32(rows - first), int32(GROUP))
    inside = int32(number - which * size)
    col = int32(inside // height)
    return int32(first + inside - col * height), col


@cuda.jit(device=True)
def multiply(acc, memory, at, offset, add):
    """Start acc += a @ w.T for the stage at `at`; without `add`, acc = ..."""
    a = descriptor(memory, at + offset)
    w = descriptor(memory, at + int32(A_BYTES))
    wgmma_fence()
    wgmma(acc, BN, a, w, add)
    wgmma(acc, BN, a + 2, w + 2, int32(1))
    wgmma(acc, BN, a + 4, w + 4, int32(1))
    wgmma(acc, BN, a + 6, w + 6, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def next_stage(stage, parity):
    """Return the stage and the parity of the next tile in the ring."""
    stage += int32(1)
    if stage == int32(DEPTH):
        return int32(0), int32(parity ^ int32(1))
    return int32(stage), int32(parity)


@cuda.jit(device=True)
def begin_ring(full, empty, readers):
    """Initialise the mbarriers of a ring, for all threads of a block.

    readers: how many arrivals free a stage.
    """
    if cuda.threadIdx.x == 0:
        for s in range(full.size):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, readers)
        fence_mbarrier_init()
    cuda.syncthreads()


@cuda.jit(device=True)
def put(c, acc, row, col, t, m, n):
    """Store the sums of a warpgroup from registers, two bfloat16 at a time."""
    lane = t & int32(31)
    r = row + (t >> int32(5)) * int32(16) + (lane >> int32(2))
    q = (col >> int32(1)) + (lane & int32(3))
    for j in range(BN // 8):
        if q + int32(4 * j) < n >> int32(1):
            if r < m:
                c[r, q + int32(4 * j)] = bf16_pair(acc[4 * j], acc[4 * j + 1])
            if r + int32(8) < m:
                pair = bf16_pair(acc[4 * j + 2], acc[4 * j + 3])
                c[r + int32(8), q + int32(4 * j)] = pair


@cuda.jit(device=True)
def put_pairs(c, acc, row, col, t, m, n):
    """Store the sums of a warpgroup, once they are in registers."""
    hold(acc, SUMS)
    put(c, acc, row, col, t, m, n)


@cuda.jit
def one_pipeline(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute a tile of c = a @ w.T."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    t = int32(cuda.threadIdx.x)
    rows = int32((m + int32(BM - 1)) // int32(BM))
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    i, j = tile_of(int32(cuda.blockIdx.x), rows, cols)
    row, col = i * int32(BM), j * int32(BN)

    if t == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
        for q in range(DEPTH):
            mbarrier_init(full, q, 1)
        fence_mbarrier_init()
        for q in range(min(int32(DEPTH), steps)):
            at, x = int32(q) * int32(STAGE_BYTES), int32(q) * int32(LINE)
            mbarrier_arrive_expect_tx(full, q, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, q)
            tma_load(memory, at + int32(A_BYTES), map_w, x, col, full, q)
    cuda.syncthreads()

    offset = (t >> int32(7)) * int32(8192)  # 64 rows of 128 bytes
    stage, parity = int32(0), int32(0)
    for step in range(steps):
        at = stage * int32(STAGE_BYTES)
        mbarrier_wait(full, stage, parity)
        multiply(acc, memory, at, offset, int32(step > 0))
        wgmma_wait(0)
        cuda.syncthreads()
        x = (int32(step) + int32(DEPTH)) * int32(LINE)
        if t == 0 and step + DEPTH < steps:
            mbarrier_arrive_expect_tx(full, stage, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, stage)
            tma_load(memory, at + int32(A_BYTES), map_w, x, col, full, stage)
        stage, parity = next_stage(stage, parity)

    hold(acc, SUMS)
    put(c, acc, row + offset // int32(128), col, t & int32(127), m, n)


@cuda.jit(device=True)
def put_by_tma(map_c, acc, memory, at, row, col, t, group, scale):
    """Arrange the sums in shared memory, from where TMA stores them."""
    lane = t & int32(31)
    row_in_tile = (t >> int32(5)) * int32(16) + (lane & int32(15))
    start = row_in_tile * int32(128)
    for p in range(BN // 64):
        here = int32(at + int32(p % BUFFERS * 8192))
        if t == 0:
            bulk_wait_read(PENDING)  # this buffer has been read
        named_barrier(group, 128)
        for j in range(4):
            o = p * 32 + j * 8
            piece = ((lane >> int32(4)) + int32(2 * j)) ^ (row_in_tile & int32(7))
            stmatrix_x4(
                memory,
                here + start + piece * int32(16),
                bf16_pair(acc[o] * scale, acc[o + 1] * scale),
                bf16_pair(acc[o + 2] * scale, acc[o + 3] * scale),
                bf16_pair(acc[o + 4] * scale, acc[o + 5] * scale),
                bf16_pair(acc[o + 6] * scale, acc[o + 7] * scale),
            )
        fence_async()
        named_barrier(group, 128)
        if t == 0:
            tma_store(map_c, col + int32(64 * p), row, memory, here)
            bulk_commit()


@cuda.jit(device=True)
def release(empty, stage, t):
    """Tell the producers that this warpgroup has read a stage."""
    if CLUSTER > 1:
        if t < int32(CLUSTER):
            mbarrier_arrive_at(empty, stage, t)
    else:
        if t == 0:
            mbarrier_arrive(empty, stage)


@cuda.jit(device=True)
def produce(map_a, map_w, memory, full, empty, tiles, sizes):
    """Load the stages of all tiles of this block."""
    if EARLY:
        griddep_launch()
        griddep_wait()  # earlier grids have ended
    (begin, stride, rank), (rows, cols, steps) = tiles, sizes
    stage, parity = int32(0), int32(1)
    for tile in range(begin, rows * cols, stride):
        i, j = tile_of(int32(tile), rows, cols)
        row = (i * int32(CLUSTER) + rank) * int32(BM)
        part = rank * int32(BN // CLUSTER)
        col = j * int32(BN) + part
        for step in range(steps):
            at, x = stage * int32(STAGE_BYTES), int32(step) * int32(LINE)
            at_w = at + int32(A_BYTES) + part * int32(128)
            mbarrier_wait(empty, stage, parity)
            mbarrier_arrive_expect_tx(full, stage, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, stage)
            if CLUSTER > 1:
                mask = int32(2**CLUSTER - 1)
                tma_load_multicast(memory, at_w, map_w, x, col, full, stage, mask)
            else:
                tma_load(memory, at_w, map_w, x, col, full, stage)
            stage, parity = next_stage(stage, parity)


@cuda.jit
def warp_specialised(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute c = scale * a @ w.T by persistent blocks."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    empty = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)
    rows = int32((m + int32(BM * CLUSTER - 1)) // int32(BM * CLUSTER))
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
    if CLUSTER > 1:
        cluster_sync()
    else:
        cuda.syncthreads()

    if group == 0:
        setmaxnreg_dec(FEWER)
        if t == 0:
            tiles, sizes = (begin, stride, rank), (rows, cols, steps)
            produce(map_a, map_w, memory, full, empty, tiles, sizes)
    else:
        setmaxnreg_inc(MORE)
        consumer = group - int32(1)
        out = int32(DEPTH * STAGE_BYTES) + consumer * int32(BUFFERS * 8192)
        stage, parity = int32(0), int32(0)
        for tile in range(begin, rows * cols, stride):
            i, j = tile_of(int32(tile), rows, cols)
            row = (i * int32(CLUSTER) + rank) * int32(BM) + consumer * int32(64)
            col = j * int32(BN)
            before = int32(0)
            for step in range(steps):
                at = stage * int32(STAGE_BYTES)
                mbarrier_wait(full, stage, parity)
                add = int32(step > 0)
                multiply(acc, memory, at, consumer * int32(8192), add)
                wgmma_wait(1)  # the stage before has been read
                if step > 0:
                    release(empty, before, t)
                before = stage
                stage, parity = next_stage(stage, parity)
            wgmma_wait(0)
            release(empty, before, t)
            hold(acc, SUMS)
            if STORE_BY_TMA:
                put_by_tma(map_c, acc, memory, out, row, col, t, group, scale)
            else:
                put(c, acc, row, col, t, m, n)
        if STORE_BY_TMA and t == 0:
            bulk_wait_read(0)
    if CLUSTER > 1:
        cuda.syncwarp()  # the producer's warp waits for its first lane
        cluster_sync()


TYPES = (
    "void(uint8[::1], uint8[::1], uint8[::1], int32[:, ::1], "
    "int32, int32, int32, float32)"
)
ROOM = 227 * 1024 - 1024  # bytes of shared memory for stages and results
made = {}


def sized(kernel, bm, bn, fp8=False, buffers=4, depth=8, piece=8192, **more):
    """Return every constant that follows from these, and the shared memory.

    piece: bytes of a buffer for results.
    """
    consumers, stage = bm // 64, 128 * (bm + bn)
    buffers = min(buffers, bn // 64)
    out = 0 if kernel is one_pipeline else consumers * buffers * piece
    depth = min(depth, (ROOM - out) // stage)
    named = {
        "BM": bm,
        "BN": bn,
        "DEPTH": depth,
        "A_BYTES": 128 * bm,
        "STAGE_BYTES": stage,
        "LINE": 128 if fp8 else 64,
        "SUMS": bn // 2,
        "wgmma": wgmma_e4m3 if fp8 else wgmma_bf16,
    }
    if kernel is not one_pipeline:
        named |= {
            "CONSUMERS": consumers,
            "BUFFERS": buffers,
            "PENDING": buffers - 1,
            "FEWER": 40 if consumers < 3 else 32,
            "MORE": {3: 160, 4: 112}.get(consumers, 232),
        }
    return named | more, depth * stage + out


def compiled(kernel, *sizes, **more):
    """Return the launch function of a kernel, and what it is launched with."""
    key = kernel.py_func.__name__, sizes, tuple(sorted(more.items()))
    if key not in made:
        named, shared = sized(kernel, *sizes, **more)
        groups = sizes[0] // 64 + (kernel is not one_pipeline)
        large = specialise(
            kernel,
            signature=TYPES,
            launch_bounds=(128 * groups, 1),
            **named,
        )
        large_shared(large, shared)
        early = bool(named.get("EARLY"))
        launch = prepare(large, named.get("CLUSTER", 1), early=early)
        made[key] = launch, 128 * groups, shared, named
    return made[key]


def gemm(a, w, c, bm=128, bn=256, kernel=None, scale=1.0, **more):
    """Return a function that computes c = scale * a @ w.T."""
    kernel = kernel or warp_specialised
    launch, block, shared, named = compiled(kernel, bm, bn, **more)
    (m, k), n = a.shape, w.shape[0]
    cluster, line = named.get("CLUSTER", 1), named["LINE"]
    maps = (
        tensor_map(a, (bm, line)),
        tensor_map(w, (bn // cluster, line)),
        tensor_map(c, (64, 64)),
    )
    grid = -(-m // (bm * cluster)) * -(-n // bn) * cluster
    if kernel is not one_pipeline:
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        grid = min(grid, sms // cluster * cluster)
    on = *maps, c.view(torch.int32), m, n, k, scale

    def run():
        launch(grid, block, *on, shared=shared)

    run.held = a, w  # the tensor maps have no more than their addresses
    return run


OWN_TYPES = "void(uint8[::1], uint8[::1], int32, int32, int32, int32[:, ::1])"


def own(kernel):
    """Return `gemm_ring` of the lab with the tiles of the ladder, and its memory.

    It computes tiles of 128 x 256 in groups of 16, with four stages, and stores pairs
    of bfloat16 from registers, as `grouped` does.
    """
    shared = 4 * STAGE_BYTES
    large = specialise(
        kernel,
        signature=OWN_TYPES,
        launch_bounds=(384, 1),
        TN=BN,
        STAGE=STAGE_BYTES,
        STAGES=4,
        PER_THREAD=SUMS,
        put_sums=put_pairs,
    )
    return large_shared(large, shared), shared


def own_gemm(kernel, a, w, c):
    """Return a function that computes c = a @ w.T by the learner's `gemm_ring`."""
    large, shared = own(kernel)
    launch = prepare(large, 1)
    (m, k), n = a.shape, w.shape[0]
    maps = tensor_map(a, (BM, LINE)), tensor_map(w, (BN, LINE))
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    grid = min(-(-m // BM) * -(-n // BN), sms)

    def run():
        launch(grid, 384, *maps, m, n, k, c.view(torch.int32), shared=shared)

    run.held = a, w
    return run
