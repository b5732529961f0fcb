"""Broken: an odd last element is nobody's."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def swap_pairs(x, out):
    """Exchange neighbours; an odd last element stays where it is."""
    i = 2 * cuda.grid(1)

    if i + 1 < x.size:
        out[i] = x[i + 1]
        out[i + 1] = x[i]


@cuda.jit(lineinfo=True)
def double(x, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] + x[i]


x = cuda.to_device(np.ones(101, np.float32))
swapped = cuda.device_array(101, np.float32)
twice = cuda.device_array(101, np.float32)

swap_pairs[2, 32](x, swapped)
double[4, 32](swapped, twice)
print(twice.copy_to_host()[-1], "should be 2.0")
