# verdict: wrong-value
# A slice begins where a page begins.
@cuda.jit
def paged_group(q, k, v, table, lengths, slices, tops, weights, totals):
    """Attend to a slice of paged keys, for a group of query heads."""
    mine = cuda.local.array((GROUP, COLS), float32)
    total = cuda.local.array((GROUP, COLS), float32)
    top = cuda.local.array(GROUP, float32)
    weight = cuda.local.array(GROUP, float32)
    key = cuda.local.array(COLS, float32)  # the lane's columns of one key
    value = cuda.local.array(COLS, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    neutral(top, weight, total)
    for g in range(GROUP):
        for i in range(COLS):
            mine[g, i] = q[seq, head * GROUP + g, lane + 32 * i]
    length = lengths[seq]
    pages = (length + PAGE - 1) // PAGE
    size = (pages + slices - 1) // slices * PAGE
    start = part * size
    stop = min(start + size, length)
    for j in range(start, stop):
        page = table[seq, j // PAGE]
        for i in range(COLS):
            key[i] = k[page, head, j % PAGE, lane + 32 * i]
            value[i] = v[page, head, j % PAGE, lane + 32 * i]
        for g in range(GROUP):
            score = float32(0)
            for i in range(COLS):
                score += mine[g, i] * key[i]
            score = warp_sum(score) * SCALE
            larger = max(top[g], score)
            old = math.exp(top[g] - larger)
            new = math.exp(score - larger)
            weight[g] = weight[g] * old + new
            for i in range(COLS):
                total[g, i] = total[g, i] * old + new * value[i]
            top[g] = larger
    for g in range(GROUP):
        if lane == 0:
            tops[seq, head * GROUP + g, part] = top[g]
            weights[seq, head * GROUP + g, part] = weight[g]
        for i in range(COLS):
            totals[seq, head * GROUP + g, part, lane + 32 * i] = total[g, i]
