# verdict: pass
# Shifts and masks, and a while loop.
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, in blocks of 8 x 32."""
    t = cuda.threadIdx.x  # 0 to 255

    row = cuda.blockIdx.y * 8 + (t >> 5)
    col = cuda.blockIdx.x * 32 + (t & 31)

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        i = 0
        while i < a.shape[1]:
            total += a[row, i] * b[i, col]
            i += 1

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
