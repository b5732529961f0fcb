# verdict: float64
# A sum begins with 0.0.
@cuda.jit
def layer_norm(x, gamma, beta, out, mean, rstd):
    """Write the LayerNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    total = 0.0
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                total += four[j]
    mu = block_sum(total, 0) / float32(cols)

    total = 0.0
    for k in range(PIECES):
        if first + k * width < cols:
            for j in range(4):
                total += (values[4 * k + j] - mu) * (values[4 * k + j] - mu)
    r = float32(1) / math.sqrt(block_sum(total, 1) / float32(cols) + EPS)
    if first == 0:
        mean[row], rstd[row] = mu, r

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            g, b = load4(gamma, col), load4(beta, col)
            p = (values[4 * k] - mu) * r * g[0] + b[0]
            q = (values[4 * k + 1] - mu) * r * g[1] + b[1]
            s = (values[4 * k + 2] - mu) * r * g[2] + b[2]
            t = (values[4 * k + 3] - mu) * r * g[3] + b[3]
            store4(out, (row, col), p, q, s, t)
