"""The measurements of chapter 9. Each function times, and returns a table or several.

Importing this module makes three images, of 64 MiB each on a GPU.
"""

import math

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    BINS,
    add_all,
    count_plain,
    counted_in_copies,
    max_each,
    swap_each,
    weighted_once,
)

if weft.GPU:
    import torch

n = 1 << 26 if weft.GPU else 1 << 12
blocks = n // 256
pixels = np.random.default_rng(9).integers(0, 256, n, np.uint8)
d_pixels = cuda.to_device(pixels)
right = int(np.count_nonzero(pixels == 7))
rng = np.random.default_rng(1)
images = {
    "random pixels": pixels,
    "a dark image": np.where(rng.random(n) < 0.9, np.uint8(0), pixels),
    "all black": np.zeros(n, np.uint8),
}
sms = weft.device.find().sms or 132
few = 2 * sms, 1024  # two blocks of 1024 threads fill an SM
four = 4 * sms, 512  # four blocks, with 32 KB of copies each, fill an SM

values = np.random.default_rng(3).random(1 << 20, np.float32)
orders = [np.random.default_rng(k).permutation(values) for k in range(3)]


def lost_updates():
    """Count matches without atomics five times, and print the counts."""
    counted = []
    for _ in range(5):
        out = cuda.to_device(np.zeros(1, np.int32))
        count_plain[blocks, 256](d_pixels, 7, out)
        counted.append(int(out.copy_to_host()[0]))
    print(f"{right:,} matches; the plain kernel counts", counted)
    if not weft.GPU:
        print("The simulator runs one thread after the other: nothing gets lost.")
        print("The reference GPU counts fewer than 1 in 100 of the matches.")


def nearly_all_lost():
    out = cuda.to_device(np.zeros(1, np.int32))
    count_plain[blocks, 256](d_pixels, 7, out)
    return out.copy_to_host()[0] < right / 100


def spread(histogram_global, guess=None):
    """Count into more and more bins, with the learner's kernel."""

    def spread_over():
        def increments(counters):
            x = torch.randint(counters, (1 << 24,), dtype=torch.int32, device="cuda")
            bins = torch.zeros(counters, dtype=torch.int32, device="cuda")
            d_x, d_bins = cuda.as_cuda_array(x), cuda.as_cuda_array(bins)
            return lambda: histogram_global[1 << 16, 256](d_x, d_bins)

        names = {"1": 1, "8": 8, "256": 256, "2^12": 1 << 12, "2^16": 1 << 16}
        names |= {"2^20": 1 << 20, "2^24": 1 << 24}
        return {name: increments(count) for name, count in names.items()}

    return bench.compare(
        "2^24 increments, by number of counters",
        spread_over,
        baseline="1",
        guess=guess,
    )


def by_image(histogram_global, histogram_shared, guess=None, guess_dark=None):
    """Make histograms of three images, with the learner's kernels."""

    def rungs(image):
        def build():
            x = torch.from_numpy(images[image]).cuda()
            bins = torch.zeros(BINS, dtype=torch.int32, device="cuda")
            d_x, d_bins = cuda.as_cuda_array(x), cuda.as_cuda_array(bins)
            return {
                "torch.bincount": lambda: torch.bincount(x, minlength=BINS),
                "global": lambda: histogram_global[blocks, 256](d_x, d_bins),
                "shared": lambda: histogram_shared[few](d_x, d_bins),
            }

        return build

    tables = {
        image: bench.compare(
            f"2^26 bytes, {image}",
            rungs(image),
            baseline="torch.bincount",
            bytes=n,
            guess=guess if image == "random pixels" else guess_dark,
        )
        for image in images
    }
    return tables


def ladder(histogram_global, histogram_shared, histogram_words, guess=None):
    """Compare the learner's three histograms."""

    def ladder_rungs():
        x = torch.from_numpy(pixels).cuda()
        bins = torch.zeros(BINS, dtype=torch.int32, device="cuda")
        d_x, d_bins = cuda.as_cuda_array(x), cuda.as_cuda_array(bins)
        d_words = d_x.view(np.uint32)
        return {
            "torch.bincount": lambda: torch.bincount(x, minlength=BINS),
            "global": lambda: histogram_global[blocks, 256](d_x, d_bins),
            "shared": lambda: histogram_shared[few](d_x, d_bins),
            "words": lambda: histogram_words[few](d_words, d_bins),
            "torch.amax": lambda: torch.amax(x),
        }

    return bench.compare(
        "2^26 bytes, 256 bins",
        ladder_rungs,
        baseline="torch.bincount",
        bytes=n,
        guess=guess,
    )


def wide(histogram_shared):
    """Make histograms of pixels in wider types."""

    def wider(kind):
        def build():
            x = torch.from_numpy(pixels).cuda().to(getattr(torch, kind))
            bins = torch.zeros(BINS, dtype=torch.int32, device="cuda")
            d_x, d_bins = cuda.as_cuda_array(x), cuda.as_cuda_array(bins)
            return {
                "torch.bincount": lambda: torch.bincount(x, minlength=BINS),
                "shared": lambda: histogram_shared[few](d_x, d_bins),
            }

        return build

    wide = {
        kind: bench.compare(
            f"2^26 {kind}, 256 bins",
            wider(kind),
            baseline="torch.bincount",
            bytes=size * n,
        )
        for kind, size in (("int32", 4), ("int64", 8))
    }
    return wide


