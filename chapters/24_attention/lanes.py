"""The softmax of exercises 5 and 6, lane by lane, with something wrong.

Arrays have axes (warp, half, g, piece, t, number): in each piece, a lane has two
numbers of row g, half 0, and two of row g + 8, half 1.
"""

import numpy as np

from .kernels import TILE


def same(x):
    return x


def other_half(x):
    return x[:, ::-1]


def halves(first, second):
    """Return a function that applies `first` in half 0, and `second` in half 1."""

    def of_halves(x):
        return np.stack(np.broadcast_arrays(first(x)[:, 0], second(x)[:, 1]), axis=1)

    return of_halves


def exchanged(x):
    """Return an array with numbers 1 and 2 of each piece exchanged."""
    return x.swapaxes(1, 5)


def of_row(own):
    """Return the maximum of the four lanes of a row."""
    return np.broadcast_to(own.max(axis=4, keepdims=True), own.shape)


def of_lanes_of(*t):
    """Return a function that takes, in each lane, the maximum with lane `t[i]`."""
    return lambda own: np.maximum(own, own[:, :, :, :, t])


def of_four_rows(own):
    """Return the maximum of lanes with one t whose rows are four neighbours."""
    fours = own.reshape(-1, 4, 4).max(axis=1).repeat(4, axis=0)
    return fours.reshape(own.shape)


def of_warp(own):
    """Return the maximum of all 32 lanes, one for each half."""
    return np.broadcast_to(own.max(axis=(2, 4), keepdims=True), own.shape)


def sum_of_row(weight):
    """Return the sum of the weights of the four lanes of a row."""
    return weight.sum(axis=4, keepdims=True)


def sum_with_lanes(*t):
    """Return a function that sums, in each lane, its weight and that of lane `t[i]`."""
    return lambda weight: weight + weight[:, :, :, :, t]


def sum_of_four_rows(weight):
    """Return the sum of lanes with one t whose rows are four neighbours."""
    return weight.reshape(-1, 4, 4).sum(axis=1).repeat(4, axis=0).reshape(weight.shape)


def sum_of_warp(weight):
    """Return the sum of all 32 lanes, one for each half."""
    return weight.sum(axis=(2, 4), keepdims=True)


