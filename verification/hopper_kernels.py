"""Kernels for Hopper as text, to be changed line by line, and expected results.

The tests run them in the simulator; `verification/hopper_rules.py` runs them on a GPU.
"""

import linecache
from typing import Any

import numpy as np

from weft import intrinsics

from numba import cuda, float32, int16, int32, uint8, uint64  # isort: skip

GIVEN = {name: getattr(intrinsics, name) for name in intrinsics.__all__}
GIVEN |= {"cuda": cuda, "float32": float32, "int32": int32, "uint8": uint8}
GIVEN |= {"uint64": uint64, "int16": int16}

# Copies a box to shared memory, and from there to `out`, byte by byte.
LOAD = """
@cuda.jit
def load_box(map_x, out, col, row):
    tile = cuda.shared.array(NBYTES, uint8, alignment=1024)
    bars = cuda.shared.array(1, uint64)
    t = int32(cuda.threadIdx.x)
    if t == 0:
        mbarrier_init(bars, 0, 1)
        fence_mbarrier_init()
    cuda.syncthreads()
    if t == 0:
        mbarrier_arrive_expect_tx(bars, 0, NBYTES)
        tma_load(tile, 0, map_x, col, row, bars, 0)
    mbarrier_wait(bars, 0, 0)
    for i in range(t, NBYTES, 32):
        out[i] = tile[i]
"""

# Copies numbers from `x` to shared memory, and from there to a matrix, as a box.
STORE = """
@cuda.jit
def store_box(x, map_y, col, row):
    tile = cuda.shared.array(NBYTES, uint8, alignment=1024)
    t = int32(cuda.threadIdx.x)
    for i in range(t, NBYTES, 64):
        tile[i] = x[i]
    fence_async()
    cuda.syncthreads()
    if t == 0:
        tma_store(map_y, col, row, tile, 0)
        bulk_commit()
        bulk_wait_read(0)
    cuda.syncthreads()
    for i in range(t, NBYTES, 64):
        tile[i] = uint8(0)
"""

# c = a @ b.T of 64 rows each, for k in steps of 64: a producer and a warpgroup.
PRODUCT = """
@cuda.jit
def product(map_a, map_b, c, steps):
    a = cuda.shared.array((STAGES, 4096), int16, alignment=1024)
    b = cuda.shared.array((STAGES, 4096), int16, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(32, float32)
    t = int32(cuda.threadIdx.x)
    if t == 0:
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, 1)
        fence_mbarrier_init()
    cuda.syncthreads()
    stage, phase = int32(0), int32(0)
    if t >= 128:
        if t == 128:
            for k in range(steps):
                mbarrier_wait(empty, stage, phase ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, 16384)
                tma_load(a, (stage, 0), map_a, 64 * k, 0, full, stage)
                tma_load(b, (stage, 0), map_b, 64 * k, 0, full, stage)
                stage += int32(1)
                if stage == STAGES:
                    stage, phase = int32(0), phase ^ int32(1)
    else:
        for k in range(steps):
            mbarrier_wait(full, stage, phase)
            left = descriptor(a, (stage, 0))
            right = descriptor(b, (stage, 0))
            wgmma_fence()
            for p in range(4):
                wgmma_bf16(acc, 64, left + 2 * p, right + 2 * p, k + p)
            wgmma_commit()
            wgmma_wait(0)
            if t == 0:
                mbarrier_arrive(empty, stage)
            stage += int32(1)
            if stage == STAGES:
                stage, phase = int32(0), phase ^ int32(1)
        hold(acc, 32)
        lane, r = t & 31, (t >> 5) * 16 + (t & 31) // 4
        for j in range(8):
            q = 8 * j + 2 * (lane & 3)
            c[r, q] = acc[4 * j]
            c[r, q + 1] = acc[4 * j + 1]
            c[r + 8, q] = acc[4 * j + 2]
            c[r + 8, q + 1] = acc[4 * j + 3]
"""

