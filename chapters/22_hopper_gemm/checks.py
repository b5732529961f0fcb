"""Specifications, inputs and explanations for the checks of lab 22."""

import numpy as np

from weft.chapters import Chapter
from weft.checking.slips import result_if
from weft.intrinsics.boxes import decoded
from weft.tensor_maps import simulated


def rings(k, stages):
    """Go through the ring tile by tile, as the kernels do."""
    stage, parity = 0, 0
    for _ in range(k):
        stage += 1
        if stage == stages:
            stage, parity = 0, parity ^ 1
    return stage, parity, parity ^ 1


def wrong_ring(k, stages, answer):
    """Say what is wrong with a ring, if that is known."""
    wanted = rings(k, stages)
    if not isinstance(answer, tuple) or len(answer) != 3:
        return "Return three numbers: stage, parity at full, parity at empty."
    stage, full, empty = answer
    if stage != wanted[0]:
        return "The stages are used in turns: 0, 1, …, stages - 1, and 0 again."
    if full not in (0, 1) or empty not in (0, 1):
        return "A parity is 0 or 1."
    if full == empty:
        return (
            "The producer is one turn ahead: at `empty` it waits for the phase "
            "before the one in which the consumers will arrive there."
        )
    return (
        "In the first turn of the ring a consumer waits for phase 0 of `full`, "
        "which has parity 0. In the next turn it is phase 1."
    )


def vector(rng, n):
    """Return n numbers."""
    return rng.standard_normal(n).astype(np.float32)


def reversed_tiles(x, tile):
    """Return x with the numbers of each tile reversed."""
    parts = [x[i : i + tile][::-1] for i in range(0, len(x), tile)]
    return np.concatenate(parts)


def two_matrices(rng, k, n):
    """Return two matrices of k rows."""
    return tuple(rng.standard_normal((k, n)).astype(np.float32) for _ in "xy")


def column_products(x, y):
    """Return the product of each column of x with that of y."""
    return (x.astype(np.float64) * y).sum(0).astype(np.float32)


COLUMNS = result_if(
    {
        "x is multiplied with itself": lambda x, y: (x * x).sum(0),
        "y is multiplied with itself": lambda x, y: (y * y).sum(0),
        "all blocks take the columns of block 0": lambda x, y: np.resize(
            (x * y)[:, :64].sum(0), x.shape[1]
        ),
        "only the first row counts": lambda x, y: x[0] * y[0],
        "only the last row counts": lambda x, y: x[-1] * y[-1],
    }
)


SWIZZLE = Chapter("20_layouts").layouts.swizzle(3, 4, 3)


