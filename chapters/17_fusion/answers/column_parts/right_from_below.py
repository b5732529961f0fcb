# verdict: pass
# Start at the last row, and factor r out.
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a = b = c = d = float32(0)
        e = f = g = h = float32(0)
        last = x.shape[0] - 1
        for back_row in range(x.shape[0]):
            row = last - back_row
            if row % cuda.gridDim.y == group:
                t = load4(x, (row, col))
                u = load4(dy, (row, col))
                mu, r = mean[row], rstd[row]
                a += r * (u[0] * (t[0] - mu))
                b += r * (u[1] * (t[1] - mu))
                c += r * (u[2] * (t[2] - mu))
                d += r * (u[3] * (t[3] - mu))
                e += u[0]
                f += u[1]
                g += u[2]
                h += u[3]
        store4(dgammas, (group, col), a, b, c, d)
        store4(dbetas, (group, col), e, f, g, h)
