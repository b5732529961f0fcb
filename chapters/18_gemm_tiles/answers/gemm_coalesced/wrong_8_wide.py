# verdict: sectors
# There are 8 rows, so t % 8 is the row.
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, in blocks of 8 x 32."""
    t = cuda.threadIdx.x  # 0 to 255

    row = cuda.blockIdx.y * 8 + t % 8
    col = cuda.blockIdx.x * 32 + t // 8

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]  # <- here

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
