# verdict: wrong-value
# A group has one mean.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a = b = c = d = float32(0)
        e = f = g = h = float32(0)
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            middle, r = mean[group], rstd[group]
            a += back[0] * (four[0] - middle) * r
            b += back[1] * (four[1] - middle) * r
            c += back[2] * (four[2] - middle) * r
            d += back[3] * (four[3] - middle) * r
            e, f = e + back[0], f + back[1]
            g, h = g + back[2], h + back[3]
        store4(dgammas, (group, col), a, b, c, d)
        store4(dbetas, (group, col), e, f, g, h)
