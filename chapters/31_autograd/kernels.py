"""The kernels of the engine, and of its measurements, with what launches them."""

import numpy as np
import torch
from numba import cuda, float32

import weft
from weft import bench

FULL = 0xFFFFFFFF


LOWEST = np.float32(np.finfo(np.float32).min)


DEVICE = "cuda" if weft.GPU else "cpu"


TILE = 16


def empty(rows, cols):
    """Return a matrix of float32 without values, where the kernels run."""
    return torch.empty(rows, cols, device=DEVICE)


def launch(kernel, shape, *arguments):
    """Launch a kernel with one thread per element of a matrix."""
    grid = -(-shape[1] // TILE), -(-shape[0] // TILE)
    kernel[grid, (TILE, TILE), bench.stream()](*arguments)


def elementwise(kernel, *arrays):
    """Launch kernel(*arrays, out) on arrays that are broadcast; return out."""
    shape = torch.broadcast_shapes(*(array.shape for array in arrays))
    out = empty(*shape)
    launch(kernel, shape, *(array.expand(shape) for array in arrays), out)
    return out


@cuda.jit
def add_kernel(x, y, out):
    """Write x + y into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[row, col] + y[row, col]


@cuda.jit
def mul_kernel(x, y, out):
    """Write x * y into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[row, col] * y[row, col]


def plus(x, y):
    return elementwise(add_kernel, x, y)


def times(x, y):
    return elementwise(mul_kernel, x, y)


@cuda.jit
def matmul_kernel(a, b, out):
    """Write a @ b into out, tile by tile."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    dot = float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = tile_b[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and col < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            dot += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = dot


def mm(a, b):
    """Return a @ b, computed by matmul_kernel. Raises ValueError."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"mm of {tuple(a.shape)} and {tuple(b.shape)}: the width of the "
            "first has to be the height of the second"
        )
    mm.calls += 1
    out = empty(a.shape[0], b.shape[1])
    launch(matmul_kernel, out.shape, a, b, out)
    return out


mm.calls = 0


@cuda.jit(device=True)
def warp_max(value):
    """Return the largest of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, step))
    return value


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit
def descend_kernel(g, rate, w):
    """Subtract rate * g from w."""
    col, row = cuda.grid(2)

    if row < w.shape[0] and col < w.shape[1]:
        w[row, col] -= rate * g[row, col]


@cuda.jit
def relu_kernel(x, out):
    """Write the positive part of x into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = max(x[row, col], float32(0))


@cuda.jit
def relu_vjp_kernel(y, g, out):
    """Write g into out where y is positive, and 0 elsewhere."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = g[row, col] if y[row, col] > 0 else float32(0)


@cuda.jit
def sum_to_warps_kernel(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast: a warp per element."""
    col, row, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    high = g.shape[0] if rows == 1 else 1
    wide = g.shape[1] if cols == 1 else 1

    mine = float32(0)
    for k in range(lane, high * wide, 32):
        mine += g[row + k // wide, col + k % wide]
    mine = warp_sum(mine)
    if lane == 0:
        out[row, col] = mine


@cuda.jit
def nothing_kernel(a, b, out):
    """Do nothing."""
