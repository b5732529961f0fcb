"""Inputs, specifications and explanations for the checks of lab 15."""

import numpy as np

from .kernels import ALL, ITEMS, SUM

EARLIER = 40  # tiles that other blocks have taken; two of them have an ALL


def running(x, length):
    """Compute slowly a scan of each `length` neighbours."""
    pieces = [x[k : k + length] for k in range(0, x.size, length)]
    return np.concatenate([np.cumsum(piece) for piece in pieces])


def tiles_on_top(x, ends):
    """Compute slowly what scan_tiles computes."""
    tile = x.size // ends.size
    before = np.append(np.zeros_like(ends[:1]), ends[:-1])
    return running(x, tile) + np.repeat(before, tile)


def threads(n):
    return 32 + 32 * (n % 5)  # blocks of different sizes


def ends_of(x, width):
    """Return how many elements are kept up to the end of each block."""
    blocks = [x[k : k + width] for k in range(0, x.size, width)]
    return np.cumsum([np.count_nonzero(b > 0) for b in blocks], dtype=np.int32)


def width(n):
    return 160 if n % 2 else 96  # threads


def signs(rng, n):
    numbers = rng.standard_normal(n).astype(np.float32)
    return numbers, ends_of(numbers, width(n))


def word_of(flag, value):
    bits = np.float32(value).view(np.uint32)
    return np.uint64(flag << 32) | np.uint64(bits)


def words_after(x, done):
    """Return the words when the tiles below `done` have their ALL."""
    tiles = x.reshape(-1, 64 * ITEMS).sum(axis=1)
    ends = np.cumsum(tiles)
    shown = [word_of(ALL, 0)] * 32
    for k in range(len(tiles)):
        if k < done or k in (2, 5):
            shown.append(word_of(ALL, ends[k]))
        else:
            shown.append(word_of(SUM if k < EARLIER else 0, tiles[k]))
    return np.array(shown, np.uint64)


def turns_of(x):
    """Return which tile is next, and next: 41, 42, 40, 44, 45, 43, ..."""
    tiles = np.arange(EARLIER, x.size // (64 * ITEMS))
    threes = np.split(tiles, range(3, tiles.size, 3))
    return np.concatenate([np.roll(three, -1) for three in threes])


def underway(x):
    """What is in memory when the blocks of the check start."""
    words = words_after(x, 0)
    words[32 + EARLIER :] = 0
    done = np.full_like(x, np.nan)
    done[: EARLIER * 64 * ITEMS] = np.cumsum(x)[: EARLIER * 64 * ITEMS]
    return done, words, np.array([0, *turns_of(x)], np.int32)


def finished(x):
    """What is there when they have ended."""
    words = words_after(x, 0)
    after = words_after(x, len(words))
    words[32 + EARLIER :] = after[32 + EARLIER :]
    turns = turns_of(x)
    return np.cumsum(x), words, np.array([len(turns), *turns], np.int32)


def about_word(number, got, wanted):
    """Say what is wrong with a word, in terms of flags and numbers."""

    def read(word):
        flag, bits = int(word) >> 32, np.uint32(int(word) & 0xFFFFFFFF)
        value = float(bits.view(np.float32))
        return f"({ {SUM: 'SUM', ALL: 'ALL'}.get(flag, flag) }, {value:g})"

    tile = number - 32
    what = f"words[{number}], the word of tile {tile}, is {read(got)}"
    should = f"{what} and should be {read(wanted)} in the end."
    if int(got) >> 32 == int(wanted) >> 32:
        return f"{should} Which words should have been added up for it?"
    return f"{should} Only the block that took tile {tile} can store that."
