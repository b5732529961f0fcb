# verdict: pass
# Beyond the edge the last element is loaded, and multiplied by 0.
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
        inside = row < m and i < k
        ta[ty, tx] = a[min(row, m - 1), min(i, k - 1)] * float32(inside)
        inside = j < k and col < n
        tb[ty, tx] = b[min(j, k - 1), min(col, n - 1)] * float32(inside)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
