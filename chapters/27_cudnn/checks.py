"""Specifications, inputs and explanations for the checks of lab 27."""

from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from weft.libraries.cudnn import ForwardAlgo


def layers(rng):
    """Return convolutions: shapes, padding, stride and dilation."""
    yield (2, 3, 7, 9), (4, 3, 3, 2), (0, 0), (1, 1), (1, 1)
    yield (2, 3, 7, 9), (5, 3, 3, 2), (1, 2), (1, 1), (1, 1)
    yield (1, 4, 10, 8), (6, 4, 3, 5), (1, 0), (2, 3), (1, 1)
    yield (3, 2, 12, 15), (7, 2, 3, 2), (0, 1), (1, 2), (2, 4)
    for _ in range(6):
        n, c, k = (int(v) for v in rng.integers(1, 6, 3))
        h, w = (int(v) for v in rng.integers(12, 20, 2))
        r, s = (int(v) for v in rng.integers(1, 5, 2))
        pairs = [tuple(map(int, rng.integers(1, 4, 2))) for _ in range(3)]
        pad = pairs[0][0] - 1, pairs[0][1] - 1
        yield (n, c, h, w), (k, c, r, s), pad, pairs[1], pairs[2]


def by_torch(x, w, pad, stride, dilation):
    """Return what PyTorch makes of it, with nothing in memory."""
    images, filters = (torch.empty(size, device="meta") for size in (x, w))
    y = functional.conv2d(images, filters, None, stride, pad, dilation)
    n, k, p, q = y.shape
    return (n, k, p, q), torch.empty(n, p, q, k).permute(0, 3, 1, 2).stride()


