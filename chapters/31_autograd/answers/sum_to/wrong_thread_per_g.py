# verdict: uninitialised
# There is one thread per element of g.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < g.shape[0] and col < g.shape[1]:
        out[row % rows, col % cols] += g[row, col]  # <- here
