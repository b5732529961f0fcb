# verdict: wrong-value
# Set the sum to zero in each iteration.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        for i in range(a.shape[1]):
            total = float32(0)  # <- here
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
