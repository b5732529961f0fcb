# verdict: wrong-value
# Each row is stored as it comes.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            mu, r = mean[row], rstd[row]
            a, b = back[0] * (four[0] - mu) * r, back[1] * (four[1] - mu) * r
            c, d = back[2] * (four[2] - mu) * r, back[3] * (four[3] - mu) * r
            store4(dgammas, (group, col), a, b, c, d)
            store4(dbetas, (group, col), back[0], back[1], back[2], back[3])
