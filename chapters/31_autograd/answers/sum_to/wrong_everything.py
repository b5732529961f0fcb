# verdict: wrong-value
# Every element of out gets the sum of all of g.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = float32(0)
        for i in range(g.shape[0]):
            for j in range(g.shape[1]):
                total += g[i, j]
        out[row, col] = total  # <- here