def by_lanes(
    scores,
    values=None,
    *,
    tile=TILE,
    highest=same,
    shared=of_row,
    early=False,
    base=same,
    added=same,
    lighter=same,
    smaller=same,
    kept=same,
    packed=lambda p, s: p,
    whole=sum_of_row,
    stored=same,
):
    """Return the output of scores (rows, keys) and of values (keys, columns).

    Without values, each tile adds its weights to `o` as they are. tile: its keys.
    highest: the scores whose maximum a lane takes, from its own. shared: the maximum
    after the shuffles, from each lane's. base: what weights are relative to, from the
    maximum, which is the one before the tile if `early`. added: the weights that a lane
    sums. lighter, smaller: the factor of the sums of weights, and that of `o`. kept:
    the sum of weights after each tile. packed: what is multiplied by a tile of values,
    from weights and scores. whole: the sum by which a row is divided, from the sums of
    its lanes. stored: the numbers of `o` that are stored.
    """
    tiles = scores.shape[1] // tile
    s = scores.astype("f4").reshape(-1, 2, 8, tiles, tile // 8, 4, 2)
    columns = tile if values is None else values.shape[1]
    o = np.zeros((len(s), 2, 8, columns // 8, 4, 2), "f4")
    top = np.full_like(o[:, :, :, :1, :, :1], np.finfo("f4").min)
    weight = np.zeros_like(top)
    with np.errstate(all="ignore"):
        for j, part in enumerate(np.moveaxis(s, 3, 0)):
            old, own = top, highest(part).max(axis=(3, 5), keepdims=True)
            top = np.maximum(old, shared(own))
            factor, p = np.exp2(old - top), np.exp2(part - base(old if early else top))
            more = added(p).sum(axis=(3, 5), keepdims=True)
            weight = kept(weight * lighter(factor) + more)
            if values is not None:
                p = packed(p, part).reshape(-1, tile) @ values[tile * j :][:tile]
            o = o * smaller(np.broadcast_to(factor, o.shape)) + p.reshape(o.shape)
        out = stored(o) / whole(weight)
    return out.reshape(len(scores), columns)


SHUFFLES = {
    "each lane takes the maximum of its own scores alone": same,
    "a lane asks only the lane whose number differs in bit 0 (and itself, if k is 0)": (
        of_lanes_of(1, 0, 3, 2)
    ),
    "a lane asks only the lane whose number differs in bit 1 (and itself, if k is 0)": (
        of_lanes_of(2, 3, 0, 1)
    ),
    "lanes are combined that hold other rows": of_four_rows,
    "all 32 lanes are combined, which hold eight rows": of_warp,
}

SUMS = {  # by the lanes that are combined: the sum of weights
    "no lanes are combined": same,
    "each lane is only combined with the one whose number differs in bit 0": (
        sum_with_lanes(1, 0, 3, 2)
    ),
    "each lane is only combined with the one whose number differs in bit 1": (
        sum_with_lanes(2, 3, 0, 1)
    ),
    "lanes are combined that hold other rows": sum_of_four_rows,
    "all 32 lanes are combined, which hold eight rows": sum_of_warp,
}

OF_ROWS = {  # what of one row is that of the other
    "highest": "the maximum of row {} is that of the scores of row {}",
    "base": "the weights of row {} are relative to the maximum of row {}",
    "added": "the sum of weights of row {} gets the weights of row {}",
    "lighter": "the sum of weights of row {} is rescaled with the factor of row {}",
    "smaller": "`o` of row {} is rescaled with the factor of row {}",
    "stored": "row {} is stored with the numbers of `o` of row {}",
}

OF_NUMBERS = {  # numbers 1 and 2 of each piece are exchanged
    "highest": "the maximum of row g is that of numbers 0 and 2 of each piece, and "
    "that of row g + 8 of numbers 1 and 3",
    "added": "row g sums weights 0 and 2 of each piece, and row g + 8 weights 1 and 3",
    "smaller": "numbers 1 and 2 of each piece of `o` get each other's factor",
}

OTHERS = {
    "the factors of rows g and g + 8 are exchanged": {"smaller": other_half},
    "weights are relative to the maximum before their tile": {"early": True},
    "the maximum is never updated": {"shared": lambda own: np.full_like(own, -np.inf)},
    "a lane sums the weights of its row over the four lanes after each tile, as "
    "`put_sums` does at the end": {
        "kept": lambda weight: weight.sum(axis=4, keepdims=True).repeat(4, axis=4)
    },
}


def slips():
    """Return what may be wrong with the softmax, and the options for it."""
    found = dict(OTHERS)
    for cause, shared in SHUFFLES.items():
        found[cause] = {"shared": shared}
        found[f"{cause}, in row g"] = {"shared": halves(shared, of_row)}
        found[f"{cause}, in row g + 8"] = {"shared": halves(of_row, shared)}
    for what, said in OF_ROWS.items():
        found[said.format("g", "g + 8")] = {what: halves(other_half, same)}
        found[said.format("g + 8", "g")] = {what: halves(same, other_half)}
    return found | {said: {what: exchanged} for what, said in OF_NUMBERS.items()}


def exchanged_pieces(p):
    """Return weights with the two pieces of each pair exchanged."""
    return p.reshape(*p.shape[:3], -1, 2, 4, 2)[:, :, :, :, ::-1].reshape(p.shape)


def exchanged_words(p):
    """Return weights with words 1 and 2 of each pair of pieces exchanged."""
    pairs = p.reshape(*p.shape[:3], -1, 2, 4, 2)
    return pairs.swapaxes(1, 4).reshape(p.shape)


def neighbouring_pieces(p):
    """Return weights with pieces i and i + 1 in pair i."""
    return p[:, :, :, [i + k for i in range(p.shape[3] // 2) for k in (0, 1)]]


WORDS = {  # what a word has, from the weights
    "the two numbers of each word are exchanged": lambda p: p[..., ::-1],
    "pieces `2 * i` and `2 * i + 1` are exchanged": exchanged_pieces,
    "words 1 and 2 of each `p[i]` are exchanged": exchanged_words,
    "each word has a number of row g and one of row g + 8": exchanged,
    "pair i has pieces `i` and `i + 1`": neighbouring_pieces,
}


def slips_with_values():
    """Return what may be wrong with exercise 6's tiles, and the options for it."""
    found = {
        "values are multiplied with scores, not with weights": {
            "packed": lambda p, s: s
        },
        "the words of row g + 8 have the weights of row g": {
            "packed": lambda p, s: halves(same, other_half)(p)
        },
    }
    for cause, words in WORDS.items():
        found[cause] = {"packed": lambda p, s, words=words: words(p)}
        for row, both in (("g", (words, same)), ("g + 8", (same, words))):
            of_half = halves(*both)
            found[f"{cause}, in row {row}"] = {
                "packed": lambda p, s, of_half=of_half: of_half(p)
            }
    for cause, whole in SUMS.items():
        found[f"{cause}, for the sums of weights"] = {"whole": whole}
        for row, both in (("g", (whole, sum_of_row)), ("g + 8", (sum_of_row, whole))):
            found[f"{cause}, for the sum of weights of row {row}"] = {
                "whole": halves(*both)
            }
    for (cause, whole), shared in zip(SUMS.items(), SHUFFLES.values(), strict=True):
        found[f"{cause}, for maxima and sums of weights"] = {
            "whole": whole,
            "shared": shared,
        }
    return slips() | found
