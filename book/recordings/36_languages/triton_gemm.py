"""c = a @ w.T in Triton, with tensor descriptors and persistent programs."""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BM, BN, BK, STAGES, GROUP, PROGRAMS = 128, 256, 64, 3, 16, 132


@triton.jit
def matmul(a, w, c, m, n, k, GROUP: tl.constexpr):
    BM: tl.constexpr = a.block_shape[0]
    BK: tl.constexpr = a.block_shape[1]
    BN: tl.constexpr = w.block_shape[0]
    down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
    for tile in tl.range(
        tl.program_id(0), down * across, tl.num_programs(0), flatten=True
    ):
        i, j = tl.swizzle2d(tile // across, tile % across, down, across, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            left = a.load([i * BM, start])
            right = w.load([j * BN, start])
            acc = tl.dot(left, right.T, acc)
        c.store([i * BM, j * BN], acc.to(c.dtype))


def bind(a, w, c):
    boxes = (a, [BM, BK]), (w, [BN, BK]), (c, [BM, BN])
    maps = [TensorDescriptor.from_tensor(each, box) for each, box in boxes]
    sizes = *c.shape, a.shape[1]
    options = {"num_warps": 8, "num_stages": STAGES}
    return lambda: matmul[(PROGRAMS,)](*maps, *sizes, GROUP, **options)
