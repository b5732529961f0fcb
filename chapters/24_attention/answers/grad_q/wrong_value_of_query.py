# verdict: wrong-value
# Each row has its own value.
@cuda.jit
def grad_q(q, k, v, g, lse, delta, dq):
    """Write the gradient of the queries, one thread per query."""
    sums = cuda.local.array(D, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y

    if row < q.shape[1]:
        for i in range(D):
            sums[i] = float32(0)
        for j in range(row + 1):
            x, dp = float32(0), float32(0)
            for i in range(D):
                x += q[head, row, i] * k[head, j, i]
                dp += g[head, row, i] * v[head, row, i]
            p = math.exp(x * SCALE - lse[head, row])
            ds = p * (dp - delta[head, row])
            for i in range(D):
                sums[i] += ds * k[head, j, i]
        for i in range(D):
            dq[head, row, i] = sums[i] * SCALE
