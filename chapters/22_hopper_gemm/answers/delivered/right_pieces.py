# verdict: pass
# Move whole pieces by XOR.
BOX = 64  # numbers in a row of the box


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    tile = np.zeros((rows, 8, 8), x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[r, q // 8 ^ r % 8, q % 8] = x[i, j]
    return tile.reshape(-1)
