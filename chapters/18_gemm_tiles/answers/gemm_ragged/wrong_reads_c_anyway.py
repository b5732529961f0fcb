# verdict: wrong-value
# With beta = 0, the second term is zero.
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, of any sizes, in tiles."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]
    total = float32(0)

    for start in range(0, k, TILE):
        i, j = start + tx, start + ty
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[ty, tx] = b[j, col] if j < k and col < n else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        c[row, col] = alpha * total + beta * c[row, col]  # <- here
