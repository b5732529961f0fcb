# verdict: pass
# Rescale for each key, if necessary.
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

        for j in range(min(KEYS, seq - start)):
            score = float32(0)
            for c in range(D):
                score += mine[c] * tk[j, c]
            if score > top:
                factor = math.exp(top - score)
                top = score
                weight *= factor
                for c in range(D):
                    total[c] *= factor
            p = math.exp(score - top)
            weight += p
            for c in range(D):
                total[c] += p * tv[j, c]
        cuda.syncthreads()
    if row < seq:
        for c in range(D):
            out[head, row, c] = total[c] / weight
        lse[head, row] = top + math.log(weight)
