# verdict: wrong-value
# Round the size down; the last slice takes the rest.
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
    length = lengths[seq]
    size = length // slices
    start = part * size
    stop = start + size
    if part == slices - 1:
        stop = length
    top = LOWEST
    weight = float32(0)
    for j in range(start, stop):
        score = float32(0)
        for i in range(COLS):
            score += mine[i] * k[seq, head, j, lane + 32 * i]
        score = warp_sum(score) * SCALE
        larger = max(top, score)
        old = math.exp(top - larger)
        new = math.exp(score - larger)
        weight = weight * old + new
        for i in range(COLS):
            total[i] = total[i] * old + new * v[seq, head, j, lane + 32 * i]
        top = larger
    if lane == 0:
        tops[seq, head, part] = top
        weights[seq, head, part] = weight
    for i in range(COLS):
        totals[seq, head, part, lane + 32 * i] = total[i]
