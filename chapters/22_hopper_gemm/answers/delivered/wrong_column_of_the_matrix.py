# verdict: wrong-value
# Pieces are counted in the matrix, not in the box.
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    tile = np.zeros((rows, BOX // PIECE, PIECE), x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[r, j // PIECE % 8 ^ r % 8, j % PIECE] = x[i, j]
    return tile.reshape(-1)
