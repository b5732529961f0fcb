"""Which block attends to which keys."""

from dataclasses import dataclass

import numpy as np

from .kernels import TILE


@dataclass(frozen=True)
class Plan:
    """The pieces of every block, for keys of given lengths.

    pieces: int32 (n, 7), see `decode`; first: int32 (blocks + 1,), the first piece of
    each block; heads: int32 (seqs * kv_heads, 2), first part and number of parts of
    each head; parts: how many parts there are.
    """

    pieces: np.ndarray
    first: np.ndarray
    heads: np.ndarray
    parts: int


def plan(lengths, kv_heads, blocks):
    """Cut the keys of all sequences into equal shares, one per block.

    lengths: of the sequences, each at least 1. A share may end within a head, and the
    next block goes on there.
    """
    tiles = np.repeat(-(-np.asarray(lengths) // TILE), kv_heads)
    ends = np.cumsum(tiles)
    cuts = ends[-1] * np.arange(blocks + 1) // blocks
    at = np.union1d(cuts, np.append(0, ends))  # where pieces begin or end
    starts, stops = at[:-1], at[1:]
    number = np.searchsorted(ends, starts, side="right")  # of the sequence and head
    before = (ends - tiles)[number]
    seq = number // kv_heads
    start, stop = (starts - before) * TILE, (stops - before) * TILE
    stop = np.minimum(stop, np.asarray(lengths)[seq])

    counts = np.bincount(number, minlength=len(tiles))
    part = np.arange(len(number)) - np.searchsorted(number, number)
    kept = np.where(counts > 1, counts, 0)  # a head in one piece has no parts
    base = np.cumsum(kept) - kept
    columns = seq, number % kv_heads, start, stop, base[number], part, counts[number]
    return Plan(
        np.stack(columns, axis=1).astype(np.int32),
        np.searchsorted(starts, cuts).astype(np.int32),
        np.stack([base, counts], axis=1).astype(np.int32),
        int(kept.sum()),
    )
