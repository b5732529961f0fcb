# verdict: loads
# The array is for the powers; the second loop loads the row again.
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    top = LOWEST
    for i in range(32):
        col = lane + 32 * i
        value = x[row, col] if col < x.shape[1] else NOTHING  # <- here
        top = max(top, value)
    top = warp_max(top)

    total = float32(0)
    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            values[i] = math.exp(x[row, col] - top)
            total += values[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            out[row, col] = values[i] / total
