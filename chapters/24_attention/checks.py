"""Specifications, data and explanations for the checks of lab 24."""

import math

import numpy as np

from weft.checking.named_numbers import compared, explained
from weft.checking.slips import worded

from . import kernels, lanes, steps
from .kernels import HEAD, KEYS, TILE, D


def attention(q, k, v, causal=False):
    """Return the output (heads, seq, d) and the log-sum-exp (heads, seq)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    if causal:
        s = without_later(s, -np.inf)
    top = s.max(axis=2, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(axis=2, keepdims=True)
    lse = top + np.log(total)
    return (p / total @ v).astype("f4"), lse[..., 0].astype("f4")


def without_later(x, value):
    """Return matrices (heads, seq, seq) with `value` for keys after the query."""
    number = np.arange(x.shape[1])
    return np.where(number[:, None] < number, value, x)


def counted(heads, seq, d, tile):
    """Count operations and bytes one matrix and one block at a time."""
    matrix, rows = 2 * seq * seq, 2 * seq * d
    flops = sum(2 * seq * d * seq for _product in ("q k", "p v"))
    naive = (2 * rows + matrix) + (matrix + matrix) + (matrix + rows + rows)
    fused = 0
    for first in range(0, seq, tile):
        own = 2 * d * min(tile, seq - first)
        fused += own + 2 * rows + own
    return tuple(heads * each for each in (flops, naive, fused))


COSTS = "flops", "naive", "fused"


def compare_costs(got, wanted):
    """Say which of the three numbers is wrong."""
    return compared(COSTS, got, wanted)


def why_other_costs(heads, seq, d, tile, got):
    """Say what wrong numbers leave out or count too often, if that explains them."""
    wanted = counted(heads, seq, d, tile)
    matrix, rows = 2 * heads * seq * seq, 2 * heads * seq * d
    full, blocks = seq // tile, -(-seq // tile)
    flops = 4 * heads * seq * seq * d
    others = {
        ("flops", flops // 2): "a multiplication and an addition count as one, or one "
        "of the two products is left out",
        ("flops", 2 * flops): "each product counts twice, or the 2 bytes of a number "
        "count as operations",
        ("flops", flops // seq * tile): "queries meet the keys of one tile alone",
        ("naive", 4 * rows + 2 * matrix): "`S` and `P` are each moved once",
        ("naive", 4 * rows + 3 * matrix): "`S` and `P` are moved three times in all",
        ("naive", 4 * matrix): "only `S` and `P` are moved",
        ("naive", 3 * rows + 4 * matrix): "`q`, `k`, `v` or the output is left out",
        ("fused", 4 * rows): "`k` and `v` are read once, and not by each block",
        ("fused", 2 * rows + blocks * rows): "each block reads only one of `k` and `v`",
        ("fused", rows + 2 * blocks * rows): "`q` or the output is left out",
        ("fused", 2 * blocks * rows): "`q` and the output are left out",
        ("fused", 4 * blocks * rows): "each block reads all of `q`, and writes all of "
        "the output",
        ("fused", 2 * rows + 2 * full * rows): "the last, shorter block is left out",
        ("fused", 4 * heads * blocks * tile * d + 2 * blocks * rows): "the last block "
        "has as many rows as the others",
    }
    for name, right in zip(COSTS[1:], wanted[1:], strict=True):
        others[name, right // 2] = "numbers are counted, and not their bytes"
        others[name, 2 * right] = "a number has 4 bytes, or each is moved twice"
    if heads > 1:
        one, by_name = "one head alone is counted", zip(COSTS, wanted, strict=True)
        others |= {(name, right // heads): one for name, right in by_name}
    return explained(COSTS, got, wanted, others)


def rows_of(rng, heads, seq):
    """Return q, k and v; later keys, and odd heads, have larger scores."""
    q, k, v = (rng.normal(0, 1, (heads, seq, D)) for _ in "qkv")
    k *= 1 + 2 * np.arange(seq)[:, None] / seq
    q[1::2] *= 15
    far_below(q, k)
    return tuple((x - 0.5).astype("f4") for x in (q, k, v))


def far_below(q, k):
    """Make all scores of every second query of odd heads so low that e^s is 0."""
    k[1::2, :, 0] = np.abs(k[1::2, :, 0]) + 4
    q[1::2, :, 0] = 0
    q[1::2, ::2, 0] = -300


def by_tiles(q, k, v, keys, *, seen=None, scale=1, turned="", dots=None, **options):
    """Return attention by tiles of `keys` keys, with something left out or wrong.

    seen: whether a key's number, of any, counts; by default all within the sequence.
    scale: how often scores are scaled. turned: "k" or "v" if their tiles, which are
    squares then, are read with rows and columns exchanged. dots: the scores, from the
    right ones. options: of `over_tiles`.
    """
    seq, d = q.shape[1:]
    padded = -(-seq // keys) * keys
    q, k, v = (np.pad(x, ((0, 0), (0, padded - seq), (0, 0))) for x in (q, k, v))
    k = turned_tiles(k, keys) if "k" in turned else k
    v = turned_tiles(v, keys) if "v" in turned else v
    s = (q * np.float32(d ** (-0.5 * scale))) @ k.transpose(0, 2, 1)
    s = dots(s) if dots else s
    number = np.arange(padded)
    s = np.where((number < seq) if seen is None else seen(number), s, np.float32(-1e30))
    out, lse = over_tiles(s, v, keys, **options)
    return out[:, :seq], lse[:, :seq]


def turned_tiles(x, keys):
    """Return x (heads, seq, keys) with each tile of keys × keys transposed."""
    tiles = x.reshape(len(x), -1, keys, keys)
    return tiles.transpose(0, 1, 3, 2).reshape(x.shape)


def over_tiles(s, v, keys, *, old="all", highest=None, factor=None, power=np.exp):
    """Return the output of scores (heads, seq, n) and values (heads, n, d), and lse.

    old: a rule of `summed`, or two: for the sums of values, and for those of weights.
    highest: the maximum from (the one so far, a tile's scores). factor: of the values
    so far, from the right one. power: of the weights.
    """
    of_values, of_weights = (old, old) if isinstance(old, str) else old
    top = np.full((*s.shape[:2], 1), np.float32(-1e30))
    values, weights = np.zeros((*s.shape[:2], v.shape[2]), "f4"), np.zeros_like(top)
    ones = np.ones((len(v), keys, 1), "f4")
    with np.errstate(all="ignore"):
        for start in range(0, s.shape[2], keys):
            tile = s[:, :, start : start + keys]
            new = (highest or larger)(top, tile)
            shrunk, p = np.exp(top - new), power(tile - new)
            weights = summed(weights, p, ones, shrunk, of_weights)
            shrunk = factor(shrunk) if factor else shrunk
            more = v[:, start : start + keys]
            values = summed(values, p, more, shrunk, of_values)
            top = new
        return values / weights, (top + np.log(weights))[..., 0]


def summed(so_far, p, v, shrunk, rule):
    """Return a sum, rescaled by a rule, with the values of a tile added."""
    match rule:
        case "all":
            return so_far * shrunk + p @ v
        case "none":
            return so_far + p @ v
        case "inverse":
            return so_far / shrunk + p @ v
        case "afterwards":
            return (so_far + p @ v) * shrunk
        case "last":
            return p[..., -1:] * v[:, -1:]
        case "by key":
            for j in range(p.shape[2]):
                so_far = so_far * shrunk + p[..., j : j + 1] * v[:, j : j + 1]
            return so_far
    raise ValueError(rule)


def larger(top, tile):
    """Return the maximum so far."""
    return np.maximum(top, tile.max(axis=2, keepdims=True))


SOFTMAX_SLIPS = {
    "the sums so far are not rescaled when a larger score arrives": {
        "old": ("none", "all")
    },
    "the weight so far is not rescaled when a larger score arrives": {
        "old": ("all", "none")
    },
    "nothing is rescaled when a larger score arrives, or the factor is always 1": {
        "old": "none"
    },
    "a tile's values are added before the sums so far are rescaled": {
        "old": ("afterwards", "all")
    },
    "a tile's weights are added before the weight so far is rescaled": {
        "old": ("all", "afterwards")
    },
    "a tile is added before sums and weight are rescaled": {"old": "afterwards"},
    "the maximum begins at 0": {
        "highest": lambda top, tile: np.maximum(larger(top, tile), 0)
    },
    "the maximum starts again with each tile": {
        "old": "none",
        "highest": lambda top, tile: tile.max(axis=2, keepdims=True),
    },
    "the maximum is that of the tile, even if an earlier one was larger": {
        "highest": lambda top, tile: np.maximum(tile.max(axis=2, keepdims=True), -1e30)
    },
    "only the last score of a tile counts for the maximum": {
        "highest": lambda top, tile: np.maximum(top, tile[..., -1:])
    },
    "sums and weight are rescaled with the inverse factor": {"old": "inverse"},
}

KEY_BY_KEY = {
    "`total` is rescaled for each key, not once per tile": {"old": ("by key", "all")},
    "`weight` is rescaled for each key, not once per tile": {"old": ("all", "by key")},
    "`total` and `weight` are rescaled for each key, not once per tile": {
        "old": "by key"
    },
    "`total` holds the value of the last key alone": {"old": ("last", "all")},
    "`weight` is that of the last key alone": {"old": ("all", "last")},
    "`total` and `weight` hold the last key alone": {"old": "last"},
}


def fitting(got, right, made, **close):
    """Return the causes in `made` whose results are these, and are not right."""

    def alike(one, other):
        return np.allclose(one, other, **close, equal_nan=True)

    return [
        cause
        for cause, found in made.items()
        if np.any(found) and alike(found, got) and not alike(found, right)
    ]


def slips(seq):
    """Return what may be wrong with attention by tiles, and the options for it."""
    found = dict(SOFTMAX_SLIPS)
    low = found.pop("the maximum begins at 0")
    return found | {
        "the maximum begins at 0, or the score of a key beyond the end is in it": low,
        "keys beyond the end of the sequence get a weight": {"seen": lambda j: j >= 0},
        "one key too many gets a weight": {"seen": lambda j: j <= seq},
        "the last key gets no weight": {"seen": lambda j: j < seq - 1},
        "scores are not multiplied by `SCALE`": {"scale": 0},
        "scores are multiplied by `SCALE` twice": {"scale": 2},
    }


def slipped(q, k, v, keys, out, lse, close, more):
    """Name the slip that gives this output, "" if none of them does.

    Only whole groups of 16 rows are compared: of others the fragments hold more rows.
    If several slips give this output, those are named that give this `lse`, too. A NaN
    proves little: then only those are named.
    """
    rows = out.shape[1] // 16 * 16 or out.shape[1]
    right, made, lses = by_tiles(q, k, v, keys)[0][:, :rows], {}, {}
    for cause, options in {**slips(q.shape[1]), **more}.items():
        found, its_lse = by_tiles(q, k, v, keys, **options)
        made[cause], lses[cause] = found[:, :rows], its_lse[:, :rows]
    causes = fitting(out[:, :rows], right, made, **close)
    close = {**close, "equal_nan": True}
    exact = [c for c in causes if np.allclose(lses[c], lse[:, :rows], **close)]
    only = not np.isfinite(out).all() or (len(causes) > 1 and exact)
    return worded(exact if only else causes)


def left_out(q, k, v, out, lse):
    """Say what a wrong result has left out, if that explains it."""
    right, its_lse = by_tiles(q, k, v, KEYS)
    with np.errstate(all="ignore"):
        top = (q @ k.transpose(0, 2, 1)).max(axis=2) / math.sqrt(q.shape[2])
        weight = np.exp(its_lse - top)
        if np.allclose(right, out, 1e-3, 1e-3):
            if np.allclose(lse, np.exp(its_lse), 1e-3):
                return "`lse` is a sum, without its logarithm."
            if np.allclose(lse, np.log(weight), 1e-3, 1e-3):
                return "`lse` is the logarithm of `weight`, which is relative to `top`."
            if np.allclose(lse, top + weight, 1e-3, 1e-3):
                return "`lse` adds `weight` to `top`, and not its logarithm."
            if np.allclose(lse, top + np.log2(weight), 1e-3, 1e-3):
                return "The logarithm in `lse` is to base 2."
            if np.allclose(lse, top, 1e-3, 1e-3):
                return "`lse` is `top` alone, without the logarithm of `weight`."
            if (lse < -1e37).all():
                return "`lse` is relative to `LOWEST`: is `top` ever changed?"
            return ""
        if np.allclose(right * weight[..., None], out, 1e-3, 1e-3):
            return "This is the result if the sums are not divided by `weight`."
    turned = {
        "`tk[c, j]` is read for element `c` of key `j`": {"turned": "k"},
        "`tv[c, j]` is read for element `c` of value `j`": {"turned": "v"},
        "both tiles are read with rows and columns exchanged": {"turned": "kv"},
    }
    more = {**KEY_BY_KEY, **(turned if KEYS == D else {})}
    more["the scores go on from key to key, without a new start"] = {"dots": summed_up}
    return slipped(q, k, v, KEYS, out, lse, {"rtol": 1e-3, "atol": 1e-3}, more)


def summed_up(s):
    """Return scores, each with those before it in its tile added."""
    return s.reshape(*s.shape[:2], -1, KEYS).cumsum(axis=3).reshape(s.shape)


def seen_tiles(first, rows, keys, seq, causal):
    """Count the tiles by looking at every pair of a query and a key."""
    queries = np.arange(first, min(first + rows, seq))[:, None]
    free, count, before = 0, 0, True
    for j in range(-(-seq // keys)):
        columns = np.arange(j * keys, (j + 1) * keys)
        seen = (columns < seq) & ((columns <= queries) | (not causal))
        count += bool(seen.any())
        before = before and bool(seen.all())
        free += before
    return free, count


def compare_tiles(got, wanted):
    """Say which of the two numbers is wrong."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "Return two numbers: (free, count)."
    for name, number in zip(("free", "count"), got, strict=True):
        if number != int(number):
            return f"`{name}` is {number:.4g}: a number of tiles is a whole number."
    if got[1] > wanted[1]:
        return f"Tile {wanted[1]} is computed, and no query sees a key in it."
    if got[1] < wanted[1]:
        return f"Tile {got[1]} is skipped, and some query sees a key in it."
    if got[0] > wanted[0]:
        return f"Tile {wanted[0]} gets no mask, and some of it is hidden."
    if got[0] < wanted[0]:
        return f"Tile {got[0]} gets a mask, and none of it is hidden."
    return ""


def some_blocks(rng):
    """Return blocks with equal and unequal tiles, and ragged ends."""
    cases = [(0, 128, 128, 1000, True), (128, 128, 128, 1000, True)]
    cases += [(896, 128, 128, 1000, True), (896, 128, 128, 1000, False)]
    cases += [(0, 64, 32, 128, False), (64, 64, 16, 100, True)]
    cases += [(32, 32, 128, 256, True), (96, 48, 40, 120, True)]
    cases += [(128, 64, 128, 129, True)]  # one key of tile 1 is seen
    cases += [(64, 33, 16, 200, True)]  # one key of tile 6 is seen, by the last query
    for _ in range(24):
        rows, keys = (int(n) for n in rng.integers(2, 40, 2))
        seq = int(rng.integers(3, 200))
        first = int(rng.integers(0, -(-seq // rows))) * rows
        cases.append((first, rows, keys, seq, bool(rng.random() < 0.7)))
    return cases


def numbers(w):
    """Return the float16 numbers of int32 words, as float32."""
    return np.ascontiguousarray(w).view(np.float16).astype("f4")


def words_of(rng, heads, seq):
    """Return q, k and v, words of float16; later keys have larger scores."""
    q, k, v = (rng.normal(0, 1, (heads, seq, HEAD)) - 0.25 for _ in "qkv")
    k *= 1 + 2 * np.arange(seq)[:, None] / seq
    far_below(q, k)
    return tuple(x.astype(np.float16).view(np.int32) for x in (q, k, v))


def attention_of_words(q, k, v):
    """Return attention of words of float16."""
    return attention(numbers(q), numbers(k), numbers(v))


def raw_scores(q, k):
    """Return products of words (heads, seq, keys), with zeros up to whole tiles."""
    q, k = numbers(q), numbers(k)
    padded = -(-q.shape[1] // TILE) * TILE
    return q @ np.pad(k, ((0, 0), (0, padded - k.shape[1]), (0, 0))).transpose(0, 2, 1)


def masked_scores(q, k, causal):
    """Return the scores to base 2, minus infinity where a query sees no key."""
    scale = math.sqrt(2 * q.shape[2])  # two numbers per word
    s = raw_scores(q, k) * np.float32(math.log2(math.e) / scale)
    query, key = np.ogrid[: s.shape[1], : s.shape[2]]
    hidden = (key >= s.shape[1]) | (causal and key > query)
    return np.where(hidden, np.float32(-np.inf), s).astype("f4")


def odd_scores(q, k, causal, scores):
    """Say what is wrong with scores: the mask, the scale or the products."""
    right, raw = masked_scores(q, k, causal), raw_scores(q, k)
    seq = q.shape[1]
    query, key = np.ogrid[:seq, : scores.shape[2]]
    masks = {
        "keys beyond the end of the sequence are not hidden": causal & (key > query),
        "the causal mask is left out": key >= seq,
        "the mask is left out": key < 0,
        "a query does not see its own key": (key >= seq) | (key >= query),
        "a query sees one key after its own": (key >= seq) | (key > query + 1),
        "a query sees the later keys instead of the earlier": (key >= seq)
        | (key < query),
        "row and column of numbers 1 and 2 of a piece are exchanged": masked_at(
            key - key % 2 + query % 16 // 8,
            query - query % 16 // 8 * 8 + key % 2 * 8,
            seq,
            causal,
        ),
        "one key too many is seen at the end": key > seq,
        "the last key is hidden": key >= seq - 1,
        "rows g + 8 are masked as rows g are": (key >= seq)
        | (causal & (key > query - query % 16 // 8 * 8)),
        "the mask forgets the lane's `2 * t`": masked_at(
            key - key % 8 // 2 * 2, query, seq, causal
        ),
        "the mask takes `t` for the lane's `2 * t`": masked_at(
            key - key % 8 // 2, query, seq, causal
        ),
        "later keys are hidden even where `causal` is 0": (key >= seq) | (key > query),
        "the mask forgets which of two columns it is": masked_at(
            key - key % 2, query, seq, causal
        ),
        "the mask forgets the piece's `8 * n`": masked_at(
            key - key % kernels.TILE // 8 * 8, query, seq, causal
        ),
        "the mask counts keys from the beginning of the tile": masked_at(
            key % kernels.TILE, query, seq, causal
        ),
    }
    hidden = np.isneginf(scores)
    if (scores[np.isneginf(right)] == 0).any() and not hidden.any():
        return "A score of 0 does not hide a key: its weight is then 2⁰ = 1."
    if not (hidden == np.isneginf(right)).all():
        for reason, mask in masks.items():
            if (hidden == np.broadcast_to(mask, hidden.shape)).all():
                return f"This is the result if {reason}."
        return ""
    shown = np.isfinite(right) & (np.abs(raw) > 0.1)
    scale = math.sqrt(2 * q.shape[2])
    factors = {
        "scores are not multiplied by `SCALE2`": 1,
        "scores are multiplied by `SCALE2` twice": (math.log2(math.e) / scale) ** 2,
        "scores are scaled for powers of e, and not of 2": 1 / scale,
        "scores are multiplied by `SCALE`, which is exercise 2's": D**-0.5,
    }
    for reason, factor in factors.items():
        if np.allclose(scores[shown], raw[shown] * factor, 1e-3, 1e-3):
            return f"This is the result if {reason}."
    pieces = right.reshape(*right.shape[:2], -1, 2, 8)[:, :, :, ::-1]
    pieces = pieces.reshape(right.shape)
    both = np.isfinite(pieces) & np.isfinite(right)
    if np.allclose(scores[both], pieces[both], 1e-2, 1e-2):
        return "Pieces `2 * n` and `2 * n + 1` are exchanged."
    if np.allclose(scores[shown], often_scaled(q, k)[shown], 1e-3, 1e-3):
        return (
            "This is the result if the scores are scaled after each of the `HEAD16` "
            "products, not once after the last."
        )
    return other_words(q, k, scores, shown)


def often_scaled(q, k):
    """Return scores that are scaled after each product of 16 numbers."""
    scale = math.log2(math.e) / math.sqrt(2 * q.shape[2])
    total = np.float32(0)
    for start in range(0, q.shape[2], 8):
        words = slice(start, start + 8)
        total = (total + raw_scores(q[..., words], k[..., words])) * scale
    return total


def other_words(q, k, scores, shown):
    """Say which words are the operands of each piece, if not the right ones.

    shown: where scores are not hidden. Word `2 * b + h` of 16 keys has half h of the
    products' 16 numbers, for keys b * 8 to b * 8 + 7.
    """
    heads, seq, d = q.shape[0], q.shape[1], 2 * q.shape[2]
    padded = np.pad(numbers(k), ((0, 0), (0, scores.shape[2] - seq), (0, 0)))
    k = padded.reshape(heads, -1, 2, 8, d // 16, 2, 8)
    q = numbers(q).reshape(heads, seq, d // 16, 2, 8)
    products = np.einsum("hqmpi,hakcmbi->pkbhqac", q, k, optimize=True)
    low, high = products.reshape(2, 4, heads, seq, -1, 8) * np.float32(
        math.log2(math.e) / math.sqrt(d)
    )
    pieces = scores.reshape(heads, seq, -1, 2, 8)
    shown = shown.reshape(pieces.shape)
    found = []
    for piece in range(2):
        here, got = shown[..., piece, :], pieces[..., piece, :]
        found += [
            (a, b)
            for a in range(4)
            for b in range(4)
            if np.allclose((low[a] + high[b])[here], got[here], 1e-3, 1e-3)
        ]
    if len(found) != 2 or found == [(0, 1), (2, 3)]:
        return ""
    (a, b), (c, e) = found
    return (
        f"This is the result if piece `2 * n` gets words {a} and {b} of the four, "
        f"counted from 0, and piece `2 * n + 1` words {c} and {e}."
    )


def masked_at(key, query, seq, causal):
    """Return where the mask hides a key, if it takes `key` for its number."""
    return (key >= seq) | (causal & (key > query))


def rows_of_scores(rng, rows, keys):
    """Return scores to base 2; some rows are far below 0, some keys are hidden.

    Later keys have larger scores, but in a few rows much smaller ones. In rows 5 and 13
    of 16, one lane's are far above the others', and all of row 13 far above row 5. In
    rows 7 and 15, the even pieces are far above the odd ones.
    """
    s = rng.normal(0, 2, (rows, keys)) + 6 * np.arange(keys) / keys
    s[1::4] -= 400
    s[13::16] += 800
    s[5::8, 2::8] += 300
    s[2::4] += 300
    s[:, keys - 3 :] = -np.inf
    s[3::8, : keys // 2] = -np.inf
    s[4::8, keys // 2 :] -= 300
    s[7::8] += 300 * (np.arange(keys) // 8 % 2 == 0)
    return s.astype("f4")


def unit_values(keys):
    """Return values (1, keys, TILE) that add key j to column j modulo `TILE`."""
    tile = kernels.TILE
    return np.tile(np.eye(tile, dtype="f4"), (keys // tile, 1))[None]


def summed_weights(scores):
    """Return the sums of the weights of keys c, c + TILE, ..., and lse to base 2."""
    s = scores.astype(np.float64)
    top = s.max(axis=1, keepdims=True)
    p = np.exp2(s - top)
    total = p.sum(axis=1, keepdims=True)
    out = (p / total).reshape(len(s), -1, kernels.TILE).sum(axis=1)
    return out.astype("f4"), (top + np.log2(total))[:, 0].astype("f4")


def badly_softened(scores, out, lse):
    """Say what a wrong softmax has left out, if that explains it."""
    close = {"rtol": 1e-3, "atol": 1e-3}
    right, its_lse = summed_weights(scores)
    if too_heavy(out, lse, right, its_lse + 2):
        return (
            "The sum of the weights is four times what it should be. `put_sums` adds "
            "up the four lanes of a row: what does each lane pass to it?"
        )
    s, values = scores[None] * np.float32(math.log(2)), unit_values(scores.shape[1])
    tile = kernels.TILE
    power = {"power": lambda x: np.exp(x / math.log(2))}
    mixed = {"weights are powers of e, and factors powers of 2": power}
    made = {
        cause: over_tiles(s, values, tile, **options)[0][0]
        for cause, options in {**SOFTMAX_SLIPS, **mixed}.items()
    }
    powers_of_e = over_tiles(scores[None], values, tile)[0][0]
    made["weights are powers of e"] = powers_of_e
    for cause, options in lanes.slips().items():
        made[cause] = lanes.by_lanes(scores, tile=tile, **options)
    causes = fitting(out, right, made, **close)
    return worded(causes) or wrong_half(np.isclose(right, out, **close).all(axis=1))


def wrong_half(good):
    """Say which half of each warp's 16 rows is wrong, if the other is right.

    good: whether each row is right.
    """
    second = np.arange(len(good)) % 16 >= 8
    if good[~second].all() and not good[second].all():
        return "Rows 0 to 7 of each warp are right; rows 8 to 15 are not."
    if good[second].all() and second.any() and not good[~second].all():
        return "Rows 8 to 15 of each warp are right; rows 0 to 7 are not."
    return ""


def too_heavy(out, lse, right, heavy_lse):
    """Return whether each row's sum of weights is four times what it should be.

    heavy_lse: the log-sum-exp with such a sum.
    """
    return np.allclose(4 * out, right, 1e-2, 1e-3) and np.allclose(
        lse, heavy_lse, 1e-4, 1e-2
    )


def in_fragments(q, k, v, out, lse):
    """Say what a wrong result has left out, if that explains it."""
    q, k, v = map(numbers, (q, k, v))
    seq, close = q.shape[1], {"rtol": 4e-3, "atol": 4e-3}
    right, its_lse = attention(q, k, v)
    if np.allclose(right, out, **close):
        return ""
    if too_heavy(out, lse, right, its_lse + math.log(4)):
        return (
            "The sum of the weights is four times what it should be. Is it summed over "
            "the four lanes twice?"
        )
    lane = {
        "the mask forgets the lane's `2 * t`": {
            "seen": lambda j: j - j % 8 // 2 * 2 < seq
        },
    }
    if reason := slipped(q, k, v, kernels.TILE, out, lse, close, lane):
        return reason
    if reason := worded(fitting(out, right, in_lanes(q, k, v), **close)):
        return reason
    return wrong_half(np.isclose(right, out, **close).all(axis=(0, 2)))


def in_lanes(q, k, v):
    """Return the outputs, other than NaN, of mistakes in the lanes of a warp."""
    tile, (_, rows, d), seq = kernels.TILE, q.shape, k.shape[1]
    q = np.pad(q, ((0, 0), (0, -rows % 16), (0, 0)), mode="edge")
    k, v = (np.pad(x, ((0, 0), (0, -seq % tile), (0, 0))) for x in (k, v))
    s = q @ k.transpose(0, 2, 1) * np.float32(math.log2(math.e) / math.sqrt(d))
    s[:, :, seq:] = -np.inf
    made = {}
    for cause, options in lanes.slips_with_values().items():
        heads = [
            lanes.by_lanes(*one, tile=tile, **options)[:rows]
            for one in zip(s, v, strict=True)
        ]
        if np.isfinite(heads).any():
            made[cause] = np.stack(heads)
    return made


def bfloat16(w):
    """Return the bfloat16 numbers of int32 words, as float32."""
    halves = np.ascontiguousarray(w).view(np.uint16).astype(np.uint32)
    return (halves << 16).view(np.float32)


def one_heads_words(rng, rows, seq):
    """Return q, k and v, words of bfloat16; later keys have larger scores."""
    q, k, v = (rng.normal(0, 1, (1, n, 64)) - 0.25 for n in (rows, seq, seq))
    k *= 1 + np.arange(seq)[:, None] / seq
    far_below(q, k)
    bits = (x[0].astype("f4").view(np.uint32) >> 16 for x in (q, k, v))
    return tuple(x.astype(np.uint16).view(np.int32) for x in bits)


def one_head(q, k, v):
    """Return attention of words of bfloat16, of one head."""
    out, lse = attention(*(bfloat16(x)[None] for x in (q, k, v)))
    return out[0], lse[0]


def out_of_step(q, k, v, out, lse):
    """Say which mistake in the loop leads to a wrong result, if one does."""
    q, k, v = (bfloat16(x) for x in (q, k, v))

    def result(**options):
        return np.column_stack(steps.by_steps(q, k, v, **options))

    got, right = np.column_stack([out, lse]), result()
    close = {"rtol": 1e-2, "atol": 1e-2}
    made = {cause: result(**options) for cause, options in steps.SLIPS.items()}
    causes = fitting(got, right, made, **close)
    return worded(causes) or wrong_half(np.isclose(right, got, **close).all(axis=1))


def some_parts(rng, heads, n, d):
    """Return outputs of parts with their log-sum-exps; one part is empty.

    The output of an empty part is NaN, or infinity for every second head.
    """
    parts = rng.normal(1, 2, (heads, n, d)).astype("f4")
    lses = rng.normal(0, 1.5, (heads, n)).astype("f4")
    lses[::3] += 150
    lses[1::3] -= 150
    lses[2::3, 1] += 100
    if n > 2:
        lses[:, n // 2] = -np.inf
        parts[:, n // 2] = np.nan
        parts[1::2, n // 2] = np.inf
        lses[0, 0], parts[0, 0] = -np.inf, np.nan
    return parts, lses


def whole(parts, lses):
    """Return the attention over all parts."""
    parts, lses = parts.astype(np.float64), lses.astype(np.float64)
    top = lses.max(axis=1, keepdims=True)
    w = np.exp(lses - top)
    total = w.sum(axis=1, keepdims=True)
    mean = (w[..., None] * np.where(w[..., None] > 0, parts, 0)).sum(axis=1)
    return (mean / total).astype("f4"), (top + np.log(total))[:, 0].astype("f4")


def badly_merged(parts, lses, out, lse):
    """Say how a wrong result may have come about."""
    right, its_lse = whole(parts, lses)
    if np.isnan(out).any():
        return not_a_number(parts, lses, np.isnan(out).any(axis=1))
    top = lses.max(axis=1)
    weight = np.exp(its_lse - top)
    if np.allclose(out, right, 1e-3, 1e-3):
        made = wrong_lses(top, weight, parts.shape[1])
        return worded(fitting(lse, its_lse, made, rtol=1e-5, atol=1e-3))
    there = np.isfinite(lses)
    count, values = there.sum(axis=1)[:, None], np.where(there[..., None], parts, 0)
    if parts.shape[1] > 1 and np.allclose(out, values.sum(axis=1) / count, 1e-3, 1e-3):
        return (
            "This is the mean of the parts. A part with larger scores must "
            "count for more."
        )
    sums = right * weight[:, None]
    if np.allclose(out, sums, 1e-3, 1e-3):
        return "The weights do not sum to 1: they have not been divided."
    apart = np.where(there, lses - top[:, None], 0)[..., None]
    least = np.where(there, lses, np.inf).argmin(axis=1)
    heads = np.arange(len(parts))
    with np.errstate(all="ignore"):
        made = {
            "the sum is divided by the number of parts, not by the sum of weights": (
                sums / count
            ),
            "a weight is the difference of two log-sum-exps, and not e to its power": (
                (apart * values).sum(axis=1) / apart.sum(axis=1)
            ),
            "only the part with the smallest log-sum-exp counts": values[heads, least],
            "only the part with the largest log-sum-exp counts": (
                values[heads, lses.argmax(axis=1)]
            ),
        }
    causes = fitting(out, right, made, rtol=1e-3, atol=1e-3)
    return worded(causes) or badly_rescaled(parts, lses, out, lse)


def not_a_number(parts, lses, bad):
    """Say how the output of some heads has become NaN. bad: whether each is NaN."""
    odd = {
        "NaN": np.isnan(parts).any(axis=(1, 2)),
        "infinity": np.isinf(parts).any(axis=(1, 2)),
    }
    for names in (["NaN", "infinity"], ["NaN"], ["infinity"]):
        if (bad == np.any([odd[name] for name in names], axis=0)).all():
            times = " or ".join(name for name in names if odd[name].any())
            return f"Zero times {times} is NaN: leave a part out if it has no weight."
    if lses[bad].max() < -90:
        return (
            "Every e^x has become 0, and 0 / 0 is NaN. `top` has to be the largest "
            "log-sum-exp."
        )
    return "Did e^x overflow? `top` has to be the largest log-sum-exp."


def wrong_lses(top, weight, n):
    """Return wrong log-sum-exps, and what leads to them."""
    return {
        "`lse` is the largest log-sum-exp alone": top,
        "`lse` is the logarithm of the sum of weights alone": np.log(weight),
        "`lse` is the largest log-sum-exp plus the sum of weights": top + weight,
        "`lse` is the largest log-sum-exp times the sum of weights": top * weight,
        "`lse` is the largest log-sum-exp plus the logarithm of the number of parts": (
            top + math.log(n)
        ),
        "the logarithm is to base 2": top + np.log2(weight),
        "the logarithm is to base 10": top + np.log10(weight),
    }


MERGE_SLIPS = {
    "the sum of outputs is not rescaled when a larger log-sum-exp arrives": {
        "old": ("none", "all")
    },
    "the sum of weights is not rescaled when a larger log-sum-exp arrives": {
        "old": ("all", "none")
    },
    "neither sum is rescaled when a larger log-sum-exp arrives, or the factor is "
    "always 1": {"old": "none"},
}


def badly_rescaled(parts, lses, out, lse):
    """Say what is wrong with sums that go over the parts once, if that explains it."""
    right, s = whole(parts, lses)[0], lses[:, None]
    parts = np.where(np.isneginf(lses)[..., None], 0, parts)
    made, close = {}, {"rtol": 1e-3, "atol": 1e-3}
    for cause, options in MERGE_SLIPS.items():
        found, its_lse = over_tiles(s, parts, 1, **options)
        if np.allclose(its_lse[:, 0], lse, **close, equal_nan=True):
            made[cause] = found[:, 0]
    return worded(fitting(out, right, made, **close))


def after_forward(rng, heads, seq):
    """Return what the backward pass gets: q, k, v, g, lse and delta.

    v and g are multiples of 1/64, so that dP and delta of query 0 are exactly equal.
    """
    q, k, v, g = (rng.normal(0.25, 1, (heads, seq, D)).astype("f4") for _ in "qkvg")
    v, g = (np.round(64 * x) / 64 for x in (v, g))
    out, lse = attention(q, k, v, causal=True)
    return q, k, v, g, lse, (g * out).sum(axis=2).astype("f4")


def parts_of_gradient(q, k, v, g, lse, delta, causal=True, scale=1):
    """Return P, dP and k in float64. scale: how often scores are scaled."""
    q, k, v, g, lse = (x.astype(np.float64) for x in (q, k, v, g, lse))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2]) ** scale
    if causal:
        s = without_later(s, -np.inf)
    with np.errstate(over="ignore"):
        p = np.exp(s - lse[..., None])
    return p, g @ v.transpose(0, 2, 1), k


def gradient_of_queries(q, k, v, g, lse, delta):
    """Return the gradient of the queries."""
    p, dp, k = parts_of_gradient(q, k, v, g, lse, delta)
    ds = p * (dp - delta[..., None])
    return (ds @ k / math.sqrt(q.shape[2])).astype("f4")


def other_products(q, k, v, g):
    """Return wrong pairs of unscaled scores and dP, and what leads to them."""
    s, dp = (x.astype("f8") @ y.transpose(0, 2, 1) for x, y in ((q, k), (g, v)))
    diagonal = np.eye(len(s[0]))
    own = [(x * diagonal).sum(2) for x in (s, dp)]
    of_query = [x[..., None] + 0 * diagonal for x in own]
    of_key = [x.transpose(0, 2, 1) for x in of_query]
    return {
        "`q` is that of the key, not that of the query": (of_key[0], dp),
        "`k` is that of the query in the scores, not that of the key": (
            of_query[0],
            dp,
        ),
        "`g` is that of the key, not that of the query": (s, of_key[1]),
        "`v` is that of the query, not that of the key": (s, of_query[1]),
        "both dot products go on from key to key, without a new start": (
            s.cumsum(axis=2),
            dp.cumsum(axis=2),
        ),
        "the scores go on from key to key, without a new start": (s.cumsum(axis=2), dp),
        "dP goes on from key to key, without a new start": (s, dp.cumsum(axis=2)),
    }


def bad_gradient(q, k, v, g, lse, delta, dq):
    """Say how a wrong gradient may have come about."""
    given, root = (q, k, v, g, lse, delta), math.sqrt(q.shape[2])
    p, dp, keys = parts_of_gradient(*given)
    row, of_key = delta[..., None], delta[:, None]
    right = p * (dp - row) @ keys / root
    free, dp_free, _ = parts_of_gradient(*given, causal=False)
    others = p * (1 - np.eye(len(p[0])))
    more = np.exp(lse[..., None] - lse[:, None])  # a factor of P, with the key's `lse`
    numbers = np.arange(len(p[0]))
    behind = numbers[:, None] - numbers
    powers = np.where(behind < 0, 0, root ** -np.maximum(behind, 0.0))
    made = {
        "`delta` is not subtracted": p * dp @ keys / root,
        "`delta` is added": p * (dp + row) @ keys / root,
        "`delta` is that of the key, not that of the query": (
            p * (dp - of_key) @ keys / root
        ),
        "`lse` is that of the key, not that of the query": (
            p * more * (dp - row) @ keys / root
        ),
        "`lse` and `delta` are those of the key, not those of the query": (
            p * more * (dp - of_key) @ keys / root
        ),
        "the sums are multiplied by `SCALE` for each key": (
            p * (dp - row) * powers @ keys / root
        ),
        "e to the power of the score is divided by `lse`": (
            p * np.exp(lse[..., None]) / lse[..., None] * (dp - row) @ keys / root
        ),
        "dS is not multiplied by P": without_later(dp - row, 0) @ keys / root,
        "the sum goes over the values, not the keys": p * (dp - row) @ v / root,
        "the mask is left out": free * (dp_free - row) @ keys / root,
        "a query does not see its own key": others * (dp - row) @ keys / root,
        "the sums are stored without `SCALE`": right * root,
        "the sums are multiplied by `SCALE` twice": right / root,
        "delta is subtracted after the multiplication by P": (
            without_later(p * dp - row, 0) @ keys / root
        ),
    }
    for cause, (s, products) in other_products(q, k, v, g).items():
        with np.errstate(all="ignore"):
            weights = np.exp(without_later(s / root, -np.inf) - lse[..., None])
            made[cause] = weights * (products - row) @ keys / root
    if dq.any():
        of_query = (p * (dp - row)).sum(axis=2, keepdims=True) * k / root
        made["the sums get the query's row of `k`, not the key's"] = of_query
    for scale, cause in enumerate(("are not multiplied", "", "are multiplied twice")):
        p, dp, _ = parts_of_gradient(*given, scale=scale)
        made[f"scores {cause} by `SCALE`"] = p * (dp - row) @ keys / root
    return worded(fitting(dq, right, made, rtol=1e-3, atol=1e-3))