# c = a @ b, with a in registers and rows of b along k; ordinary stores and loads.
CHAINED = """
@cuda.jit
def chained(a, b, c):
    tile = cuda.shared.array(1024, int16, alignment=1024)
    words = cuda.local.array(4, int32)
    acc = cuda.local.array(32, float32)
    t = int32(cuda.threadIdx.x)
    for i in range(t, 1024, 128):
        k, q = i // 64, i % 64
        tile[k * 64 + ((q // 8) ^ (k % 8)) * 8 + q % 8] = b[k, q]
    fence_async()
    cuda.syncthreads()
    lane, r = t & 31, (t >> 5) * 16 + (t & 31) // 4
    w = lane & 3
    words[0] = a[r, w]
    words[1] = a[r + 8, w]
    words[2] = a[r, w + 4]
    words[3] = a[r + 8, w + 4]
    for i in range(32):
        acc[i] = float32(1)
    right = descriptor_columns(tile, 0, 2048)
    wgmma_fence()
    wgmma_bf16_chained(acc, 64, words, 0, right, int32(1))
    wgmma_commit()
    wgmma_wait(0)
    hold(acc, 32)
    hold_words(words, 4)
    for j in range(8):
        q = 8 * j + 2 * w
        c[r, q] = acc[4 * j]
        c[r, q + 1] = acc[4 * j + 1]
        c[r + 8, q] = acc[4 * j + 2]
        c[r + 8, q + 1] = acc[4 * j + 3]
"""

# Writes two tiles of results through one buffer: stmatrix, the TMA, a named barrier.
RESULTS = """
@cuda.jit
def results(words, map_y):
    tile = cuda.shared.array(4096, int16, alignment=1024)
    t = int32(cuda.threadIdx.x)
    line = (t >> 5) * 16 + (t & 15)
    for half in range(2):
        if t == 0:
            bulk_wait_read(0)
        named_barrier(1, 128)
        for j in range(4):
            piece = (((t & 31) >> 4) + 2 * j) ^ (line & 7)
            w = words[half, t, j]
            stmatrix_x4(tile, line * 64 + piece * 8, w, w + 1, w + 2, w + 3)
        fence_async()
        named_barrier(1, 128)
        if t == 0:
            tma_store(map_y, 0, 64 * half, tile, 0)
            bulk_commit()
    if t == 0:
        bulk_wait(0)
"""

# Sums a tile in every block of a cluster; each block loads a part for all.
CLUSTERED = """
@cuda.jit
def clustered(map_x, out, steps):
    tile = cuda.shared.array((STAGES, SIZE), int16, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    t, rank = int32(cuda.threadIdx.x), cluster_rank()
    if t == 0:
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, CLUSTER)
        fence_mbarrier_init()
    cluster_sync()
    stage, phase = int32(0), int32(0)
    if t >= 32:
        if t == 32:
            for k in range(steps):
                mbarrier_wait(empty, stage, phase ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, 2 * SIZE)
                mask = int32(2**CLUSTER - 1)
                at, row = (stage, 512 * rank), 8 * rank
                tma_load_multicast(tile, at, map_x, 64 * k, row, full, stage, mask)
                stage += int32(1)
                if stage == STAGES:
                    stage, phase = int32(0), phase ^ int32(1)
        cuda.syncwarp()
    else:
        total = int32(0)
        for k in range(steps):
            mbarrier_wait(full, stage, phase)
            for i in range(t, SIZE, 32):
                total += tile[stage, i]
            cuda.syncwarp()
            if t < CLUSTER:
                mbarrier_arrive_at(empty, stage, t)
            stage += int32(1)
            if stage == STAGES:
                stage, phase = int32(0), phase ^ int32(1)
        out[cuda.blockIdx.x, t] = total
    cluster_sync()
"""

# Sums over the blocks of a cluster, which read each other's shared memory.
REDUCED = """
@cuda.jit
def reduced(x, out):
    part = cuda.shared.array(1, float32)
    t, rank = cuda.threadIdx.x, cluster_rank()
    if t == 0:
        part[0] = float32(0)
    cuda.syncthreads()
    cuda.atomic.add(part, 0, x[cuda.grid(1)])
    cluster_sync()
    if rank == 0 and t == 0:
        total = float32(0)
        for k in range(cluster_size()):
            total += cluster_load(part, 0, k)
        out[cuda.blockIdx.x // cluster_size()] = total
    cluster_sync()
"""

