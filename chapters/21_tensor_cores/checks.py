"""Specifications, inputs and explanations for the checks of lab 21.

Matrices of 16-bit numbers are passed as words: int32, two neighbours of a row in each.
"""

import itertools

import numpy as np


def words(x):
    """Return a float16 matrix as int32, two neighbours of a row in each."""
    return np.ascontiguousarray(x).view(np.int32)


def numbers(w):
    """Return the float16 matrix of an int32 matrix of pairs."""
    return np.ascontiguousarray(w).view(np.float16)


def eighths(rng, rows, cols):
    """Return float16: multiples of 1/8 from -2 to 2, none of them 0."""
    x = rng.integers(1, 17, (rows, cols)) * rng.choice([-1, 1], (rows, cols))
    return (x / 8).astype(np.float16)


def product(a, b):
    """Return a @ b in float32, for words of float16."""
    return (numbers(a).astype(float) @ numbers(b).astype(float)).astype("f4")


LAYOUT = {"a": (16, 16), "b": (16, 8), "c": (16, 8)}


def held_by(matrix):
    """Return who holds what, {(row, col): (lane, number)}, from the table."""
    held = {}
    for lane, number in itertools.product(range(32), range(8)):
        g, t = lane // 4, lane % 4
        far, further, odd = number // 2 % 2 * 8, number // 4 * 8, number % 2
        places = {
            "a": (g + far, 2 * t + further + odd),
            "b": (2 * t + far + odd, g),
            "c": (g + far, 2 * t + odd),
        }
        if number < 4 or matrix in "a":
            held[places[matrix]] = lane, number
    return held


TABLES = {matrix: held_by(matrix) for matrix in LAYOUT}


def owned(matrix, row, col):
    """Look an element up in the table."""
    return TABLES[matrix][row, col]


def transposed_operands(rng, m, n, k):
    """Return a and the transposed b, as words."""
    return words(eighths(rng, m, k)), words(eighths(rng, n, k))


def product_bt(a, bt):
    """Return a @ b for the transposed b."""
    return product(a, words(numbers(bt).T))


def evens_first(x):
    """Return words, those of a step in the order 0, 2, 4, 6, 1, 3, 5, 7."""
    return x.reshape(len(x), -1, 4, 2).swapaxes(2, 3).reshape(x.shape)


def mixed_up(a, bt, c):
    """Say what is exchanged in a fragment, if that explains c."""
    return exchanged(a, bt, c) or exchanged(evens_first(a), evens_first(bt), c)


def exchanged(a, bt, c):
    """Say the same, for words t and t + 4."""
    m, n, steps = a.shape[0], bt.shape[0], a.shape[1] // 8
    pieces = a.reshape(m // 16, 2, 8, steps, 2, 4)  # registers: axes 1 and 4
    for order in itertools.permutations(range(4)):
        flat = pieces.transpose(4, 1, 0, 2, 3, 5)
        flat = flat.reshape(4, m // 16, 8, steps, 4)
        moved = flat[list(order)].reshape(2, 2, m // 16, 8, steps, 4)
        other = moved.transpose(2, 1, 3, 4, 0, 5).reshape(a.shape)
        if order != (0, 1, 2, 3) and np.array_equal(product_bt(other, bt), c):
            places = [i for i in range(4) if order[i] != i]
            return f"In this result registers {places} of `a` are mixed up."
    halves = np.ascontiguousarray(bt.reshape(n, steps, 2, 4)[:, :, ::-1])
    if np.array_equal(product_bt(a, halves.reshape(bt.shape)), c):
        return "This is the result if the two registers of `b` are exchanged."
    turned = bt.reshape(n // 8, 8, steps, 2, 4)  # g and t exchanged
    g, t = np.divmod(np.arange(32), 4)
    wrong = turned.copy()
    lanes = np.arange(32)
    wrong[:, g, :, :, t] = turned[:, lanes % 8, :, :, lanes // 8]
    if np.array_equal(product_bt(a, wrong.reshape(bt.shape)), c):
        return (
            "This is the result if `b` takes its column from `lane % 8` and "
            "its word from `lane // 8`."
        )
    return ""


def two_tall(rng, k):
    """Return x and y, as words."""
    return words(eighths(rng, k, 16)), words(eighths(rng, k, 16))


def gradient(x, y):
    """Return x.T @ y."""
    return product(words(numbers(x).T), y)


def misloaded(x, y, c):
    """Say which matrices of a fragment are exchanged, if that explains c."""
    steps = len(x) // 16
    p, q = (numbers(z).astype("f4").reshape(steps, 16, 16) for z in (x, y))

    def quarters(z):  # of a step: matrices by (rows of z, columns of z)
        return [z[:, i : i + 8, j : j + 8] for i in (0, 8) for j in (0, 8)]

    def whole(four):
        top, bottom = (np.concatenate(four[i : i + 2], 2) for i in (0, 2))
        return np.concatenate([top, bottom], 1)

    def turned(z):
        return whole([m.transpose(0, 2, 1) for m in quarters(z)])

    def gives(p, q):
        return np.array_equal((p.transpose(0, 2, 1) @ q).sum(0), c)

    if gives(turned(p), q):
        return "The four matrices of `a` are right, but not transposed."
    if gives(p, turned(q)):
        return "The four matrices of `b` are right, but not transposed."
    if gives(turned(p), turned(q)):
        return "The matrices are right, but none is transposed."
    for order in itertools.permutations(range(4)):
        if gives(whole([quarters(p)[i] for i in order]), q):
            return "The four matrices of `a` are right, but not in this order."
        if gives(p, whole([quarters(q)[i] for i in order])):
            return "The four matrices of `b` are right, but not in this order."
    return ""


def any_words(rng):
    """Return 32 x 16 different words."""
    return (rng.permutation(512).reshape(32, 16) + 1000).astype(np.int32)


def as_fragments(x):
    """Return what each lane of each warp holds of a, step by step."""
    g, t = np.divmod(np.arange(32), 4)
    out = np.zeros((2, 2, 32, 4), np.int32)
    for warp, step, register in itertools.product(range(2), range(2), range(4)):
        rows = 16 * warp + g + 8 * (register % 2)
        out[warp, step, :, register] = x[rows, 8 * step + t + register // 2 * 4]
    return out


def operands(rng, m, n, k):
    """Return a and b, as words."""
    return words(eighths(rng, m, k)), words(eighths(rng, k, n))
