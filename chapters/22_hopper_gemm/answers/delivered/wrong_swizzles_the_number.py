# verdict: wrong-value
# Pass the index of the number to swizzle, which counts bytes.
BOX = 64  # numbers in a row of the box


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    tile = np.zeros(BOX * rows, x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[swizzle(BOX * r + q)] = x[i, j]
    return tile
