"""With debug=True a kernel may raise, and the host is told."""

import numpy as np
from numba import cuda


@cuda.jit(debug=True, opt=False)
def gather(x, index, out):
    i = cuda.grid(1)

    if i < out.size:
        if index[i] >= x.size:
            raise IndexError("no such element")
        out[i] = x[index[i]]


index = np.arange(1000, dtype=np.int32)
index[700] = 99_999_999
x, index = cuda.to_device(np.ones(1000, np.float32)), cuda.to_device(index)
out = cuda.device_array(1000, np.float32)

for _attempt in 1, 2:
    try:
        gather[8, 128](x, index, out)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
