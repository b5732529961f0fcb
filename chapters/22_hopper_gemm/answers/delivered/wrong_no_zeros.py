# verdict: exception
# Cut the box out of the matrix.
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    pieces = x[row : row + rows, col : col + BOX].reshape(rows, 8, 8)
    r = np.arange(rows)[:, None]
    return pieces[r, np.arange(8) ^ r % 8].reshape(-1)
