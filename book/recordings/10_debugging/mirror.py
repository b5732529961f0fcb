"""Broken: a barrier that only some threads come to."""

import sys

import numpy as np
from numba import cuda, float32

WIDE = 64


@cuda.jit(lineinfo=True)
def mirror(x, out):
    """Reverse each stretch of WIDE elements of x; the last may be shorter."""
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * WIDE

    while start < x.size:
        count = min(WIDE, x.size - start)
        if t < count:
            tile[t] = x[start + t]
            cuda.syncthreads()
            out[start + t] = tile[count - 1 - t]
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE


n = int(sys.argv[1])
host = np.arange(n, dtype=np.float32)
x = cuda.to_device(host)
out = cuda.device_array(n, np.float32)

mirror[2, WIDE](x, out)
wanted = np.concatenate([host[k : k + WIDE][::-1] for k in range(0, n, WIDE)])
print((out.copy_to_host() != wanted).sum(), "of", n, "elements are wrong")
