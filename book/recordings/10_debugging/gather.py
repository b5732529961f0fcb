"""Broken: an entry of a table is used as an index, whatever it is."""

import textwrap

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def gather(x, index, out):
    """Write x[index[i]] into out[i], and 0 where index[i] is no index."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[index[i]]


@cuda.jit(lineinfo=True)
def double(x, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] + x[i]


def say(what, call):
    try:
        call()
        print(f"{what:<14} fine", flush=True)
    except Exception as error:
        told = textwrap.shorten(str(error), 120, placeholder=" ...")
        print(f"{what:<14} {type(error).__name__}: {told}", flush=True)


index = np.arange(1000, dtype=np.int32)
index[700] = 99_999_999  # "none", to the author of the table
d_index = cuda.to_device(index)
x = cuda.to_device(np.ones(1000, np.float32))
out = cuda.device_array(1000, np.float32)
y = cuda.device_array(1000, np.float32)
double[8, 128](x, y)  # compiled now; it works
cuda.synchronize()

say("launch gather", lambda: gather[8, 128](x, d_index, out))
say("launch double", lambda: double[8, 128](x, y))
say("copy y back", lambda: y.copy_to_host())
say("copy y again", lambda: y.copy_to_host())
say("a new array", lambda: cuda.to_device(np.ones(4, np.float32)))
say("launch double", lambda: double[8, 128](x, y))
