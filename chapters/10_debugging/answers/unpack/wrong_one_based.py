# verdict: wrong-value
# Row 1 starts after one row, so there is one element less to skip.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * (cols - 1) + col]  # <- here
