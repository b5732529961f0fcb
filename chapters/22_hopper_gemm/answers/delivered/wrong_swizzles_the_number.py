# verdict: wrong-value
# Passes the number's index to swizzle, which counts bytes.
BOX = 64  # numbers in a row of the box


def delivered(x, row, col, rows):
    """Return the shared memory after TMA has loaded a box of x."""
    tile = np.zeros(BOX * rows, x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[swizzle(BOX * r + q)] = x[i, j]
    return tile
