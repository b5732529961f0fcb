# verdict: wrong-value
# I forgot the scale.
@cuda.jit
def one_query(q, k, v, out):
    """Attention of one query per head, one warp per head."""
    mine = cuda.local.array(COLS, float32)  # this lane's columns of the query
    total = cuda.local.array(COLS, float32)  # and of the weighted values
    head, lane = cuda.blockIdx.x, cuda.threadIdx.x
    for i in range(COLS):
        mine[i] = q[head, 32 * i + lane]
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    for j in range(k.shape[1]):
        s = float32(0)
        for i in range(COLS):
            s += mine[i] * k[head, j, 32 * i + lane]
        s = warp_sum(s)

        new = max(top, s)
        factor, p = math.exp(top - new), math.exp(s - new)
        weight = weight * factor + p
        for i in range(COLS):
            total[i] = total[i] * factor + p * v[head, j, 32 * i + lane]
        top = new

    for i in range(COLS):
        out[head, 32 * i + lane] = total[i] / weight  # <- here
