# verdict: wrong-value
# Take the mean instead of the sum.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = float32(0)
        count = float32(0)
        for i in range(row, g.shape[0], rows):
            for j in range(col, g.shape[1], cols):
                total += g[i, j]
                count += float32(1)
        out[row, col] = total / count  # <- here
