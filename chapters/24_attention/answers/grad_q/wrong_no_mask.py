# verdict: wrong-value
# Go over all keys.
@cuda.jit
def grad_q(q, k, v, g, lse, delta, dq):
    """Write the gradient of the queries, one thread per query."""
    sums = cuda.local.array(D, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y

    if row < q.shape[1]:
        for i in range(D):
            sums[i] = float32(0)
        for j in range(k.shape[1]):
            s, dp = float32(0), float32(0)
            for c in range(D):
                s += q[head, row, c] * k[head, j, c]
                dp += g[head, row, c] * v[head, j, c]
            p = math.exp(s * SCALE - lse[head, row])
            ds = p * (dp - delta[head, row])
            for c in range(D):
                sums[c] += ds * k[head, j, c]

        for c in range(D):
            dq[head, row, c] = sums[c] * SCALE  # <- here
