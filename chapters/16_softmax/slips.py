"""What wrong results of lab 16 are the results of, and data that show slips."""

import math
from functools import partial

import numpy as np

from weft.checking.slips import result_if

from .checks import merged, scores, shares
from .kernels import LOWEST, NOTHING


def peaked(rng, rows, cols):
    """Return scores; of row 1 the last is larger than the others by 100 or more."""
    x = scores(rng, rows, cols)
    if cols > 1:
        x[1:2, -1] = -200
    return x


# What wrong results are the results of. A row is laid out as (turns, warps, lanes): OWN
# are the axes of what a thread has, WARP those of what a warp has, ROW all. The powers
# are float32, so that they overflow.


def in_shape(x, shape, filler=NOTHING):
    """Return rows in such a shape, with a filler beyond their ends.

    Where the shape has 0 turns, there are as many as the row needs.
    """
    rows, cols = x.shape
    width = math.prod(shape[1:])
    turns = shape[0] or -(-cols // width)
    whole = np.full((rows, turns * width), filler, np.float32)
    whole[:, :cols] = x
    return whole.reshape(rows, turns, *shape[1:])


def power(x):
    return np.exp(x).astype(np.float32)


def flat(whole, cols):
    return whole.reshape(len(whole), -1)[:, :cols]


def combined(x, shape, top, total, start=LOWEST, filler=NOTHING, add=np.sum):
    """Return shares where maximum and sum are those along some axes.

    start: the maximum of nothing. filler: what is beyond the end of a row. add: how
    sums of threads are combined.
    """
    whole = in_shape(x, shape, filler)
    tops = start
    if top is not None:
        tops = np.maximum(whole.max(axis=top, keepdims=True), start)
    powers = power(whole - tops)
    sums = powers.sum(axis=1, keepdims=True)
    if total != OWN:
        sums = add(sums, axis=total[1:], keepdims=True)
    return flat(powers / sums, x.shape[1])


def largest(x):
    """Return the maximum of each row."""
    return np.maximum(x.max(axis=1, keepdims=True), LOWEST)


def last_only(x, count):
    """Return shares where each thread's sum is its last power: of `count` columns."""
    powers = power(x - largest(x))
    return powers / powers[:, count].sum(axis=1, keepdims=True)


OWN, WARP, ROW = (1,), (1, 3), (1, 2, 3)
OF_A_BLOCK, OF_A_WARP = (
    (0, 8, 32),
    (32, 1, 32),
)  # columns of the three passes, and of a warp

PASSES = result_if(
    {
        "the threads' sums are not combined": partial(
            combined, shape=OF_A_BLOCK, top=ROW, total=OWN
        ),
        "the sums are combined in each warp, and not in the block": partial(
            combined, shape=OF_A_BLOCK, top=ROW, total=WARP
        ),
        "the threads' maxima are not combined": partial(
            combined, shape=OF_A_BLOCK, top=OWN, total=ROW
        ),
        "the maxima are combined in each warp, and not in the block": partial(
            combined, shape=OF_A_BLOCK, top=WARP, total=ROW
        ),
        "neither maxima nor sums are combined": partial(
            combined, shape=OF_A_BLOCK, top=OWN, total=OWN
        ),
        "the maximum starts from 0": partial(
            combined, shape=OF_A_BLOCK, top=ROW, total=ROW, start=0
        ),
        "no maximum is subtracted": partial(
            combined, shape=OF_A_BLOCK, top=None, total=ROW, start=0
        ),
        "each thread's sum is only its last power": lambda x: last_only(
            x, slice(-256, None)
        ),
        "the powers are not divided by their sum": lambda x: power(x - largest(x)),
        "the maximum is not subtracted in the last pass": lambda x: (
            power(x) / power(x - largest(x)).sum(axis=1, keepdims=True)
        ),
    }
)

IN_A_WARP = result_if(
    {
        "the lanes' sums are not combined": partial(
            combined, shape=OF_A_WARP, top=ROW, total=OWN
        ),
        "the lanes' maxima are not combined": partial(
            combined, shape=OF_A_WARP, top=OWN, total=ROW
        ),
        "neither maxima nor sums are combined": partial(
            combined, shape=OF_A_WARP, top=OWN, total=OWN
        ),
        "the sum is the largest of the lanes' sums": partial(
            combined, shape=OF_A_WARP, top=ROW, total=ROW, add=np.max
        ),
        "the maximum starts from 0": partial(
            combined, shape=OF_A_WARP, top=ROW, total=ROW, start=0
        ),
        "no maximum is subtracted": partial(
            combined, shape=OF_A_WARP, top=None, total=ROW, start=0
        ),
        "a column beyond the end counts as 0": partial(
            combined, shape=OF_A_WARP, top=ROW, total=ROW, filler=0
        ),
        "a column beyond the end counts as `LOWEST`": partial(
            combined, shape=OF_A_WARP, top=ROW, total=ROW, filler=LOWEST
        ),
        "each lane's sum is only its last power": lambda x: last_only(
            x, slice(992, None)
        ),
        "the powers are not divided by their sum": lambda x: power(x - largest(x)),
        "the scores are divided by the sum, and not their powers": lambda x: (
            x / power(x - largest(x)).sum(axis=1, keepdims=True)
        ),
    }
)


def merged_warps(x, factor="right", total="merged"):
    """Return shares of a block whose warps' pairs are merged with a slip.

    factor: of a thread's powers. total: what they are divided by.
    """
    whole = in_shape(x, (4, 8, 32, 4))
    tops = np.maximum(whole.max(axis=(1, 3, 4), keepdims=True), LOWEST)
    powers = power(whole - tops)
    own = powers.sum(axis=(1, 4), keepdims=True)
    sums = own.sum(axis=3, keepdims=True)
    top = tops.max(axis=2, keepdims=True)
    merged = (sums * power(tops - top)).sum(axis=2, keepdims=True)
    if factor == "lane 0":
        factors = np.full(own.shape, np.inf)  # e^(top - LOWEST) / 0
        factors[:, :, :, :1] = power(tops - top) / merged
        return flat(powers * factors, x.shape[1])
    factors = {
        "right": power(tops - top),
        "none": np.float32(1),
        "inverse": power(top - tops),
    }
    totals = {
        "merged": merged,
        "plain": sums.sum(axis=2, keepdims=True),
        "own": sums,
        "lane 0": (own[:, :, :, :1] * power(tops - top)).sum(axis=2, keepdims=True),
        "four times": 4 * merged,
    }
    return flat(powers * factors[factor] / totals[total], x.shape[1])


IN_A_BLOCK = result_if(
    {
        "a thread's powers stay relative to its warp's maximum": partial(
            merged_warps, factor="none"
        ),
        "the warps' sums are added without being rescaled": partial(
            merged_warps, total="plain"
        ),
        "each warp divides by its own sum": partial(
            merged_warps, factor="none", total="own"
        ),
        "the factor's exponent has the other sign": partial(
            merged_warps, factor="inverse"
        ),
        "only lane 0 of each warp has the merged pair": partial(
            merged_warps, factor="lane 0"
        ),
        "the sum of a warp is only that of its lane 0": partial(
            merged_warps, total="lane 0"
        ),
        "each pair is counted four times": partial(merged_warps, total="four times"),
    }
)


def why_not(named, x, out):
    """Say what a wrong softmax is the result of, or where its NaN comes from."""
    if named:
        return named
    if np.isnan(out[np.isfinite(shares(x))]).any():
        return (
            "The NaN is infinity / infinity or 0 / 0. If what is subtracted is not the "
            "largest score of the row, powers overflow; if it is larger, they all "
            "round to 0. Does the maximum see all scores, and nothing else?"
        )
    return ""


def why_not_passes(x, out):
    return why_not(PASSES(x, out), x, out)


def why_not_warp(x, out):
    return why_not(IN_A_WARP(x, out), x, out)


def why_not_block(x, out):
    return why_not(IN_A_BLOCK(x, out), x, out)


def merged_as(a, b, first=1.0, second=1.0, sign=1.0, smaller=False):
    """Return merged pairs; first, second: whether a sum is rescaled."""
    top = (np.minimum if smaller else np.maximum)(a[:, 0], b[:, 0])
    total = a[:, 1] * power(sign * first * (a[:, 0] - top))
    total = total + b[:, 1] * power(sign * second * (b[:, 0] - top))
    return np.stack([top, total], axis=1)


MERGED = result_if(
    {
        "maximum and sum are exchanged": lambda a, b: merged(a, b)[:, ::-1],
        "`s` is not rescaled to the new maximum": partial(merged_as, first=0),
        "`s2` is not rescaled to the new maximum": partial(merged_as, second=0),
        "neither sum is rescaled to the new maximum": partial(
            merged_as, first=0, second=0
        ),
        "the exponents have the other sign": partial(merged_as, sign=-1),
        "the smaller maximum is taken": partial(merged_as, smaller=True),
    }
)


def why_not_merged(a, b, out):
    """Say what a wrong pair is the result of, and the pairs that it was made of."""
    wanted = merged(a, b)
    close = np.abs(out - wanted) <= 1e-3 * np.maximum(np.abs(wanted), 1)
    row = int(np.argmin(close.all(axis=1)))
    m, s, m2, s2 = (f"{float(x):.4g}" for x in (*a[row], *b[row]))
    pairs = f"In row {row}, m = {m}, s = {s}, m2 = {m2} and s2 = {s2}."
    return f"{pairs} {MERGED(a, b, out)}".strip()


def with_total(y, dy, total):
    return y * (dy - total)


def lane_products(y, dy, filler=0.0):
    """Return what each lane adds up, laid out."""
    return in_shape(y, OF_A_WARP, filler) * in_shape(dy, OF_A_WARP, filler)


def summed_up(y, dy, what):
    """Return the gradient with another sum."""
    whole = lane_products(y, dy)
    if what == "own":
        return flat(
            in_shape(y, OF_A_WARP, 0.0)
            * (in_shape(dy, OF_A_WARP, 0.0) - whole.sum(axis=1, keepdims=True)),
            y.shape[1],
        )
    total = np.zeros((len(y), 1), np.float32)
    for turn in range(32):
        part = whole[:, turn].sum(axis=(1, 2))[:, None]
        total = (32 * total if what == "again" else 0) + part
        total = total.astype(np.float32)
    return with_total(y, dy, total)


GRADIENT = result_if(
    {
        "the lanes' sums are not combined": partial(summed_up, what="own"),
        "each lane's sum is only its last product": partial(summed_up, what="last"),
        "the sum of the lanes is summed again in each turn of the loop": partial(
            summed_up, what="again"
        ),
        "the sum is that of `dy` alone": lambda y, dy: with_total(
            y, dy, dy.sum(axis=1, keepdims=True)
        ),
        "the sum is that of `y` alone": lambda y, dy: with_total(
            y, dy, y.sum(axis=1, keepdims=True)
        ),
        "a column beyond the end counts as minus infinity": lambda y, dy: with_total(
            y, dy, lane_products(y, dy, NOTHING).sum(axis=ROW)[:, None]
        ),
        "nothing is subtracted": lambda y, dy: y * dy,
        "the sum is added, and not subtracted": lambda y, dy: with_total(
            y, dy, -(y * dy).sum(axis=1, keepdims=True)
        ),
        "the sum is not multiplied by `y`": lambda y, dy: (
            y * dy - (y * dy).sum(axis=1, keepdims=True)
        ),
    }
)


def why_not_gradient(y, dy, out):
    return GRADIENT(y, dy, out)
