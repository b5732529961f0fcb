# verdict: out-of-bounds
# Every thread has an element.
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    total = float32(0)
    for i in range(row, g.shape[0], rows):
        for j in range(col, g.shape[1], cols):
            total += g[i, j]
    out[row, col] = total  # <- here
