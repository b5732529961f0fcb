# verdict: local
# The loop goes over the columns that exist.
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    top, count = LOWEST, 0
    for col in range(lane, x.shape[1], 32):
        values[count] = x[row, col]
        top = max(top, values[count])
        count += 1
    top = warp_max(top)

    total = float32(0)
    for i in range(count):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    scale = float32(1) / warp_sum(total)

    for i in range(count):
        out[row, lane + 32 * i] = values[i] * scale
