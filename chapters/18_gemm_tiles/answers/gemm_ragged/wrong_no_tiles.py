# verdict: loads
# It is right without tiles, too.
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, of any sizes, in tiles."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]
    total = float32(0)

    if row < m and col < n:
        for i in range(k):
            total += a[row, i] * b[i, col]

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
