"""Broken: the number of rows where the length of a row belongs."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * rows + col]


flat = cuda.to_device(np.arange(5 * 12, dtype=np.float32))
out = cuda.device_array((5, 12), np.float32)

unpack[(2, 1), (8, 8)](flat, 5, 12, out)
print(out.copy_to_host()[1, :4], "should be [12. 13. 14. 15.]")
