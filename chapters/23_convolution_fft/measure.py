"""The measurements of chapter 23: filters, a layer of a network, and transforms."""

import matplotlib.pyplot as plt
import numpy as np
from numba import cuda

import weft
from weft import bench

from .checks import blocks_of, roots
from .kernels import K, correlate_lean, im2col, layer_direct, layer_tiled, make_rows
from .transforms import (
    HALF,
    POINTS,
    SIDE,
    columns,
    dft_sum,
    fft_apart,
    fft_radix4,
    fft_registers,
    filter_fused,
    one_pass,
    rows_to_columns,
)

widths = (3, 7, 11, 15, 23, 31, 47, 63)

if weft.GPU:
    import torch
    import torch.nn.functional as F

    # float32 throughout; cuDNN tries its algorithms and takes the fastest
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(23)


def five_by_five(correlate, correlate_tiled, guess=None):
    """Apply 5 x 5 taps: the learner's kernels beside others; return the builder too."""

    def filters(size, k):
        """Return a builder of the ways to apply k x k taps to an image."""

        def build():
            m = size - k + 1
            x = torch.randn(size, size, device="cuda")
            w = torch.randn(k, k, device="cuda") / k
            out = torch.empty(m, m, device="cuda")
            down = w.T.contiguous().view(-1)
            d_x, d_w, d_down, d_out = map(cuda.as_cuda_array, (x, w, down, out))
            rows, across = make_rows(k), -(-m // 32)
            x4, w4 = x[None, None], w[None, None]

            light = w / size**2  # instead of scaling the result

            def spectrum():
                return torch.fft.rfft2(light, (size, size)).conj()

            def filtered(taps):
                product = torch.fft.rfft2(x).mul_(taps)
                whole = torch.fft.irfft2(product, (size, size), norm="forward")
                return whole[:m, :m]

            ready = spectrum()
            shape = blocks_of(m, m)
            found = {
                "cuDNN": lambda: F.conv2d(x4, w4),
                "correlate": lambda: correlate[shape](d_x, d_w, d_out),
                "rows": lambda: rows[(across, across), 128](d_x, d_down, d_out),
                "FFT": lambda: filtered(spectrum()),
                "FFT, filter ready": lambda: filtered(ready),
            }
            if k == K:
                d_all, d_taps = map(cuda.as_cuda_array, (x.view(-1), w.view(-1)))
                lean = correlate_lean[shape]
                found = {
                    "cuDNN": found["cuDNN"],
                    "correlate": found["correlate"],
                    "correlate_tiled": lambda: correlate_tiled[shape](d_x, d_w, d_out),
                    "correlate_lean": lambda: lean(d_all, d_taps, d_out, size),
                    "rows": found["rows"],
                }
            wanted = F.conv2d(x4[..., : k + 63, : k + 63].double(), w4.double())
            for name in found.keys() - {"correlate", "correlate_tiled"}:  # given
                got = found[name]()
                corner = (out if got is None else got.view(m, m))[:64, :64]
                off = torch.linalg.vector_norm(corner - wanted[0, 0])
                assert off < 1e-5 * torch.linalg.vector_norm(wanted), name
            if k == K:
                found["copy"] = lambda: out.copy_(x[:m, :m])
            return found

        return build

    five = bench.compare(
        "5 x 5 taps, image 8192 x 8192",
        filters(8192, K),
        baseline="cuDNN",
        flops=2 * K * K * (8192 - K + 1) ** 2,
        guess=guess,
    )
    return five, filters


def layer_ways():
    """Check the ways to compute the layer, and return them."""
    n, c, f, s = 32, 64, 64, 56
    x = torch.randn(n, c, s, s, device="cuda")
    w = torch.randn(f, c, 3, 3, device="cuda") / 24
    out = torch.empty(n, f, s, s, device="cuda")
    cols = torch.empty(n, 9 * c, s * s, device="cuda")
    flat = w.view(f, 9 * c)
    d_x, d_w, d_out, d_cols, d_taps = map(
        cuda.as_cuda_array, (x, w, out, cols, flat.T.contiguous())
    )
    d_flat = cuda.as_cuda_array(out.view(-1, s))
    last = torch.channels_last
    x_last, w_last = x.to(memory_format=last), w.to(memory_format=last)
    spectra = torch.fft.rfft2(w / 64**2, (64, 64)).conj()

    def by_matrix():
        im2col[(-(-s * s // 256), c, n), 256](d_x, d_cols)
        return torch.matmul(flat, cols)

    def by_fft():
        seen = torch.fft.rfft2(F.pad(x, (1, 1, 1, 1)), (64, 64))
        product = torch.einsum("ncij,fcij->nfij", seen, spectra)
        whole = torch.fft.irfft2(product, (64, 64), norm="forward")
        return whole[..., :s, :s]

    def direct():
        layer_direct[(-(-s * s // 128), f, n), 128](d_x, d_w, d_out)
        return out

    def tiled():
        layer_tiled[(2, 7, n), 256](d_x, d_taps, d_flat)
        return out

    ways = {
        "cuDNN": lambda: F.conv2d(x, w, padding=1),
        "cuDNN, channels last": lambda: F.conv2d(x_last, w_last, padding=1),
        "direct": direct,
        "im2col, matmul": by_matrix,
        "layer_tiled": tiled,
        "FFT": by_fft,
    }
    wanted = F.conv2d(x[:1].double(), w.double(), padding=1)
    for name, way in ways.items():
        got = way().reshape(n, f, s, s)[:1]
        error = torch.linalg.vector_norm(got - wanted)
        assert error < 1e-5 * torch.linalg.vector_norm(wanted), name
    return ways


def layer(guess=None):
    """Compute a layer of a network in several ways."""
    return bench.compare(
        "32 x 64 x 56 x 56, 64 filters of 3 x 3",
        layer_ways,
        baseline="cuDNN",
        flops=2 * 32 * 64 * 64 * 9 * 56**2,
        guess=guess,
    )


def by_width(filters, guess=None):
    """Apply larger and larger filters, with the builder of `five_by_five`."""
    by_width = {
        k: bench.compare(
            f"{k} x {k} taps, image 2048 x 2048",
            filters(2048, k),
            baseline="cuDNN",
            flops=2 * k * k * (2048 - k + 1) ** 2,
            guess=guess if k in (7, 31) else None,
        )
        for k in widths
    }
    return by_width


def plot_widths(by_width):
    """Plot the times over the width of the filter."""
    if all(len(table) for table in by_width.values()):
        _, axes = plt.subplots(figsize=(7, 4), dpi=72)
        marks = {"cuDNN": "s--", "correlate": "^:", "rows": "o-", "FFT": "d-."}
        for name, mark in marks.items():
            shown = [by_width[k][name].ms for k in widths]
            axes.loglog(widths, shown, mark, label=name)
        axes.set_xticks(widths, [str(k) for k in widths])
        axes.minorticks_off()
        axes.set_xlabel("taps across, k")
        axes.set_ylabel("ms")
        axes.grid(alpha=0.3)
        axes.legend()
        plt.show()


def parts(z):
    """Return a complex tensor as float32: real, imaginary, real, ..."""
    return torch.view_as_real(z).flatten(-2)


def error_of(got, wanted):
    """Return the error of a tensor, relative to its size."""
    off = torch.linalg.vector_norm(got - wanted)
    return (off / torch.linalg.vector_norm(wanted)).item()


def fft_ladder(fft_shared, guess=None):
    """Transform rows of 1024 points: the learner's kernel beside others, and errors."""

    def transforms(rows, found=None):
        """Return a builder of the ways to transform; errors go into `found`."""

        def build():
            x = torch.randn(rows, POINTS, dtype=torch.complex64, device="cuda")
            out, spare = torch.empty_like(x), torch.empty_like(x)
            d_x, d_out, d_spare = map(cuda.as_cuda_array, (x, out, spare))
            p_x, p_out = (cuda.as_cuda_array(parts(z)) for z in (x, out))
            table = cuda.to_device(roots(POINTS))

            def ten():
                source = d_x
                for level in range(10):
                    target = d_out if level % 2 else d_spare
                    launch = one_pass[(rows, 4), 128]
                    launch(source, table, target, 1 << level)
                    source = target

            def on(kernel, threads):
                return lambda: kernel[rows, threads](d_x, table, d_out)

            ways = {
                "torch.fft": lambda: torch.fft.fft(x),
                "sum": lambda: dft_sum[(rows, 8), 128](d_x, table, d_out),
                "ten launches": ten,
                "fft_shared": on(fft_shared, HALF),
                "radix 4": on(fft_radix4, 256),
                "pairs apart": on(fft_apart, 64),
                "registers": lambda: fft_registers[rows, 64](p_x, table, p_out),
                "copy": lambda: out.copy_(x),
            }
            if found is not None:
                wanted = torch.fft.fft(x[:1000].to(torch.complex128))
                for name in [n for n in ways if n != "copy"]:
                    got = ways[name]()
                    got = out if got is None else got
                    found[name] = error_of(got[:1000], wanted)
            return ways

        return build

    errors = {}
    ladder = bench.compare(
        "65536 x 1024 complex64",
        transforms(1 << 16, errors),
        baseline="torch.fft",
        bytes=2 * 8 * POINTS << 16,
        ceiling="copy",
        guess=guess,
    )
    return ladder, errors


def millions():
    """Check the two kernels, and return them with the library and a copy."""
    count, n = 64, 1 << 20
    x = torch.randn(count, n, dtype=torch.complex64, device="cuda")
    half, out = torch.empty_like(x), torch.empty_like(x)
    d_x, d_half, d_out = (
        cuda.as_cuda_array(parts(z).view(-1, 2 * POINTS)) for z in (x, half, out)
    )
    little = np.exp(-2j * np.pi * np.arange(POINTS) / n)
    table = cuda.to_device(roots(POINTS))
    fine = cuda.to_device(little.astype(np.complex64))
    shape = (POINTS // SIDE, count), 256

    def two():
        columns[shape](d_x, table, fine, d_half)
        rows_to_columns[shape](d_half, table, d_out)

    two()
    wanted = torch.fft.fft(x[:1].to(torch.complex128))
    assert error_of(out[:1], wanted) < 1e-6
    return {
        "torch.fft": lambda: torch.fft.fft(x),
        "two kernels": two,
        "copy": lambda: out.copy_(x),
    }


def large(guess=None):
    """Transform a million points at a time."""
    return bench.compare(
        "64 x 2^20 complex64",
        millions,
        baseline="torch.fft",
        bytes=2 * 8 * 64 << 20,
        ceiling="copy",
        guess=guess,
    )


def long_filters():
    """Check the ways to filter a long signal, and return them."""
    n, taps = 1 << 26, 257
    kept, m = POINTS - taps + 1, n - taps + 1
    pieces = -(-m // kept)
    x = torch.randn(n, dtype=torch.complex64, device="cuda")
    h = torch.randn(taps, device="cuda") / 16
    out = torch.empty(m, dtype=torch.complex64, device="cuda")
    spectrum = torch.fft.fft(h.to(torch.complex64), POINTS)
    scaled = spectrum / POINTS
    d_x, d_out, d_spectrum = (cuda.as_cuda_array(parts(z)) for z in (x, out, scaled))
    table = cuda.to_device(roots(POINTS))
    longer = torch.zeros(pieces * kept + taps - 1, dtype=x.dtype, device="cuda")
    longer[:n] = x
    planes = torch.view_as_real(x).T.contiguous()[:, None]
    flipped = h.flip(0)[None, None]
    whole = torch.fft.fft(h.to(torch.complex64), n) / n

    def in_three_passes():
        seen = torch.fft.fft(longer.unfold(0, POINTS, kept))
        return torch.fft.ifft(seen.mul_(scaled), norm="forward")[:, taps - 1 :]

    def in_four_passes():
        return in_three_passes().reshape(-1)[:m]  # a copy

    def in_pieces():  # ifft divides in a pass of its own
        seen = torch.fft.fft(longer.unfold(0, POINTS, kept))
        kept_only = torch.fft.ifft(seen.mul_(spectrum))[:, taps - 1 :]
        return kept_only.reshape(-1)[:m]

    def all_at_once():
        product = torch.fft.fft(x).mul_(whole)
        return torch.fft.ifft(product, norm="forward")[taps - 1 :]

    def fused():
        filter_fused[pieces, 64](d_x, d_spectrum, table, d_out, taps)
        return out

    for part in (slice(1 << 20), slice(-(1 << 20), None)):
        wanted = torch.complex(*F.conv1d(planes, flipped)[:, 0, part])
        ways = (in_three_passes, in_four_passes, in_pieces, all_at_once, fused)
        for way in ways:
            found = way().reshape(-1)[:m][part]
            assert error_of(found, wanted) < 3e-6, way.__name__
    return {
        "torch.fft, three passes": in_three_passes,
        "torch.fft, and a copy": in_four_passes,
        "torch.fft, in pieces": in_pieces,
        "torch.fft, all at once": all_at_once,
        "F.conv1d": lambda: F.conv1d(planes, flipped),
        "filter_fused": fused,
        "copy": lambda: out.copy_(x[:m]),
    }


def long(guess=None):
    """Filter a long signal."""
    return bench.compare(
        "2^26 complex64, 257 taps",
        long_filters,
        baseline="torch.fft, three passes",
        bytes=2 * 8 << 26,
        ceiling="copy",
        guess=guess,
    )