# Each thread adds to a number of the neighbouring block, between the halves of a
# barrier.
SPLIT = """
@cuda.jit
def split(x, out):
    part = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i]
    cluster_arrive()
    own = x[i] * float32(2)  # meanwhile
    cluster_wait()
    out[i] = own + cluster_load(part, 63 - t, 1 - cluster_rank())
    cluster_arrive()
    cluster_wait()
"""

# Reads the same array of a neighbouring block three times.
TWICE = """
@cuda.jit
def twice(x, out):
    part = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    total = float32(0)
    for k in range(3):
        part[t] = x[i] + float32(k)
        cluster_arrive()
        cluster_wait()
        total += cluster_load(part, t, 1 - cluster_rank())
        cluster_arrive()
        cluster_wait()
    out[i] = total
"""

# Stores numbers in the shared memory of the neighbouring block.
GIVEN_AWAY = """
@cuda.jit
def given_away(x, out):
    part = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    cluster_arrive_relaxed()
    cluster_wait()
    cluster_store(part, 63 - t, 1 - cluster_rank(), x[i])
    cluster_sync()
    out[i] = part[t]
"""

# Counts and sums in the shared memory of two blocks, by atomics.
COUNTED = """
@cuda.jit
def counted(x, out):
    bins = cuda.shared.array(4, int32)
    sums = cuda.shared.array(1, float32)
    t, i, rank = cuda.threadIdx.x, cuda.grid(1), cluster_rank()
    if t < 4:
        bins[t] = 0
    if t == 0:
        sums[0] = float32(0)
    cluster_sync()
    cluster_atomic_add_int32(bins, t % 4, t % 2, 1)
    cluster_atomic_add(sums, 0, 0, x[i])
    cluster_sync()
    if t < 4:
        out[2 * cuda.blockIdx.x * 32 + t] = float32(bins[t])
    if t == 4 and rank == 0:
        out[2 * cuda.blockIdx.x * 32 + t] = sums[0]
"""


def changed(source: str, *changes: tuple[str, str]) -> str:
    """Return the source with each first string replaced, once, by the second."""
    for old, new in changes:
        assert source.count(old) >= 1, old
        source = source.replace(old, new, 1)
    return source


def compiled(source: str, **constants: Any) -> Any:
    """Return the kernel of a source. constants: global names that it uses."""
    name = f"<hopper {hash((source, tuple(sorted(constants.items()))))}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = GIVEN | constants
    exec(compile(source, name, "exec"), scope)
    return scope[source.partition("def ")[2].partition("(")[0]]


def bfloat16(x: Any) -> Any:
    """Return the bits, as int16, of numbers that bfloat16 can represent."""
    whole = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (whole >> 16).astype(np.uint16).view(np.int16)


def placed(box: Any, swizzle: int) -> Any:
    """Return the bytes of shared memory after a box with these rows is loaded there.

    See "Swizzling Modes" in the PTX ISA: the place of piece p in row r depends on the
    size of a row.
    """
    rows = np.ascontiguousarray(box).view(np.uint8).reshape(len(box), -1, 16)
    if not swizzle:
        return rows.reshape(-1)
    each = swizzle // 16
    found = np.empty_like(rows)
    for r in range(len(rows)):
        for p in range(each):
            found[r, p ^ (r // (8 // each)) % each] = rows[r, p]
    return found.reshape(-1)


def cut(x: Any, row: int, col: int, shape: tuple[int, int]) -> Any:
    """Return a box of a matrix, with zeros for what is outside."""
    box = np.zeros(shape, x.dtype)
    for r in range(shape[0]):
        for q in range(shape[1]):
            if 0 <= row + r < x.shape[0] and 0 <= col + q < x.shape[1]:
                box[r, q] = x[row + r, col + q]
    return box


def paste(x: Any, row: int, col: int, box: Any) -> None:
    """Write a box into a matrix, without what is outside."""
    for r in range(len(box)):
        for q in range(len(box[r])):
            if 0 <= row + r < x.shape[0] and 0 <= col + q < x.shape[1]:
                x[row + r, col + q] = box[r, q]
