# verdict: wrong-value
# Sum the rows, as for a bias, whatever the shape of out.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = float32(0)
        for i in range(g.shape[0]):
            total += g[i, col]
        out[row, col] = total  # <- here
