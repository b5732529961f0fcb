# verdict: wrong-value
# The kernel as it was given.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Lay flat out as rows, each one after the other."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * rows + col]  # <- here
