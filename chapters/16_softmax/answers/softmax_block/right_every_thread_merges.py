# verdict: pass
# Every thread goes through the eight pairs.
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

    top = LOWEST
    for i in range(16):
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(16):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    total = warp_sum(total)
    if lane == 0:
        tops[warp], totals[warp] = top, total
    cuda.syncthreads()

    whole, sum_of_all = LOWEST, float32(0)
    for k in range(WARPS):
        higher = max(whole, tops[k])
        sum_of_all *= math.exp(whole - higher)
        sum_of_all += totals[k] * math.exp(tops[k] - higher)
        whole = higher
    scale = math.exp(top - whole) / sum_of_all

    for i in range(4):
        col = 4 * (t + THREADS * i)
        if col < x.shape[1]:
            a, b = values[4 * i] * scale, values[4 * i + 1] * scale
            c, d = values[4 * i + 2] * scale, values[4 * i + 3] * scale
            store4(out, (row, col), a, b, c, d)
