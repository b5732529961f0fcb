"""The measurements of chapter 10, and a program whose error comes late."""

import os
import subprocess
import sys

import numpy as np
from numba import cuda

from weft import bench

n = 1 << 24
LATE = """
import numpy as np
from numba import cuda

@cuda.jit
def gather(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]

@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i]

def say(what, call):
    try:
        call()
    except Exception as error:
        print(f"{what:<14} failed, {type(error).__name__}")
    else:
        print(f"{what:<14} fine")

index = cuda.to_device(np.full(1000, 99_999_999, np.int32))
x = cuda.to_device(np.ones(1000, np.float32))
out = cuda.device_array(1000, np.float32)
y = cuda.device_array(1000, np.float32)

say("launch double", lambda: double[8, 128](x, y))
say("launch gather", lambda: gather[8, 128](x, index, out))
say("launch double", lambda: double[8, 128](x, y))
say("copy y", lambda: y.copy_to_host())
say("a new array", lambda: cuda.to_device(np.ones(4, np.float32)))
"""


def run(program, **env):
    """Run a program in a separate process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def late():
    """Run the program, then again with launches that wait; return what they print."""
    return run(LATE), run(LATE, CUDA_LAUNCH_BLOCKING="1")


def saxpy(alpha, x, y):
    """Add alpha * x to y."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += alpha * x[i]


def compiled():
    import torch

    x = cuda.as_cuda_array(torch.rand(n, device="cuda"))
    y = cuda.as_cuda_array(torch.rand(n, device="cuda"))
    alpha = np.float32(0.5)
    kernels = {
        "plain": cuda.jit(saxpy),
        "lineinfo": cuda.jit(saxpy, lineinfo=True),
        "debug": cuda.jit(saxpy, debug=True, opt=False),
    }

    def launch(kernel):
        return lambda: kernel[n // 1024, 256](alpha, x, y)

    return {name: launch(kernel) for name, kernel in kernels.items()}


def looking(guess=None):
    """Run a saxpy that was compiled in three ways."""
    return bench.compare(
        "saxpy, 2^24 float32",
        compiled,
        baseline="plain",
        bytes=3 * 4 * n,
        guess=guess,
    )


def launched():
    import torch

    x = cuda.as_cuda_array(torch.rand(1 << 12, device="cuda"))
    y = cuda.as_cuda_array(torch.rand(1 << 12, device="cuda"))
    alpha = np.float32(0.5)
    kernel = cuda.jit(saxpy)

    def no_look():
        for _ in range(100):
            kernel[16, 256](alpha, x, y)

    def synchronise():
        for _ in range(100):
            kernel[16, 256](alpha, x, y)
            cuda.synchronize()

    return {"no look": no_look, "synchronise": synchronise}


def waiting(guess=None):
    """Launch a small kernel 100 times, waiting for each or not."""
    return bench.compare(
        "100 small launches", launched, baseline="no look", guess=guess, host=True
    )
