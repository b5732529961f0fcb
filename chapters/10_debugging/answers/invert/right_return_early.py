# verdict: pass
# Threads that are outside return first.
@cuda.jit
def invert(x, out):
    """Write 1 - x into out, for a picture (rows, cols)."""
    col, row = cuda.grid(2)

    if col >= out.shape[1] or row >= out.shape[0]:
        return

    out[row, col] = float32(1) - x[row, col]
