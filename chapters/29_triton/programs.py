"""Products of tiles in several versions, and what launches them.

`use` takes what the lab defines: `matmul`, and `tile`, which finds a program's tile.
"""

import triton
import triton.language as tl
from triton import cdiv
from triton.tools.tensor_descriptor import TensorDescriptor

import weft


def tile_of(number, grid_m, grid_n, group):
    """Return row and column of a tile, given its number in grouped order."""
    band = group * grid_n
    top = number // band * group
    height = min(grid_m - top, group)
    inside = number % band
    return top + inside % height, inside // height


@triton.jit
def matmul_grouped(
    a, b, c, M, N, K, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    STEP: tl.constexpr = 1,
):  # fmt: skip
    grid_m, grid_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    number = tl.program_id(0) * STEP % (grid_m * grid_n)
    m, n = tile(number, grid_m, grid_n, GROUP)
    row = m * BM + tl.arange(0, BM)[:, None]
    col = n * BN + tl.arange(0, BN)[None, :]

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        across = start + tl.arange(0, BK)[None, :]
        down = start + tl.arange(0, BK)[:, None]
        live = (row < M) & (across < K)
        left = tl.load(a + row * K + across, mask=live, other=0.0)
        live = (down < K) & (col < N)
        right = tl.load(b + down * N + col, mask=live, other=0.0)
        acc = tl.dot(left, right, acc)

    live = (row < M) & (col < N)
    tl.store(c + row * N + col, acc.to(c.dtype.element_ty), mask=live)


@triton.jit
def matmul_weights(
    a, w, c, M, N, K, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    grid_m, grid_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    m, n = tile(tl.program_id(0), grid_m, grid_n, GROUP)
    row = m * BM + tl.arange(0, BM)[:, None]
    col = n * BN + tl.arange(0, BN)[None, :]

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        across = start + tl.arange(0, BK)[None, :]
        down = start + tl.arange(0, BK)[:, None]
        live = (row < M) & (across < K)
        left = tl.load(a + row * K + across, mask=live, other=0.0)
        live = (down < K) & (col < N)
        right = tl.load(w + col * K + down, mask=live, other=0.0)
        acc = tl.dot(left, right, acc)

    live = (row < M) & (col < N)
    tl.store(c + row * N + col, acc.to(c.dtype.element_ty), mask=live)


@triton.jit
def matmul_descriptors(
    a, b, c, M, N, K, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m, n = tile(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left, right = a.load([m * BM, start]), b.load([start, n * BN])
        acc = tl.dot(left, right, acc)

    c.store([m * BM, n * BN], acc.to(c.dtype))


@triton.jit
def matmul_persistent(
    a, b, c, M, N, K, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    grid_m, grid_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    mine, step = tl.program_id(0), tl.num_programs(0)
    for number in tl.range(mine, grid_m * grid_n, step, flatten=True):
        m, n = tile(number, grid_m, grid_n, GROUP)

        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            left, right = a.load([m * BM, start]), b.load([start, n * BN])
            acc = tl.dot(left, right, acc)

        c.store([m * BM, n * BN], acc.to(c.dtype))


@triton.jit
def matmul_ieee(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    k = tl.arange(0, BK)

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + row * K + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * N + col)
        acc = tl.dot(left, right, acc, input_precision="ieee")

    tl.store(c + row * N + col, acc)


def described(a, b, c, BM, BN, BK):
    """Return tensor descriptors of the three matrices for these tiles."""
    blocks = [BM, BK], [BK, BN], [BM, BN]
    pairs = zip((a, b, c), blocks, strict=True)
    return [TensorDescriptor.from_tensor(each, block) for each, block in pairs]


def launch(program, a, b, c, num_stages=3, GROUP=8, **choice):
    """Return a function that launches one of the five programs."""
    sizes = a.shape[0], c.shape[1], a.shape[1]
    choice = {**TILES, "num_stages": num_stages} | choice
    tiles = [choice[key] for key in ("BM", "BN", "BK")]
    grid = cdiv(sizes[1], tiles[1]), cdiv(sizes[0], tiles[0])
    if program is not matmul:
        grid = (grid[0] * grid[1],)
        choice["GROUP"] = GROUP
    if program is matmul_persistent:
        grid = (min(grid[0], weft.device.find().sms),)
    if program in (matmul_descriptors, matmul_persistent):
        a, b, c = described(a, b, c, *tiles)
    return lambda: program[grid](a, b, c, *sizes, **choice)


def use(*parts):
    """Take matmul and tile, in this order; compile anew what calls `tile`."""
    global matmul, tile, matmul_grouped, matmul_weights
    global matmul_descriptors, matmul_persistent
    matmul, tile = parts
    matmul_grouped = triton.jit(matmul_grouped.fn)
    matmul_weights = triton.jit(matmul_weights.fn)
    matmul_descriptors = triton.jit(matmul_descriptors.fn)
    matmul_persistent = triton.jit(matmul_persistent.fn)


TILES = {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8}
