# verdict: wrong-value
# What is inside the matrix goes to the corner of the box.
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    box = np.zeros((rows, BOX), x.dtype)
    part = x[
        max(row, 0) : max(row + rows, 0), max(col, 0) : max(col + BOX, 0)
    ]
    box[: part.shape[0], : part.shape[1]] = part
    pieces = box.reshape(rows, 8, PIECE)
    r = np.arange(rows)[:, None]
    return pieces[r, np.arange(8) ^ r % 8].reshape(-1)