def weighted(histogram_weighted, histogram_shared, guess=None, guess_dark=None):
    """Make weighted histograms, with the learner's kernel."""

    def with_weights(image):
        def build():
            x = torch.from_numpy(images[image]).cuda()
            weights = torch.rand(n, device="cuda")
            bins = torch.zeros(BINS, dtype=torch.int32, device="cuda")
            sums = torch.zeros(BINS, device="cuda")
            d_x, d_weights, d_bins, d_sums = (
                cuda.as_cuda_array(a) for a in (x, weights, bins, sums)
            )
            return {
                "torch.bincount": lambda: torch.bincount(x, weights, BINS),
                "weighted, 32 copies": lambda: histogram_weighted[four](
                    d_x, d_weights, d_sums
                ),
                "counted, 1 copy": lambda: histogram_shared[four](d_x, d_bins),
            }

        return build

    weighted = {
        image: bench.compare(
            f"2^26 weights, {image}",
            with_weights(image),
            baseline="torch.bincount",
            guess=guess if image == "random pixels" else guess_dark,
        )
        for image in ("random pixels", "a dark image")
    }
    return weighted


def copies(histogram_weighted, histogram_shared, guess=None, guess_dark=None):
    """Make histograms with one copy of the bins, and with 32."""

    def weighted_rungs(image):
        def build():
            x = torch.from_numpy(images[image]).cuda()
            weights = torch.rand(n, device="cuda")
            bins = torch.zeros(BINS, dtype=torch.int32, device="cuda")
            sums = torch.zeros(BINS, device="cuda")
            d_x, d_weights, d_bins, d_sums = (
                cuda.as_cuda_array(a) for a in (x, weights, bins, sums)
            )
            return {
                "torch.bincount": lambda: torch.bincount(x, weights, BINS),
                "weighted, 1 copy": lambda: weighted_once[four](d_x, d_weights, d_sums),
                "weighted, 32 copies": lambda: histogram_weighted[four](
                    d_x, d_weights, d_sums
                ),
                "counted, 1 copy": lambda: histogram_shared[four](d_x, d_bins),
                "counted, 32 copies": lambda: counted_in_copies[four](d_x, d_bins),
            }

        return build

    copies = {
        image: bench.compare(
            f"one copy or 32, {image}",
            weighted_rungs(image),
            baseline="weighted, 1 copy",
            guess=guess if image == "random pixels" else guess_dark,
        )
        for image in ("random pixels", "a dark image")
    }
    return copies


def swaps(atomic_max_float, guess=None, guess_ascending=None):
    """Find the largest with the learner's kernel, launched in two ways."""

    def launched_twice(order):
        """Return a builder of the ways to find the largest, for floats in an order."""

        def build():
            if order == "random":
                y = torch.rand(1 << 24, device="cuda")
            else:
                y = torch.arange(1 << 24, dtype=torch.float32, device="cuda")
            top = torch.empty(1, device="cuda")
            d_y, d_top = cuda.as_cuda_array(y), cuda.as_cuda_array(top)

            def after_reset(kernel, *config):
                def run():
                    top.fill_(-math.inf)
                    kernel[config](d_y, d_top)

                return run

            return {
                "one element each": after_reset(atomic_max_float, 1 << 16, 256),
                "atomic.max": after_reset(max_each, 1 << 16, 256),
                "few threads": after_reset(atomic_max_float, *few),
                "torch.amax": lambda: torch.amax(y),
            }

        return build

    swaps = {
        order: bench.compare(
            f"the largest, 2^24 {order} float32",
            launched_twice(order),
            baseline="one element each",
            bytes=4 << 24,
            guess=guess if order == "random" else guess_ascending,
        )
        for order in ("random", "ascending")
    }
    return swaps


def maxima(atomic_max_float, guess=None):
    """Find the largest with a swap for each element, and with fewer."""

    def largest():
        y = torch.rand(1 << 24, device="cuda")
        top = torch.empty(1, device="cuda")
        d_y, d_top = cuda.as_cuda_array(y), cuda.as_cuda_array(top)

        def after_reset(kernel, *config):
            def run():
                top.fill_(-math.inf)
                kernel[config](d_y, d_top)

            return run

        return {
            "swap each": after_reset(swap_each, 1 << 16, 256),
            "atomic.max": after_reset(max_each, 1 << 16, 256),
            "yours": after_reset(atomic_max_float, *few),
            "torch.amax": lambda: torch.amax(y),
        }

    return bench.compare(
        "the largest of 2^24 float32",
        largest,
        baseline="swap each",
        bytes=4 << 24,
        guess=guess,
    )


def sums_of(data):
    found = []
    for _ in range(5):
        out = cuda.to_device(np.zeros(1, data.dtype))
        add_all[data.size // 256, 256](cuda.to_device(data), out)
        found.append(out.copy_to_host()[0].item())
    return found


def same_sum():
    """Add the same numbers in several orders, and print the sums."""
    print("float32, on the CPU:", [float(np.cumsum(v)[-1]) for v in orders])
    if weft.on_gpu(
        "the simulator adds in the same order every time. On the reference GPU "
        "the five float sums differ, and the five integer sums agree"
    ):
        floats = sums_of(values)
        whole = sums_of((values * 1000).astype(np.int32))
        print("float32, by atomics:", floats)
        print("int32, by atomics:  ", whole)
        print("exact, of the floats:", values.astype(np.float64).sum())
