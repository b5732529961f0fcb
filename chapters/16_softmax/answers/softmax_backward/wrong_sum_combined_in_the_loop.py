# verdict: wrong-value
# Combine the sums of the lanes in each iteration.
@cuda.jit
def softmax_backward(y, dy, dx):
    """Write the gradient of the softmax's input into dx, one warp per row."""
    ys = cuda.local.array(32, float32)
    dys = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= y.shape[0]:
        return

    s = float32(0)
    for k in range(32):
        col = lane + 32 * k
        ys[k] = 0
        dys[k] = 0
        if col < y.shape[1]:
            ys[k] = y[row, col]
            dys[k] = dy[row, col]
        s += ys[k] * dys[k]
        s = warp_sum(s)
    for k in range(32):
        col = lane + 32 * k
        if col < y.shape[1]:
            dx[row, col] = ys[k] * (dys[k] - s)
