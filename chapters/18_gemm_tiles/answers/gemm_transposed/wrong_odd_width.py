# verdict: bank-conflicts
# Pad by one, as for tiles of 32.
@cuda.jit
def gemm_transposed(alpha, a, b, beta, c):
    """Write alpha * a @ b.T + beta * c into c; b is (n, k)."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]
    total = float32(0)

    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, 17), float32)
    other = cuda.blockIdx.x * TILE + ty

    for start in range(0, k, TILE):
        i = start + tx
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[tx, ty] = b[other, i] if other < n and i < k else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
