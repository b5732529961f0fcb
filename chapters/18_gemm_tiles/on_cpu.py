"""The product on one core of the CPU: in Python, in C and by a library.

Import this module after the lab has compiled `libsgemm.so`.
"""

import ctypes

import numpy as np

import weft
from weft import bench
from weft.c import folder

if weft.GPU:
    import torch

    torch.set_num_threads(1)  # on the CPU, like the others


def python_gemm(m, n, k, a, b, c):
    """Write the product of a and b into c; all three flat lists."""
    for row in range(m):
        for col in range(n):
            total = 0.0
            for i in range(k):
                total += a[row * k + i] * b[i * n + col]
            c[row * n + col] = total


def in_c(name):
    """Return a function of the library as one of (m, n, k, a, b, c)."""
    function = getattr(ctypes.CDLL(str(folder() / "libsgemm.so")), name)
    matrix = np.ctypeslib.ndpointer(np.float32, ndim=2, flags="C_CONTIGUOUS")
    function.argtypes = [ctypes.c_int] * 3 + [matrix] * 3
    function.restype = None
    return function


has_c = (folder() / "libsgemm.so").exists()


def on_the_cpu(n, python=False):
    """Return what there is to time on n x n matrices."""
    rng = np.random.default_rng(18)
    p, q = (rng.random((n, n), np.float32) for _ in range(2))
    r = np.empty_like(p)
    if python:
        flat = [z.ravel().tolist() for z in (p, q, r)]
        return {"Python": lambda: python_gemm(n, n, n, *flat)}
    todo = {}
    for name in ("dot", "rows") if has_c else ():
        call = in_c(name)
        todo[f"C, {name}"] = lambda call=call: call(n, n, n, p, q, r)
        todo[f"C, {name}"]()
        assert np.allclose(r, p @ q, rtol=1e-3)
    x, y, z = map(torch.from_numpy, (p, q, r))
    return todo | {"a library": lambda: torch.mm(x, y, out=z)}


def slow():
    """Time the product in Python."""
    return bench.compare(
        "96 x 96 x 96 on one core",
        lambda: on_the_cpu(96, python=True),
        flops=2 * 96**3,
        host=True,
        unsteady="the host's time is part of it",
    )


def cpu():
    """Time two products in C beside a library's."""
    return bench.compare(
        "512 x 512 x 512 on one core",
        lambda: on_the_cpu(512),
        flops=2 * 512**3,
        host=True,
    )
