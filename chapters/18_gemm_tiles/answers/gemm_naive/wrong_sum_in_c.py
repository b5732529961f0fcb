# verdict: loads
# Scale c first, and then add up in it.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        if beta != 0:
            c[row, col] *= beta
        else:
            c[row, col] = float32(0)
        for i in range(a.shape[1]):
            c[row, col] += alpha * a[row, i] * b[i, col]
