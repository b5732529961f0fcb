# verdict: wrong-value
# The powers are only for the sum.
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    cols = x.shape[1]
    m = LOWEST
    for k in range(32):
        values[k] = NOTHING
        if lane + 32 * k < cols:
            values[k] = x[row, lane + 32 * k]
        m = max(m, values[k])
    m = warp_max(m)
    s = float32(0)
    for k in range(32):
        s += math.exp(values[k] - m)
    s = warp_sum(s)
    for k in range(32):
        if lane + 32 * k < cols:
            out[row, lane + 32 * k] = values[k] / s
