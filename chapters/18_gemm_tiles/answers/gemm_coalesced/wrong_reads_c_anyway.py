# verdict: wrong-value
# With beta = 0, the second term is zero.
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, in blocks of 8 x 32."""
    t = cuda.threadIdx.x  # 0 to 255

    row = cuda.blockIdx.y * 8 + t // 32
    col = cuda.blockIdx.x * 32 + t % 32

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        c[row, col] = alpha * total + beta * c[row, col]  # <- here
