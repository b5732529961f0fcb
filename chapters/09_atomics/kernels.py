"""The kernels that the measurements of chapter 9 time."""

import numpy as np
from numba import cuda, float32, int32
from numba.cuda import libdevice

BINS = 256
COPIES = 32
LOWEST = np.float32(-np.inf)


@cuda.jit(device=True)
def to_bits(value):
    """The bits of a float32, as an int32."""
    return libdevice.float_as_int(value)


@cuda.jit(device=True)
def to_float(bits):
    """The float32 that has these bits."""
    return libdevice.int_as_float(bits)


def conversions():
    """Return the device functions between floats and their bits."""
    return to_bits, to_float


@cuda.jit
def count_plain(x, wanted, out):
    """Count matches with an update that is not atomic."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        out[0] += 1


@cuda.jit
def weighted_once(x, weights, out):
    """The weighted histogram with one copy for each block."""
    counts = cuda.shared.array(BINS, float32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        counts[b] = float32(0)
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], weights[i])
    cuda.syncthreads()

    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])


@cuda.jit
def counted_in_copies(x, out):
    """The unweighted histogram with a copy for each lane."""
    counts = cuda.shared.array((BINS, COPIES), int32)
    t = cuda.threadIdx.x
    lane = t % COPIES
    for b in range(t // COPIES, BINS, cuda.blockDim.x // COPIES):
        counts[b, lane] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (x[i], lane), 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        total = int32(0)
        for k in range(COPIES):
            total += counts[b, (k + t) % COPIES]
        cuda.atomic.add(out, b, total)


@cuda.jit
def max_each(x, out):
    """Raise out[0] by Numba's atomic maximum."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.max(out, 0, x[i])


@cuda.jit
def swap_each(x, out):
    """Raise out[0] by at least one swap for each element of x."""
    bits = out.view(int32)
    i = cuda.grid(1)

    if i < x.size:
        guess = to_bits(LOWEST)
        while to_float(guess) < x[i]:
            old = cuda.atomic.cas(bits, 0, guess, to_bits(x[i]))
            if old == guess:
                break
            guess = old


@cuda.jit
def add_all(x, out):
    """Add every element of x to out[0]."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(out, 0, x[i])
