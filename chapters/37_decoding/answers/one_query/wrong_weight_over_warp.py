# verdict: wrong-value
# Add up the weight over the warp, like the score.
@cuda.jit
def one_query(q, k, v, out):
    """Attention of one query per head, one warp per head."""
    head, lane = cuda.blockIdx.x, cuda.threadIdx.x
    mine = cuda.local.array(COLS, float32)
    total = cuda.local.array(COLS, float32)
    for i in range(COLS):
        mine[i] = q[head, lane + 32 * i]
        total[i] = float32(0)
    top = LOWEST
    weight = float32(0)
    for j in range(k.shape[1]):
        score = float32(0)
        for i in range(COLS):
            score += mine[i] * k[head, j, lane + 32 * i]
        score = warp_sum(score) * SCALE
        larger = max(top, score)
        old = math.exp(top - larger)
        new = math.exp(score - larger)
        weight = weight * old + new
        for i in range(COLS):
            total[i] = total[i] * old + new * v[head, j, lane + 32 * i]
        top = larger
    weight = warp_sum(weight)
    for i in range(COLS):
        out[head, lane + 32 * i] = total[i] / weight
