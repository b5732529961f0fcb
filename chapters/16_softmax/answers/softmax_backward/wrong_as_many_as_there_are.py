# verdict: local
# Column lane + 32 i is value number i.
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
    for col in range(lane, y.shape[1], 32):
        ys[col // 32], dys[col // 32] = y[row, col], dy[row, col]
        total += ys[col // 32] * dys[col // 32]
    total = warp_sum(total)

    for col in range(lane, y.shape[1], 32):
        dx[row, col] = ys[col // 32] * (dys[col // 32] - total)
