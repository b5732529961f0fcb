"""The measurements of chapter 26. Each function times, and returns a table."""

import itertools

import numpy as np
import torch
from numba import cuda
from torch.nn import functional

from weft import bench
from weft.libraries import cufft, curand
from weft.libraries.cufft import Type
from weft.libraries.philox import open_at_zero, philox_words, words

from .checks import Generator
from .kernels import MULTIPLIERS, ROUNDS, WEYL, P, Thin, fours, ones
from .transforms import good_size, planned

COUNT = 1 << 28
ROWS, LENGTH = 4096, 1024
LENGTHS = (4096, 4116, 4095, 4093, 4099)
SIDE = 8192
SIGNALS, SAMPLES, TAPS = 64, 65_536, 1023
FULL = SAMPLES + TAPS - 1


def chi_square(numbers):
    """Return the statistic of the top eight bits of some uint32."""
    counts = np.bincount(numbers.ravel() >> np.uint32(24), minlength=256)
    expected = numbers.size / 256
    return ((counts - expected) ** 2 / expected).sum()


def variant(counters, multipliers=MULTIPLIERS, weyl=WEYL, rounds=ROUNDS):
    """Return what Philox makes with other constants."""
    return philox_words(counters, (42, 0), rounds, multipliers, weyl)


def statistics():
    """Print the statistic of six generators, five of them wrong."""
    lots = np.zeros((1 << 14, 4), np.uint32)
    lots[:, 0] = np.arange(len(lots))
    variants = {
        "Philox4x32-10": variant(lots),
        "multipliers swapped": variant(lots, multipliers=MULTIPLIERS[::-1]),
        "key never changes": variant(lots, weyl=(0, 0)),
        "key numbers swapped": variant(lots, weyl=WEYL[::-1]),
        "five rounds": variant(lots, rounds=5),
        "three rounds": variant(lots, rounds=3),
    }
    for name, numbers in variants.items():
        print(f"{name:22}{chi_square(numbers):12,.0f}")


