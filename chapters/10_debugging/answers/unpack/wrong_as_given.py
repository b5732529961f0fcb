# verdict: wrong-value
# The kernel as it was given.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * rows + col]  # <- here
