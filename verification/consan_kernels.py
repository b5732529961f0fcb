"""Kernels in Gluon with the mistakes of `hopper_kernels.py`, for ConSan.

Each step that a kernel must not leave out is turned on or off by a constant. One
warpgroup does everything: unlike in `hopper_kernels.PRODUCT`, there is no producer
warp.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

SIDE = gl.constexpr(64)  # rows and columns of a tile
NBYTES = gl.constexpr(64 * 64 * 2)


@gluon.jit
def places(LAYOUT: gl.constexpr):
    """Return the index of each element of a tile in a row-major 64-column matrix."""
    row = gl.arange(0, SIDE, gl.SliceLayout(1, LAYOUT))[:, None]
    col = gl.arange(0, SIDE, gl.SliceLayout(0, LAYOUT))[None, :]
    return row * SIDE + col


@gluon.jit
def load_box(x, out, WAIT: gl.constexpr):
    """Copy x to out by shared memory. x: a descriptor of (64, 64); out: (64, 64)."""
    LAYOUT: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x.dtype, [SIDE, SIDE], x.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)

    mbarrier.expect(bar, NBYTES)
    tma.async_copy_global_to_shared(x, [0, 0], bar, tile)
    if WAIT:
        mbarrier.wait(bar, 0)
    values = tile.load(LAYOUT)
    if not WAIT:
        mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)

    gl.store(out + places(LAYOUT), values)


@gluon.jit
def store_box(x, y, FENCE: gl.constexpr, WAIT: gl.constexpr):
    """Copy x to y by shared memory. x: (64, 64); y: a descriptor of (64, 64)."""
    LAYOUT: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(y.dtype, [SIDE, SIDE], y.layout)

    tile.store(gl.load(x + places(LAYOUT)))
    if FENCE:
        fence_async_shared()
    tma.async_copy_shared_to_global(y, [0, 0], tile)
    if WAIT:
        tma.store_wait(0)
    tile.store(gl.zeros([SIDE, SIDE], y.dtype, LAYOUT))
    if not WAIT:
        tma.store_wait(0)


@gluon.jit
def product(a, b, c, STEPS: gl.constexpr, FULL: gl.constexpr, DONE: gl.constexpr):
    """Compute c = a @ b.T.

    a, b: descriptors of (64, 64 STEPS), in tiles; c: (64, 64), float32. FULL: wait for
    the tiles. DONE: wait for the product before they are replaced. Each tile has its
    own mbarrier, since Triton 3.6 counts every copy as an arrival (triton-lang/triton,
    pull request 9046), and then reports a deadlock.
    """
    SUMS: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    left = gl.allocate_shared_memory(a.dtype, [SIDE, SIDE], a.layout)
    right = gl.allocate_shared_memory(b.dtype, [SIDE, SIDE], b.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(bars.index(i), count=1)
        mbarrier.expect(bars.index(i), NBYTES)

    tma.async_copy_global_to_shared(a, [0, 0], bars.index(0), left)
    tma.async_copy_global_to_shared(b, [0, 0], bars.index(1), right)
    acc = gl.zeros([SIDE, SIDE], gl.float32, SUMS)
    for k in range(STEPS):
        if FULL:
            mbarrier.wait(bars.index(0), k & 1)
            mbarrier.wait(bars.index(1), k & 1)
        sums = warpgroup_mma(left, right.permute((1, 0)), acc, is_async=True)
        if DONE:
            acc = warpgroup_mma_wait(0, deps=[sums])
        if not FULL:
            mbarrier.wait(bars.index(0), k & 1)
            mbarrier.wait(bars.index(1), k & 1)
        more, col = k + 1 < STEPS, SIDE * (k + 1)
        mbarrier.expect(bars.index(0), NBYTES, pred=more)
        mbarrier.expect(bars.index(1), NBYTES, pred=more)
        tma.async_copy_global_to_shared(a, [0, col], bars.index(0), left, pred=more)
        tma.async_copy_global_to_shared(b, [0, col], bars.index(1), right, pred=more)
        if not DONE:
            acc = warpgroup_mma_wait(0, deps=[sums])
    for i in gl.static_range(2):
        mbarrier.invalidate(bars.index(i))

    gl.store(c + places(SUMS), acc)
