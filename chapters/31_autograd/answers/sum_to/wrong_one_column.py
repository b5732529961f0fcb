# verdict: wrong-value
# Sum a column, or else a row; but if rows and cols are 1, both are summed.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        total = float32(0)
        if rows == 1:
            for i in range(g.shape[0]):
                total += g[i, col]
        elif cols == 1:
            for j in range(g.shape[1]):
                total += g[row, j]
        else:
            total = g[row, col]
        out[row, col] = total  # <- here
