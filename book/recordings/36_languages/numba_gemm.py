"""c = a @ w.T in Numba: the kernel of chapter 22, without its options.

One warpgroup copies by TMA, two multiply by wgmma; weft.intrinsics has the PTX.
"""

from numba import cuda, float32, int32, uint8, uint64

from weft.intrinsics import (
    bf16_pair,
    bulk_commit,
    bulk_wait_read,
    descriptor,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x4,
    tma_load,
    tma_store,
    wgmma_bf16,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)
from weft.launching import prepare
from weft.templates import large_shared
from weft.tensor_maps import tensor_map

BM, BN, BK, STAGES, GROUP, BLOCKS = 128, 256, 64, 4, 16, 132
A_BYTES, STAGE = 2 * BM * BK, 2 * (BM + BN) * BK
STAGED = 2 * 64 * 64  # bytes of c on their way out
SHARED, SUMS = STAGES * STAGE + 4 * STAGED, BN // 2
TYPES = "void(uint8[::1], uint8[::1], uint8[::1], int32, int32, int32)"


@cuda.jit(device=True)
def tile_at(number, m, n):
    down, across = (m + int32(BM - 1)) // int32(BM), (n + int32(BN - 1)) // int32(BN)
    first = int32(number // (int32(GROUP) * across) * int32(GROUP))
    height = min(int32(down - first), int32(GROUP))
    inside = int32(number % (int32(GROUP) * across))
    row = int32((first + inside % height) * int32(BM))
    return row, int32(inside // height * int32(BN))


@cuda.jit(device=True)
def after(stage, parity):
    stage += int32(1)
    if stage == int32(STAGES):
        return int32(0), int32(parity ^ int32(1))
    return int32(stage), int32(parity)


@cuda.jit(device=True)
def copy(map_a, map_w, memory, full, empty, m, n, k):
    stage, parity = int32(0), int32(1)
    tiles = int32(-(-m // int32(BM)) * -(-n // int32(BN)))
    for number in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
        row, col = tile_at(int32(number), m, n)
        for start in range(int32(0), k, int32(BK)):
            at, x = stage * int32(STAGE), int32(start)
            mbarrier_wait(empty, stage, parity)
            mbarrier_arrive_expect_tx(full, stage, STAGE)
            tma_load(memory, at, map_a, x, row, full, stage)
            tma_load(memory, at + int32(A_BYTES), map_w, x, col, full, stage)
            stage, parity = after(stage, parity)


@cuda.jit(device=True)
def multiply(acc, memory, at, offset, add):
    a = descriptor(memory, at + offset)
    w = descriptor(memory, at + int32(A_BYTES))
    wgmma_fence()
    wgmma_bf16(acc, BN, a, w, add)
    wgmma_bf16(acc, BN, a + 2, w + 2, int32(1))
    wgmma_bf16(acc, BN, a + 4, w + 4, int32(1))
    wgmma_bf16(acc, BN, a + 6, w + 6, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def store(map_c, acc, memory, at, row, col, t, group):
    lane, line = t & int32(31), (t >> int32(5)) * int32(16) + (t & int32(15))
    for p in range(BN // 64):
        here = int32(at + int32(p % 2 * STAGED))
        if t == 0:
            bulk_wait_read(1)  # the buffer has been read
        named_barrier(group, 128)
        for j in range(4):
            o = p * 32 + j * 8
            piece = ((lane >> int32(4)) + int32(2 * j)) ^ (line & int32(7))
            stmatrix_x4(
                memory,
                here + line * int32(128) + piece * int32(16),
                bf16_pair(acc[o], acc[o + 1]),
                bf16_pair(acc[o + 2], acc[o + 3]),
                bf16_pair(acc[o + 4], acc[o + 5]),
                bf16_pair(acc[o + 6], acc[o + 7]),
            )
        fence_async()
        named_barrier(group, 128)
        if t == 0:
            tma_store(map_c, col + int32(64 * p), row, memory, here)
            bulk_commit()


@cuda.jit(TYPES, launch_bounds=(384, 1))
def matmul(map_a, map_w, map_c, m, n, k):
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)

    if cuda.threadIdx.x == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
        fence_tensor_map(map_c)
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, 2)
        fence_mbarrier_init()
    cuda.syncthreads()

    if group == 0:
        setmaxnreg_dec(40)
        if t == 0:
            copy(map_a, map_w, memory, full, empty, m, n, k)
    else:
        setmaxnreg_inc(232)
        half = (group - int32(1)) * int32(64)  # its rows of the tile
        out = int32(STAGES * STAGE) + (group - int32(1)) * int32(2 * STAGED)
        stage, parity, before = int32(0), int32(0), int32(0)
        tiles = int32(-(-m // int32(BM)) * -(-n // int32(BN)))
        for number in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
            row, col = tile_at(int32(number), m, n)
            for start in range(int32(0), k, int32(BK)):
                mbarrier_wait(full, stage, parity)
                at, add = stage * int32(STAGE), int32(start > 0)
                multiply(acc, memory, at, half * int32(128), add)
                wgmma_wait(1)  # the stage before has been read
                if start > 0 and t == 0:
                    mbarrier_arrive(empty, before)
                before = stage
                stage, parity = after(stage, parity)
            wgmma_wait(0)
            if t == 0:
                mbarrier_arrive(empty, before)
            hold(acc, SUMS)
            store(map_c, acc, memory, out, row + half, col, t, group)
        if t == 0:
            bulk_wait_read(0)


launch = prepare(large_shared(matmul, SHARED))


def bind(a, w, c):
    boxes = (a, (BM, BK)), (w, (BN, BK)), (c, (64, 64))
    given = [tensor_map(each, box) for each, box in boxes]
    given += [*c.shape, a.shape[1]]
    return lambda: launch(BLOCKS, 384, *given, shared=SHARED)
