# verdict: wrong-value
# Take the first share, as if g had the shape of out.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = g[row, col]  # <- here
