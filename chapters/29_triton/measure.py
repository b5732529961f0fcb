"""The measurements of chapter 29. Each function times, and returns a table."""

import time
import warnings
from functools import partial

import torch
import triton
from numba import cuda
from triton import cdiv

import weft
from weft import bench
from weft.timing import BurstStopwatch

from . import programs
from .programs import launch, matmul_ieee


def by_compile(function, *args):
    """Return what torch.compile makes of a function of tensors."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.compile(function, dynamic=False)
        made(*args)
    return made


CONFIGS = [
    triton.Config({"BM": 128, "BN": n, "BK": 64}, num_warps=w, num_stages=s)
    for n, w, s in (
        *((128, 4, 3), (128, 4, 4), (128, 8, 3)),
        *((256, 8, 2), (256, 8, 3), (256, 8, 4)),
    )
]


def added(numba_add, triton_add, guess=None):
    """Add arrays in Numba and in Triton."""

    def additions():
        count = 1 << 26
        a, b = (torch.randn(count, device="cuda") for _ in "ab")
        out = torch.empty_like(a)
        views = [cuda.as_cuda_array(each) for each in (a, b, out)]

        def by_triton(n):
            triton_add[(cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)

        return {
            "torch.add": lambda: torch.add(a, b, out=out),
            "Numba": lambda: numba_add[cdiv(count, 256), 256](*views),
            "Triton": lambda: by_triton(count),
            "Triton, odd": lambda: by_triton(count - 1),
        }

    return bench.compare(
        "2^26 float32",
        additions,
        baseline="torch.add",
        bytes=12 * 2**26,
        guess=guess,
    )


def by_rows(log_softmax, guess=None):
    """Take the log-softmax of rows of three lengths; return a table for each."""

    def row_candidates(rows, cols):
        def build():
            x = torch.randn(rows, cols, device="cuda")
            out = torch.empty_like(x)
            width = triton.next_power_of_2(cols)
            warps = min(max(width // 1024, 4), 32)

            def mine():
                steps = cols, x.stride(0), out.stride(0)
                grid = (rows,)
                log_softmax[grid](x, out, *steps, WIDTH=width, num_warps=warps)

            mine()
            assert torch.allclose(out, torch.log_softmax(x, 1), atol=1e-4)
            inductor = by_compile(lambda x: torch.log_softmax(x, 1), x)
            return {
                "copy": lambda: out.copy_(x),
                "torch.log_softmax": lambda: torch.log_softmax(x, 1),
                "torch.compile": lambda: inductor(x),
                "mine": mine,
            }

        return build

    rows_of = {
        cols: bench.compare(
            f"log_softmax, {rows} x {cols} float32",
            row_candidates(rows, cols),
            baseline="torch.log_softmax",
            bytes=2 * 4 * rows * cols,
            ceiling="copy",
            guess=guess,
        )
        for rows, cols in ((32768, 1024), (8192, 8192), (1024, 131072))
    }
    return rows_of


def pieces(rms_norm, guess=None):
    """Normalise long rows, in pieces."""

    def long_rows():
        rows, cols = 1024, 131072
        x = torch.randn(rows, cols, device="cuda").to(torch.bfloat16)
        weight = torch.randn(cols, device="cuda").to(torch.bfloat16)
        out = torch.empty_like(x)

        def theirs(x):
            return torch.nn.functional.rms_norm(x, (cols,), weight, 1e-5)

        def mine():
            sizes = cols, x.stride(0), 1e-5
            rms_norm[(rows,)](x, weight, out, *sizes, BLOCK=4096, num_warps=8)

        mine()
        aim = theirs(x).float()
        assert (out.float() - aim).norm() < 1e-2 * aim.norm()
        inductor = by_compile(theirs, x)
        return {
            "copy": lambda: out.copy_(x),
            "rms_norm": lambda: theirs(x),
            "torch.compile": lambda: inductor(x),
            "mine": mine,
        }

    return bench.compare(
        "RMSNorm, 1024 x 131072 bfloat16",
        long_rows,
        baseline="rms_norm",
        bytes=2 * 2 * 1024 * 131072,
        ceiling="copy",
        guess=guess,
    )


def pause():
    """Return a stopwatch for programs that draw much power."""
    return BurstStopwatch(most=25) if weft.GPU else None


def rungs(size):
    def build():
        a, b = (torch.randn(size, size, device="cuda").to(torch.bfloat16) for _ in "ab")
        c = torch.empty_like(a)
        w = b.t().contiguous()
        small = {"BM": 64, "BN": 64, "BK": 32, "num_warps": 4}
        rows = {
            "64 x 64": launch(programs.matmul, a, b, c, 1, **small),
            "3 stages": launch(programs.matmul, a, b, c, **small),
            "128 x 256": launch(programs.matmul, a, b, c),
            "1 stage": launch(programs.matmul, a, b, c, 1),
            "grouped": launch(programs.matmul_grouped, a, b, c),
            "n x k": launch(programs.matmul_weights, a, w, c),
            "descriptors": launch(programs.matmul_descriptors, a, b, c),
            "persistent": launch(programs.matmul_persistent, a, b, c),
        }
        aim = torch.matmul(a, b).float()
        for name, call in rows.items():
            call()
            error = (c.float() - aim).norm() / aim.norm()
            assert error < 1e-2, f"{name} is wrong by {error:.2g}"
        library = {
            "cuBLAS": lambda: torch.matmul(a, b, out=c),
            "cuBLAS, by columns": lambda: torch.matmul(a, w.t(), out=c),
        }
        return library | rows

    return build


def ladder(guess=None):
    """Multiply in seven versions; return a table for each of two sizes."""
    products = {
        size: bench.compare(
            f"{size} x {size} x {size} bfloat16",
            rungs(size),
            baseline="cuBLAS",
            flops=2 * size**3,
            guess=guess,
            stopwatch=pause(),
        )
        for size in (4096, 8192)
    }
    return products


def orders():
    size = 16384
    a, b = (torch.randn(size, size, device="cuda").to(torch.bfloat16) for _ in "ab")
    c = torch.empty_like(a)
    return {
        "cuBLAS": lambda: torch.matmul(a, b, out=c),
        "row by row": launch(programs.matmul_grouped, a, b, c, GROUP=1),
        "grouped": launch(programs.matmul_grouped, a, b, c, GROUP=8),
        "scattered": launch(programs.matmul_grouped, a, b, c, GROUP=1, STEP=613),
    }


def in_orders(guess=None):
    """Multiply with three orders of tiles."""
    return bench.compare(
        "16384 x 16384 x 16384 bfloat16",
        orders,
        baseline="grouped",
        flops=2 * 16384**3,
        guess=guess,
        stopwatch=pause(),
    )


def odd_sizes():
    calls = {}
    for size in (8192, 8190):
        a, b = (torch.randn(size, size, device="cuda").to(torch.bfloat16) for _ in "ab")
        c = torch.empty_like(a)
        calls[f"cuBLAS, {size}"] = partial(torch.matmul, a, b, out=c)
        calls[f"{size}"] = launch(programs.matmul, a, b, c)
    return calls


def odd(guess=None):
    """Multiply matrices whose rows begin at any multiple of 4 bytes."""
    return bench.compare(
        "bfloat16, 8192 and 8190",
        odd_sizes,
        baseline="cuBLAS, 8192",
        guess=guess,
        stopwatch=pause(),
    )


def float32_candidates():
    size = 4096
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    c = torch.empty_like(a)
    choices = [
        (m, n, k, w, s)
        for m, n, k, w in ((64, 64, 16, 4), (128, 64, 16, 4), (128, 128, 16, 8))
        for s in (2, 3)
    ]

    def with_choice(m, n, k, warps, stages):
        options = {"num_warps": warps, "num_stages": stages}
        grid = size // n, size // m
        tiles = size, size, m, n, k
        return lambda: matmul_ieee[grid](a, b, c, *tiles, **options)

    launches = [with_choice(*choice) for choice in choices]
    best = min(launches, key=lambda call: bench.time(call).ms)
    best()
    aim = torch.matmul(a.double(), b.double())
    assert (c - aim).norm() < 1e-5 * aim.norm()
    return {
        "cuBLAS": lambda: torch.matmul(a, b, out=c),
        "Triton": best,
    }


def slow(guess=None):
    """Multiply in float32, without tensor cores."""
    return bench.compare(
        "4096 x 4096 x 4096 float32, ieee",
        float32_candidates,
        baseline="cuBLAS",
        flops=2 * 4096**3,
        guess=guess,
    )


def by_hand(triton_add, guess=None):
    """Add arrays in Gluon, with three layouts."""
    from .gluon_add import gl, gluon_add

    def layouts():
        count = 1 << 26
        a, b = (torch.randn(count, device="cuda") for _ in "ab")
        out = torch.empty_like(a)

        def with_layout(each):
            layout = gl.BlockedLayout([each], [32], [4], [0])
            grid = (cdiv(count, 4096),)
            return lambda: gluon_add[grid](a, b, out, count, 4096, layout)

        return {
            "Triton": lambda: triton_add[(cdiv(count, 1024),)](
                a, b, out, count, BLOCK=1024
            ),
            **{f"{each} each": with_layout(each) for each in (1, 4, 32)},
        }

    return bench.compare(
        "2^26 float32, layouts",
        layouts,
        baseline="Triton",
        bytes=12 * 2**26,
        guess=guess,
    )


def requirements():
    """Print what six configurations need of an SM."""
    for config in CONFIGS:
        n, (w, s) = config.kwargs["BN"], (config.num_warps, config.num_stages)
        shared, held = s * (128 + n) * 64 * 2, 128 * n // (32 * w)
        print(f"BN {n}, {w} warps, {s} stages: {shared:7,} bytes, {held} registers")


def tune(a, b):
    """Multiply in six configurations, and print how fast each of them is."""
    tuned = triton.autotune(CONFIGS, key=["M", "N", "K"])(programs.matmul_grouped)
    c = torch.empty_like(a)
    begun = time.perf_counter()
    tuned[lambda meta: (64 * cdiv(8192, meta["BN"]),)](
        a, b, c, 8192, 8192, 8192, GROUP=8
    )
    torch.cuda.synchronize()
    print(f"\n{time.perf_counter() - begun:.1f} s; best: {tuned.best_config}")
    for config, times in tuned.configs_timings.items():
        rate = 2 * 8192**3 / min(times) / 1e9
        print(f"{rate:6.0f} TFLOP/s  {config}")
