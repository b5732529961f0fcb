# verdict: wrong-value
# The scale is the standard deviation.
@cuda.jit
def norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta):
    """Write the gradients of batch normalisation, a block for each channel."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = float32(x.shape[0])

    sum_dy = float32(0)
    sum_dy_hat = float32(0)
    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) / scale[c]
        sum_dy += dy[row, c]
        sum_dy_hat += dy[row, c] * hat
    sum_dy = block_sum(sum_dy, cells)
    sum_dy_hat = block_sum(sum_dy_hat, cells)

    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) / scale[c]
        centred = dy[row, c] - sum_dy / m - hat * sum_dy_hat / m
        dx[row, c] = gamma[c] / scale[c] * centred
    if t == 0:
        dgamma[c] = sum_dy_hat
        dbeta[c] = sum_dy
