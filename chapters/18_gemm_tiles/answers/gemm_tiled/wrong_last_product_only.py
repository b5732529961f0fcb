# verdict: wrong-value
# I forgot to add, so each product replaces the sum.
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        ta[ty, tx] = a[row, start + tx]
        tb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total = ta[ty, i] * tb[i, tx]  # <- here
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
