"""c = a @ w.T in Gluon: one warp copies by TMA, two warpgroups multiply by wgmma."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

BM, BN, BK, STAGES, GROUP, PROGRAMS = 128, 256, 64, 3, 16, 132


@gluon.jit
def tile_at(number, m, n, BM: gl.constexpr, BN: gl.constexpr, GROUP: gl.constexpr):
    across = gl.cdiv(n, BN)
    first = number // (GROUP * across) * GROUP
    height = gl.minimum(gl.cdiv(m, BM) - first, GROUP)
    inside = number % (GROUP * across)
    return (first + inside % height) * BM, inside // height * BN


@gluon.jit
def copy(a, w, m, n, k, tiles, ring, GROUP: gl.constexpr):
    BM: gl.constexpr = a.block_shape[0]
    BK: gl.constexpr = a.block_shape[1]
    BN: gl.constexpr = w.block_shape[0]
    a_tiles, w_tiles, full, empty = ring
    step = 0
    for number in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row, col = tile_at(number, m, n, BM, BN, GROUP)
        for start in range(0, k, BK):
            s, parity = step % full.shape[0], step // full.shape[0] & 1
            mbarrier.wait(empty.index(s), parity ^ 1)
            bar = full.index(s)
            mbarrier.expect(bar, a.block_type.nbytes + w.block_type.nbytes)
            tma.async_copy_global_to_shared(a, [row, start], bar, a_tiles.index(s))
            tma.async_copy_global_to_shared(w, [col, start], bar, w_tiles.index(s))
            step += 1


@gluon.jit
def multiply(c, m, n, k, tiles, ring, BK: gl.constexpr, GROUP: gl.constexpr):
    BM: gl.constexpr = c.block_shape[0]
    BN: gl.constexpr = c.block_shape[1]
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BN, 16])
    a_tiles, w_tiles, full, empty = ring
    staged = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    step = 0
    for number in range(gl.program_id(0), tiles, gl.num_programs(0)):
        acc = gl.zeros([BM, BN], gl.float32, sums)
        for start in range(0, k, BK):
            s, parity = step % full.shape[0], step // full.shape[0] & 1
            mbarrier.wait(full.index(s), parity)
            left, right = a_tiles.index(s), w_tiles.index(s).permute((1, 0))
            acc = warpgroup_mma(left, right, acc, is_async=True)
            acc = warpgroup_mma_wait(1, deps=(acc,))
            before = (step + full.shape[0] - 1) % full.shape[0]
            mbarrier.arrive(empty.index(before), pred=start > 0)
            step += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(empty.index((step - 1) % full.shape[0]))

        row, col = tile_at(number, m, n, BM, BN, GROUP)
        tma.store_wait(0)
        staged.store(acc.to(c.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c, [row, col], staged)
    tma.store_wait(0)


@gluon.jit
def matmul(a, w, c, m, n, k, STAGES: gl.constexpr, GROUP: gl.constexpr):
    BM: gl.constexpr = a.block_shape[0]
    BK: gl.constexpr = a.block_shape[1]
    BN: gl.constexpr = w.block_shape[0]
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    w_tiles = gl.allocate_shared_memory(w.dtype, [STAGES, BN, BK], w.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    fence_async_shared()

    tiles = gl.cdiv(m, BM) * gl.cdiv(n, BN)
    ring = a_tiles, w_tiles, full, empty
    gl.warp_specialize(
        [
            (multiply, (c, m, n, k, tiles, ring, BK, GROUP)),
            (copy, (a, w, m, n, k, tiles, ring, GROUP)),
        ],
        [1],
        [24],
    )


def described(x, box):
    layout = gl.NVMMASharedLayout.get_default_for(box, gl.bfloat16)
    return TensorDescriptor.from_tensor(x, box, layout)


def bind(a, w, c):
    boxes = (a, [BM, BK]), (w, [BN, BK]), (c, [BM, BN])
    maps = [described(each, box) for each, box in boxes]
    sizes = *c.shape, a.shape[1]
    return lambda: matmul[(PROGRAMS,)](*maps, *sizes, STAGES, GROUP, num_warps=8)
