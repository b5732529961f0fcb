# verdict: float64
# Add up in float64.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = 0.0
        for i in range(row, g.shape[0], rows):
            for j in range(col, g.shape[1], cols):
                total += g[i, j]
        out[row, col] = total
