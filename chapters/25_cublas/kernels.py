"""Device functions that the kernel of lab 25 is given."""

import numpy as np
from numba import cuda, float32
from numba.cuda import libdevice

FULL = 0xFFFFFFFF
LOWEST = np.float32(np.finfo(np.float32).min)  # the lowest finite float32


@cuda.jit(device=True)
def warp_max(value):
    """Return the largest of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, step))
    return value


@cuda.jit(device=True)
def block_max(value):
    """Return the largest of a block's values, in all threads; call it once."""
    cells = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    mine = warp_max(value)
    if lane == 0:
        cells[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    return warp_max(cells[lane] if lane < cuda.blockDim.x // 32 else LOWEST)


@cuda.jit(device=True)
def nearest(value):
    """Return the integer that is nearest to a float32, as a float32."""
    return libdevice.rintf(value)
