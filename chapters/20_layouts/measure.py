"""What lab 20 counts in the simulator: a copy, and bank conflicts."""

import numpy as np
from numba import cuda, float32

from weft import trace
from weft.intrinsics import load4, store4

from . import layouts
from .layouts import parse

WORDS = 64 * 36
TILE = 32 * 36


@cuda.jit
def copy_tile(x, reads, writes, out):
    tile = cuda.shared.array(WORDS, float32)
    t = cuda.threadIdx.x

    for k in range(reads.shape[0]):
        a, b, c, d = load4(x, reads[k, t])
        store4(tile, writes[k, t], a, b, c, d)
    cuda.syncthreads()

    for k in range(reads.shape[0]):
        a, b, c, d = load4(tile, writes[k, t])
        store4(out, reads[k, t], a, b, c, d)


def starts(tile, copy):
    """Return the address of each load of each thread: (4, 128)."""
    where = layouts.composition(tile, copy)
    groups = [[where(t, 4 * k) for t in range(128)] for k in range(4)]
    return np.array(groups, np.int32)


def copied(copy):
    """Run a copy of (64, 32) floats, and print what it moves."""
    if copy is None:
        print("This cell needs thread_values.")
        return
    x = np.arange(64 * 32, dtype=np.float32)
    out = np.zeros_like(x)
    reads = starts(parse("(64,32):(32,1)"), copy)
    writes = starts(parse("(64,32):(36,1)"), copy)
    print(trace(copy_tile)[1, 128](x, reads, writes, out))
    assert (out == x).all()


@cuda.jit
def transpose_tile(x, where, out):
    tile = cuda.shared.array(TILE, float32)
    col, row = cuda.threadIdx.x, cuda.threadIdx.y

    tile[where[row, col]] = x[row, col]
    cuda.syncthreads()

    out[row, col] = tile[where[col, row]]


@cuda.jit
def read_pieces(x, where, out):
    tile = cuda.shared.array(TILE, float32)
    t = cuda.threadIdx.x

    for row in range(32):
        tile[where[row, t]] = x[row, t]
    cuda.syncthreads()

    for col in range(0, 32, 4):
        a, b, c, d = load4(tile, where[t, col])
        store4(out, (t, col), a, b, c, d)


def where_of(text, swizzled_by):
    """Return the index of every element of a tile: (32, 32)."""
    layout = parse(text)
    move = layouts.swizzle(*(swizzled_by or (0, 0, 1)))
    places = [move(layout(row, col)) for row, col in np.ndindex(32, 32)]
    return np.array(places, np.int32).reshape(32, 32)


def conflicts(kernel, block, where):
    """Return the bank conflicts per request of its loads from shared memory."""
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(x)
    lines = trace(kernel)[1, block](x, where, out).lines
    assert (out == (x.T if kernel is transpose_tile else x)).all()
    return [line.per_request for line in lines if line.shared]


def count_conflicts(tiles, guess):
    """Print the conflicts of each tile, beside what was guessed."""
    print(f"{'conflicts per request':22}{'row':>8}{'column':>8}{'pieces':>8}")
    for name, tile in tiles.items():
        where = where_of(*tile)
        counts = conflicts(transpose_tile, (32, 32), where)
        if (where[:, ::4] % 4 == 0).all() and (np.diff(where)[:, ::4] == 1).all():
            counts.append(conflicts(read_pieces, 32, where)[1])
        shown = "".join(f"{count:>8g}" for count in counts)
        print(f"{name:22}{shown:24}   {guess[name] or ''}")
