"""Specifications, inputs and explanations for the checks of lab 22."""

import numpy as np

from weft.chapters import Chapter
from weft.checking.slips import result_if
from weft.intrinsics.boxes import decoded
from weft.tensor_maps import simulated
from weft.wording import several


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
    if full == wanted[1]:
        return (
            "The producer is one turn ahead: at `empty` it waits for the phase "
            "before the one in which the consumers will arrive there."
        )
    if k == 0 and full != empty:
        return (
            "These are the right two parities, exchanged: the one at `full` comes "
            "first, and then the one at `empty`."
        )
    turn = k // stages
    return (
        f"Tile {k} is in turn {turn} of the ring, and turns are counted from 0. So a "
        f"consumer waits for phase {turn} of `full`, which has parity {turn % 2}."
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
        "all products are of row 0": lambda x, y: len(x) * x[0] * y[0],
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
    places = 64 * r + (q // 8 ^ r % 8) * 8 + q % 8  # where the swizzle puts them
    plain = wanted[places]
    by_number = np.zeros_like(wanted)
    by_number[[SWIZZLE(k) for k in range(64 * rows)]] = plain
    by_one = plain.reshape(rows, 64)[r, q ^ r % 8]

    def pieces(r, q):
        """Return the box with these rows and columns in the rule of the swizzle."""
        box = np.zeros_like(wanted)
        box[np.arange(64 * rows) // 64 * 64 + (q // 8 ^ r) % 8 * 8 + q % 8] = plain
        return box

    of_row = "Row r of the box counts from the box's own first row; here it is row "
    of_col = "Pieces, too, count from the box's own first column; here it is column "
    slips = {
        "These are the right numbers, and they are not swizzled.": plain,
        "`swizzle` takes the number of a byte, and each element has two bytes.": (
            by_number
        ),
        "Whole pieces of 16 bytes move; these are single numbers.": by_one,
        f"{of_col}{col}.": pieces(r, q + col),
        f"{of_row}{row}.": pieces(r + row, q),
        f"{of_row}{row}. {of_col}{col}.": pieces(r + row, q + col),
    }
    for said, box in slips.items():
        if np.array_equal(got, box):
            return said
    if said := moved_box(x, row, col, got[places], plain):
        return said
    if np.array_equal(np.sort(got), np.sort(wanted)):
        return exchanged_numbers(row, col, got, wanted, places)
    (m, n), down, across = x.shape, row + r, col + q
    negative = ((down < 0) | (across < 0)) & (down < m) & (across < n)
    from_the_end = np.where(negative, x[down % m, across % n], plain)
    if negative.any() and np.array_equal(got[places], from_the_end):
        return (
            "NumPy counts negative indices from the end of the matrix. The TMA "
            "delivers zeros for them."
        )
    if ((down < 0) | (down >= m) | (across < 0) | (across >= n)).any():
        return (
            "This box reaches beyond the matrix. Every element outside is 0, "
            "and the elements inside keep their places in the box."
        )
    return ""


def moved_box(x, row, col, got, plain):
    """Say that a box begins with its first element inside the matrix, if it does.

    got, plain: the learner's box and the right one, both without the swizzle.
    """
    got, plain = got.reshape(-1, 64), plain.reshape(-1, 64)
    for axis, first, what, way in ((0, row, "row", "up"), (1, col, "column", "left")):
        by = min(-first, plain.shape[axis])
        moved = np.zeros_like(plain)
        if by > 0 and axis == 0:
            moved[: len(plain) - by] = plain[by:]
        elif by > 0:
            moved[:, : 64 - by] = plain[:, by:]
        if by > 0 and np.array_equal(got, moved):
            outside = f"{what} -1 of the matrix does not exist, so {what} 0"
            zeros = f"{outside} of the box is all zeros"
            if by > 1:
                outside = f"{what}s {first} to -1 of the matrix do not exist"
                zeros = f"{outside}, so {what}s 0 to {by - 1} of the box are zeros"
            return (
                f"Unswizzled, your box is the right one moved {way} by "
                f"{several(by, what)}: {zeros}."
            )
    return ""


def exchanged_numbers(row, col, got, wanted, places):
    """Say where a number of a box is, and where it belongs."""
    found, counts = np.unique(wanted, return_counts=True)
    alone = set(found[counts == 1].tolist())
    for at in np.flatnonzero(got != wanted).tolist():
        if int(got[at]) in alone:
            belongs = int(np.flatnonzero(wanted == got[at])[0])
            r, q = divmod(int(np.flatnonzero(places == belongs)[0]), 64)
            return (
                f"These are the right numbers, in another order. `x[{row + r}, "
                f"{col + q}]`, in row {r} and column {q} of the box, is number {at} of "
                f"your vector and should be number {belongs}."
            )
    return "These are the right numbers, in another order."


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


def eight_apart(x, which):
    """Return a stage's four products if each begins 8 numbers after the one before."""
    return np.concatenate([x[..., 8 * i : 8 * i + 16] for i in range(4)], -1)


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
        "the two coordinates of each box are exchanged: `tma_load` takes the number "
        "along k first, and then the row": ("map_a", products(exchanged)),
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
        "each product of a stage begins 8 numbers along k after the one before, not "
        "16": products(eight_apart),
        "`a` does not move along k within a stage": products(
            lambda x, which: x if which else np.tile(x[..., :16], 4)
        ),
        "`w` does not move along k within a stage": products(
            lambda x, which: np.tile(x[..., :16], 4) if which else x
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


def tiles():
    """Return inputs of `tile_at`.

    The first two tell a group that goes row by row from one with rows and columns
    exchanged.
    """
    return [(number, 4, 3, 2) for number in (0, 2)] + [
        (number, rows, cols, group)
        for rows, cols, group in ((4, 2, 2), (7, 3, 3), (5, 4, 16), (6, 5, 1))
        for number in range(rows * cols)
    ]


def wrong_tile(number, rows, cols, group, answer):
    """Say what explains a wrong tile, if that is known."""
    wanted, answer = walk(number, rows, cols, group), tuple(answer)
    which, inside = divmod(number, group * cols)
    first, (r, q) = which * group, divmod(inside, cols)
    by_row = [(first + r, c) for c in (q, cols - 1 - q)[: which % 2 + 1]]
    if answer == grouped(number, rows, cols, group):
        return "That is right for groups that go from left to right."
    if answer == wanted[::-1] and which == 0:
        return "Row and column are exchanged."
    if answer in by_row:
        return (
            f"This would be tile {number} if a group went row by row. It goes column "
            "by column: the second tile of group 0 is the one below the first."
        )
    if answer == (wanted[0], cols - 1 - wanted[1]):
        way = "right to left" if which % 2 else "left to right"
        return f"The row is right, but group {which} goes from {way}."
    high = min(rows - first, group)
    if answer == (2 * first + high - 1 - wanted[0], wanted[1]):
        return "The column is right, but each column goes from top to bottom."
    said = [
        f"There is no {what} {at}: the last one is {what} {count - 1}."
        for what, at, count in zip(("row", "column"), answer, (rows, cols), strict=True)
        if not 0 <= at < count
    ]
    if first + group > rows:
        said.append(
            f"This tile is in the last group, which has {several(high, 'row')}."
        )
    elif not first <= answer[0] < first + group:
        said.append(f"It is in group {which}: rows {first} to {first + group - 1}.")
    return " ".join(said) or (
        f"It is number {inside} of its group. A group goes column by column, each from "
        "top to bottom; group 0 from left to right, group 1 back."
    )
