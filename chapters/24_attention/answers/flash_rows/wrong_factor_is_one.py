# verdict: wrong-value
# Update the maximum, then compute the factor from it.
@cuda.jit
def flash_rows(q, k, v, out, lse):
    """Attention of each head, one thread per query."""
    tk = cuda.shared.array((KEYS, D), float32)
    tv = cuda.shared.array((KEYS, D), float32)
    mine = cuda.local.array(D, float32)  # this thread's query
    total = cuda.local.array(D, float32)  # the weighted sum of the values
    s = cuda.local.array(KEYS, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y
    seq = q.shape[1]

    for i in range(D):
        mine[i] = q[head, row, i] * SCALE if row < seq else float32(0)
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    for start in range(0, seq, KEYS):
        copy_tile(tk, k, head, start)
        copy_tile(tv, v, head, start)
        cuda.syncthreads()
        new = top
        for j in range(KEYS):
            dot = float32(0)
            for i in range(D):
                dot += mine[i] * tk[j, i]
            if start + j >= seq:
                dot = NOTHING
            s[j] = dot
            new = max(new, dot)
        top = new
        factor = math.exp(top - new)
        weight *= factor
        for i in range(D):
            total[i] *= factor
        for j in range(KEYS):
            w = math.exp(s[j] - top)
            weight += w
            for i in range(D):
                total[i] += w * tv[j, i]
        cuda.syncthreads()

    if row < seq:
        for i in range(D):
            out[head, row, i] = total[i] / weight
        lse[head, row] = top + math.log(weight)
