# verdict: wrong-value
# Threads without a query copy, and are done.
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
        if row >= seq:
            return
        cuda.syncthreads()  # <- here

        highest = top
        for j in range(KEYS):
            s[j] = float32(0)
            for c in range(D):
                s[j] += mine[c] * tk[j, c]
            if start + j >= seq:
                s[j] = NOTHING
            highest = max(highest, s[j])

        factor = math.exp(top - highest)
        top = highest
        weight *= factor
        for c in range(D):
            total[c] *= factor

        for j in range(KEYS):
            p = math.exp(s[j] - top)
            weight += p
            for c in range(D):
                total[c] += p * tv[j, c]
        cuda.syncthreads()
    if row < seq:
        for c in range(D):
            out[head, row, c] = total[c] / weight
        lse[head, row] = top + math.log(weight)
