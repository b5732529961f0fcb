"""The measurements of chapter 21. Each function times, and returns a table."""

import numpy as np
from numba import cuda, int32

import weft
from weft import bench
from weft.intrinsics import (
    mma_bf16,
    mma_e4m3,
    mma_f16,
    mma_f16_acc16,
    mma_tf32,
)
from weft.templates import large_shared, specialise
from weft.timing import BurstStopwatch

from .checks import numbers, words
from .kernels import gemm_half, gemm_large, mma_alone, narrowed, plain, sized

if weft.GPU:
    import torch

    torch.manual_seed(21)
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False

FORMATS = {
    "tf32": ("tf32", mma_tf32),
    "float16": ("float16", mma_f16),
    "float16, sums too": ("float16", None),
    "bfloat16": ("bfloat16", mma_bf16),
    "float8 e4m3": ("float8", mma_e4m3),
}

if weft.GPU and weft.device.find().capability < (8, 9):
    FORMATS.pop("float8 e4m3")
if weft.GPU and weft.device.find().capability < (8, 0):
    FORMATS.pop("tf32"), FORMATS.pop("bfloat16")

ROUNDS = 4096
DEPTHS = {"tf32": 8, "float16": 16, "bfloat16": 16, "float8 e4m3": 32}


def bits_of(x, kind):
    """Round float32 to a format: the rounded numbers, and their words."""
    bits = x.view(np.uint32)
    if kind == "float16":
        return x.astype(np.float16).astype(float), words(x.astype(np.float16))
    if kind == "tf32":
        kept = (bits + 0x1000) & np.uint32(0xFFFFE000)
        return kept.view(np.float32).astype(float), kept.view(np.int32)
    if kind == "bfloat16":
        upper = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        kept = (upper << 16).astype(np.uint32).view(np.float32)
        return kept.astype(float), words(upper.astype(np.uint16))
    code = np.arange(127)  # float8: all numbers from 0 to 448
    small, part = code % 8 / 8 * 2.0**-6, 1 + code % 8 / 8
    value = np.where(code < 8, small, part * 2.0 ** (code // 8 - 7))
    code = np.searchsorted((value[1:] + value[:-1]) / 2, x).astype(np.uint8)
    return value[code], words(code)


def both_errors(gemm_warp, name, k):
    """Return the errors of the inputs and of the sum, for 16 x 8 results."""
    rng = np.random.default_rng(21)
    x, y = rng.random((16, k), np.float32), rng.random((8, k), np.float32)
    kind, instruction = FORMATS[name]
    (p, a), (q, bt) = bits_of(x, kind), bits_of(y, kind)
    if instruction is None:
        c = np.zeros((16, 4), np.int32)
        kernel, grid = gemm_half, 1
    else:
        c = np.zeros((16, 8), np.float32)
        kernel, grid = specialise(gemm_warp, mma_f16=instruction), (1, 1)
    on = [cuda.to_device(z) for z in (a, bt, c)]
    kernel[grid, 32](*on)
    got = on[2].copy_to_host()
    got = (numbers(got) if instruction is None else got).astype(float)
    exact, rounded = x.astype(float) @ y.T.astype(float), p @ q.T
    scale = np.linalg.norm(exact)
    return (
        np.linalg.norm(rounded - exact) / scale,
        np.linalg.norm(got - rounded) / scale,
    )


def errors(gemm_warp):
    """Print the errors in each format; return them, by format and k."""
    lengths = (4096, 65536) if weft.GPU else (256,)
    seen = {
        (name, k): both_errors(gemm_warp, name, k) for name in FORMATS for k in lengths
    }
    for (name, k), (of_inputs, of_sum) in seen.items():
        print(f"{name:18} k = {k:6}: inputs {of_inputs:.1e}, sum {of_sum:.1e}")
    return seen


def alone_on(kernel, blocks, out, rounds):
    """Return a function that launches mma_alone."""
    return lambda: kernel[blocks, 256, bench.stream()](out, rounds)


def instructions():
    import torch

    out = cuda.as_cuda_array(torch.zeros(1, device="cuda"))
    found = {}
    for name, (_, instruction) in FORMATS.items():
        if instruction is None:
            chosen = {"mma_f16": mma_f16_acc16, "SUMS": 2, "KIND": int32}
        else:
            chosen = {"mma_f16": instruction}
        kernel = specialise(mma_alone, **chosen)
        rounds = ROUNDS * 8 // DEPTHS.get(name, 16)  # the same FLOP for all
        blocks = 2 * weft.device.find().sms
        found[name] = alone_on(kernel, blocks, out, rounds)
    return found


def alone():
    """Execute mma.sync alone, in each format."""
    multiprocessors = weft.device.find().sms or 132
    return bench.compare(
        "mma.sync alone",
        instructions,
        flops=2 * multiprocessors * 8 * ROUNDS * 8 * 2 * 16 * 8 * 8,
        baseline="tf32",
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


def flat(x):
    """Return a bfloat16 matrix as a vector of words."""
    return cuda.as_cuda_array(x.view(torch.int32).view(-1))


def pairs(x):
    """Return a bfloat16 matrix as a matrix of words."""
    return cuda.as_cuda_array(x.view(torch.int32))


def launch_large(BM, BN, WM, WN, a, b, c, **more):
    """Return a function that launches gemm_large with these sizes."""
    chosen = sized(BM, BN, WM, WN, **more)
    shared = 4 * chosen["STAGES"] * chosen["PAIR"]
    BLOCKS = 2 if shared <= 98304 else 1  # on an SM
    kernel = specialise(
        gemm_large,
        unroll=("step",),
        max_registers=min(255, 65536 // BLOCKS // chosen["THREADS"]),
        **chosen,
    )
    k = a.shape[1]
    on = flat(a), flat(b), pairs(c), k
    large_shared(kernel, shared, *on)
    grid = c.shape[0] // BM * (c.shape[1] // BN)
    threads = chosen["THREADS"]
    return lambda: kernel[grid, threads, bench.stream(), shared](*on)


def launch_pipelined(gemm_pipelined, stages, *on):
    """Return a function that launches gemm_pipelined with so many pairs of tiles."""
    chosen = sized(128, 128, 64, 32, STAGES=stages)
    shared = 4 * stages * chosen["PAIR"]
    kernel = specialise(gemm_pipelined, unroll=("s",), max_registers=128, **chosen)
    large_shared(kernel, shared, *on)
    rows, cols = on[2].shape[0] // 128, on[2].shape[1] // 64  # two numbers per word
    return lambda: kernel[(cols, rows), 256, bench.stream(), shared](*on)


def ladder_of(n, gemm_warp, gemm_tiled, gemm_pipelined, guess=None):
    """Time the ladder in bursts, each after a pause."""

    def rungs(n):
        """Return the kernels of the ladder, for n x n matrices of bfloat16."""
        a, b = (torch.randn(n, n, device="cuda").bfloat16() for _ in "ab")
        c, wide = torch.empty_like(a), torch.empty(n, n, device="cuda")
        on = pairs(a), pairs(b), pairs(c)
        bt, wide = pairs(b.t().contiguous()), cuda.as_cuda_array(wide)
        first = specialise(gemm_warp, mma_f16=mma_bf16)
        small = sized(128, 128, 64, 32) | {"unroll": ("step",)}
        colliding = specialise(gemm_tiled, **small | {"place": plain})
        swizzled = specialise(gemm_tiled, **small)
        capped = specialise(gemm_tiled, max_registers=128, **small)
        grid, stream = (n // 128, n // 128), bench.stream

        def one_warp():
            first[(n // 8, n // 16), 32, stream()](on[0], bt, wide)
            narrowed[(n // 64, n // 8), (32, 8), stream()](wide, on[2])

        return {
            "cuBLAS": lambda: torch.mm(a, b, out=c),
            "one warp": one_warp,
            "tiles": lambda: colliding[grid, 256, stream()](*on),
            "swizzled": lambda: swizzled[grid, 256, stream()](*on),
            "two blocks": lambda: capped[grid, 256, stream()](*on),
            "two stages": launch_pipelined(gemm_pipelined, 2, *on),
            "three stages": launch_pipelined(gemm_pipelined, 3, *on),
            "addresses": launch_large(128, 128, 64, 32, a, b, c, GROUP=1),
            "grouped": launch_large(128, 128, 64, 32, a, b, c),
            "64 x 64": launch_large(128, 128, 64, 64, a, b, c),
            "in turns": launch_large(128, 128, 64, 64, a, b, c, SETS=2),
            "larger blocks": launch_large(256, 128, 64, 64, a, b, c, SETS=2),
            "256 x 128": launch_large(256, 128, 64, 64, a, b, c, STAGES=4, SETS=2),
        }

    return bench.compare(
        f"{n} x {n} x {n} bfloat16",
        lambda: rungs(n),
        baseline="cuBLAS",
        flops=2 * n**3,
        guess=guess,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


def lasting(n):
    """Return cuBLAS and the best kernel, for n x n matrices of bfloat16."""
    a, b = (torch.randn(n, n, device="cuda").bfloat16() for _ in "ab")
    c = torch.empty_like(a)
    best = launch_large(256, 128, 64, 64, a, b, c, STAGES=4, SETS=2)
    return {"cuBLAS": lambda: torch.mm(a, b, out=c), "256 x 128": best}


def without_pause():
    """Time cuBLAS and the best kernel without a pause."""
    return bench.compare(
        "8192 x 8192 x 8192 bfloat16, without a pause",
        lambda: lasting(8192),
        baseline="cuBLAS",
        flops=2 * 8192**3,
        graph=True,
    )


def verified():
    """Compare kernels with a product in float32, and 30 runs bit by bit."""
    same = None
    if weft.on_gpu("the matrices are too large for the simulator"):
        torch.manual_seed(5)
        torch.set_float32_matmul_precision("highest")
        edge = 1024
        a, b = (torch.randn(edge, edge, device="cuda").bfloat16() for _ in "ab")
        right = a.float() @ b.float()
        choices = {
            "addresses": (128, 128, 64, 32, {"GROUP": 1}),
            "grouped": (128, 128, 64, 32, {}),
            "in turns": (128, 128, 64, 64, {"SETS": 2}),
            "larger blocks": (256, 128, 64, 64, {"SETS": 2}),
            "256 x 128": (256, 128, 64, 64, {"STAGES": 4, "SETS": 2}),
        }
        for name, (*sizes, more) in choices.items():
            c = torch.full_like(a, float("nan"))
            run = launch_large(*sizes, a, b, c, **more)
            run()
            first = c.clone()
            same = True
            for _ in range(30):
                c.fill_(float("nan"))
                run()
                same = same and torch.equal(c, first)
            error = ((first.float() - right).norm() / right.norm()).item()
            print(f"{name:13} relative error {error:.1e}, 30 runs alike: {same}")
            assert error < 4e-3
            assert same
    return same
