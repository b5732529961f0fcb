"""Eight launches of everyday kernels, which the simulators are compared by.

It imports Numba's `cuda`, so a program chooses its simulator before it imports this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32, int32

TILE = 16
SIDE = 32
THREADS = 128


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[row, t * TILE + tx]
        tile_b[ty, tx] = b[t * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row, col] = total


@cuda.jit
def loads(x, rounds, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        total += x[i + k]
    out[i] = total


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i] + y[i]


@cuda.jit
def barriers(x, rounds):
    cell = cuda.shared.array(256, int32)
    i = cuda.threadIdx.x
    cell[i] = x[i]
    cuda.syncthreads()
    for _ in range(rounds):
        cell[i] += 1
        cuda.syncthreads()
    x[i] = cell[i]


@cuda.jit
def transpose(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    col = cuda.blockIdx.y * SIDE + tx
    row = cuda.blockIdx.x * SIDE + ty
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]


@cuda.jit
def block_sum(x, out):
    part = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def histogram(bins, counts):
    i = cuda.grid(1)
    if i < bins.size:
        cuda.atomic.add(counts, bins[i], 1)


@cuda.jit(device=True)
def of_the_warp(value):
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    return value


@cuda.jit
def warp_sum(x, out):
    parts = cuda.shared.array(8, float32)
    i = cuda.grid(1)
    value = float32(0)
    if i < x.size:
        value = x[i]
    total = of_the_warp(value)
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = total
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = float32(0)
        for k in range(cuda.blockDim.x // 32):
            total += parts[k]
        cuda.atomic.add(out, 0, total)


@dataclass(frozen=True)
class Launch:
    """A kernel, its grid and block, and a function that makes its arguments anew.

    shuffles: whether it needs them, which Numba's simulator does not have.
    """

    kernel: Any
    config: tuple[Any, Any]
    given: Callable[[], tuple[Any, ...]]
    shuffles: bool = False


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, np.float32)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def digits() -> Any:
    return np.random.default_rng(0).integers(0, 10, 4096).astype(np.int32)


LAUNCHES = {
    "matmul of 64 × 64, 16 × 16 tiles": Launch(
        matmul,
        ((4, 4), (TILE, TILE)),
        lambda: (floats(64, 64), floats(64, 64), zeros(64, 64)),
    ),
    "1,024 threads, 256 loads each": Launch(
        loads, (4, 256), lambda: (floats(1280), 256, zeros(1024))
    ),
    "vector addition, 16,384 threads": Launch(
        add, (64, 256), lambda: (floats(16384), floats(16384), zeros(16384))
    ),
    "256 threads, 100 barriers": Launch(
        barriers, (1, 256), lambda: (np.arange(256, dtype=np.int32), 100)
    ),
    "transpose of 128 × 128, 32 × 32 tiles": Launch(
        transpose, ((4, 4), (SIDE, SIDE)), lambda: (floats(128, 128), zeros(128, 128))
    ),
    "sums of 4,096 by blocks of 128": Launch(
        block_sum, (32, THREADS), lambda: (floats(4096), zeros(32))
    ),
    "histogram of 4,096, atomic": Launch(
        histogram, (16, 256), lambda: (digits(), np.zeros(10, np.int32))
    ),
    "sum of 4,096 by shuffles": Launch(
        warp_sum, (16, 256), lambda: (floats(4096), zeros(1)), shuffles=True
    ),
}
