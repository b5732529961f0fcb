# verdict: out-of-bounds
# Neither the row nor the column may be outside, so it is `or`.
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if row < x.shape[0] or col < x.shape[1]:
        out[row, col] = float32(1) - x[row, col]  # <- here
