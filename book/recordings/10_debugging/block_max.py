"""Broken: the loop goes on before its last round is over."""

import numpy as np
from numba import cuda, float32

BLOCK = 128


@cuda.jit(lineinfo=True)
def block_max(x, out):
    """Write the largest of each group of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[min(i, x.size - 1)]
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] = max(tile[t], tile[t + step])
        step //= 2
    cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


rng = np.random.default_rng(0)
host = rng.random(64 * BLOCK, np.float32)
x = cuda.to_device(host)
out = cuda.device_array(64, np.float32)

wanted = host.reshape(64, BLOCK).max(axis=1)
wrong = 0
for _ in range(100):
    block_max[64, BLOCK](x, out)
    wrong += int((out.copy_to_host() != wanted).any())
print(wrong, "of 100 launches gave a wrong result")
