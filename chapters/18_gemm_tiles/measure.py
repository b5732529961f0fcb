"""The measurements of chapter 18. Each function times, and returns a table.

On a GPU, importing this module makes three matrices of 4096 x 4096, which all
measurements use. Without one, the tables show what the reference GPU measured.
"""

import itertools
import types

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import CUDA_CPP, TILE, gemm_two_rounds, gemm_unsigned

N = 4096
one, zero = np.float32(1), np.float32(0)
on_rows, on_cols = ((N // 32, N // 8), (32, 8)), ((N // 32, N // 8), 256)

if weft.GPU:
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core
    import torch

    torch.set_float32_matmul_precision("highest")  # float32, no TF32
    torch.manual_seed(18)
    a, b = (torch.rand(N, N, device="cuda") for _ in range(2))
    c = torch.empty(N, N, device="cuda")
    d_a, d_b, d_c = (cuda.as_cuda_array(x) for x in (a, b, c))

    core.Device().set_current()
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    compiled = program.compile("cubin")


def in_cpp(name, grid, block):
    """Return a function that launches one of the C++ kernels."""
    kernel = compiled.get_kernel(name)
    config = core.LaunchConfig(grid=grid, block=block)
    stream, sizes = core.Device().default_stream, [np.int32(N)] * 3
    given = one, a.data_ptr(), b.data_ptr(), zero, c.data_ptr(), *sizes
    return lambda: core.launch(stream, config, kernel, *given)


def with_tile(kernel, tile):
    """Return a kernel compiled anew, with another TILE."""
    function = kernel.py_func
    scope = function.__globals__ | {"TILE": tile}
    return cuda.jit(types.FunctionType(function.__code__, scope))


def in_tiles(kernel, tile, x_a, x_b, x_c):
    """Return a function that launches a kernel with tiles of this size."""
    launch = (-(-N // tile), -(-N // tile)), (tile, tile)
    sized = with_tile(kernel, tile)
    return lambda: sized[launch](one, x_a, x_b, zero, x_c)


def direct(gemm_naive, gemm_coalesced, guess=None):
    """Compare the direct kernels with cuBLAS and with C++."""

    def direct_ones():
        given = one, d_a, d_b, zero, d_c
        return {
            "cuBLAS": lambda: torch.mm(a, b, out=c),
            "naive": lambda: gemm_naive[on_rows](*given),
            "coalesced": lambda: gemm_coalesced[on_cols](*given),
            "unsigned": lambda: gemm_unsigned[on_cols](*given),
            "C++": in_cpp("direct", *on_cols),
        }

    return bench.compare(
        "4096 x 4096 x 4096, direct",
        direct_ones,
        baseline="cuBLAS",
        flops=2 * N**3,
        guess=guess,
    )


def rounds():
    """Compare two endings of a kernel, which wait for their loads differently."""
    return bench.compare(
        "4096 x 4096 x 4096, another ending",
        lambda: {
            "unsigned": lambda: gemm_unsigned[on_cols](one, d_a, d_b, zero, d_c),
            "another ending": lambda: gemm_two_rounds[on_cols](
                one, d_a, d_b, zero, d_c
            ),
        },
        baseline="unsigned",
        flops=2 * N**3,
    )


def ladder(gemm_naive, gemm_coalesced, gemm_ragged, guess=None):
    """Compare the kernels with tiles with the direct ones and with cuBLAS."""

    def direct_ones():
        given = one, d_a, d_b, zero, d_c
        return {
            "cuBLAS": lambda: torch.mm(a, b, out=c),
            "naive": lambda: gemm_naive[on_rows](*given),
            "coalesced": lambda: gemm_coalesced[on_cols](*given),
            "unsigned": lambda: gemm_unsigned[on_cols](*given),
            "C++": in_cpp("direct", *on_cols),
        }

    def rungs():
        kernel, given = gemm_ragged, (d_a, d_b, d_c)
        return direct_ones() | {
            "tiles of 16": in_tiles(kernel, 16, *given),
            "tiles of 32": in_tiles(kernel, 32, *given),
            "C++, tiles of 32": in_cpp("tiled", (N // 32, N // 32), (32, 32)),
        }

    return bench.compare(
        "4096 x 4096 x 4096 float32",
        rungs,
        baseline="cuBLAS",
        flops=2 * N**3,
        guess=guess,
    )


def worst_error(kernel, tile):
    """Return the largest relative error over many shapes, beta 0 and 2."""
    worst = 0.0
    sized = with_tile(kernel, tile)
    sides = 1, 31, 127, 129, 1000
    for m, n, k in itertools.product(sides, repeat=3):
        p = torch.rand(m, k, device="cuda")
        q = torch.rand(k, n, device="cuda")
        for beta in (0, 2):
            r = torch.full((m, n), np.nan if beta == 0 else 1.0, device="cuda")
            want = 1.5 * (p.double() @ q.double())
            want += beta * (r.double() if beta else 0)
            launch = (-(-n // tile), -(-m // tile)), (tile, tile)
            x, y, z = map(cuda.as_cuda_array, (p, q, r))
            sized[launch](np.float32(1.5), x, y, np.float32(beta), z)
            worst = max(worst, ((r - want).norm() / want.norm()).item())
    return worst


def show_errors(gemm_ragged):
    """Print the errors of the learner's kernel over many shapes."""
    if weft.on_gpu("the shapes are too large for the simulator"):
        for tile in (16, 32):
            worst = worst_error(gemm_ragged, tile)
            print(f"tiles of {tile}: relative error {worst:.1e} at most")
            assert worst < 1e-5

        product = torch.mm(a, b)
        in_tiles(gemm_ragged, 32, d_a, d_b, d_c)()
        print(f"the bits of cuBLAS, 4096 cubed: {torch.equal(c, product)}")


def turned(gemm_ragged, gemm_transposed, guess=None):
    """Compare kernels for a transposed operand."""

    def turned_ones():
        w = b.t().contiguous()  # (n, k): the weights of a layer, say
        d_w, view = cuda.as_cuda_array(w), cuda.as_cuda_array(w.t())
        tiles = (N // TILE, N // TILE), (TILE, TILE)
        return {
            "cuBLAS": lambda: torch.mm(a, w.t(), out=c),
            "direct, on the view": lambda: gemm_unsigned[on_cols](
                one, d_a, view, zero, d_c
            ),
            "tiles, on the view": lambda: gemm_ragged[tiles](one, d_a, view, zero, d_c),
            "yours": lambda: gemm_transposed[tiles](one, d_a, d_w, zero, d_c),
            "tiles, not transposed": lambda: gemm_ragged[tiles](
                one, d_a, d_b, zero, d_c
            ),
        }

    return bench.compare(
        "4096 x 4096 x 4096, b transposed",
        turned_ones,
        baseline="cuBLAS",
        flops=2 * N**3,
        guess=guess,
    )
