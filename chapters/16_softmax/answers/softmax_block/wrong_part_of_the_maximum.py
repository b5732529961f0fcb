# verdict: wrong-value
# The maximum of four values is enough.
@cuda.jit
def softmax_block(x, out):
    """Write the softmax of each row of x into out, one block per row."""
    values = cuda.local.array(16, float32)
    tops = cuda.shared.array(WARPS, float32)
    totals = cuda.shared.array(WARPS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = t // 32, t % 32

    for i in range(4):
        a = b = c = d = NOTHING
        col = 4 * (t + THREADS * i)
        if col < x.shape[1]:
            a, b, c, d = load4(x, (row, col))
        values[4 * i], values[4 * i + 1] = a, b
        values[4 * i + 2], values[4 * i + 3] = c, d

    m = LOWEST
    for k in range(4):
        m = max(m, values[k])
    m = warp_max(m)
    s = float32(0)
    for k in range(16):
        values[k] = math.exp(values[k] - m)
        s += values[k]
    s = warp_sum(s)
    if lane == 0:
        tops[warp] = m
        totals[warp] = s
    cuda.syncthreads()

    m2 = LOWEST
    s2 = float32(0)
    if lane < WARPS:
        m2 = tops[lane]
        s2 = totals[lane]
    top = warp_max(m2)
    total = warp_sum(s2 * math.exp(m2 - top))
    f = math.exp(m - top) / total
    for i in range(4):
        col = 4 * (t + THREADS * i)
        if col < x.shape[1]:
            store4(out, (row, col), values[4 * i] * f, values[4 * i + 1] * f,
                   values[4 * i + 2] * f, values[4 * i + 3] * f)
