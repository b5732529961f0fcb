"""Specifications, data and explanations for the checks of lab 37."""

import functools
import math

import numpy as np

from weft.checking.named_numbers import compared, explained
from weft.wording import joined as listed

from .kernels import GROUP, LOWEST, PAGE, ROWS, D

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
    others = [
        (
            "flops",
            flops // 2,
            "a multiplication and an addition count as one, or one of "
            "the two products is left out",
        ),
        (
            "flops",
            2 * flops,
            "each product counts twice, or the 2 bytes of a number count as operations",
        ),
        ("flops", 4 * kv_heads * keys * d, "each key/value head has one query"),
        ("flops", 4 * heads * most * d, "all sequences are as long as the longest"),
    ]
    for name, readers in ("once", kv_heads), ("apart", heads):
        cache = 4 * readers * keys * d
        others += [
            (name, (cache + ends) // 2, "numbers are counted, and not their bytes"),
            (name, 2 * (cache + ends), "a number has 4 bytes, or each is moved twice"),
            (name, cache, "queries and outputs are left out"),
            (name, cache + ends // 2, "only the queries or only the outputs count"),
            (name, cache + 4 * heads * d, "one sequence alone has queries and outputs"),
            (name, cache // 2 + ends, "keys are read, and values are not"),
        ]
        others += [
            (
                name,
                cache + many * ends,
                f"each query and each output counts {many} times",
            )
            for many in {heads // kv_heads, heads, kv_heads} - {0, 1}
        ]
    others.append(
        (
            "once",
            4 * kv_heads * (keys + len(lengths)) * d,
            "each key/value head has one query and one output",
        )
    )
    if len(lengths) > 1:
        others += [
            ("flops", 4 * heads * length * d, "one sequence alone is counted")
            for length in lengths
        ]
    slips = by_value(others)
    said = explained(COSTS, got, wanted, slips)
    return said + also(got, wanted, slips) if said else ""


def also(got, wanted, slips):
    """Name the numbers that the cause of the first wrong number explains, too."""
    numbers = zip(COSTS, got, wanted, strict=True)
    first, *others = [(name, mine) for name, mine, right in numbers if mine != right]
    same = [f"`{x[0]}`" for x in others if slips.get(first, 0) == slips.get(x)]
    return f" That explains {listed(same)}, too." if same else ""


def by_value(slips):
    """Return (name, wrong value) → what gives it; each of (name, value, what) counts.

    A value that several slips give has all of them.
    """
    found = {}
    for name, value, what in slips:
        found.setdefault((name, value), {})[what] = None
    return {key: ", or if ".join(whats) for key, whats in found.items()}


BOTH = "weight", "total"


def attended(
    q, k, v, scale=1, begin=LOWEST, shrinks=BOTH, lane=False, keeps=True, over_warp=()
):
    """Return the maximum, weight and sum (D,) of one query, by the online softmax.

    q: (D,); k, v: (keys, D). scale: how often scores are scaled. begin: the first
    maximum. shrinks: what is rescaled. lane: whether a lane's own columns make its
    score. keeps: whether a new maximum is kept. over_warp: what is added up over the
    lanes in the end.
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
    if "weight" in over_warp:
        weight = 32 * weight
    if "total" in over_warp:
        total = np.repeat(total.reshape(-1, 32).sum(axis=1), 32)
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
    "the weight, which is the same in every lane, is added up over the warp": {
        "over_warp": ("weight",)
    },
    "the sums of all lanes are added up, although each has its own columns": {
        "over_warp": ("total",)
    },
    "the weight and the sums are added up over the warp": {"over_warp": BOTH},
}
CLOSE = {"rtol": 1e-2, "atol": 1e-2, "equal_nan": True}
WRONG = {"rtol": 1e-4, "atol": 1e-5, "equal_nan": True}  # at least, with equal values


def together(arrays):
    """Return all elements of some arrays, one after the other."""
    return np.concatenate([np.ravel(x) for x in arrays]).astype("f8")


def unlike(a, b):
    """Return the relative differences, at most 1; NaN equals NaN."""
    differs = np.abs(a - b) / np.maximum(np.abs(a) + np.abs(b), 1e-3)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0, np.nan_to_num(np.minimum(differs, 1), nan=1))


def fits(made, got, right):
    """Return whether a slip makes what was got, and changes what is wrong in it.

    Each is a tuple of arrays. Where the slip's results are nearly the right ones, they
    explain nothing, however close they are to what was got.
    """
    with np.errstate(all="ignore"):
        made, got, right = map(together, (made, got, right))
        wrong = ~np.isclose(got, right, **WRONG)
        left, off = unlike(made, got)[wrong].sum(), unlike(right, got)[wrong].sum()
        return bool(np.allclose(made, got, **CLOSE) and left < 0.1 * off)


def fitting(slips, got, right):
    """Return the slips that fit; what happens → a function that returns the results."""
    with np.errstate(all="ignore"):
        return [what for what, make in slips.items() if fits(make(), got, right)]


def named(slips, got, right):
    """Return a sentence with the slips that fit, if that is one or two."""
    return said(fitting(slips, got, right))


def said(found):
    """Return a sentence with one slip or two, "" for none or for more."""
    return (
        f"This is the result if {', or if '.join(found)}." if 0 < len(found) < 3 else ""
    )


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

    def of_the_last(query, keys, values):
        s = keys.astype("f8") @ query.astype("f8") / math.sqrt(D)
        p = np.exp(s - s[-1]).astype("f4")
        return s[-1], p.sum(), (p[:, None] * values).sum(axis=0)

    def made(keys=slice(None), divides=True, of=attended, **options):
        rows = [
            of(*each, **options) for each in zip(q, k[:, keys], v[:, keys], strict=True)
        ]
        return [total / (weight if divides else 1) for _, weight, total in rows]

    slips = {what: functools.partial(made, **how) for what, how in SLIPS.items()}
    slips |= {
        "the sums are not divided by the weight": lambda: made(divides=False),
        "the score of the last key is taken for the maximum": (
            lambda: made(of=of_the_last)
        ),
        "the last key is left out": lambda: made(slice(-1)),
        "the first key is left out": lambda: made(slice(1, None)),
    }
    return named(slips, [out], [attention(q, k, v)])


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


def sized(part, size, length):
    """Return the keys of a slice, if a slice has `size` keys."""
    return np.arange(part * size, min(part * size + size, length))


def slice_of(part, slices, length):
    """Return the keys of a slice."""
    return sized(part, ceiling(length, slices), length)


def slices_of(q, k, v, lengths, slices, of=summed, keys_of=slice_of):
    """Return maxima, weights (seqs, heads, slices) and sums (seqs, heads, slices, D).

    of: the results of one query and the keys of a slice. keys_of: which keys those are.
    """
    seqs, heads, _, _ = k.shape
    tops, weights = np.zeros((2, seqs, heads, slices), "f4")
    totals = np.zeros((seqs, heads, slices, D), "f4")
    for seq, head, part in np.ndindex(seqs, heads, slices):
        mine = keys_of(part, slices, int(lengths[seq]))
        at = seq, head, part
        found = of(q[seq, head], k[seq, head, mine], v[seq, head, mine])
        tops[at], weights[at], totals[at] = found
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


def unequal(rng, seqs, heads, slices, keys):
    """Return what `ragged` does, but all lengths between are multiples of `slices`."""
    *arrays, lengths, slices = ragged(rng, seqs, heads, slices, keys)
    between = lengths[1:-1]
    between[:] = np.maximum(between - between % slices, min(slices, keys))
    return *arrays, lengths, slices


def with_the_rest(part, slices, length):
    """Return a slice whose size is rounded down; the last one has the rest."""
    size = length // slices
    return np.arange(part * size, length if part == slices - 1 else part * size + size)


FROM_0 = "every slice begins at key 0"
KEYS = {
    "the size of a slice is rounded down, and some keys are in no slice": (
        lambda part, slices, length: sized(part, length // slices, length)
    ),
    "the size of a slice is rounded down, and the last slice has the rest": (
        with_the_rest
    ),
    "the size of a slice is the quotient rounded down, plus 1": (
        lambda part, slices, length: sized(part, length // slices + 1, length)
    ),
    "all slices are as equal as possible": (
        lambda part, slices, length: np.array_split(np.arange(length), slices)[part]
    ),
    "slice i takes keys i, i + `slices`, i + 2 `slices`, …": (
        lambda part, slices, length: np.arange(part, length, slices)
    ),
    FROM_0: lambda *given: np.arange(len(slice_of(*given))),
    "every slice goes from key 0 to its own end": (
        lambda part, slices, length: np.arange(
            min((part + 1) * ceiling(length, slices), length)
        )
    ),
    "every slice goes on to the end of the sequence": (
        lambda part, slices, length: np.arange(part * ceiling(length, slices), length)
    ),
}


def other_keys(lengths, slices, keys_of):
    """Name the keys of the first slice that has others than it should, if one has."""
    for seq, part in np.ndindex(len(lengths), slices):
        given = part, slices, int(lengths[seq])
        right = slice_of(*given)
        mine = keys_of(*given) if keys_of else right
        if not np.array_equal(mine, right):
            where = f"In sequence {seq}, slice {part}"
            taken, should = key_names(mine), key_names(right)
            return f"{where} then takes {taken}, and should take {should}."
    return ""


def key_names(keys):
    """Name some keys."""
    first, last = keys[:1].sum(), keys[-1:].sum()
    if len(keys) > 2 and np.array_equal(keys, np.arange(first, last + 1)):
        return f"keys {first} to {last}"
    return f"key{'s' * (len(keys) > 1)} {listed(keys)}" if len(keys) else "no key"


def sliced_wrongly(by, cuts):
    """Return the slips in a slice and in the step for a key, as `named` takes them.

    by: a function of `slices_of`'s `of` and `keys_of` that returns the results. cuts:
    what happens → which keys a slice then has.
    """
    slips = {what: {"keys_of": keys_of} for what, keys_of in cuts.items()} | {
        what: {"of": functools.partial(attended, **how)}
        for what, how in SLIPS.items()
        if not how.get("lane")
    }

    def divided():
        tops, weights, totals = by()
        return tops, weights, totals / weights[..., None]

    made = {what: functools.partial(by, **how) for what, how in slips.items()}
    return made | {"the sums are divided by the weight": divided}


def badly_sliced(q, k, v, lengths, slices, tops, weights, totals):
    """Say what wrong slices have left out, if that explains it."""
    by = functools.partial(slices_of, q, k, v, lengths, slices)
    keys = k.shape[2]
    cuts = KEYS | {
        "slices are made of the whole array, and not of `lengths[seq]` keys": (
            lambda part, slices, length: slice_of(part, slices, keys)
        ),
        "the size of a slice is computed from the whole array": (
            lambda part, slices, length: sized(part, ceiling(keys, slices), length)
        ),
    }
    found = fitting(sliced_wrongly(by, cuts), (tops, weights, totals), by())
    return with_example(found, lambda what: other_keys(lengths, slices, cuts.get(what)))


def with_example(found, example):
    """Return a sentence with the slips that fit, and an example if that is one.

    example: a function of a slip; it returns "" if it has none.
    """
    return f"{said(found)} {example(found[0]) if len(found) == 1 else ''}".strip()


def some_slices(rng, seqs, heads, slices):
    """Return maxima, weights and sums; some slices are empty, some heads score low.

    The maxima are close together, so that every slice counts. Of two, the first is the
    larger: then the second is multiplied by a factor that is not 1.
    """
    tops = rng.normal(0, 1, (seqs, heads, slices))
    if slices == 2:
        tops[..., 1] = tops[..., 0] - 1
    tops[:, 1::2] -= 300
    weights = rng.uniform(1, 20, (seqs, heads, slices))
    totals = rng.normal(0.5, 1, (seqs, heads, slices, D)) * weights[..., None]
    if slices > 2:
        empty = np.arange(slices) % 4 == 3
        tops[0, :, empty], weights[0, :, empty], totals[0, :, empty] = LOWEST, 0, 0
    return tuple(x.astype("f4") for x in (tops, weights, totals))


def merged(tops, weights, totals):
    """Return the output (seqs, heads, D)."""
    tops = tops.astype("f8")
    factor = np.exp(tops - tops.max(axis=2, keepdims=True))
    total = (factor[..., None] * totals).sum(axis=2)
    return (total / (factor * weights).sum(axis=2)[..., None]).astype("f4")


def joined(
    mine, more, shrinks=BOTH, scaled=BOTH, weighs=True, power=0, keeps=True, swaps=False
):
    """Merge two sets of keys, each a maximum, a weight and a sum (D,), of all heads.

    shrinks: what of the first set is rescaled; scaled: what of the second. weighs:
    whether the second's weight counts. power: of the second's weight, by which its sum
    is multiplied. keeps: whether a new maximum is kept. swaps: whether the two factors
    are exchanged.
    """
    (top, weight, total), (high, extra, added) = mine, more
    new = np.maximum(top, high)
    factors = [np.exp(x - new).astype("f4").astype("f8") for x in (top, high)]
    old, factor = factors[::-1] if swaps else factors
    if power:
        added = added * extra[..., None] ** power
    weight = weight * (old if "weight" in shrinks else 1) + (extra if weighs else 1) * (
        factor if "weight" in scaled else 1
    )
    total = total * (old[..., None] if "total" in shrinks else 1) + added * (
        factor[..., None] if "total" in scaled else 1
    )
    return new if keeps else top, weight, total


def merged_by_rows(
    tops,
    weights,
    totals,
    rows,
    begin=LOWEST,
    order=None,
    divides=True,
    where=(0, 1),
    **slip,
):
    """Return the output as `rows` threads per column make it, with a slip.

    begin: the first maximum. order: which rows of threads are merged, the first of them
    as it is (-1: no keys), if not all. where: whether the slip is in the loop over
    slices (0), in the loop over rows (1), or in both.
    """
    given = [x.astype("f8") for x in (tops, weights, totals)]
    none = [
        np.full_like(given[0][:, :, 0], begin),
        *(0 * x[:, :, 0] for x in given[1:]),
    ]
    parts = []
    for y in range(rows):
        part = none
        for i in range(y, tops.shape[2], rows):
            more = [x[:, :, i] for x in given]
            part = joined(part, more, **(slip if 0 in where else {}))
        parts.append(part)
    first, *others = range(rows) if order is None else order
    whole = none if first < 0 else parts[first]
    for y in others:
        whole = joined(whole, parts[y], **(slip if 1 in where else {}))
    return whole[2] / (whole[1][..., None] if divides else 1)


MERGED = {
    "slices are added up as they are, each relative to its own maximum": {
        "shrinks": (),
        "scaled": (),
    },
    "the weights are added up without the factors": {
        "shrinks": ("total",),
        "scaled": ("total",),
    },
    "the sums are added up without the factors": {
        "shrinks": ("weight",),
        "scaled": ("weight",),
    },
    "what was merged before is not rescaled when a larger maximum arrives": {
        "shrinks": ()
    },
    "the weight so far is not rescaled when a larger maximum arrives": {
        "shrinks": ("total",)
    },
    "the sum so far is not rescaled when a larger maximum arrives": {
        "shrinks": ("weight",)
    },
    "the two factors are exchanged": {"swaps": True},
    "the maximum so far is never changed": {"keeps": False},
    "each sum is multiplied by its weight, as if it had been divided by it": {
        "power": 1
    },
    "each sum is divided by its weight, and merged all the same": {"power": -1},
    "the weight of each slice is taken as 1": {"weighs": False},
}
LOOPS = {
    "": (0, 1),
    ", in the loop over slices": (0,),
    ", in the loop over rows": (1,),
}


def badly_merged(tops, weights, totals, out):
    """Say what a wrong merge has left out, if that explains it."""
    right = [merged(tops, weights, totals)]
    for rows in (ROWS, 2):
        by = functools.partial(merged_by_rows, tops, weights, totals, rows)
        ways = {
            "the maximum begins at 0, or none is subtracted": {"begin": 0},
            "the sums are not divided by the weight": {"divides": False},
            "the slices of the threads with y = 0 are counted twice": {
                "order": (0, *range(rows))
            },
            "the slices of the threads with y = 0 are left out": {
                "order": (-1, *range(1, rows))
            },
            "the last row of threads is left out": {"order": range(rows - 1)},
            "only the threads with y = 0 count": {"order": (0,)},
        }

        found = fitting(
            {what: lambda how=how, by=by: [by(**how)] for what, how in ways.items()},
            [out],
            right,
        )
        for what, how in MERGED.items():
            slips = {
                loop: lambda how=how, where=where, by=by: [by(where=where, **how)]
                for loop, where in LOOPS.items()
            }
            if loops := fitting(slips, [out], right):
                found.append(what + (loops[0] if len(loops) == 1 else ""))
        if found:
            return said(found)
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


def rising_pages(rng, seqs, kv_heads, slices, keys):
    """Return what `paged` does, but later keys score higher, as in `rising`."""
    q, k, v, table, lengths, slices = paged(rng, seqs, kv_heads, slices, keys)
    k[..., 1:] /= 2
    for seq, length in enumerate(lengths):
        for j in range(length):
            first = 2 + 6 * j / length + rng.random(kv_heads) / 2
            k[table[seq, j // PAGE], :, j % PAGE, 0] = first
    return q, k, v, table, lengths, slices


def place_of(table, j, size):
    """Return the pages and rows of keys j of all sequences; size: keys per page."""
    return table[:, j // size], j % size


def gathered(q, k, v, table, lengths, place_of=place_of, query_of=None):
    """Return q, k and v as exercise 3 takes them: one array per sequence and head.

    query_of: the query head of (head, g), if not the right one.
    """
    seqs, heads, _ = q.shape
    kv_heads, size = k.shape[1:3]
    j = np.arange(-(-int(lengths.max()) // size) * size)
    pages, rows = np.broadcast_arrays(*place_of(table, j, size))
    wide = np.zeros((2, seqs, heads, len(j), D), "f2")
    for head, g in np.ndindex(kv_heads, GROUP):
        query = query_of(head, g) if query_of else head * GROUP + g
        wide[0, :, query] = k[pages % len(k), head, rows]
        wide[1, :, query] = v[pages % len(v), head, rows]
    return q, wide[0], wide[1]


def slices_of_pages(q, k, v, table, lengths, slices):
    """Return maxima, weights and sums of the slices, key by key from the pages."""
    return slices_of(*gathered(q, k, v, table, lengths), lengths, slices)


PLACES = {
    "the number of a key's page is not looked up in `table`": (
        lambda table, j, size: (np.tile(j // size, (len(table), 1)), j % size)
    ),
    "all sequences use the table of sequence 0": (
        lambda table, j, size: (np.tile(table[0, j // size], (len(table), 1)), j % size)
    ),
    "a key has its page from `j % PAGE` and its row from `j // PAGE`": (
        lambda table, j, size: (
            table[:, j % size % table.shape[1]],
            j // size % size,
        )
    ),
    "a key has its page from `j % PAGE`": (
        lambda table, j, size: (table[:, j % size % table.shape[1]], j % size)
    ),
}


PAGED_NAMES = {
    FROM_0: f"{FROM_0}, or if the page and the row of a key are computed as if it did"
}


def whole_pages(page, part, slices, length):
    """Return the keys of a slice that is made of whole pages."""
    return sized(part, page * ceiling(ceiling(length, page), slices), length)


def page_from_0(page, *given):
    """Return which keys are read, if pages are looked up as if the slice began at 0."""
    j = slice_of(*given)
    return (j - j[:1].sum()) // page * page + j % page


def row_from_0(page, *given):
    """Return which keys are read, if rows are computed as if the slice began at 0."""
    j = slice_of(*given)
    return j // page * page + (j - j[:1].sum()) % page


PAGED_KEYS = {
    "slices are made of whole pages": whole_pages,
    "the page of a key is looked up as if its slice began at key 0": page_from_0,
    "the row of a key is computed as if its slice began at key 0": row_from_0,
}


def other_place(table, lengths, size, wrong):
    """Say where the first key of another place is read from, and where it is."""
    j = np.arange(int(lengths.max()))
    mine, right = (np.broadcast_arrays(*of(table, j, size)) for of in (wrong, place_of))
    other = (mine[0] != right[0]) | (mine[1] != right[1])
    other &= j < lengths[:, None]
    seq, key = np.argwhere(other)[0]
    read, there = (f"row {r[seq, key]} of page {p[seq, key]}" for p, r in (mine, right))
    return f"Key {key} of sequence {seq} is then read from {read}; it is in {there}."


def badly_paged(q, k, v, table, lengths, slices, tops, weights, totals):
    """Say what is wrong with the pages, the group or the step for a key."""
    results, (kv_heads, size) = (tops, weights, totals), k.shape[1:3]

    def by(ends=lengths, of=None, **options):
        wide = gathered(q, k, v, table, lengths, **options)
        return slices_of(*wide, ends, slices, **(of or {}))

    right, full = by(), -(-lengths // size) * size
    slips = {what: functools.partial(by, place_of=of) for what, of in PLACES.items()}
    slips |= {
        "query heads `head`, `head + kv_heads`, … share a key/value head": (
            lambda: by(query_of=lambda head, g: g * kv_heads + head)
        ),
        "the last page is read to its end": lambda: by(full),
    }
    cuts = {PAGED_NAMES.get(what, what): keys_of for what, keys_of in KEYS.items()}
    cuts |= {what: functools.partial(of, size) for what, of in PAGED_KEYS.items()}
    slips |= sliced_wrongly(lambda **options: by(of=options), cuts)
    found = fitting(slips, results, right)

    def example(what):
        if what in PLACES:
            return other_place(table, lengths, size, PLACES[what])
        return other_keys(lengths, slices, cuts.get(what))

    return with_example(found, example)
