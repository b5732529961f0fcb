"""Broken: the guard looks at one axis of two."""

import numpy as np
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if col < x.shape[1]:
        out[row, col] = float32(1) - x[row, col]


x = cuda.to_device(np.ones((30, 40), np.float32))
out = cuda.device_array((30, 40), np.float32)

invert[(2, 2), (32, 32)](x, out)
try:
    print("wrong:", int((out.copy_to_host() != 0).sum()), "of 1200 pixels")
except Exception as error:
    print(type(error).__name__, error)
