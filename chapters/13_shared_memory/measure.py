"""The measurements of chapter 13. Each function times, and returns a table.

On a GPU, importing this module makes three matrices of 8192 x 8192, which most
measurements use. Without one, the tables show what the reference GPU measured.
"""

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    ROWS,
    TALL,
    TILE,
    WIDE,
    chase,
    copy_kernel,
    fast_without,
    naive_read,
    naive_write,
    rows_down,
    rows_guarded,
    rows_unpadded,
    tall_tiles,
)

m = n = 8192 if weft.GPU else 64
if weft.GPU:
    import torch

    x = torch.rand(m, n, device="cuda")
    same = torch.empty_like(x)
    out = torch.empty(n, m, device="cuda")
    d_x, d_same, d_out = (cuda.as_cuda_array(t) for t in (x, same, out))

on_x = (n // 32, m // 8), (32, 8)  # a thread for each element of x
on_out = (m // 32, n // 8), (32, 8)  # a thread for each element of out
square = (n // TILE, m // TILE), (TILE, TILE)
flat = (n // TILE, m // TILE), (TILE, ROWS)
wide = (m // WIDE, n // WIDE), (16, 16)
across = (n // WIDE, m // WIDE), (16, 16)


def tuned_transpose():
    """Return the transpose that torch.compile makes with all its tuning."""
    return torch.compile(
        lambda x: x.t().contiguous(),
        mode="max-autotune-no-cudagraphs",
        dynamic=False,
    )


def naive(guess=None):
    """Compare the two naive kernels with PyTorch and with a copy."""
    return bench.compare(
        "two naive kernels",
        {
            "copy": lambda: same.copy_(x),
            "torch": lambda: x.t().contiguous(),
            "naive_read": lambda: naive_read[on_x](d_x, d_out),
            "naive_write": lambda: naive_write[on_out](d_x, d_out),
        },
        baseline="torch",
        bytes=2 * 4 * m * n,
        ceiling="copy",
        guess=guess,
    )


def one_tile(transpose_tiled, transpose_padded, guess=None):
    """Compare the learner's kernels with one element per thread."""
    return bench.compare(
        "one element a thread",
        {
            "copy": lambda: same.copy_(x),
            "torch": lambda: x.t().contiguous(),
            "naive_write": lambda: naive_write[on_out](d_x, d_out),
            "tiled": lambda: transpose_tiled[square](d_x, d_out),
            "padded": lambda: transpose_padded[square](d_x, d_out),
            "copy kernel": lambda: copy_kernel[on_x](d_x, d_same),
        },
        baseline="torch",
        bytes=2 * 4 * m * n,
        ceiling="copy",
        guess=guess,
    )


def latency():
    """Follow 1000 links through memory, in one thread."""
    if weft.GPU:
        places = torch.arange(1 << 26, dtype=torch.int32, device="cuda")
        link = (places + 65600) % (1 << 26)  # each link leads 262 KB further on
        end = torch.zeros(1, dtype=torch.int32, device="cuda")
        d_link, d_end = cuda.as_cuda_array(link), cuda.as_cuda_array(end)

    return bench.compare(
        "1000 loads, one after the other",
        {"one thread": lambda: chase[1, 1](d_link, d_end)},
    )


def ladder(
    transpose_tiled,
    transpose_padded,
    transpose_swizzled,
    transpose_rows,
    transpose_fast,
    guess=None,
):
    """Compare all the learner's kernels with the naive ones and with libraries."""
    if weft.GPU:
        from ctypes import byref, c_float, c_void_p

        from weft.libraries import library

        # PyTorch's compiler, and NVIDIA's transpose as chapter 25 explains it
        torch_made = tuned_transpose()
        blas, handle = library("cublas"), c_void_p()
        blas.cublasCreate_v2(byref(handle))
        one, zero = byref(c_float(1)), byref(c_float(0))
        from_x, to_out = c_void_p(x.data_ptr()), c_void_p(out.data_ptr())

    def geam():
        """Compute out = 1 * transpose of x + 0 * out, in a single pass."""
        at = from_x, n, zero, to_out, m, to_out, m
        return blas.cublasSgeam(handle, 1, 0, m, n, one, *at)

    if weft.GPU:
        assert geam() == 0
        assert torch.equal(out, x.t())

    return bench.compare(
        "8192 x 8192 float32",
        {
            "copy": lambda: same.copy_(x),
            "torch": lambda: x.t().contiguous(),
            "torch.compile": lambda: torch_made(x),
            "cublasSgeam": geam,
            "naive_read": lambda: naive_read[on_x](d_x, d_out),
            "naive_write": lambda: naive_write[on_out](d_x, d_out),
            "tiled": lambda: transpose_tiled[square](d_x, d_out),
            "padded": lambda: transpose_padded[square](d_x, d_out),
            "swizzled": lambda: transpose_swizzled[square](d_x, d_out),
            "rows": lambda: transpose_rows[flat](d_x, d_out),
            "fast": lambda: transpose_fast[wide](d_x, d_out),
        },
        baseline="torch",
        bytes=2 * 4 * m * n,
        ceiling="copy",
        guess=guess,
    )


def odd(transpose_rows, transpose_fast, guess=None):
    """Transpose a matrix that no tile divides."""

    def transpose(x, out):
        """Transpose x (m, n) into out (n, m), as fast as the shape allows."""
        m, n = x.shape
        if m % WIDE == 0 and n % WIDE == 0:
            transpose_fast[(m // WIDE, n // WIDE), (16, 16)](x, out)
        else:
            grid = -(-n // TILE), -(-m // TILE)
            transpose_rows[grid, (TILE, ROWS)](x, out)

    odd_m, odd_n = 8191, 8193
    if weft.GPU:
        odd_x = torch.rand(odd_m, odd_n, device="cuda")
        odd_same = torch.empty_like(odd_x)
        odd_out = torch.empty(odd_n, odd_m, device="cuda")
        d_odd_x, d_odd_out = cuda.as_cuda_array(odd_x), cuda.as_cuda_array(odd_out)
        flat_x, flat_out = (cuda.as_cuda_array(t.view(-1)) for t in (odd_x, odd_out))
        torch_made = tuned_transpose()
        sides = np.int32(odd_m), np.int32(odd_n)
        down = -(-odd_m // TILE), -(-odd_n // TILE)
        tall = -(-odd_m // TALL), -(-odd_n // TILE)
        tall_tiles[tall, (TILE, ROWS)](flat_x, flat_out, *sides)
        assert torch.equal(odd_out, odd_x.t())

    return bench.compare(
        "8191 x 8193 float32",
        {
            "copy": lambda: odd_same.copy_(odd_x),
            "torch": lambda: odd_x.t().contiguous(),
            "torch.compile": lambda: torch_made(odd_x),
            "ours": lambda: transpose(d_odd_x, d_odd_out),
            "blocks down": lambda: rows_down[down, (TILE, ROWS)](d_odd_x, d_odd_out),
            "tall tiles": lambda: tall_tiles[tall, (TILE, ROWS)](
                flat_x, flat_out, *sides
            ),
        },
        baseline="torch",
        bytes=2 * 4 * odd_m * odd_n,
        ceiling="copy",
        guess=guess,
    )


def without(transpose_rows):
    """Take one idea out of the kernel with four loads per thread."""
    return bench.compare(
        "rows, without one idea",
        {
            "copy": lambda: same.copy_(x),
            "rows": lambda: transpose_rows[flat](d_x, d_out),
            "guarded loads": lambda: rows_guarded[flat](d_x, d_out),
            "no padding": lambda: rows_unpadded[flat](d_x, d_out),
        },
        baseline="rows",
        bytes=2 * 4 * m * n,
        ceiling="copy",
    )


def fast_less(transpose_fast):
    """Take one idea out of the fastest kernel."""
    fast_conflicts = fast_without(swizzle=False, down=True)
    fast_across = fast_without(swizzle=True, down=False)
    return bench.compare(
        "fast, without one idea",
        {
            "copy": lambda: same.copy_(x),
            "fast": lambda: transpose_fast[wide](d_x, d_out),
            "no swizzle": lambda: fast_conflicts[wide](d_x, d_out),
            "blocks across": lambda: fast_across[across](d_x, d_out),
        },
        baseline="fast",
        bytes=2 * 4 * m * n,
        ceiling="copy",
    )
