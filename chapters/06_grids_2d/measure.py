"""The measurements of chapter 6. Each function times, and returns a table.

On a GPU, importing this module allocates 0.6 GB, from which most measurements take
their arrays.
"""

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    BLUE,
    CUDA_CPP,
    GREEN,
    RED,
    blur_int32,
    blur_unsigned,
    blur_written_out,
    grey_planar,
    halve_x_is_col,
    halve_x_is_row,
    matmul_double,
    matmul_unsigned,
)

n = 8192
square = (n // 32, n // 8), (32, 8)  # covers n along x and n along y
side = 2048
tiles = (side // 32, side // 8), (32, 8)
batch, edge = 1024, 64
deep = (edge // 16, edge // 4, batch // 2), (16, 4, 2)
one = (edge // 32, edge // 8), (32, 8)

if weft.GPU:
    import torch

    x = torch.rand(n, n, device="cuda")
    out = torch.empty_like(x)
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    f_x, f_out = cuda.as_cuda_array(x.t()), cuda.as_cuda_array(out.t())

    a = torch.rand(side, side, device="cuda")
    b = torch.rand(side, side, device="cuda")
    c = torch.empty_like(a)
    d_a, d_b, d_c = (cuda.as_cuda_array(t) for t in (a, b, c))
    f_a, f_b, f_c = (cuda.as_cuda_array(t.t()) for t in (a, b, c))

    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream

    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    compiled = program.compile("cubin")

    cpp_kernel = compiled.get_kernel("blur")
    config = core.LaunchConfig(grid=square[0], block=square[1])

    def cpp_blur():
        edge = np.int32(n)
        pointers = x.data_ptr(), out.data_ptr()
        core.launch(stream, config, cpp_kernel, *pointers, edge, edge)

    def torch_blur():
        wide = torch.nn.functional.pad(x[None, None], (1, 1, 1, 1), "replicate")
        return torch.nn.functional.avg_pool2d(wide, 3, stride=1)[0, 0]

    cpp_matmul = compiled.get_kernel("matmul")
    cpp_tiles = core.LaunchConfig(grid=tiles[0], block=tiles[1])

    def cpp_product():
        pointers = a.data_ptr(), b.data_ptr(), c.data_ptr()
        sizes = [np.int32(side)] * 3
        core.launch(stream, cpp_tiles, cpp_matmul, *pointers, *sizes)


def order(guess=None):
    """Halve a matrix in either layout, with x as the column and as the row."""
    return bench.compare(
        "x and y",
        {
            "copy": lambda: out.copy_(x),
            "torch.mul": lambda: torch.mul(x, 0.5, out=out),
            "row-major, x is col": lambda: halve_x_is_col[square](d_x, d_out),
            "row-major, x is row": lambda: halve_x_is_row[square](d_x, d_out),
            "column-major, x is col": lambda: halve_x_is_col[square](f_x, f_out),
            "column-major, x is row": lambda: halve_x_is_row[square](f_x, f_out),
        },
        baseline="torch.mul",
        bytes=2 * 4 * n * n,
        ceiling="copy",
        guess=guess,
    )


def shapes():
    def halve(w, h):
        return lambda: halve_x_is_col[(n // w, n // h), (w, h)](d_x, d_out)

    sizes = [(256, 1), (128, 2), (64, 4), (32, 8)]
    sizes += [(16, 16), (8, 32), (4, 64), (2, 128), (1, 256)]
    return {f"{w} x {h}": halve(w, h) for w, h in sizes}


def shaped(guess=None):
    """Halve a matrix with blocks of several shapes."""
    return bench.compare(
        "shape of a block",
        shapes,
        baseline="32 x 8",
        bytes=2 * 4 * n * n,
        guess=guess,
    )


def colours(grey, guess=None):
    """Turn colour pictures grey in either layout, with the learner's kernel."""

    def greys():
        mixed = torch.rand(n, n, 3, device="cuda")
        apart = mixed.permute(2, 0, 1).contiguous()
        weights = torch.tensor([RED, GREEN, BLUE], device="cuda")
        source = torch.rand(2, n, n, device="cuda")  # 8 bytes read, 8 written
        target = torch.empty_like(source)
        d_mixed, d_apart = cuda.as_cuda_array(mixed), cuda.as_cuda_array(apart)
        return {
            "copy": lambda: target.copy_(source),
            "torch, interleaved": lambda: torch.matmul(mixed, weights, out=out),
            "torch, planar": lambda: torch.einsum("chw,c->hw", apart, weights),
            "grey, interleaved": lambda: grey[square](d_mixed, d_out),
            "grey, planar": lambda: grey_planar[square](d_apart, d_out),
        }

    return bench.compare(
        "colour to grey",
        greys,
        baseline="torch, interleaved",
        bytes=16 * n * n,
        ceiling="copy",
        guess=guess,
    )


def blurs(blur, guess=None):
    """Blur with the learner's kernel, without a function, and in CUDA C++."""

    if weft.GPU:
        cpp_blur()
        torch.testing.assert_close(out, torch_blur())

    return bench.compare(
        "3 x 3 mean",
        {
            "copy": lambda: out.copy_(x),
            "torch": lambda: torch_blur(),
            "blur": lambda: blur[square](d_x, d_out),
            "written out": lambda: blur_written_out[square](d_x, d_out),
            "CUDA C++": lambda: cpp_blur(),
        },
        baseline="torch",
        bytes=2 * 4 * n * n,
        ceiling="copy",
        guess=guess,
    )


def indices(blur):
    """Blur with other types of indices."""
    return bench.compare(
        "3 x 3 mean, other indices",
        {
            "blur": lambda: blur[square](d_x, d_out),
            "int32": lambda: blur_int32[square](d_x, d_out),
            "unsigned": lambda: blur_unsigned[square](d_x, d_out),
            "CUDA C++": lambda: cpp_blur(),
        },
        baseline="blur",
        bytes=2 * 4 * n * n,
    )


def products(matmul, guess=None):
    """Multiply with the learner's kernel, in CUDA C++, and with PyTorch."""

    if weft.GPU:
        torch.set_float32_matmul_precision("highest")  # float32, no TF32
        cpp_product()
        torch.testing.assert_close(c, a @ b)

    return bench.compare(
        "2048 x 2048 x 2048 float32",
        {
            "torch.matmul": lambda: torch.matmul(a, b, out=c),
            "matmul": lambda: matmul[tiles](d_a, d_b, d_c),
            "column-major": lambda: matmul[tiles](f_b, f_a, f_c),
            "CUDA C++": lambda: cpp_product(),
        },
        baseline="torch.matmul",
        flops=2 * side**3,
        guess=guess,
    )


def typed(matmul):
    """Multiply with other types of indices, and with a sum of 64 bits."""
    return bench.compare(
        "2048 x 2048 x 2048, other types",
        {
            "matmul": lambda: matmul[tiles](d_a, d_b, d_c),
            "unsigned": lambda: matmul_unsigned[tiles](d_a, d_b, d_c),
            "sum in 64 bits": lambda: matmul_double[tiles](d_a, d_b, d_c),
        },
        baseline="matmul",
        flops=2 * side**3,
    )


def batched(batched_matmul, matmul, guess=None):
    """Multiply a batch in one launch, and in a thousand."""

    def batches():
        """Return the ways to multiply a batch."""
        p = torch.rand(batch, edge, edge, device="cuda")
        q = torch.rand(batch, edge, edge, device="cuda")
        r = torch.empty_like(p)
        all_of = [cuda.as_cuda_array(t) for t in (p, q, r)]
        each = [[cuda.as_cuda_array(t[z]) for t in (p, q, r)] for z in range(batch)]

        def loop():
            for x, y, z in each:
                matmul[one](x, y, z)

        def torch_loop():
            for z in range(batch):
                torch.matmul(p[z], q[z], out=r[z])

        return {
            "torch.bmm": lambda: torch.bmm(p, q, out=r),
            "one 3D launch": lambda: batched_matmul[deep](*all_of),
            "loop of matmul": loop,
            "loop of torch.matmul": torch_loop,
        }

    return bench.compare(
        "1024 products of 64 x 64 x 64",
        batches,
        baseline="torch.bmm",
        flops=2 * batch * edge**3,
        guess=guess,
    )
