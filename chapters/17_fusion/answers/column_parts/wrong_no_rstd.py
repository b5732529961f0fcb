# verdict: wrong-value
# Only the mean is subtracted.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a = b = c = d = float32(0)
        e = f = g = h = float32(0)
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            mu, r = mean[row], rstd[row]
            a += back[0] * (four[0] - mu)
            b += back[1] * (four[1] - mu)
            c += back[2] * (four[2] - mu)
            d += back[3] * (four[3] - mu)
            e, f = e + back[0], f + back[1]
            g, h = g + back[2], h + back[3]
        store4(dgammas, (group, col), a, b, c, d)
        store4(dbetas, (group, col), e, f, g, h)
