# verdict: uninitialised
# Add to out, which no thread has set to 0.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        for i in range(row, g.shape[0], rows):
            for j in range(col, g.shape[1], cols):
                out[row, col] += g[i, j]  # <- here
