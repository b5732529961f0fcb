"""Specifications, inputs and explanations for the checks of lab 21.

Matrices of 16-bit numbers are passed as words: int32, two neighbours of a row in each.
"""

import itertools

import numpy as np

from weft.checking.slips import result_if


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


def not_its_owner(matrix, row, col, answer):
    """Say what is wrong with an owner, if that is known."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        return "Return two numbers: the lane, and which of its numbers it is."
    wanted = owned(matrix, row, col)
    if answer == wanted[::-1]:
        return "Lane and number are exchanged."
    if answer[0] != wanted[0]:
        if matrix == "b" and answer[0] == row % 8 * 4 + col // 2:
            return "In `b` the column decides g, and the row t: a pair runs along k."
        g, t = divmod(wanted[0], 4)
        return f"Lane {wanted[0]} has it: g is {g}, and t is {t}."
    if answer[1] in range(8) and answer[1] ^ wanted[1] == 1:
        return "The first of the two numbers in a register is at the even place."
    return (
        f"The lane is right. It holds {8 if matrix == 'a' else 4} numbers, two to a "
        "register: which register is that of the second 8 rows, or columns?"
    )


def transposed_operands(rng, m, n, k):
    """Return a and the transposed b, as words."""
    return words(eighths(rng, m, k)), words(eighths(rng, n, k))


def product_bt(a, bt):
    """Return a @ b for the transposed b."""
    return product(a, words(numbers(bt).T))


def evens_first(x):
    """Return words, those of a step in the order 0, 2, 4, 6, 1, 3, 5, 7."""
    return x.reshape(len(x), -1, 4, 2).swapaxes(2, 3).reshape(x.shape)


WARPS = result_if(
    {
        "the sums begin anew in each step": lambda a, bt: product_bt(
            a[:, -8:], bt[:, -8:]
        ),
        "only the first step counts": lambda a, bt: product_bt(a[:, :8], bt[:, :8]),
    },
    tolerance=1e-6,
)


def mixed_up(a, bt, c):
    """Say what is exchanged in a fragment, if that explains c."""
    found = exchanged(a, bt, c) or exchanged(evens_first(a), evens_first(bt), c)
    if not found and np.array_equal(c, c.astype(np.float16)):
        right = product_bt(a, bt)
        if np.allclose(c, right, 2e-3, 0.1) and not np.array_equal(c, right):
            return "Every result is a number of float16: where are the sums kept?"
    return found or WARPS(a, bt, c)


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
            places = ", ".join(str(i) for i in range(4) if order[i] != i)
            or_else = {
                (1, 0, 3, 2): ", or the rows g and g + 8 where `c` is stored",
                (2, 3, 0, 1): ", or the two registers of `b`",
            }.get(order, "")
            said = f"This is the result if registers {places} of `a` are exchanged"
            return f"{said}{or_else}." if or_else else (f"{said}.", "a")
    halves = np.ascontiguousarray(bt.reshape(n, steps, 2, 4)[:, :, ::-1])
    if np.array_equal(product_bt(a, halves.reshape(bt.shape)), c):
        return "This is the result if the two registers of `b` are exchanged.", "bt"
    turned = bt.reshape(n // 8, 8, steps, 2, 4)  # g and t exchanged
    g, t = np.divmod(np.arange(32), 4)
    wrong = turned.copy()
    lanes = np.arange(32)
    wrong[:, g, :, :, t] = turned[:, lanes % 8, :, :, lanes // 8]
    if np.array_equal(product_bt(a, wrong.reshape(bt.shape)), c):
        return (
            "This is the result if `b` takes its column from `lane % 8` and "
            "its word from `lane // 8`."
        ), "bt"
    high, wide = np.arange(4), np.arange(8)
    w = bt.reshape(n // 8, 8, -1)  # of a step the words w + g, in columns t and t + 4
    wrong = np.zeros_like(turned)
    for step in range(steps):
        for half in range(2):
            at = np.minimum(8 * step + wide, w.shape[2] - 1)
            found = w[:, 4 * half + high][:, :, at]  # by t, and by g
            wrong[:, :, step, half] = found.swapaxes(1, 2)
    if np.array_equal(product_bt(a, wrong.reshape(bt.shape)), c):
        return (
            "This is the result if `b` takes its column from t and its word from g."
        ), "bt"
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

    def as_stored(z, order):  # lane l hands over row l // 2, half l % 2
        rows = z.reshape(steps, 32, 8)
        return whole([rows[:, 8 * m : 8 * m + 8] for m in order])

    if gives(turned(p), q):
        return "The four matrices of `a` are right, but not transposed.", "x"
    if gives(p, turned(q)):
        return "The four matrices of `b` are right, but not transposed.", "y"
    of_x, of_y = as_stored(p, (0, 1, 2, 3)), as_stored(q, (0, 2, 1, 3))
    for found, of in (((of_x, of_y), ""), ((of_x, q), "x"), ((p, of_y), "y")):
        if gives(*found):
            return (
                "This is the result if each lane hands over the address to which it "
                "has stored. `ldmatrix` takes row l % 8 of matrix l // 8 from lane l."
            ), of
    if gives(turned(p), turned(q)):
        return "The matrices are right, but none is transposed."
    for order in itertools.permutations(range(4)):
        if gives(whole([quarters(p)[i] for i in order]), q):
            return in_order("a")
        if gives(p, whole([quarters(q)[i] for i in order])):
            return in_order("b")
    return BY_HAND(x, y, c)


def in_order(matrix):
    """Say that the matrices of a fragment come in another order."""
    more = ", or `left` and `right`" if matrix == "b" else ""
    said = f"This is the result if the matrices of `{matrix}` are exchanged{more}."
    return said, {"a": "x", "b": "y"}[matrix]


BY_HAND = result_if(
    {
        "`a` is read as it is stored, and not transposed": lambda x, y: sum(
            numbers(x[k : k + 16]).astype("f4") @ numbers(y[k : k + 16]).astype("f4")
            for k in range(0, len(x), 16)
        )
    }
)


def pieces_turned(x, out):
    """Say whether `ldmatrix` has transposed the matrices of words."""
    half = numbers(out.reshape(-1, 1)).reshape(2, 2, 32, 4, 2)
    wanted = numbers(as_fragments(x).reshape(-1, 1)).reshape(half.shape)
    square = wanted.reshape(2, 2, 8, 4, 4, 2).transpose(0, 1, 4, 2, 3, 5)
    turned = square.reshape(2, 2, 4, 8, 8).swapaxes(3, 4)
    found = half.reshape(2, 2, 8, 4, 4, 2).transpose(0, 1, 4, 2, 3, 5)
    if np.array_equal(found.reshape(turned.shape), turned):
        return "This is the result if each matrix is transposed."
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


def in_strides(a, b, of_b=lambda b, k: numbers(b)[k : k + 64], first=0, turn=None):
    """Return a @ b in strides of 64 along k, with some other rows of b."""
    x, total = numbers(a).astype("f4"), 0
    for k in range(first, x.shape[1], 64):
        part = x[:, k : k + 64]
        rows = np.zeros((part.shape[1], numbers(b).shape[1]), "f4")
        found = of_b(b, k)[: len(rows)]
        rows[: len(found)] = found
        total = total + part @ (rows if turn is None else turn(rows))
    return total


def blocks_of_8(rows):
    """Return a matrix as 8 x 8 matrices: (down, across, row, column)."""
    return rows.reshape(len(rows) // 8, 8, -1, 8).swapaxes(1, 2)


def each_turned(rows):
    """Return a matrix with each 8 x 8 matrix transposed."""
    return blocks_of_8(rows).transpose(0, 3, 1, 2).reshape(rows.shape)


def two_exchanged(rows):
    """Return b with the two matrices beside the diagonal exchanged."""
    k, n = rows.shape
    wide = np.pad(rows, ((0, -k % 16), (0, -n % 16)))
    four = wide.reshape(len(wide) // 16, 2, 8, -1, 2, 8)
    return four.transpose(0, 4, 2, 3, 1, 5).reshape(wide.shape)[:k, :n]


def once_swizzled(x):
    """Return words whose pieces of a tile's row were swizzled on one side alone."""
    wide = np.pad(numbers(x), ((0, 0), (0, -numbers(x).shape[1] % 64)))
    pieces = wide.reshape(len(wide), -1, 8, 8)
    rows, order = np.arange(len(wide)), np.arange(8)
    moved = pieces[rows[:, None], :, order[None] ^ (rows[:, None] & 7)]
    moved = moved.swapaxes(1, 2).reshape(wide.shape)
    return words(moved[:, : numbers(x).shape[1]])


