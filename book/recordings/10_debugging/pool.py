"""invert.py once more, in memory that PyTorch manages."""

import os

import torch
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if col < x.shape[1]:
        out[row, col] = float32(1) - x[row, col]


x = torch.ones(30, 40, device="cuda")
out = torch.empty(30, 40, device="cuda")
neighbour = torch.full((1000,), 7.0, device="cuda")

arrays = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
invert[(2, 2), (32, 32)](*arrays)
try:
    torch.cuda.synchronize()
    changed = int((neighbour != 7).sum())
    print("out:", int((out != 0).sum()), "of 1200 pixels are wrong")
    print("neighbour:", changed, "of 1000 elements have changed")
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0], flush=True)
    os._exit(1)  # or PyTorch fails again, while it tidies up
