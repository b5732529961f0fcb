# verdict: out-of-bounds
# The rows were missing, so I ask for the rows.
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if row < x.shape[0]:
        out[row, col] = float32(1) - x[row, col]  # <- here
