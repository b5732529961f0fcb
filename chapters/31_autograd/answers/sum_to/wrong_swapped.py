# verdict: wrong-value
# Exchange rows and cols.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = float32(0)
        for i in range(row, g.shape[0], cols):
            for j in range(col, g.shape[1], rows):
                total += g[i, j]
        out[row, col] = total  # <- here
