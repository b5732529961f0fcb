# verdict: wrong-value
# Subtract the sum of the gradients.
@cuda.jit
def softmax_backward(y, dy, dx):
    """Write the gradient of the softmax's input into dx, one warp per row."""
    ys = cuda.local.array(32, float32)
    dys = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= y.shape[0]:
        return

    total = float32(0)
    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            ys[i], dys[i] = y[row, col], dy[row, col]
            total += dys[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            dx[row, col] = ys[i] * (dys[i] - total)  # <- here
