# verdict: wrong-value
# Adding 1 rounds a quotient up.
@cuda.jit
def split_keys(q, k, v, lengths, slices, tops, weights, totals):
    """Attend to a slice of the keys of each head, one warp per slice."""
    mine = cuda.local.array(COLS, float32)
    total = cuda.local.array(COLS, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    for i in range(COLS):
        mine[i] = q[seq, head, 32 * i + lane] * SCALE
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    length = lengths[seq]
    size = length // slices + 1
    first = part * size

    for j in range(first, min(first + size, length)):
        s = float32(0)
        for i in range(COLS):
            s += mine[i] * k[seq, head, j, 32 * i + lane]
        s = warp_sum(s)

        new = max(top, s)
        factor, p = math.exp(top - new), math.exp(s - new)
        weight = weight * factor + p
        for i in range(COLS):
            total[i] = total[i] * factor + p * v[seq, head, j, 32 * i + lane]
        top = new

    for i in range(COLS):
        totals[seq, head, part, 32 * i + lane] = total[i]
    if lane == 0:
        tops[seq, head, part] = top
        weights[seq, head, part] = weight
