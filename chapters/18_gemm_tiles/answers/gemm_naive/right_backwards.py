# verdict: pass
# Add up from the end, and multiply each product by alpha.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(b.shape[0] - 1, -1, -1):
            total += alpha * a[row, i] * b[i, col]

        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
