# verdict: wrong-value
# Only thread 0 writes dgamma, so only it needs the sum.
@cuda.jit
def norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta):
    """Write the gradients of batch normalisation, a block for each channel."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = float32(x.shape[0])

    sum_dy = float32(0)
    sum_dy_hat = float32(0)
    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) * scale[c]
        sum_dy += dy[row, c]
        sum_dy_hat += dy[row, c] * hat
    sum_dy = block_sum(sum_dy, cells)
    dg = float32(0)
    if t == 0:
        dg = block_sum(sum_dy_hat, cells)

    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) * scale[c]
        centred = dy[row, c] - sum_dy / m - hat * dg / m
        dx[row, c] = gamma[c] * scale[c] * centred
    if t == 0:
        dgamma[c] = dg
        dbeta[c] = sum_dy
