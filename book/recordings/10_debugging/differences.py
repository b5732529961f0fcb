"""Broken: the first element has no left neighbour."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def differences(x, out):
    """Write x[i] - x[i - 1]; before the first element there is a 0."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] - x[i - 1]


x = cuda.to_device(np.arange(1, 101, dtype=np.float32))
out = cuda.device_array(100, np.float32)

differences[4, 32](x, out)
print(out.copy_to_host()[:3], "should be [1. 1. 1.]")
