# verdict: wrong-value
# I forgot to multiply by alpha.
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    row, col = cuda.grid(2)

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total  # <- here
