"""Broken: counters in shared memory begin with whatever is there."""

import numpy as np
from numba import cuda, int32

BINS = 16


@cuda.jit(lineinfo=True)
def count_bins(x, out):
    """Add to out how often each number from 0 to BINS - 1 occurs in x."""
    mine = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()

    if t < BINS:
        cuda.atomic.add(out, t, mine[t])


@cuda.jit(lineinfo=True)
def other(out):
    """Leave something else in shared memory."""
    tile = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        tile[t] = 1000 + t
    cuda.syncthreads()
    out[t] = tile[BINS - 1 - t % BINS]


host = np.random.default_rng(0).integers(0, BINS, 1000, np.int32)
x = cuda.to_device(host)
wanted = np.bincount(host, minlength=BINS)
before = cuda.to_device(np.zeros(64, np.int32))

for name in "first", "after another kernel":
    out = cuda.to_device(np.zeros(BINS, np.int32))
    count_bins[16, 64](x, out)
    off = (out.copy_to_host() != wanted).sum()
    print(f"{name}: {off} of {BINS} counts are wrong")
    other[2000, 64](before)
