# verdict: pass
# Look up each page when it starts; key and value are scalars, column by column.
@cuda.jit
def paged_group(q, k, v, table, lengths, slices, tops, weights, totals):
    """Attend to a slice of paged keys, for a group of query heads."""
    mine = cuda.local.array((GROUP, COLS), float32)
    total = cuda.local.array((GROUP, COLS), float32)
    top = cuda.local.array(GROUP, float32)
    weight = cuda.local.array(GROUP, float32)
    s = cuda.local.array(GROUP, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    neutral(top, weight, total)
    for g in range(GROUP):
        for i in range(COLS):
            mine[g, i] = q[seq, head * GROUP + g, 32 * i + lane]

    size = (lengths[seq] + slices - 1) // slices
    j, page = part * size, 0
    stop = min(j + size, lengths[seq])
    fresh = True
    while j < stop:
        if fresh:
            page = table[seq, j // PAGE]
        row = j % PAGE
        for g in range(GROUP):
            s[g] = float32(0)
        for i in range(COLS):
            key = k[page, head, row, 32 * i + lane]
            for g in range(GROUP):
                s[g] += mine[g, i] * key
        for g in range(GROUP):
            score = warp_sum(s[g]) * SCALE
            new = max(top[g], score)
            factor, s[g] = math.exp(top[g] - new), math.exp(score - new)
            weight[g] = weight[g] * factor + s[g]
            for i in range(COLS):
                total[g, i] *= factor
            top[g] = new
        for i in range(COLS):
            value = v[page, head, row, 32 * i + lane]
            for g in range(GROUP):
                total[g, i] += s[g] * value
        j += 1
        fresh = j % PAGE == 0

    for g in range(GROUP):
        for i in range(COLS):
            totals[seq, head * GROUP + g, part, 32 * i + lane] = total[g, i]
        if lane == 0:
            tops[seq, head * GROUP + g, part] = top[g]
            weights[seq, head * GROUP + g, part] = weight[g]
