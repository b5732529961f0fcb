"""The tile kernels that measurements and the page use, beside those of the lab."""

import cuda.tile as ct

Constant = ct.Constant[int]
ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF


@ct.kernel
def copy(x, out, TILE: Constant):
    """Copy a matrix, one square tile per block."""
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(i, j), tile=tile)


@ct.kernel
def softmax_rows(x, out, ROWS: Constant, WIDTH: Constant):
    """Take the softmax of ROWS rows per block: the tile has more than one row."""
    first = ct.bid(0)
    shape = ROWS, WIDTH
    row = ct.load(x, index=(first, 0), shape=shape, padding_mode=NEG_INF)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(first, 0), tile=power / total)


@ct.kernel
def softmax_without_tma(x, out, WIDTH: Constant):
    """Take the softmax of a row per block, loaded and stored by the threads."""
    i = ct.bid(0)
    row = ct.load(
        x, index=(i, 0), shape=(1, WIDTH), padding_mode=NEG_INF, allow_tma=False
    )
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total, allow_tma=False)


@ct.kernel
def softmax_persistent(x, out, WIDTH: Constant):
    """Take the softmax of every n-th row, in a loop; n is the number of blocks."""
    for i in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.load(x, index=(i, 0), shape=(1, WIDTH), padding_mode=NEG_INF)
        power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
        total = ct.sum(power, axis=1, keepdims=True)
        ct.store(out, index=(i, 0), tile=power / total)


def tile_of(number, down, across, group):
    """Return row and column of a tile, given its number in grouped order."""
    band = group * across
    top = number // band * group
    height = min(down - top, group)
    inside = number % band
    return top + inside % height, inside // height


@ct.kernel
def matmul_grouped(a, b, c, TM: Constant, TN: Constant, TK: Constant, GROUP: Constant):
    """Multiply matrices; GROUP rows of tiles share the columns that they read."""
    down, across = ct.cdiv(c.shape[0], TM), ct.cdiv(c.shape[1], TN)
    i, j = tile_of(ct.bid(0), down, across, GROUP)

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        right = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, index=(i, j), tile=ct.astype(acc, c.dtype))
