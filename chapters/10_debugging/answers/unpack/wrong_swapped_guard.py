# verdict: out-of-bounds
# Something is the wrong way round: the guard.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < cols and col < rows:
        out[row, col] = flat[row * rows + col]  # <- here
