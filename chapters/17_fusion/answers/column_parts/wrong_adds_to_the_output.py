# verdict: uninitialised
# The output is the accumulator.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            mu, r = mean[row], rstd[row]
            for j in range(4):
                dgammas[group, col + j] += back[j] * (four[j] - mu) * r  # <- here
                dbetas[group, col + j] += back[j]
