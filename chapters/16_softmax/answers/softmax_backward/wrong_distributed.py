# verdict: wrong-value
# Multiplied out, the formula is y dy minus the sum.
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
        ys[i] = y[row, col] if col < y.shape[1] else float32(0)
        dys[i] = dy[row, col] if col < y.shape[1] else float32(0)
        total += ys[i] * dys[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            dx[row, col] = ys[i] * dys[i] - total  # <- here
