# verdict: exception
# The box is cut out of the matrix.
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the shared memory after TMA has loaded a box of x."""
    pieces = x[row : row + rows, col : col + BOX].reshape(rows, 8, 8)
    r = np.arange(rows)[:, None]
    return pieces[r, np.arange(8) ^ r % 8].reshape(-1)
