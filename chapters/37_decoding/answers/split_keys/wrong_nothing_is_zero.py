# verdict: wrong-value
# Without a key, everything is 0.
@cuda.jit
def split_keys(q, k, v, lengths, slices, tops, weights, totals):
    """Attend to a slice of the keys of each head, one warp per slice."""
    mine = cuda.local.array(COLS, float32)
    total = cuda.local.array(COLS, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    for i in range(COLS):
        mine[i] = q[seq, head, lane + 32 * i]
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)
    length = lengths[seq]
    size = (length + slices - 1) // slices
    first = part * size
    last = min(first + size, length)
    if first >= length:
        if lane == 0:
            tops[seq, head, part] = float32(0)  # <- here
            weights[seq, head, part] = float32(0)
        for i in range(COLS):
            totals[seq, head, part, lane + 32 * i] = float32(0)
        return
    for j in range(first, last):
        dot = float32(0)
        for i in range(COLS):
            dot += mine[i] * k[seq, head, j, lane + 32 * i]
        score = warp_sum(dot) * SCALE
        new_top = max(top, score)
        factor = math.exp(top - new_top)
        w = math.exp(score - new_top)
        weight = weight * factor + w
        for i in range(COLS):
            total[i] = total[i] * factor + w * v[seq, head, j, lane + 32 * i]
        top = new_top
    if lane == 0:
        tops[seq, head, part] = top
        weights[seq, head, part] = weight
    for i in range(COLS):
        totals[seq, head, part, lane + 32 * i] = total[i]
