# verdict: wrong-value
# Multiply each product by alpha, and the sum as well.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += alpha * a[row, i] * b[i, col]

        total *= alpha  # <- here
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
