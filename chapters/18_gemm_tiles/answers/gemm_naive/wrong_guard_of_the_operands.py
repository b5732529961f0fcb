# verdict: wrong-value
# The guard tests the matrix that is read.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    if row < a.shape[0] and col < a.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
