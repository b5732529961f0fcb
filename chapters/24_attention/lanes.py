"""Exercise 5's softmax, lane by lane, with something wrong.

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
    return lambda x: np.stack([first(x)[:, 0], second(x)[:, 1]], axis=1)


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


def by_lanes(
    scores,
    *,
    highest=same,
    shared=of_row,
    early=False,
    base=same,
    added=same,
    lighter=same,
    smaller=same,
    kept=same,
    stored=same,
):
    """Return the output (rows, TILE) of scores (rows, keys).

    highest: the scores whose maximum a lane takes, from its own. shared: the maximum
    after the shuffles, from each lane's. base: what weights are relative to, from the
    maximum, which is the one before the tile if `early`. added: the weights that a lane
    sums. lighter, smaller: the factor of the sums of weights, and that of `o`. kept:
    the sum of weights after each tile. stored: the numbers of `o` that are stored.
    """
    tiles = scores.shape[1] // TILE
    s = scores.astype("f4").reshape(-1, 2, 8, tiles, TILE // 8, 4, 2)
    o = np.zeros(s[:, :, :, 0].shape, "f4")
    top = np.full_like(o[:, :, :, :1, :, :1], np.finfo("f4").min)
    weight = np.zeros_like(top)
    with np.errstate(all="ignore"):
        for tile in np.moveaxis(s, 3, 0):
            old, own = top, highest(tile).max(axis=(3, 5), keepdims=True)
            top = np.maximum(old, shared(own))
            factor, p = np.exp2(old - top), np.exp2(tile - base(old if early else top))
            more = added(p).sum(axis=(3, 5), keepdims=True)
            weight = kept(weight * lighter(factor) + more)
            o = o * smaller(np.broadcast_to(factor, o.shape)) + p
        out = stored(o) / weight.sum(axis=4, keepdims=True)
    return out.reshape(len(scores), TILE)


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