def boxes(x, row, col, rows):
    """Do the same with arrays of indices."""
    m, n = x.shape
    r, q = np.divmod(np.arange(64 * rows), 64)
    q = (q // 8 ^ r % 8) * 8 + q % 8
    down, across = r + row, q + col
    inside = (down >= 0) & (down < m) & (across >= 0) & (across < n)
    found = x[down.clip(0, m - 1), across.clip(0, n - 1)]
    return np.where(inside, found, 0).astype(x.dtype)


def wrong_box(x, row, col, rows, answer):
    """Say what explains a wrong box, if that is known."""
    wanted = boxes(x, row, col, rows)
    got = np.asarray(answer)
    if got.shape != wanted.shape:
        return f"A box of {rows} rows is {64 * rows} numbers, in one vector."
    r, q = np.divmod(np.arange(64 * rows), 64)
    m, n = x.shape
    plain = np.zeros((rows, 64), x.dtype)
    for a in range(rows):
        for b in range(64):
            if 0 <= row + a < m and 0 <= col + b < n:
                plain[a, b] = x[row + a, col + b]
    if np.array_equal(got, plain.reshape(-1)):
        return "These are the right numbers, and they are not swizzled."
    by_number = np.zeros_like(wanted)
    by_number[[SWIZZLE(k) for k in range(64 * rows)]] = plain.reshape(-1)
    if np.array_equal(got, by_number):
        return "`swizzle` takes the number of a byte, and each element has two bytes."
    if np.array_equal(np.sort(got), np.sort(wanted)):
        wrapped = plain[r, q ^ r % 8]
        if np.array_equal(got, wrapped):
            return "Whole pieces of 16 bytes move; these are single numbers."
        return (
            "These are the right numbers, in another order. Row r of the box "
            "counts from its own first row, and each row has places of its own."
        )
    outside = (row + r < 0) | (row + r >= m) | (col + q < 0) | (col + q >= n)
    if outside.any():
        return (
            "This box reaches beyond the matrix. Every element outside is 0, "
            "and the elements inside keep their places in the box."
        )
    return ""


def box_cases(rng):
    """Return boxes inside and at every edge."""
    x = rng.integers(1, 30000, (21, 150)).astype(np.int16)
    corners = [(0, 0), (5, 64), (3, 24), (14, 128), (-3, 0), (2, -8), (30, 0)]
    return [(x, row, col, rows) for row, col in corners for rows in (8, 12)]


def two_maps(rng, m, n, k):
    """Return tensor maps of a (m, k) and w (n, k), bfloat16, and the sizes."""
    maps = []
    for rows, box in ((m, 128), (n, 32)):
        values = rng.integers(-4, 5, (rows, k)).astype(np.float32)
        bits = (values.view(np.uint32) >> 16).astype(np.int16)
        maps.append(simulated(bits, (box, 64), 128))
    return (*maps, m, n, k)


def matrix_of(tensor_map):
    """Return the matrix of a tensor map, in float32."""
    bits = decoded(tensor_map).data.astype(np.uint16)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def product(map_a, map_w, m, n, k):
    """Return a @ w.T, from the tensor maps of a and w."""
    return matrix_of(map_a) @ matrix_of(map_w).T


def products(part):
    """Return a wrong product: of what `part` leaves of the matrices' stages.

    part: matrix (rows, stages, 64), number of the operand -> what is multiplied.
    """

    def slip(map_a, map_w, m, n, k):
        stages = []
        for which, one in enumerate((map_a, map_w)):
            whole = np.zeros((len(matrix_of(one)), -(-k // 64), 64), np.float32)
            whole.reshape(len(whole), -1)[:, :k] = matrix_of(one)
            stages.append(part(whole, which).reshape(len(whole), -1))
        return stages[0] @ stages[1].T

    return slip


def first_half(x, which):
    """Return rows of a for which both warpgroups use the first 64 rows of a tile."""
    rows = np.arange(len(x))
    return x if which else x[rows // 128 * 128 + rows % 64]


def exchanged(x, which):
    """Return what boxes hold that begin at the row and column of each other."""
    tile, (rows, stages, _) = (128, 32)[which], x.shape
    large = np.zeros((max(rows, 64 * stages) + 128, 64 * stages + rows + 64), "f4")
    large[:rows, : 64 * stages] = x.reshape(rows, -1)
    found = np.zeros_like(x)
    for r in range(rows):
        first, inside = r // tile * tile, r % tile
        for s in range(stages):
            found[r, s] = large[64 * s + inside, first : first + 64]
    return found


PRODUCT = result_if(
    {
        "the boxes begin at row `x`, and at the column of the tile": products(
            exchanged
        ),
        "only the last stage counts": products(lambda x, which: x[:, -1:]),
        "only the last product of the last stage counts": products(
            lambda x, which: x[:, -1:, 48:]
        ),
        "the first three products of a tile are lost": products(
            lambda x, which: x.reshape(len(x), -1)[:, 48:]
        ),
        "all four products of a stage take the same numbers": products(
            lambda x, which: np.tile(x[..., :16], 4)
        ),
        "both warpgroups use the first 64 rows of `a`": products(first_half),
    }
)


def grouped(number, rows, cols, group):
    """Return the row and the column of a tile, groups from left to right."""
    first = number // (group * cols) * group  # row of the group
    high = min(rows - first, group)
    left = number - first * cols
    return first + left % high, left // high


def walk(number, rows, cols, group):
    """Go through all tiles, and return the one with this number."""
    order = []
    for first in range(0, rows, group):
        columns = range(cols)
        if first // group % 2:
            columns = reversed(columns)
        for col in columns:
            order += [(r, col) for r in range(first, min(first + group, rows))]
    return order[number]


def wrong_tile(number, rows, cols, group, answer):
    """Say what explains a wrong tile, if that is known."""
    wanted = walk(number, rows, cols, group)
    if tuple(answer) == grouped(number, rows, cols, group):
        return "That is right for groups that go from left to right."
    if tuple(answer) == wanted[::-1]:
        return "Row and column are exchanged."
    which = number // (group * cols)
    if (which + 1) * group > rows:
        return f"This is in the last group, which has {rows % group} rows."
    first = which * group
    if not first <= answer[0] < first + group:
        return f"It is in group {which}: rows {first} to {first + group - 1}."
    return (
        f"It is number {number - first * cols} of its group. A group goes column by "
        f"column, each from top to bottom; group 0 from left to right, group 1 back."
    )
