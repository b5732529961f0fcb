# verdict: loads
# Thread (0, 0) fills the tiles for all.
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c; TILE divides all sizes."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)

    for start in range(0, a.shape[1], TILE):
        if tx == 0 and ty == 0:
            for j in range(TILE):
                for i in range(TILE):
                    ta[j, i] = a[row + j, start + i]
                    tb[j, i] = b[start + j, col + i]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
