# verdict: unwritten
# `&` is and, as in NumPy.
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if col < x.shape[1] & row < x.shape[0]:  # <- here
        out[row, col] = float32(1) - x[row, col]  # <- here
