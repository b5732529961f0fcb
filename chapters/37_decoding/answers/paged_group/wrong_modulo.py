# verdict: wrong-value
# Query heads take turns with the key/value heads.
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
            mine[g, i] = q[seq, g * cuda.gridDim.y + head, 32 * i + lane] * SCALE

    length = lengths[seq]
    size = (length + slices - 1) // slices
    first = part * size

    for j in range(first, min(first + size, length)):
        page, row = table[seq, j // PAGE], j % PAGE
        for i in range(COLS):
            key[i] = k[page, head, row, 32 * i + lane]
            value[i] = v[page, head, row, 32 * i + lane]

        for g in range(GROUP):
            s = float32(0)
            for i in range(COLS):
                s += mine[g, i] * key[i]
            s = warp_sum(s)

            new = max(top[g], s)
            factor, p = math.exp(top[g] - new), math.exp(s - new)
            weight[g] = weight[g] * factor + p
            for i in range(COLS):
                total[g, i] = total[g, i] * factor + p * value[i]
            top[g] = new

    for g in range(GROUP):
        query = g * cuda.gridDim.y + head
        for i in range(COLS):
            totals[seq, query, part, 32 * i + lane] = total[g, i]
        if lane == 0:
            tops[seq, query, part] = top[g]  # <- here
            weights[seq, query, part] = weight[g]