TILES = result_if(
    {
        "`b` is not transposed while it is loaded": (
            "b",
            lambda a, b: in_strides(a, b, turn=each_turned),
        ),
        "words 1 and 2 of `b` are exchanged": (
            "b",
            lambda a, b: in_strides(a, b, turn=two_exchanged),
        ),
        "matrices 1 and 2 of `a` are exchanged": (
            "a",
            lambda a, b: in_strides(words(two_exchanged(numbers(a))), b),
        ),
        "`b` is stored with the swizzle and read without it, or the other way around": (
            "b",
            lambda a, b: in_strides(a, once_swizzled(b)),
        ),
        "`a` is stored with the swizzle and read without it, or the other way around": (
            "a",
            lambda a, b: in_strides(once_swizzled(a), b),
        ),
        "rows of `b` are counted in words": (
            "b",
            lambda a, b: in_strides(
                a, b, lambda b, k: numbers(b)[k // 2 : k // 2 + 64]
            ),
        ),
        "the sums begin anew in each stride": lambda a, b: in_strides(
            a, b, first=(numbers(a).shape[1] - 1) // 64 * 64
        ),
    },
    tolerance=1e-6,
)


def not_ahead(a, b, c):
    """Say which stride is multiplied again and again, if that explains c."""
    x, y = numbers(a).astype("f4"), numbers(b).astype("f4")
    parts = [x[:, k : k + 64] @ y[k : k + 64] for k in range(0, x.shape[1], 64)]
    if len(parts) < 2:
        return ""
    for used in itertools.combinations_with_replacement(range(len(parts) + 1), 4):
        if np.array_equal(sum([*parts, 0 * parts[0]][k] for k in used), c):
            which = ", ".join(str(k) for k in used if k < len(parts))
            return f"This is the result if strides {which} are multiplied.", "a"
    return TILES(a, b, c)
