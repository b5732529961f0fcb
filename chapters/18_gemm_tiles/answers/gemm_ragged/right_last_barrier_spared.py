# verdict: pass
# No thread loads after the last tile, and all threads agree on which one it is.
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
        ta[ty, tx] = 0
        tb[ty, tx] = 0
        if row < m and start + tx < k:
            ta[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        if start + TILE < k:
            cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
