# verdict: pass
# Clamp the loads; a second test of the column replaces the rest with -inf.
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    last = x.shape[1] - 1
    for i in range(32):
        values[i] = x[row, min(lane + 32 * i, last)]
    for i in range(32):
        if lane + 32 * i > last:
            values[i] = NOTHING

    top = LOWEST
    for i in range(32):
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(32):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            out[row, col] = values[i] / total
