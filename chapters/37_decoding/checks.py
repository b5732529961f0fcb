"""Specifications, data and explanations for the checks of lab 37."""

import functools
import math

import numpy as np

from weft.checking.named_numbers import compared, explained

from .kernels import GROUP, LOWEST, PAGE, D

MOST_LOADS = 50  # by one thread of `paged_group`, for sequences of 13 keys in 2 slices


def counted(lengths, heads, kv_heads, d):
    """Count operations and bytes one sequence and one head at a time."""
    flops, once, apart = 0, 0, 0
    for keys in lengths:
        cache, row = 2 * keys * d * 2, 2 * d
        flops += heads * 2 * (2 * d * keys)
        once += kv_heads * cache + heads * (row + row)
        apart += heads * (cache + row + row)
    return flops, once, apart


COSTS = "flops", "once", "apart"


def compare_costs(got, wanted):
    """Say which of the three numbers is wrong."""
    return compared(COSTS, got, wanted)


def why_other_costs(lengths, heads, kv_heads, d, got):
    """Say what wrong numbers leave out or count too often, if that explains them."""
    wanted = counted(lengths, heads, kv_heads, d)
    keys, ends = sum(lengths), 4 * heads * len(lengths) * d
    most, flops = max(lengths) * len(lengths), wanted[0]
    others = {
        ("flops", flops // 2): "a multiplication and an addition count as one, or one "
        "of the two products is left out",
        ("flops", 2 * flops): "each product counts twice, or the 2 bytes of a number "
        "count as operations",
        ("flops", 4 * kv_heads * keys * d): "each key/value head has one query",
        ("flops", 4 * heads * most * d): "all sequences are as long as the longest",
    }
    for name, readers in ("once", kv_heads), ("apart", heads):
        cache = 4 * readers * keys * d
        others |= {
            (name, (cache + ends) // 2): "numbers are counted, and not their bytes",
            (name, 2 * (cache + ends)): "a number has 4 bytes, or each is moved twice",
            (name, cache): "queries and outputs are left out",
            (name, cache + ends // 2): "only the queries or only the outputs count",
            (name, cache + 4 * heads * d): "one sequence alone has queries and outputs",
            (name, cache // 2 + ends): "keys are read, and values are not",
        }
    others["once", 4 * kv_heads * (keys + len(lengths)) * d] = (
        "each key/value head has one query and one output"
    )
    if len(lengths) > 1:
        others |= {
            ("flops", 4 * heads * length * d): "one sequence alone is counted"
            for length in lengths
        }
    return explained(COSTS, got, wanted, others)


def attended(
    q, k, v, scale=1, begin=LOWEST, shrinks=("weight", "total"), lane=False, keeps=True
):
    """Return the maximum, weight and sum (D,) of one query, by the online softmax.

    q: (D,); k, v: (keys, D). scale: how often scores are scaled. begin: the first
    maximum. shrinks: what is rescaled. lane: whether a lane's own columns make its
    score. keeps: whether a new maximum is kept.
    """
    products = k.astype("f8") * q * D ** (-0.5 * scale)
    if lane:
        products = products.reshape(len(k), -1, 32).sum(axis=1, keepdims=True)
        s = np.broadcast_to(products, (len(k), D // 32, 32)).reshape(len(k), D)
    else:
        s = products.sum(axis=1)
    top, weight, total = np.float64(begin), 0.0, np.zeros(D)
    with np.errstate(all="ignore"):
        for score, value in zip(s, v.astype("f8"), strict=True):
            new = np.maximum(top, score)
            factor, p = np.float32(np.exp(top - new)), np.float32(np.exp(score - new))
            weight = weight * (factor if "weight" in shrinks else 1) + p
            total = total * (factor if "total" in shrinks else 1) + p * value
            top = new if keeps else top
    return top, weight, total


SLIPS = {
    "the weight so far is not rescaled when a larger score arrives": {
        "shrinks": ("total",)
    },
    "the sums so far are not rescaled when a larger score arrives": {
        "shrinks": ("weight",)
    },
    "nothing is rescaled when a larger score arrives": {"shrinks": ()},
    "the maximum begins at 0, or none is subtracted": {"begin": 0},
    "the maximum so far is never changed": {"keeps": False},
    "scores are not multiplied by `SCALE`": {"scale": 0},
    "scores are multiplied by `SCALE` twice": {"scale": 2},
    "each lane takes its own columns alone for the score": {"lane": True},
}
CLOSE = {"rtol": 1e-2, "atol": 1e-2, "equal_nan": True}


def attention(q, k, v):
    """Return the output (heads, D) of one query per head."""
    out = np.empty(q.shape)
    for head in range(len(q)):
        s = k[head].astype("f8") @ q[head].astype("f8") / math.sqrt(q.shape[1])
        p = np.exp(s - s.max())
        out[head] = p / p.sum() @ v[head].astype("f8")
    return out.astype("f4")


def rising(rng, *shape):
    """Return queries (..., D), keys and values (..., keys, D); later keys score higher.

    Every second head has scores so low that e^s is 0, and its last key the lowest by
    far: relative to that one, e^s of the others is infinite. By turns, it is the first
    column that makes them low, or the last.
    """
    *heads, keys = shape
    q = rng.normal(0, 1, (*heads, D))
    k, v = rng.normal(0, 1, (2, *heads, keys, D))
    k *= 1 + 2 * np.arange(keys)[:, None] / keys
    for first, column in (1, 0), (3, D - 1):
        low = k[..., first::4, :, column]
        low[...] = np.abs(low) + 4
        low[..., -1] += 12
        q[..., first::4, column] = -400
    return q.astype("f4"), k.astype("f2"), (v - 0.5).astype("f2")


def query_and_keys(rng, heads, keys):
    """Return q (heads, D), k and v (heads, keys, D)."""
    return rising(rng, heads, keys)


def badly_attended(q, k, v, out):
    """Say what a wrong output has left out, if that explains it."""

    def found(finish, end=None, **options):
        rows = [
            finish(*attended(*each, **options))
            for each in zip(q, k[:, :end], v[:, :end], strict=True)
        ]
        return np.allclose(rows, out, **CLOSE)

    with np.errstate(all="ignore"):
        for reason, options in SLIPS.items():
            if found(lambda _, weight, total: total / weight, **options):
                return f"This is the result if {reason}."
        if found(lambda _, weight, total: total):
            return "This is the result if the sums are not divided by the weight."
        if found(lambda _, weight, total: total / weight, end=-1):
            return "This is the result if the last key is left out."
    return ""


def ceiling(length, slices):
    """Return how many keys a slice has."""
    return -(-length // slices)


def summed(q, k, v):
    """Return the maximum, weight and sum (D,) of one query, all keys at once."""
    if not len(k):
        return LOWEST, 0, 0
    s = k.astype("f8") @ q.astype("f8") / math.sqrt(D)
    p = np.exp(s - s.max())
    return s.max(), p.sum(), p @ v.astype("f8")


def slices_of(q, k, v, lengths, slices, size=ceiling, whole=False, of=summed):
    """Return maxima, weights (seqs, heads, slices) and sums (seqs, heads, slices, D).

    size: of a slice. whole: whether every sequence is as long as the arrays. of: the
    results of one query and the keys of a slice.
    """
    seqs, heads, keys, _ = k.shape
    tops, weights = np.zeros((2, seqs, heads, slices), "f4")
    totals = np.zeros((seqs, heads, slices, D), "f4")
    for seq, head, part in np.ndindex(seqs, heads, slices):
        length = keys if whole else int(lengths[seq])
        each = size(length, slices)
        mine = slice(part * each, min(part * each + each, length))
        keys_of, values_of = k[seq, head, mine], v[seq, head, mine]
        at = seq, head, part
        tops[at], weights[at], totals[at] = of(q[seq, head], keys_of, values_of)
    return tops, weights, totals


def ragged(rng, seqs, heads, slices, keys):
    """Return q, k, v, lengths and the number of slices.

    The last sequence is the longest, and the first one so short that a slice is empty.
    """
    q, k, v = rising(rng, seqs, heads, keys)
    lengths = rng.integers(1, keys + 1, seqs).astype("i4")
    lengths[0] = min(slices + 1, keys)
    lengths[-1] = keys
    return q, k, v, lengths, slices


def same_slices(found, tops, weights, totals):
    """Return whether these are the results of all slices."""
    pairs = zip(found, (tops, weights, totals), strict=True)
    return all(np.allclose(a, b, **CLOSE) for a, b in pairs)


def sliced_badly(slices_by, results):
    """Return the slip in the step for a key that gives these results; "" if none."""
    with np.errstate(all="ignore"):
        for reason, options in SLIPS.items():
            wrong = functools.partial(attended, **options)
            if not options.get("lane") and same_slices(slices_by(of=wrong), *results):
                return f"This is the result if {reason}."
        tops, weights, totals = slices_by()
        if same_slices((tops, weights, totals / weights[..., None]), *results):
            return "This is the result if the sums are divided by the weight."
    return ""


def badly_sliced(q, k, v, lengths, slices, tops, weights, totals):
    """Say what wrong slices have left out, if that explains it."""
    results = tops, weights, totals

    def by(**options):
        return slices_of(q, k, v, lengths, slices, **options)

    ways = {
        "the size of a slice is rounded down: some keys are in no slice": {
            "size": lambda length, slices: length // slices
        },
        "slices are made of the whole array, and not of `lengths[seq]` keys": {
            "whole": True
        },
    }
    for reason, options in ways.items():
        if same_slices(by(**options), *results):
            return f"This is the result if {reason}."
    return sliced_badly(by, results)


def some_slices(rng, seqs, heads, slices):
    """Return maxima, weights and sums; some slices are empty, some heads score low."""
    tops = rng.normal(0, 4, (seqs, heads, slices))
    tops[:, 1::2] -= 300
    weights = rng.uniform(1, 20, (seqs, heads, slices))
    totals = rng.normal(0.5, 1, (seqs, heads, slices, D)) * weights[..., None]
    if slices > 2:
        empty = np.arange(slices) % 4 == 3
        tops[0, :, empty], weights[0, :, empty], totals[0, :, empty] = LOWEST, 0, 0
    return tuple(x.astype("f4") for x in (tops, weights, totals))


def merged(tops, weights, totals, factor=None):
    """Return the output (seqs, heads, D). factor: of the slices, if a wrong one."""
    tops = tops.astype("f8")
    if factor is None:
        factor = np.exp(tops - tops.max(axis=2, keepdims=True))
    total = (factor[..., None] * totals).sum(axis=2)
    return (total / (factor * weights).sum(axis=2)[..., None]).astype("f4")


def badly_merged(tops, weights, totals, out):
    """Say what a wrong merge has left out, if that explains it."""
    tops = tops.astype("f8")
    high = tops.max(axis=2, keepdims=True)
    right = np.exp(tops - high)
    with np.errstate(all="ignore"):
        from_zero = np.exp(tops - np.maximum(high, 0))
        ways = {
            "slices are added up as they are, each relative to its own maximum": (
                merged(tops, weights, totals, np.ones_like(tops))
            ),
            "the maximum begins at 0": merged(tops, weights, totals, from_zero),
            "the sums are not divided by the weight": (
                (right[..., None] * totals).sum(axis=2)
            ),
            "the weights are added up without the factors": (
                (right[..., None] * totals).sum(axis=2) / weights.sum(axis=2)[..., None]
            ),
            "each slice is divided by its weight, and merged all the same": (
                merged(tops, weights, totals / weights[..., None])
            ),
        }
        for reason, wrong in ways.items():
            if np.allclose(wrong, out, **CLOSE):
                return f"This is the result if {reason}."
        for rows in (2, 4):
            first = slice(None, None, rows)
            part = (x[:, :, first] for x in (tops, weights, totals))
            if tops.shape[2] > 1 and np.allclose(merged(*part), out, **CLOSE):
                return "This is the result of the threads with y = 0 alone."
    return ""


def paged(rng, seqs, kv_heads, slices, keys):
    """Return q, k and v in pages, the table, the lengths and the number of slices.

    Old numbers fill what no sequence uses: high scores, large values.
    """
    heads = kv_heads * GROUP
    lengths = rng.integers(1, keys + 1, seqs).astype("i4")
    lengths[0] = min(slices + 1, keys)
    lengths[-1] = keys
    most = -(-keys // 2) + 1  # pages of a sequence, however small they are
    count = seqs * most + 2
    q = rng.normal(0, 1, (seqs, heads, D))
    k, v = rng.normal(0, 1, (2, count, kv_heads, PAGE, D))
    q[:, :, 0], k[..., 0] = 6, np.abs(k[..., 0])
    q[:, 1::2, 0] = -400
    k[..., 0] += 1 + 2 * rng.random((count, kv_heads, PAGE))
    table = rng.permutation(count)[: seqs * most].reshape(seqs, most)
    used = np.zeros((count, PAGE), bool)
    for seq, length in enumerate(lengths):
        for j in range(length):
            used[table[seq, j // PAGE], j % PAGE] = True
    k[:, :, :, 0] = np.where(used[:, None], k[:, :, :, 0], 0.5 * k[:, :, :, 0])
    v = np.where(used[:, None, :, None], v, v + 40)
    types = ("f4", q), ("f2", k), ("f2", v), ("i4", table)
    return *(x.astype(kind) for kind, x in types), lengths, slices


def gathered(q, k, v, table, lengths, page_of=None, query_of=None):
    """Return q, k and v as exercise 3 takes them: one array per sequence and head.

    page_of: the page of (seq, number), if not the table's. query_of: the query head of
    (head, g), if not the right one.
    """
    seqs, heads, _ = q.shape
    kv_heads, size = k.shape[1:3]
    pages = -(-int(lengths.max()) // size)
    wide = np.zeros((2, seqs, heads, pages * size, D), "f2")
    for seq, number, head, g in np.ndindex(seqs, pages, kv_heads, GROUP):
        page = page_of(seq, number) if page_of else table[seq, number]
        query = query_of(head, g) if query_of else head * GROUP + g
        rows = slice(number * size, number * size + size)
        wide[0, seq, query, rows] = k[page % len(k), head]
        wide[1, seq, query, rows] = v[page % len(v), head]
    return q, wide[0], wide[1]


def slices_of_pages(q, k, v, table, lengths, slices):
    """Return maxima, weights and sums of the slices, key by key from the pages."""
    return slices_of(*gathered(q, k, v, table, lengths), lengths, slices)


def badly_paged(q, k, v, table, lengths, slices, tops, weights, totals):
    """Say what is wrong with the pages, the group or the step for a key."""
    results, kv_heads = (tops, weights, totals), k.shape[1]
    pages = {
        "the number of a key's page is not looked up in `table`": {
            "page_of": lambda seq, number: number
        },
        "all sequences use the table of sequence 0": {
            "page_of": lambda seq, number: table[0, number]
        },
        "query heads `head`, `head + kv_heads`, … share a key/value head": {
            "query_of": lambda head, g: g * kv_heads + head
        },
    }
    for reason, options in pages.items():
        wide = gathered(q, k, v, table, lengths, **options)
        if same_slices(slices_of(*wide, lengths, slices), *results):
            return f"This is the result if {reason}."
    wide = gathered(q, k, v, table, lengths)
    full = -(-lengths // PAGE) * PAGE
    if same_slices(slices_of(*wide, full, slices), *results):
        return "This is the result if the last page is read to its end."
    return sliced_badly(lambda **o: slices_of(*wide, lengths, slices, **o), results)