def threads_of_torch(size, sms=132, threads_per_sm=2048):
    """Return how many threads torch.rand launches for so many elements."""
    return 256 * min(-(-size // 256), sms * (threads_per_sm // 256))


def predicted(torch_place, size, seed, offset, sms=132, threads_per_sm=2048):
    """Return what torch.rand will give, by torch_place."""
    threads = threads_of_torch(size, sms, threads_per_sm)
    places = [torch_place(i, threads, offset) for i in range(size)]
    value = open_at_zero(words(seed, *np.array(places).T))
    return np.where(value == 1, np.float32(0), value)


def generators():
    """Return the ways to make COUNT uniform numbers."""
    out = torch.empty(COUNT, device="cuda")
    d_out = cuda.as_cuda_array(out)
    seed = cuda.to_device(np.uint32([42, 0]))
    stream = torch.cuda.current_stream().cuda_stream

    def library(kind, ordering=curand.Ordering.PSEUDO_DEFAULT):
        made = curand.create_generator(kind)
        curand.set_stream(made, stream)
        curand.set_generator_ordering(made, ordering)
        return lambda: curand.generate_uniform(made, out.data_ptr(), COUNT)

    kinds, any_order = curand.RngType, curand.Ordering.PSEUDO_DYNAMIC
    random = torch.compile(lambda: torch.rand(COUNT, device="cuda"))
    return {
        "fill": lambda: out.fill_(0.5),
        "XORWOW": library(kinds.PSEUDO_XORWOW),
        "XORWOW, dynamic": library(kinds.PSEUDO_XORWOW, any_order),
        "MRG32k3a": library(kinds.PSEUDO_MRG32K3A),
        "cuRAND Philox": library(kinds.PSEUDO_PHILOX4_32_10),
        "torch.rand": lambda: out.uniform_(),
        "compiled": random,
        "fours": lambda: fours[COUNT // 1024, 256](seed, d_out),
        "ones": lambda: ones[COUNT // 256, 256](seed, d_out),
    }


def uniforms(guess=None):
    """Time the ways to make COUNT uniform numbers."""
    return bench.compare(
        "2^28 uniform float32",
        generators,
        baseline="torch.rand",
        bytes=4 * COUNT,
        ceiling="fill",
        guess=guess,
    )


def there_and_back():
    """Return the ways through a dropout layer, forward and backward."""
    x = torch.randn(COUNT, device="cuda", requires_grad=True)
    grad = torch.ones(COUNT, device="cuda")
    seed = cuda.to_device(np.uint32([42, 0]))
    compiled = torch.compile(lambda x: functional.dropout(x, P))

    def step(layer):
        def run():
            x.grad = None
            layer(x).backward(grad)

        return run

    def again(x):
        return Thin.apply(x, seed, Generator(42))

    return {
        "eager": step(lambda x: functional.dropout(x, P)),
        "compiled": step(compiled),
        "ours": step(again),
    }


def dropouts(guess=None):
    """Time dropout, forward and backward."""
    return bench.compare(
        "dropout, 2^28 float32, there and back",
        there_and_back,
        baseline="eager",
        bytes=4 * 4 * COUNT,
        guess=guess,
    )


def costs():
    """Return ways to transform about 1,000 numbers."""
    x = torch.randn(60_000, dtype=torch.complex64, device="cuda")
    out = torch.empty_like(x)
    addresses = x.data_ptr(), out.data_ptr()
    kept = planned(Type.C2C, 1000, 1)
    sizes = itertools.count(1001)

    def make():
        plan = planned(Type.C2C, 1000, 1)
        cufft.exec_c2c(plan, *addresses, cufft.Direction.FORWARD)
        cufft.destroy(plan)

    return {
        "execute": lambda: cufft.exec_c2c(kept, *addresses, -1),
        "make, execute, destroy": make,
        "torch.fft, same size": lambda: torch.fft.fft(x[:1000]),
        "torch.fft, new size": lambda: torch.fft.fft(x[: next(sizes)]),
    }


def plans(guess=None):
    """Time making a plan, by the host's clock."""
    return bench.compare(
        "1,000 complex numbers, on the host's clock",
        costs,
        baseline="execute",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def batches():
    """Return one call for all rows, and a call per row."""
    x = torch.randn(ROWS, LENGTH, dtype=torch.complex64, device="cuda")
    out = torch.empty_like(x)
    whole = planned(Type.C2C, LENGTH, ROWS)
    single = planned(Type.C2C, LENGTH, 1)
    source, target = x.data_ptr(), out.data_ptr()

    def loop():
        for row in range(ROWS):
            there = 8 * LENGTH * row
            cufft.exec_c2c(single, source + there, target + there, -1)

    return {
        "one batch": lambda: cufft.exec_c2c(whole, source, target, -1),
        "a loop": loop,
    }


def batched():
    """Time one plan with a batch, and a loop over the rows."""
    many = "4096 x 1024 complex64"
    return bench.compare(many, batches, baseline="a loop", host=True)


def lengths():
    """Return a transform of about 2^24 numbers for each length."""
    x = torch.randn(1 << 24, dtype=torch.complex64, device="cuda")
    out = torch.empty_like(x)

    def rows(n):
        plan = planned(Type.C2C, n, (1 << 24) // n)
        return lambda: cufft.exec_c2c(plan, x.data_ptr(), out.data_ptr(), -1)

    return {str(n): rows(n) for n in LENGTHS}


def sizes(guess=None):
    """Time rows of several lengths."""
    return bench.compare(
        "2^24 complex64, rows of n",
        lengths,
        baseline="4096",
        bytes=2 * 8 * (1 << 24),
        guess=guess,
    )


def layouts():
    """Return the transforms of all rows, and of all columns, of a matrix."""
    x = torch.randn(SIDE, SIDE, dtype=torch.complex64, device="cuda")
    out = torch.empty_like(x)

    def strided(istride, idist, ostride, odist):
        plan = cufft.create()
        given, wanted = ([SIDE], istride, idist), ([SIDE], ostride, odist)
        sizes = 1, [SIDE]
        cufft.make_plan_many(plan, *sizes, *given, *wanted, Type.C2C, SIDE)
        return lambda: cufft.exec_c2c(plan, x.data_ptr(), out.data_ptr(), -1)

    def by_transposing():
        return torch.fft.fft(x.t().contiguous()).t().contiguous()

    return {
        "rows": strided(1, SIDE, 1, SIDE),
        "columns": strided(SIDE, 1, SIDE, 1),
        "columns to rows": strided(SIDE, 1, 1, SIDE),
        "transpose, rows, transpose": by_transposing,
        "torch.fft, dim=0": lambda: torch.fft.fft(x, dim=0),
    }


def strides(guess=None):
    """Time transforms of rows and of columns."""
    return bench.compare(
        "8192 x 8192 complex64",
        layouts,
        baseline="rows",
        bytes=2 * 8 * SIDE * SIDE,
        guess=guess,
    )


def kinds():
    """Return transforms of 8192 rows of 4096, complex and real."""
    n, rows = 4096, 8192
    z = torch.randn(rows, n, dtype=torch.complex64, device="cuda")
    out = torch.empty_like(z)
    x = torch.randn(rows, n, device="cuda")
    half = torch.empty(rows, n // 2 + 1, dtype=torch.complex64, device="cuda")
    both = z.data_ptr(), out.data_ptr()
    real, spectrum = x.data_ptr(), half.data_ptr()
    types = Type.C2C, Type.R2C, Type.C2R
    c2c, r2c, c2r = (planned(kind, n, rows) for kind in types)
    return {
        "complex to complex": lambda: cufft.exec_c2c(c2c, *both, -1),
        "real to complex": lambda: cufft.exec_r2c(r2c, real, spectrum),
        "complex to real": lambda: cufft.exec_c2r(c2r, spectrum, real),
    }


def real_transforms():
    """Time complex and real transforms."""
    return bench.compare("8192 x 4096", kinds, baseline="complex to complex")


def filters():
    """Return ways to filter the signals, by PyTorch, which calls cuFFT."""
    x = torch.randn(SIGNALS, SAMPLES, device="cuda")
    w = torch.randn(TAPS, device="cuda")
    torch.backends.cudnn.allow_tf32 = False
    turned = w.flip(0)[None, None]

    def real(size):
        def run():
            spectrum = torch.fft.rfft(x, size) * torch.fft.rfft(w, size)
            return torch.fft.irfft(spectrum, size)[:, :FULL]

        return run

    def complex_transforms():
        size = good_size(FULL)
        spectrum = torch.fft.fft(x, size) * torch.fft.fft(w, size)
        return torch.fft.ifft(spectrum, size).real[:, :FULL]

    def direct():
        return functional.conv1d(x[:, None], turned, padding=TAPS - 1)

    return {
        "as it comes": real(FULL),
        "good size": real(good_size(FULL)),
        "power of two": real(1 << (FULL - 1).bit_length()),
        "complex": complex_transforms,
        "conv1d": direct,
    }


def filtered(guess=None):
    """Time a long filter by transforms of several sizes."""
    return bench.compare(
        "64 x 65536 samples, 1023 taps",
        filters,
        baseline="as it comes",
        guess=guess,
    )
