"""The measurements of chapter 36. Each function times, and returns a table.

On a GPU, kernels are compiled by `tileiras` when a measurement begins.
"""

import warnings
from pathlib import Path

import torch

import weft
from weft import bench
from weft.tile_programs.compiled import compiled, launcher
from weft.tile_programs.cutile import no_compiler
from weft.timing import BurstStopwatch

from . import kernels

WARPS = {"num_worker_warps": 8}  # instead of four
SMALL, LARGE = (128, 128, 64), (128, 256, 64)  # tiles of a product


def random(*shape, dtype=torch.float32):
    """Return random numbers around 0, on the GPU."""
    return torch.randn(*shape, device="cuda").to(dtype)


def by_compile(function, *args):
    """Return what torch.compile makes of a function of tensors."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.compile(function, dynamic=False)
        made(*args)
    return made


def agree(calls, out, wanted, tolerance):
    """Launch each of the calls, and assert that `out` then has what is wanted."""
    norm = wanted.float().norm()
    for name, call in calls.items():
        out.zero_()
        call()
        error = (out.float() - wanted.float()).norm()
        assert error < tolerance * norm, f"{name} is wrong by {error / norm:.2g}"


def tile_sizes(magnitude, guess=None):
    """Compute magnitudes in tiles of three sizes."""

    def sizes():
        count = 1 << 26
        x, y = random(count), random(count)
        out = torch.empty_like(x)
        calls = {
            f"tiles of {tile}": launcher(magnitude, (count // tile,), x, y, out, tile)
            for tile in (128, 1024, 8192)
        }
        agree(calls, out, torch.hypot(x, y), 1e-5)
        return {"torch.hypot": lambda: torch.hypot(x, y, out=out), **calls}

    return bench.compare(
        "2^26 float32, magnitudes",
        sizes,
        baseline="torch.hypot",
        bytes=12 * 2**26,
        guess=guess,
    )


def transposes(transpose, guess=None):
    """Transpose a matrix in tiles of three sizes."""

    def sizes():
        size = 8192
        x = random(size, size)
        out = torch.empty_like(x)

        def by(kernel, tile):
            grid = size // tile, size // tile
            return launcher(kernel, grid, x, out, tile)

        mine = {f"mine, {tile} x {tile}": by(transpose, tile) for tile in (32, 64, 128)}
        agree(mine, out, x.t(), 1e-9)
        return {
            "copy": lambda: out.copy_(x),
            "copy, tiles of 64 x 64": by(kernels.copy, 64),
            "x.t().contiguous()": lambda: x.t().contiguous(),
            **mine,
        }

    return bench.compare(
        "8192 x 8192 float32, transposed",
        sizes,
        baseline="copy",
        bytes=2 * 4 * 8192**2,
        ceiling="copy",
        guess=guess,
    )


def softmaxes(softmax, rows, cols):
    """Return launches of the learner's softmax with other hints, and of other kernels.

    Each but the last differs from `mine` in one thing that the kernel says. For four
    rows of 4096 numbers, the compiler takes eight warps as well.
    """
    x = random(rows, cols)
    out = torch.empty_like(x)

    def with_hints(kernel=softmax, **hints):
        return launcher(kernel.replace_hints(**hints), (rows,), x, out, cols)

    several = 4
    sms = weft.device.find().sms
    loop = kernels.softmax_persistent.replace_hints(occupancy=4)
    calls = {
        "mine": with_hints(),
        "4 rows per block": launcher(
            kernels.softmax_rows, (rows // several,), x, out, several, cols
        ),
        "8 warps": with_hints(**WARPS),
        "occupancy 2": with_hints(occupancy=2),
        "occupancy 4": with_hints(occupancy=4),
        "occupancy 8": with_hints(occupancy=8),
        "no TMA": with_hints(kernels.softmax_without_tma),
        "loop": launcher(kernels.softmax_persistent, (sms,), x, out, cols),
        "loop, occupancy 4": launcher(loop, (4 * sms,), x, out, cols),
    }
    agree(calls, out, torch.softmax(x, 1), 1e-5)
    return {
        "copy": lambda: out.copy_(x),
        "torch.softmax": lambda: torch.softmax(x, 1, out=out),
        **calls,
    }


def by_hints(softmax, guess=None):
    """Take the softmax of rows of two lengths; return a table for each."""
    return {
        cols: bench.compare(
            f"softmax, {rows} x {cols} float32",
            lambda rows=rows, cols=cols: softmaxes(softmax, rows, cols),
            baseline="torch.softmax",
            bytes=2 * 4 * rows * cols,
            ceiling="copy",
            guess=guess,
        )
        for rows, cols in ((8192, 4096), (32768, 1024))
    }


def pause():
    """Return a stopwatch for kernels that draw much power."""
    return BurstStopwatch(most=25) if weft.GPU else None


def product(kernel, a, b, c, tiles, *more, **hints):
    """Return a launch of a product in these tiles, with one block per tile."""
    down, across = -(-c.shape[0] // tiles[0]), -(-c.shape[1] // tiles[1])
    grid = (down * across,) if more else (down, across)
    return launcher(kernel.replace_hints(**hints), grid, a, b, c, *tiles, *more)


def ladder(matmul, guess=None):
    """Multiply matrices in tiles of several shapes; return a table for each size."""

    def rungs(size):
        a, b = (random(size, size, dtype=torch.bfloat16) for _ in "ab")
        c = torch.empty_like(a)
        grouped = kernels.matmul_grouped
        calls = {
            "64 x 64": product(matmul, a, b, c, (64, 64, 64)),
            "128 x 128": product(matmul, a, b, c, SMALL),
            "128 x 256": product(matmul, a, b, c, LARGE),
            "128 x 128, 8 warps": product(matmul, a, b, c, SMALL, **WARPS),
            "128 x 256, 8 warps": product(matmul, a, b, c, LARGE, **WARPS),
            "128 x 128, grouped": product(grouped, a, b, c, SMALL, 8),
            "128 x 256, 8 warps, grouped": product(grouped, a, b, c, LARGE, 8, **WARPS),
        }
        agree(calls, c, torch.matmul(a, b), 1e-2)
        return {"cuBLAS": lambda: torch.matmul(a, b, out=c), **calls}

    return {
        size: bench.compare(
            f"{size} x {size} x {size} bfloat16",
            lambda size=size: rungs(size),
            baseline="cuBLAS",
            flops=2 * size**3,
            guess=guess,
            stopwatch=pause(),
        )
        for size in (4096, 8192)
    }


def layers(dense, guess=None):
    """Compute a linear layer with SiLU, in one kernel and in two."""

    def ways():
        m, n, k = 8192, 4096, 1024
        x, w, bias = (
            random(*shape, dtype=torch.bfloat16) for shape in ((m, k), (k, n), (n,))
        )
        out = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

        def theirs(x, w, bias):
            return torch.nn.functional.silu(torch.addmm(bias, x, w))

        def by(tiles, **hints):
            grid = m // tiles[0], n // tiles[1]
            kernel = dense.replace_hints(**hints)
            return launcher(kernel, grid, x, w, bias, out, *tiles)

        mine = {
            "mine, 128 x 128": by(SMALL),
            "mine, 128 x 256, 8 warps": by(LARGE, **WARPS),
        }
        agree(mine, out, theirs(x, w, bias), 1e-2)
        inductor = by_compile(theirs, x, w, bias)
        return {
            "torch": lambda: theirs(x, w, bias),
            "torch, the product alone": lambda: torch.mm(x, w, out=out),
            "torch.compile": lambda: inductor(x, w, bias),
            **mine,
        }

    return bench.compare(
        "silu(x @ w + bias), 8192 x 4096 x 1024 bfloat16",
        ways,
        baseline="torch",
        flops=2 * 8192 * 4096 * 1024,
        guess=guess,
        stopwatch=pause(),
    )


def resources(softmax, matmul):
    """Return what the compiler gives to a block, for several hints, as a table.

    It needs `tileiras`, but no GPU.
    """
    x = torch.empty(8192, 4096, device="meta")
    a = torch.empty(8192, 8192, dtype=torch.bfloat16, device="meta")
    row, many = (x, x, 4096), (x, x, 4, 4096)
    cases = {
        "softmax, no hints": (softmax, row, {}),
        "softmax, 4 rows per block": (kernels.softmax_rows, many, {}),
        "softmax, 8 warps": (softmax, row, WARPS),
        "softmax, occupancy 2": (softmax, row, {"occupancy": 2}),
        "softmax, occupancy 4": (softmax, row, {"occupancy": 4}),
        "softmax, occupancy 8": (softmax, row, {"occupancy": 8}),
        "softmax, no TMA": (kernels.softmax_without_tma, row, {}),
        "matmul, 128 x 128, 4 warps": (matmul, (a, a, a, *SMALL), {}),
        "matmul, 128 x 256, 4 warps": (matmul, (a, a, a, *LARGE), {}),
        "matmul, 128 x 256, 8 warps": (matmul, (a, a, a, *LARGE), WARPS),
    }
    lines = [f"{'':26}" + "".join(f"{head:>11}" for head in HEADS)]
    for name, (kernel, given, hints) in cases.items():
        code = compiled(kernel.replace_hints(**hints), *given)
        held = code.threads, code.registers, code.local, code.shared
        found = *held, code.resident.blocks
        lines.append(f"{name:26}" + "".join(f"{number:11,}" for number in found))
    return "\n".join(lines)


RECORDED = Path(__file__).with_name("resources.txt")
HEADS = "threads", "registers", "local", "shared", "blocks"


def show_resources(softmax, matmul):
    """Print what the compiler gives to a block, here or as recorded.

    registers, local: of a thread, local memory in bytes. shared: bytes of a block.
    blocks: how many an SM holds.
    """
    if reason := no_compiler():
        print(f"As recorded for compute capability 9.0: {reason}.")
        print(RECORDED.read_text(encoding="utf-8"))
    else:
        print(resources(softmax, matmul))
