# verdict: wrong-value
# Beyond the end of k, load the last element again, and let it count.
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    total = float32(0)
    for start in range(0, k, TILE):
        i, j = min(start + tx, k - 1), min(start + ty, k - 1)
        ta[ty, tx] = a[min(row, m - 1), i]
        tb[ty, tx] = b[j, min(col, n - 1)]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total  # <- here
