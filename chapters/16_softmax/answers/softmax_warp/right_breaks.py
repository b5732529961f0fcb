# verdict: pass
# Stop at the last column; the loops still run to a constant.
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
        values[i] = x[row, col] if col < x.shape[1] else NOTHING
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(32):
        if lane + 32 * i >= x.shape[1]:
            break
        values[i] = math.exp(values[i] - top)
        total += values[i]
    scale = float32(1) / warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            out[row, col] = values[i] * scale
