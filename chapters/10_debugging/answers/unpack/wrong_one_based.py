# verdict: wrong-value
# Row 1 begins after one row, so there is one less to step over.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Lay flat out as rows, each one after the other."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * (cols - 1) + col]  # <- here
