# verdict: out-of-bounds
# The kernel as it was given.
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if col < x.shape[1]:
        out[row, col] = float32(1) - x[row, col]  # <- here