def same_description(got, wanted):
    """Return "" for the right description, or else what is wrong with it."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "Return a tuple of two: the shape and the strides."
    if any(not hasattr(part, "__len__") or len(part) != 4 for part in got):
        return "The shape and the strides have four numbers each."
    shape, strides = tuple(got[0]), tuple(got[1])
    if any(not isinstance(v, int) for v in shape + strides):
        return "All of them are integers: divide with `//`."
    names = "images", "channels", "rows", "columns"
    hints = {
        "images": "A convolution has as many results as images.",
        "channels": "Every filter makes one channel.",
    }
    for name, size, aim in zip(names, shape, wanted[0], strict=True):
        if size != aim:
            why = hints.get(
                name,
                "In how many places do the taps lie inside the padded image? "
                "The first is always one of them.",
            )
            return f"The shape has {size} {name}. {why}"
    if strides != wanted[1]:
        if sorted(strides) == sorted(wanted[1]):
            return (
                f"The strides are {strides}: the right numbers, in another "
                "order. They are listed as n, c, h, w too."
            )
        return (
            f"The strides are {strides}. In NHWC, how far apart are two "
            "channels of a pixel, two pixels of a row, two rows?"
        )
    return ""


def a_layer(rng, n, c, k, side):
    """Return x, w, y, padding, stride and an algorithm."""
    pad, stride, taps = (1, 0), (2, 1), (3, 2)
    algo = ForwardAlgo.IMPLICIT_PRECOMP_GEMM
    if n % 2 == 0:
        stride, taps = (1, 1), (3, 3)
        algo = ForwardAlgo.WINOGRAD_NONFUSED
    x = torch.from_numpy(rng.normal(0, 1, (n, c, side, side + 3))).float()
    w = torch.from_numpy(rng.normal(0, 1, (k, c, *taps))).float()
    y = torch.full_like(functional.conv2d(x, w, None, stride, pad), torch.nan)
    return x, w, y, pad, stride, algo


def correlated(x, w, y, pad, stride, algo):
    """Return the convolution as PyTorch defines it."""
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    return functional.conv2d(x, w, None, stride, pad).numpy()


def turned_around(x, w, y, pad, stride, algo, got):
    """Return why this is not the result, if the filters are turned around."""
    x, w = x.double(), w.double().flip(2, 3)
    other = functional.conv2d(x, w, None, stride, pad)
    if got.shape == tuple(other.shape) and np.allclose(got, other, atol=1e-4):
        return "This is the result for filters that are turned around."
    return ""


class Perf(NamedTuple):
    """What is known about one algorithm."""

    algo: int
    status: int  # 0: it works; otherwise nothing else here means anything
    time: float  # milliseconds
    memory: int  # bytes of workspace
    determinism: int  # 1: the same bits at every run

    def __repr__(self):
        """Return the five numbers."""
        return f"Perf{tuple(self)}"


def lists_of_results(rng):
    """Return results to choose from, a limit, and whether to reproduce."""
    fails = 3000
    common = [
        Perf(1, 0, 0.31, 4_000, 1),
        Perf(0, 0, 0.42, 0, 1),
        Perf(7, 0, 0.24, 900_000, 1),
        Perf(2, 0, 0.55, 2_000_000, 1),
        Perf(4, 0, 0.20, 50_000_000, 0),
        Perf(6, fails, -1.0, 0, 1),
        Perf(3, fails, -1.0, 0, 0),
    ]
    yield common, 1 << 30, False
    yield common, 1 << 30, True
    yield common, 1 << 20, False
    yield common, 900_000, False
    yield common, 100, False
    yield list(reversed(common)), 5_000, True
    yield [Perf(6, fails, -1.0, 0, 1), Perf(4, 0, 0.2, 99, 0)], 1 << 20, True
    yield [Perf(5, 0, 0.2, 1 << 40, 1), Perf(3, fails, 0.0, 0, 1)], 8, False
    for reproducible in (False, True):
        algos = rng.permutation(8)
        yield (
            [
                Perf(
                    int(a),
                    int(fails * (rng.random() < 0.3)),
                    round(float(rng.random()), 3),
                    int(rng.integers(0, 100)),
                    int(rng.integers(0, 2)),
                )
                for a in algos
            ],
            60,
            reproducible,
        )


def best_of(results, limit, reproducible):
    """Return the number of the algorithm to choose."""
    able = [p for p in results if p.status == 0 and p.memory <= limit]
    able = [p for p in able if p.determinism or not reproducible]
    return min(able, key=lambda p: p.time).algo if able else 0


def why_not(results, limit, reproducible, got):
    """Return why this is not the algorithm to choose."""
    found = [p for p in results if p.algo == got]
    if not found:
        return "Return an algorithm's number, or 0 if none is suitable."
    (mine,) = found
    if mine.status:
        return f"Algorithm {got} has status {mine.status}: it cannot do this."
    if mine.memory > limit:
        return f"Algorithm {got} needs {mine.memory:,} bytes of workspace."
    if reproducible and not mine.determinism:
        return f"Algorithm {got} may give other bits at the next run."
    return f"Algorithm {got} is suitable, but another one is faster."


def half_layer(rng, n, c, k, side):
    """Return x and y with the channels last, w without, and a padding."""
    last = torch.channels_last
    x = torch.from_numpy(rng.integers(-3, 4, (n, c, side, side + 2)))
    w = torch.from_numpy(rng.integers(-3, 4, (k, c, 3, 2))).half()
    y = torch.full((n, k, side, side + 3), torch.nan).half()
    x, y = (each.half().contiguous(memory_format=last) for each in (x, y))
    return x, w, y, (1, 1)


def padded(x, w, y, pad):
    """Return the convolution as PyTorch defines it."""
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    return functional.conv2d(x, w, None, 1, pad).numpy()


def places(rng):
    """Return elements of unrolled matrices."""
    problems = [
        ((2, 4, 5, 7), (2, 3, 5, 6), (3, 2), (1, 0), (1, 1), (1, 1)),
        ((2, 3, 9, 8), (2, 6, 5, 3), (3, 4), (1, 0), (2, 2), (1, 1)),
        ((3, 2, 8, 9), (3, 5, 4, 3), (3, 2), (1, 2), (2, 3), (2, 4)),
    ]
    yield 0, 0, *problems[0]
    yield 7, 3, *problems[0]
    for problem in problems:
        x, y, taps, *_ = problem
        rows, cols = x[0] * y[2] * y[3], taps[0] * taps[1] * x[1]
        for _ in range(14):
            row, col = int(rng.integers(0, rows)), int(rng.integers(0, cols))
            yield row, col, *problem
        yield rows - 1, cols - 1, *problem


def unrolled(x, y, taps, pad, stride, dilation):
    """Return the whole matrix of offsets."""
    (n, c, h, w), (_, _, p, q), (r, s) = x, y, taps
    at = torch.arange(n * h * w * c).reshape(n, h, w, c)
    bottom, right = 2 * r * dilation[0] + h, 2 * s * dilation[1] + w
    wide = torch.full((n, h + pad[0] + bottom, w + pad[1] + right, c), -1)
    wide[:, pad[0] : pad[0] + h, pad[1] : pad[1] + w] = at
    rows = torch.arange(p)[:, None] * stride[0] + dilation[0] * torch.arange(r)
    cols = torch.arange(q)[:, None] * stride[1] + dilation[1] * torch.arange(s)
    seen = wide[:, rows[:, None, :, None], cols[None, :, None, :]]
    return seen.reshape(n * p * q, r * s * c)


def looked_up(row, col, *problem):
    """Return one element of the matrix of offsets."""
    return int(unrolled(*problem)[row, col])


def which_index(row, col, x, y, taps, pad, stride, dilation, got):
    """Return which index of an answer is wrong."""
    right = looked_up(row, col, x, y, taps, pad, stride, dilation)
    _, c, h, w = x
    if not isinstance(got, int | np.integer):
        return "An offset is an integer."
    if right == -1:
        return (
            "This tap lies outside the image, so it reads a zero of the "
            f"padding. Offset {got} belongs to another pixel."
        )
    if got == -1:
        return "The tap lies inside the image here, so there is an offset."
    if not 0 <= got < x[0] * c * h * w:
        return f"The images have {x[0] * c * h * w} elements in all."
    names = "image", "row", "column", "channel"
    mine = np.unravel_index(got, (x[0], h, w, c))
    wanted = np.unravel_index(right, (x[0], h, w, c))
    wrong = [
        f"{name} {int(a)}"
        for name, a, b in zip(names, mine, wanted, strict=True)
        if a != b
    ]
    verb = "is" if len(wrong) == 1 else "are"
    which = " and ".join(wrong)
    return f"In NHWC, this offset has {which}, which {verb} wrong."


def biased_layer(rng, n, c, k, side):
    """Return x, w, bias and y, the images with the channels last."""
    last = torch.channels_last
    x = torch.from_numpy(rng.integers(-3, 4, (n, c, side, side + 2))).half()
    w = torch.from_numpy(rng.integers(-3, 4, (k, c, 3, 3))).half() / 16
    bias = torch.from_numpy(rng.integers(-9, 9, k)).half() / 4
    y = torch.full((n, k, side, side + 2), torch.nan).half()
    x, w, y = (each.contiguous(memory_format=last) for each in (x, w, y))
    return x, w, bias, y, (1, 1)


def one_step_each(x, w, bias, y, pad):
    """Return relu(conv(x, w) + bias)."""
    x, w, bias = map(torch.from_numpy, (x, w, bias))
    return functional.conv2d(x, w, bias, 1, pad).relu().numpy()


def what_is_missing(x, w, bias, y, pad, got):
    """Return which step is missing, or in the wrong place."""
    x, w, bias = (each.double() for each in (x, w, bias))
    sums = functional.conv2d(x, w, None, 1, pad)
    shift = bias[:, None, None]
    for reason, other in {
        "This is the convolution alone.": sums,
        "The bias is missing.": sums.relu(),
        "The ReLU is missing.": sums + shift,
        "The ReLU comes before the bias.": sums.relu() + shift,
    }.items():
        if np.allclose(got, other.numpy(), atol=0.02):
            return reason
    return ""
