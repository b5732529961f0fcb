"""What kernels may use, and what it gives: the same here as on a GPU.

Every feature is one small kernel with the result that a GPU gives. The file runs in
the simulator; with WEFT_SIMULATOR=0 on a machine with a GPU it runs there, and the
same results are asked for.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.simulator import record, simulate
from weft.simulator.faults import Fault

from numba import cuda, float32, float64, int32, int64, uint32  # isort: skip

FULL = 0xFFFFFFFF
FEATURES: dict[str, Callable[[], None]] = {}


def feature(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(function: Callable[[], None]) -> Callable[[], None]:
        assert name not in FEATURES
        FEATURES[name] = function
        return function

    return add


def launch(kernel: Any, config: Any, *args: Any) -> list[np.ndarray]:
    """Launch with copies of the arrays; give them back as they are afterwards."""
    given = [cuda.to_device(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
    kernel[config](*given)
    return [g.copy_to_host() for g in given if hasattr(g, "copy_to_host")]


def equal(got: np.ndarray, wanted: Any) -> None:
    np.testing.assert_array_equal(got, np.asarray(wanted).astype(got.dtype))


# Indices


@feature("cuda.grid(1)")
def _() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    equal(launch(kernel, (3, 32), np.zeros(70, np.int32))[0], np.arange(70))


@feature("cuda.grid(2): x is the fast index")
def _() -> None:
    @cuda.jit
    def kernel(out):
        x, y = cuda.grid(2)
        if y < out.shape[0] and x < out.shape[1]:
            out[y, x] = 100 * y + x

    out = launch(kernel, ((2, 3), (8, 4)), np.zeros((10, 13), np.int32))[0]
    equal(out, 100 * np.arange(10)[:, None] + np.arange(13))


@feature("cuda.grid(3)")
def _() -> None:
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        out[z, y, x] = x + 10 * y + 100 * z

    out = launch(kernel, ((2, 1, 2), (2, 3, 1)), np.zeros((2, 3, 4), np.int32))[0]
    z, y, x = np.indices((2, 3, 4))
    equal(out, x + 10 * y + 100 * z)


@feature("cuda.gridsize")
def _() -> None:
    @cuda.jit
    def kernel(out):
        x, y = cuda.gridsize(2)
        out[0], out[1], out[2] = cuda.gridsize(1), x, y

    equal(launch(kernel, ((3, 2), (8, 4)), np.zeros(3, np.int32))[0], [24, 24, 8])


@feature("threadIdx, blockIdx, blockDim, gridDim")
def _() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        out[i] = cuda.gridDim.x * 100 + cuda.blockIdx.x * 10 + cuda.threadIdx.x

    equal(
        launch(kernel, (2, 3), np.zeros(6, np.int32))[0], [200, 201, 202, 210, 211, 212]
    )


@feature("three-dimensional thread and block indices")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t, b = cuda.threadIdx, cuda.blockIdx
        rank = t.x + cuda.blockDim.x * (t.y + cuda.blockDim.y * t.z)
        out[b.x + cuda.gridDim.x * b.y, rank] = 100 * b.y + 10 * t.z + t.y

    out = launch(kernel, ((2, 2), (2, 2, 2)), np.zeros((4, 8), np.int32))[0]
    equal(out[0], [0, 0, 1, 1, 10, 10, 11, 11])
    equal(out[2], 100 + np.array([0, 0, 1, 1, 10, 10, 11, 11]))


@feature("cuda.laneid and cuda.warpsize")
def _() -> None:
    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = cuda.laneid + cuda.warpsize

    equal(launch(kernel, (1, 70), np.zeros(70, np.int32))[0], 32 + np.arange(70) % 32)


@feature("grid-stride loop")
def _() -> None:
    @cuda.jit
    def kernel(out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] += i

    equal(launch(kernel, (2, 16), np.zeros(100, np.int32))[0], np.arange(100))


# Arrays


@feature("array attributes")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0], out[1], out[2] = x.shape[0], x.shape[1], x.ndim
        out[3], out[4], out[5] = x.size, len(x), x.strides[0]

    out = launch(kernel, (1, 1), np.zeros((3, 5), np.float32), np.zeros(6, np.int32))[1]
    equal(out, [3, 5, 2, 15, 3, 20])


@feature("rows and slices are views")
def _() -> None:
    @cuda.jit
    def kernel(x):
        row = x[cuda.threadIdx.x]
        row[1] = 7
        part = x[cuda.threadIdx.x, 2:4]
        part[0] = 8

    out = launch(kernel, (1, 2), np.zeros((2, 4), np.float32))[0]
    equal(out, [[0, 7, 8, 0]] * 2)


@feature("iteration over an array")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        total = 0
        for value in x:
            total += value
        out[0] = total

    equal(
        launch(kernel, (1, 1), np.arange(5, dtype=np.int32), np.zeros(1, np.int32))[1],
        [10],
    )


@feature("records by attribute and by name")
def _() -> None:
    @cuda.jit
    def kernel(p, out):
        i = cuda.grid(1)
        p[i].x = p[i].x + 1
        out[i] = p[i]["x"] * p[i].y

    points = np.zeros(3, np.dtype([("x", np.float32), ("y", np.float32)]))
    points["x"], points["y"] = [1, 2, 3], 2
    moved, out = launch(kernel, (1, 3), points, np.zeros(3, np.float32))
    equal(out, [4, 6, 8])
    equal(moved["x"], [2, 3, 4])


@feature("complex numbers")
def _() -> None:
    @cuda.jit
    def kernel(z):
        i = cuda.grid(1)
        z[i] = z[i] * z[i]

    equal(launch(kernel, (1, 2), np.array([1j, 1 + 1j], np.complex64))[0], [-1, 2j])


@feature("Booleans")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i] > 1

    out = launch(kernel, (1, 3), np.arange(3, dtype=np.float32), np.zeros(3, bool))[1]
    equal(out, [False, False, True])


@feature("scalar arguments")
def _() -> None:
    @cuda.jit
    def kernel(a, n, out):
        if cuda.grid(1) < n:
            out[cuda.grid(1)] = a

    equal(
        launch(kernel, (1, 4), np.float32(2.5), 3, np.zeros(4, np.float32))[0],
        [2.5, 2.5, 2.5, 0],
    )


@feature("tuples of arrays as an argument")
def _() -> None:
    @cuda.jit
    def kernel(pair, out):
        out[cuda.grid(1)] = pair[0][cuda.grid(1)] + pair[1][0]

    x = cuda.to_device(np.arange(3, dtype=np.float32))
    y = cuda.to_device(np.full(1, 10, np.float32))
    out = cuda.to_device(np.zeros(3, np.float32))
    kernel[1, 3]((x, y), out)
    equal(out.copy_to_host(), [10, 11, 12])


@feature("host arrays are copied in and back")
def _() -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] *= 2

    x = np.arange(4, dtype=np.float32)
    kernel[1, 4](x)
    equal(x, [0, 2, 4, 6])


# Shared, local, constant memory


@feature("shared memory is shared by a block")
def _() -> None:
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(32, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        tile[t] = x[i]
        cuda.syncthreads()
        x[i] = tile[31 - t]

    x = np.arange(64, dtype=np.float32)
    equal(launch(kernel, (2, 32), x)[0], x.reshape(2, 32)[:, ::-1].ravel())


@feature("two shared arrays on one line are two")
def _() -> None:
    @cuda.jit
    def kernel(out):
        a, b = cuda.shared.array(4, int32), cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        a[t] = 1
        b[t] = 2
        cuda.syncthreads()
        out[t] = 10 * a[3 - t] + b[3 - t]

    equal(launch(kernel, (1, 4), np.zeros(4, np.int32))[0], [12] * 4)


@feature("shared memory of a constant shape from outside")
def _() -> None:
    width, padded = 8, 9

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((width, padded), float64)
        out[0], out[1] = tile.shape[0], tile.shape[1]

    equal(launch(kernel, (1, 1), np.zeros(2, np.int32))[0], [8, 9])


@feature("dynamic shared memory")
def _() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(0, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        out[t] = tile[cuda.blockDim.x - 1 - t]

    equal(launch(kernel, (1, 8, 0, 32), np.zeros(8, np.int32))[0], np.arange(8)[::-1])


@feature("dynamic shared memory through two types")
def _() -> None:
    @cuda.jit
    def kernel(out):
        words = cuda.shared.array(0, int32)
        floats = cuda.shared.array(0, float32)
        if cuda.threadIdx.x == 0:
            floats[0] = float32(1)
            out[0] = words[0]

    equal(launch(kernel, (1, 1, 0, 16), np.zeros(1, np.int32))[0], [0x3F800000])


@feature("local arrays are a thread's own")
def _() -> None:
    @cuda.jit
    def kernel(out):
        mine = cuda.local.array(3, int32)
        t = cuda.threadIdx.x
        for k in range(3):
            mine[k] = t * k
        out[t] = mine[0] + mine[1] + mine[2]

    equal(launch(kernel, (1, 4), np.zeros(4, np.int32))[0], [0, 3, 6, 9])


@feature("constant arrays")
def _() -> None:
    weights = np.array([1, 2, 3], np.float32)

    @cuda.jit
    def kernel(out):
        table = cuda.const.array_like(weights)
        out[cuda.threadIdx.x] = table[cuda.threadIdx.x] * 2

    equal(launch(kernel, (1, 3), np.zeros(3, np.float32))[0], [2, 4, 6])


# Barriers


@feature("a barrier in a loop")
def _() -> None:
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        step = 32
        while step > 0:
            if t < step:
                tile[t] += tile[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            x[0] = tile[0]

    assert launch(kernel, (1, 64), np.ones(64, np.float32))[0][0] == 64


@feature("syncthreads_count")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.syncthreads_count(int32(t % 3 == 0))

    equal(launch(kernel, (1, 40), np.zeros(40, np.int32))[0], [14] * 40)


@feature("syncthreads_and")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.syncthreads_and(int32(t < 40)) * 10 + cuda.syncthreads_and(
            int32(t < 39)
        )

    equal(launch(kernel, (1, 40), np.zeros(40, np.int32))[0], [10] * 40)


@feature("syncthreads_or")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.syncthreads_or(int32(t == 7)) * 10 + cuda.syncthreads_or(
            int32(t == 99)
        )

    equal(launch(kernel, (1, 40), np.zeros(40, np.int32))[0], [10] * 40)


@feature("threads that returned do not hold up a barrier")
def _() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        if t >= 40:
            return
        tile[t] = t
        cuda.syncthreads()
        out[t] = tile[39 - t]

    equal(launch(kernel, (1, 64), np.zeros(40, np.int32))[0], np.arange(40)[::-1])


@feature("grid-wide barrier over several blocks")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i
        grid.sync()
        out[i] = x[x.size - 1 - i]

    out = launch(kernel, (4, 32), np.zeros(128, np.int32), np.zeros(128, np.int32))[1]
    equal(out, np.arange(128)[::-1])


@feature("memory fences")
def _() -> None:
    @cuda.jit
    def kernel(out):
        out[0] = 1
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()
        out[1] = 2

    equal(launch(kernel, (1, 1), np.zeros(2, np.int32))[0], [1, 2])


@feature("waiting for another thread's flag")
def _() -> None:
    @cuda.jit
    def kernel(flag, out):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            out[0] = 1
        if cuda.threadIdx.x == 32:
            cuda.atomic.add(flag, 0, 1)

    out = launch(kernel, (1, 64), np.zeros(1, np.int32), np.zeros(1, np.int32))[1]
    equal(out, [1])


@feature("nanosleep")
def _() -> None:
    @cuda.jit
    def kernel(out):
        cuda.nanosleep(uint32(10))
        out[0] = 1

    equal(launch(kernel, (1, 1), np.zeros(1, np.int32))[0], [1])


# Warps


@feature("shfl_sync")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_sync(FULL, t, 5)

    equal(launch(kernel, (1, 64), np.zeros(64, np.int32))[0], [5] * 32 + [37] * 32)


@feature("shfl_up_sync keeps the lowest lanes")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_up_sync(FULL, t, 4)

    equal(launch(kernel, (1, 32), np.zeros(32, np.int32))[0], [*range(4), *range(28)])


@feature("shfl_down_sync keeps the highest lanes")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_down_sync(FULL, t, 4)

    equal(
        launch(kernel, (1, 32), np.zeros(32, np.int32))[0],
        [*range(4, 32), *range(28, 32)],
    )


@feature("shfl_xor_sync")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_xor_sync(FULL, t, 3)

    equal(launch(kernel, (1, 32), np.zeros(32, np.int32))[0], np.arange(32) ^ 3)


@feature("shuffles of float64")
def _() -> None:
    @cuda.jit
    def kernel(x):
        t = cuda.threadIdx.x
        x[t] = cuda.shfl_sync(FULL, x[t], 31 - t)

    x = np.linspace(0, 1, 32)
    equal(launch(kernel, (1, 32), x)[0], x[::-1])


@feature("a warp sum by shuffles")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        value = x[cuda.grid(1)]
        for delta in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, delta)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, value)

    x = np.arange(128, dtype=np.float32)
    assert launch(kernel, (2, 64), x, np.zeros(1, np.float32))[1][0] == x.sum()


@feature("shuffles within part of a warp")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        if t < 8:
            out[t] = cuda.shfl_sync(0xFF, t, 7)
        else:
            out[t] = cuda.shfl_sync(0xFFFFFF00, t, 8)

    equal(launch(kernel, (1, 32), np.zeros(32, np.int32))[0], [7] * 8 + [8] * 24)


@feature("all_sync and any_sync")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        every = cuda.all_sync(FULL, x[t] != 0)
        some = cuda.any_sync(FULL, x[t] != 0)
        out[t] = (10 if every else 0) + (1 if some else 0)

    x = np.zeros(96, np.int32)
    x[40], x[64:] = 1, 1
    equal(launch(kernel, (1, 96), x, np.zeros(96, np.int32))[1][::32], [0, 1, 11])


@feature("eq_sync")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        out[t] = 1 if cuda.eq_sync(FULL, x[t] != 0) else 0

    x = np.zeros(64, np.int32)
    x[40] = 1
    equal(launch(kernel, (1, 64), x, np.zeros(64, np.int32))[1][::32], [1, 0])


@feature("ballot_sync")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.ballot_sync(FULL, t % 2 == 0)

    equal(launch(kernel, (1, 32), np.zeros(32, np.uint32))[0], [0x55555555] * 32)


@feature("a ballot is an int32, negative with lane 31")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        votes = cuda.ballot_sync(FULL, t >= 30)
        out[t, 0] = votes
        out[t, 1] = votes >> 4
        out[t, 2] = cuda.popc(votes)
        out[t, 3] = cuda.popc(votes & ((1 << t) - 1))
        out[t, 4] = cuda.shfl_sync(FULL, votes, 3) + t

    out = launch(kernel, (1, 32), np.zeros((32, 5), np.int64))[0]
    t = np.arange(32)
    equal(out[:, 0], np.full(32, -(2**30)))
    equal(out[:, 1], np.full(32, -(2**26)))
    equal(out[:, 2], np.full(32, 2))
    equal(out[:, 3], np.maximum(t - 30, 0))
    equal(out[:, 4], t - 2**30)


@feature("a ballot meets a uint32, on either side")
def ballot_and_uint32():
    @cuda.jit
    def kernel(out):
        t = cuda.grid(1)
        below = (uint32(1) << uint32(t)) - uint32(1)
        votes = cuda.ballot_sync(FULL, t >= 0)
        out[t] = cuda.popc(votes & below) + 100 * cuda.popc(below & votes)

    out = np.zeros(32, np.int64)
    kernel[1, 32](out)
    assert out.tolist() == [101 * t for t in range(32)]


@feature("ballots in divergent groups")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        if t % 2 == 0:
            out[t] = cuda.ballot_sync(0x55555555, t < 16)
        else:
            out[t] = cuda.ballot_sync(0xAAAAAAAA, t < 16)

    equal(launch(kernel, (1, 32), np.zeros(32, np.uint32))[0], [0x5555, 0xAAAA] * 16)


@feature("match_any_sync")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        out[t] = cuda.match_any_sync(FULL, x[t])

    x = (np.arange(32) % 2).astype(np.int32)
    equal(
        launch(kernel, (1, 32), x, np.zeros(32, np.uint32))[1],
        [0x55555555, 0xAAAAAAAA] * 16,
    )


@feature("match_all_sync")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        mask, same = cuda.match_all_sync(FULL, x[t])
        out[t] = mask if same else 7

    x = np.zeros(64, np.int32)
    x[40] = 1
    equal(launch(kernel, (1, 64), x, np.zeros(64, np.uint32))[1][::32], [FULL, 7])


@feature("syncwarp orders shared memory within a warp")
def _() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncwarp()
        out[t] = tile[31 - t]

    equal(launch(kernel, (1, 32), np.zeros(32, np.int32))[0], np.arange(32)[::-1])


@feature("activemask")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = 0
        if t < 8:
            out[t] = cuda.activemask()

    equal(launch(kernel, (1, 32), np.zeros(32, np.uint32))[0], [0xFF] * 8 + [0] * 24)


@feature("lanemask_lt")
def _() -> None:
    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = cuda.lanemask_lt()

    equal(
        launch(kernel, (1, 32), np.zeros(32, np.uint32))[0],
        [(1 << k) - 1 for k in range(32)],
    )


# Atomics


# (old value, operation, new value); each gives the old one
ATOMICS: dict[str, tuple[Any, Any, Any]] = {
    "add": (np.int32(5), lambda x: cuda.atomic.add(x, 0, 3), 8),
    "sub": (np.int32(5), lambda x: cuda.atomic.sub(x, 0, 3), 2),
    "and_": (np.int32(6), lambda x: cuda.atomic.and_(x, 0, 3), 2),
    "or_": (np.int32(6), lambda x: cuda.atomic.or_(x, 0, 3), 7),
    "xor": (np.int32(6), lambda x: cuda.atomic.xor(x, 0, 3), 5),
    "max": (np.int32(5), lambda x: cuda.atomic.max(x, 0, 9), 9),
    "min": (np.int32(5), lambda x: cuda.atomic.min(x, 0, 9), 5),
    "exch": (np.int32(5), lambda x: cuda.atomic.exch(x, 0, 9), 9),
    "inc": (np.uint32(5), lambda x: cuda.atomic.inc(x, 0, 5), 0),
    "dec": (np.uint32(0), lambda x: cuda.atomic.dec(x, 0, 5), 5),
    "cas": (np.int32(5), lambda x: cuda.atomic.cas(x, 0, 5, 9), 9),
    "nanmax": (np.float32(5), lambda x: cuda.atomic.nanmax(x, 0, float32(9)), 9),
    "nanmin": (np.float32(5), lambda x: cuda.atomic.nanmin(x, 0, float32(9)), 5),
}


def atomic(old: Any, operation: Any, new: Any) -> None:
    change = cuda.jit(device=True)(operation)

    @cuda.jit
    def kernel(x, out):
        out[0] = change(x)

    x, out = launch(kernel, (1, 1), np.array([old]), np.zeros(1, old.dtype))
    equal(x, [new])
    equal(out, [old])


for _name, _row in ATOMICS.items():
    feature(f"atomic.{_name}")(functools.partial(atomic, *_row))


@feature("atomic.add of floats from many blocks")
def _() -> None:
    @cuda.jit
    def kernel(out):
        cuda.atomic.add(out, 0, float32(1))

    assert launch(kernel, (10, 50), np.zeros(1, np.float32))[0][0] == 500


@feature("atomics on two indices and on shared memory")
def _() -> None:
    @cuda.jit
    def kernel(out):
        bins = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        if t < 4:
            bins[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(bins, t % 4, 1)
        cuda.syncthreads()
        if t < 4:
            cuda.atomic.add(out, (0, t), bins[t])

    equal(launch(kernel, (2, 32), np.zeros((1, 4), np.int32))[0], [[16] * 4])


@feature("atomic.compare_and_swap")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = cuda.atomic.compare_and_swap(x, 5, 9)

    x, out = launch(kernel, (1, 1), np.array([5], np.int32), np.zeros(1, np.int32))
    assert (x[0], out[0]) == (9, 5)


# Arithmetic


@feature("popc, clz, ffs and brev of 32 bits, negative ones too")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = cuda.ffs(x[i])
        out[i, 3] = cuda.brev(x[i])

    x = np.array([1, 0x00F0, -1], np.int32)
    out = launch(kernel, (1, 3), x, np.zeros((3, 4), np.uint32))[1]
    equal(out, [[1, 31, 1, 0x80000000], [4, 24, 5, 0x0F000000], [32, 0, 1, FULL]])


@feature("popc and clz of 64 bits")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = cuda.popc(x[0])
        out[1] = cuda.clz(x[0])

    out = launch(kernel, (1, 1), np.array([1 << 40], np.int64), np.zeros(2, np.int32))[
        1
    ]
    equal(out, [1, 23])


@feature("fma rounds once")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = cuda.fma(x[0], x[1], x[2])

    x = np.array([1 + 2**-12, 1 + 2**-12, -1], np.float32)
    exact = np.float32(float(x[0]) * float(x[1]) + float(x[2]))
    assert launch(kernel, (1, 1), x, np.zeros(1, np.float32))[1][0] == exact


@feature("cbrt")
def _() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = cuda.cbrt(x[0])

    assert launch(kernel, (1, 1), np.array([-27], np.float32))[0][0] == pytest.approx(
        -3
    )


@feature("selp")
def _() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = cuda.selp(t % 2 == 0, 5, 6)

    equal(launch(kernel, (1, 4), np.zeros(4, np.int32))[0], [5, 6, 5, 6])


@feature("math of float32 stays float32 and does not raise")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i, 0] = math.log(x[i])
        out[i, 1] = math.sqrt(x[i])
        out[i, 2] = math.exp(x[i] * float32(1000))

    x = np.array([0, -1, 1], np.float32)
    out = launch(kernel, (1, 3), x, np.zeros((3, 3), np.float32))[1]
    assert out[0, 0] == -np.inf
    assert np.isnan(out[1, 1])
    assert out[2, 2] == np.inf


@feature("math functions")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        v = x[0]
        out[0], out[1], out[2] = math.sin(v), math.cos(v), math.tanh(v)
        out[3], out[4], out[5] = math.pow(v, v), math.erf(v), math.atan2(v, v)
        out[6], out[7], out[8] = math.floor(v), math.ceil(v), math.fabs(-v)

    v = 0.75
    out = launch(kernel, (1, 1), np.array([v], np.float32), np.zeros(9, np.float32))[1]
    np.testing.assert_allclose(
        out,
        [
            math.sin(v),
            math.cos(v),
            math.tanh(v),
            v**v,
            math.erf(v),
            math.pi / 4,
            0,
            1,
            v,
        ],
        rtol=1e-5,
    )


@feature("int32 wraps round")
def _() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = x[0] + int32(1)

    equal(launch(kernel, (1, 1), np.array([2**31 - 1], np.int32))[0], [-(2**31)])


@feature("number types as functions")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = int32(x[0]) + int64(x[0])
        out[1] = float32(3) / float32(2)

    out = launch(kernel, (1, 1), np.array([2.9], np.float32), np.zeros(2, np.float32))[
        1
    ]
    equal(out, [4, 1.5])


@feature("min, max, abs")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0], out[1], out[2] = min(x[0], x[1]), max(x[0], x[1]), abs(x[0])

    out = launch(kernel, (1, 1), np.array([-3, 2], np.float32), np.zeros(3, np.float32))
    equal(out[1], [-3, 2, 3])


@feature("half precision by function")
def _() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = cuda.fp16.hadd(x[0], x[1])
        out[1] = cuda.fp16.hfma(x[0], x[1], x[1])

    x = np.array([1.5, 2], np.float16)
    equal(launch(kernel, (1, 1), x, np.zeros(2, np.float16))[1], [3.5, 5])


@feature("libdevice functions")
def _() -> None:
    from numba.cuda import libdevice

    @cuda.jit
    def kernel(x):
        x[0] = libdevice.rsqrtf(x[0])

    out = launch(kernel, (1, 1), np.array([4], np.float32))[0]
    assert out[0] == pytest.approx(0.5, rel=1e-6)


@feature("the bits of a float as an integer, and back")
def _() -> None:
    from numba.cuda import libdevice

    @cuda.jit
    def kernel(x, out):
        bits = libdevice.float_as_int(x[0])
        out[0] = bits
        x[1] = libdevice.int_as_float(bits + 1)

    x, out = launch(
        kernel, (1, 1), np.array([-1.5, 0], np.float32), np.zeros(1, np.int32)
    )
    equal(out, x[:1].view(np.int32))
    equal(x[1], np.nextafter(x[0], np.float32(-2)))


@feature("swaps on a float's bits, through a view")
def _() -> None:
    @cuda.jit
    def kernel(out):
        bits = out.view(int32)
        cuda.atomic.cas(bits, 0, 0, 0x3F800000)

    equal(launch(kernel, (1, 1), np.zeros(1, np.float32))[0], [1])


# Functions and launches


@feature("device functions")
def _() -> None:
    @cuda.jit(device=True)
    def square(x):
        return x * x

    @cuda.jit(device=True)
    def fourth(x):
        return square(square(x))

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = fourth(x[cuda.grid(1)])

    equal(launch(kernel, (1, 3), np.array([1, 2, 3], np.float32))[0], [1, 16, 81])


@feature("device functions that use barriers and warps")
def _() -> None:
    @cuda.jit(device=True)
    def block_sum(value, tile):
        for delta in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, delta)
        if cuda.laneid == 0:
            tile[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        return tile[0] + tile[1]

    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(2, float32)
        out[cuda.threadIdx.x] = block_sum(x[cuda.threadIdx.x], tile)

    equal(
        launch(kernel, (1, 64), np.ones(64, np.float32), np.zeros(64, np.float32))[1],
        [64] * 64,
    )


@feature("eager signatures and compiler options")
def _() -> None:
    @cuda.jit("void(float32[:])", fastmath=True, lineinfo=True, max_registers=32)
    def kernel(x):
        x[cuda.grid(1)] += 1

    equal(launch(kernel, (1, 2), np.zeros(2, np.float32))[0], [1, 1])


@feature("print")
def _() -> None:
    @cuda.jit
    def kernel(x):
        print("value", x[0])

    launch(kernel, (1, 1), np.zeros(1, np.int32))
    cuda.synchronize()


@feature("forall")
def _() -> None:
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = i

    x = cuda.to_device(np.zeros(300, np.int32))
    kernel.forall(300)(x)
    equal(x.copy_to_host(), np.arange(300))


@feature("streams and timed events")
def _() -> None:
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    x = cuda.to_device(np.zeros(4, np.int32), stream=stream)
    start.record(stream)
    kernel[1, 4, stream](x)
    end.record(stream)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    equal(x.copy_to_host(stream=stream), [1] * 4)


@feature("device attributes")
def _() -> None:
    device = cuda.get_current_device()
    assert device.WARP_SIZE == 32
    assert device.MAX_THREADS_PER_BLOCK == 1024
    assert device.MULTIPROCESSOR_COUNT > 0
    assert device.compute_capability >= (7, 5)


@feature("1,024 threads in a block")
def _() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(1024, int32)
        t = cuda.threadIdx.x
        for k in range(5):
            tile[t] = t + k
            cuda.syncthreads()
            out[t] = tile[1023 - t]
            cuda.syncthreads()

    equal(
        launch(kernel, (1, 1024), np.zeros(1024, np.int32))[0],
        np.arange(1024)[::-1] + 4,
    )


@pytest.mark.parametrize("name", FEATURES)
def test_feature(name: str) -> None:
    FEATURES[name]()


def test_there_are_many() -> None:
    assert len(FEATURES) >= 40


@pytest.mark.skipif(
    weft.GPU, reason="Numba names the vector types' fields on a GPU too"
)
def test_vector_types() -> None:
    @cuda.jit
    def kernel(out):
        v = cuda.float32x2(1, 2)
        out[0], out[1] = v.x, v.y

    equal(launch(kernel, (1, 1), np.zeros(2, np.float32))[0], [1, 2])


def test_a_kernel_without_arguments_runs_in_every_thread() -> None:
    ran = []

    @cuda.jit
    def kernel():
        assert cuda.threadIdx.x != 5, "the sixth"

    for run in (simulate, record):
        with pytest.raises(Fault, match="the sixth") as caught:
            run(kernel, (1, 32), ())
        ran.append(caught.value.thread)
    assert ran == [(5,), (5,)]


@pytest.mark.parametrize("run", [simulate, record])
def test_the_index_of_an_atomic_operation_is_an_integer(run: Any) -> None:
    @cuda.jit
    def kernel(out):
        cuda.atomic.add(out, 0.5, 1)

    with pytest.raises(Fault, match=r"indexed with 0\.5, which is not an integer"):
        run(kernel, (1, 1), (np.zeros(2, np.int32),))


@pytest.mark.parametrize("run", [simulate, record])
def test_an_atomic_operation_gives_what_was_there_before(run: Any) -> None:
    @cuda.jit
    def kernel(x, out, small, wide):
        i = cuda.threadIdx.x
        out[i] = cuda.atomic.add(x, (0, 1), float32(0.1))
        out[i] += cuda.atomic.max(x, (0, 0), out[i]) if i % 2 else 0
        cuda.atomic.sub(small, 0, 3)
        cuda.atomic.add(wide, 0, -1)

    x, out = np.zeros((1, 2), np.float32), np.zeros(32, np.float32)
    small, wide = np.ones(1, np.uint32), np.zeros(1, np.uint64)
    run(kernel, (1, 32), (x, out, small, wide))
    steps, most = [np.float32(0)], np.float32(0)
    for _ in range(31):
        steps.append(steps[-1] + np.float32(0.1))
    for i, step in enumerate(steps):
        assert out[i] == step + (most if i % 2 else 0)
        most = max(most, step) if i % 2 else most
    assert small[0] == 2**32 - 95
    assert wide[0] == 2**64 - 32
