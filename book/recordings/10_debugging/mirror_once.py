"""Broken in the same way, but there is no second barrier, and no second round."""

import numpy as np
from numba import cuda, float32

BLOCK = 64


@cuda.jit(lineinfo=True)
def mirror(x, out):
    """Reverse each stretch of BLOCK elements; the last may be shorter."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        tile[t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = tile[count - 1 - t]


host = np.arange(100, dtype=np.float32)
x = cuda.to_device(host)
out = cuda.device_array(100, np.float32)

mirror[2, BLOCK](x, out)
got = out.copy_to_host()
right = (got[:64] == host[63::-1]).all() and (got[64:] == host[:63:-1]).all()
print("the result is", "right" if right else "wrong")
