# verdict: narrow
# Four columns, one after another.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        for j in range(4):
            a, e = float32(0), float32(0)
            for row in range(group, x.shape[0], cuda.gridDim.y):
                hat = (x[row, col + j] - mean[row]) * rstd[row]  # <- here
                a += dy[row, col + j] * hat
                e += dy[row, col + j]
            dgammas[group, col + j] = a
            dbetas[group, col + j] = e
