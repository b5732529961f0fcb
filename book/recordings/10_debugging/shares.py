"""Broken: a barrier waits for one block, and the sum needs them all."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def shares(x, total, out):
    """Add x up in total[0], then write each element's share into out."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()

    if i < x.size:
        out[i] = x[i] / total[0]


n = 1 << 15
x = cuda.to_device(np.ones(n, np.float32))
out = cuda.device_array(n, np.float32)

wrong = 0
for _ in range(100):
    total = cuda.to_device(np.zeros(1, np.float32))
    shares[n // 128, 128](x, total, out)
    wrong += int((out.copy_to_host() != np.float32(1 / n)).any())
print(wrong, "of 100 launches gave a wrong result")
