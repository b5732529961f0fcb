# verdict: out-of-bounds
# Something is the wrong way round: the guard.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Lay flat out as rows, each one after the other."""
    col, row = cuda.grid(2)

    if row < cols and col < rows:
        out[row, col] = flat[row * rows + col]  # <- here
