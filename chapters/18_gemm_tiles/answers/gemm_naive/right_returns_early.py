# verdict: pass
# Threads outside return; the sum starts with what was in c.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    if row >= c.shape[0] or col >= c.shape[1]:
        return
    total = beta * c[row, col] if beta != 0 else float32(0)
    i = 0
    while i < a.shape[1]:
        total += alpha * a[row, i] * b[i, col]
        i += 1
    c[row, col] = total
