"""Exercise 7's loop, step by step, with something wrong.

Arrays have axes (number, warp, g, piece, t): of the four numbers of a lane in a piece,
0 and 1 are in row g, 2 and 3 in row g + 8.
"""

import numpy as np

from .kernels import LN2, LOWEST
from .warpgroup import ROWS64, SCALE64


def in_lanes(x):
    """Return an array (rows, 64) by lanes."""
    return (
        x.reshape(-1, 2, 8, 8, 4, 2).transpose(1, 5, 0, 2, 3, 4).reshape(4, -1, 8, 8, 4)
    )


def in_rows(x):
    """Return an array by lanes as (rows, columns)."""
    x = x.reshape(2, 2, *x.shape[1:]).transpose(2, 0, 3, 4, 5, 1)
    return x.reshape(-1, x.shape[3] * x.shape[4] * 2)


def to_bfloat16(x):
    """Round float32 to bfloat16, to the nearest."""
    bits = np.ascontiguousarray(x, "f4").view("u4")
    bits = bits + np.uint32(0x7FFF) + (bits >> 16 & 1)
    return (bits & np.uint32(0xFFFF0000)).view("f4")


def softened(s, top, weight, k):
    """Do to numbers k and k + 1 of scores `s` what `soften_row` does, in place."""
    own, axes = s[k : k + 2], (0, 3, 4)
    high = np.maximum(top, own.max(axis=axes, keepdims=True)[0] * SCALE64)
    factor = np.exp2(top - high)
    own[...] = np.exp2(own * SCALE64 - high)
    return high, weight * factor + own.sum(axis=axes, keepdims=True)[0], factor


def four(a, b, c, d):
    """Return factors of the four numbers of a piece."""
    return np.stack(np.broadcast_arrays(a, b, c, d))


def by_steps(
    q,
    k,
    v,
    *,
    scores=lambda j: j,
    calls="h02",
    ks=(0, 2),
    tops=(0, 1),
    weights=(0, 1),
    words=lambda j: j - 1,
    values=lambda j: j - 1,
    early=False,
    factors=lambda x, y: four(x, x, y, y),
    steps=True,
    last=(-1, -1),
    stored=(0, 1),
):
    """Return the output and log-sum-exps of exercise 7's loop, with something wrong.

    scores: the tile of the scores in step j. calls: `hide_end` (h) and `soften_row` for
    rows g (0) and g + 8 (2), in order. ks, tops, weights: what these calls get; the
    maximum and the weight are those of row g (0) or g + 8 (1). words, values: of which
    tile weights and values are in step j; last: after the loop. early: rescale before
    the values are added. factors: of `o`, from those of rows g and g + 8. steps:
    whether values are added in the loop. stored: the weights by which rows are divided.
    """
    rows, seq, count = len(q), len(k), -(-len(k) // ROWS64)
    q = np.pad(q, ((0, -rows % 16), (0, 0)))
    k, v = (
        np.pad(x, ((0, ROWS64 * count - seq), (0, 0))).reshape(count, ROWS64, -1)
        for x in (k, v)
    )
    shape = 1, len(q) // 16, 8, 1, 1
    top, weight = [np.full(shape[1:], LOWEST)] * 2, [np.zeros(shape[1:], "f4")] * 2
    p, total = [], np.zeros((4, len(q) // 16, 8, 8, 4), "f4")
    with np.errstate(all="ignore"):
        for j in range(count):
            s = q @ k[scores(j) if j else 0].T
            hidden = np.broadcast_to(np.arange(ROWS64) + ROWS64 * j >= seq, s.shape)
            s, hidden, factor = in_lanes(s), in_lanes(hidden), [1, 1]
            for call in calls if j else "h02":
                if call == "h":
                    s[hidden] = -np.inf
                    continue
                row = int(call) // 2
                of = (tops[row], weights[row], ks[row]) if j else (row, row, 2 * row)
                top[row], weight[row], factor[row] = softened(
                    s, top[of[0]], weight[of[1]], of[2]
                )
            p.append(to_bfloat16(in_rows(s)))
            if j and steps:
                more = in_lanes(p[words(j)] @ v[values(j)])
                shrunk = factors(*factor)
                total = total * shrunk + more if early else (total + more) * shrunk
        if last:
            total = total + in_lanes(p[last[0]] @ v[last[1] % count])
        lse = [(x + np.log2(y)) * LN2 for x, y in zip(top, weight, strict=True)]
        first, second = (weight[row] for row in stored)
        out = in_rows(total / four(first, first, second, second))
        lse = in_rows(four(lse[0], lse[0], lse[1], lse[1]))[:, 0]
    return out[:rows], lse[:rows]


PIECE = np.arange(8)[:, None]

FACTORS = {
    "`o` is not rescaled": lambda x, y: 1,
    "`o` of row g + 8 is rescaled with the factor of row g": lambda x, y: x,
    "`o` of row g is rescaled with the factor of row g + 8": lambda x, y: y,
    "`o` of rows g and g + 8 is rescaled with each other's factor": (
        lambda x, y: four(y, y, x, x)
    ),
    "numbers 1 and 2 of each piece of `o` get each other's factor": (
        lambda x, y: four(x, y, x, y)
    ),
    "`o` of row g is not rescaled": lambda x, y: four(1, 1, y, y),
    "`o` of row g + 8 is not rescaled": lambda x, y: four(x, x, 1, 1),
    "only numbers 0 and 2 of each piece of `o` are rescaled": (
        lambda x, y: four(x, 1, y, 1)
    ),
    "`o[0]` to `o[15]` are rescaled with the factor of row g, and all others with that "
    "of row g + 8": lambda x, y: np.where(PIECE < 4, x, y),
} | {
    f"only `o[0]` to `o[{4 * n - 1}]` are rescaled": (
        lambda x, y, n=n: np.where(n > PIECE, four(x, x, y, y), 1)
    )
    for n in range(1, 8)
}

SLIPS = {
    "`o` is rescaled before the values of tile j - 1 are added to it": {"early": True},
    "`o` gets the values of tile j, with the weights of tile j - 1": {
        "values": lambda j: j
    },
    "`o` gets the values of tile j - 1, with the weights of tile j": {
        "words": lambda j: j
    },
    "the scores are those of tile j - 1": {"scores": lambda j: j - 1},
    "`p` keeps the weights of tile 0": {"words": lambda j: 0, "last": (0, -1)},
    "the last weights meet the values of the tile before": {"last": (-1, -2)},
    "the values of the last tile alone are added": {"steps": False},
    "the values of the last tile are not added": {"last": ()},
    "the values of tile 0 are always added": {"values": lambda j: 0},
    "keys beyond the end of the sequence get a weight": {"calls": "02"},
    "`hide_end` comes after `soften_row`, and sets weights, not scores": {
        "calls": "02h"
    },
    "`hide_end` comes between the two calls of `soften_row`": {"calls": "0h2"},
    "`soften_row` gets the weight of row g for row g + 8": {"weights": (0, 0)},
    "`soften_row` gets the maximum of row g for row g + 8": {"tops": (0, 0)},
    "`soften_row` gets the maximum and the weight of row g for row g + 8": {
        "tops": (0, 0),
        "weights": (0, 0),
    },
    "`soften_row` gets k = 1 for row g + 8": {"ks": (0, 1)},
    "`soften_row` gets k = 0 for both rows": {"ks": (0, 0)},
    "`soften_row` gets k = 2 for row g, and 0 for row g + 8": {"ks": (2, 0)},
    "row g + 8 is divided by the weight of row g": {"stored": (0, 0)},
} | {cause: {"factors": factors} for cause, factors in FACTORS.items()}
