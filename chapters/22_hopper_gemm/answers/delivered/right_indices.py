# verdict: pass
# Arrays of indices, and a margin of zeros.
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    m, n = x.shape
    wide = np.zeros((m + 200, n + 400), x.dtype)
    wide[100 : 100 + m, 200 : 200 + n] = x
    box = wide[100 + row : 100 + row + rows, 200 + col : 200 + col + BOX]
    pieces = box.reshape(rows, 8, 8)
    r = np.arange(rows)[:, None]
    return pieces[r, np.arange(8) ^ r % 8].reshape(-1)
