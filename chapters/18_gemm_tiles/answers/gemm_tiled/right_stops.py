# verdict: pass
# Count the tiles, and add up each tile first.
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c; TILE divides all sizes."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)

    for start in range(a.shape[1] // TILE):
        ta[ty, tx] = a[row, TILE * start + tx]
        tb[ty, tx] = b[TILE * start + ty, col]
        cuda.syncthreads()

        part = float32(0)
        for i in range(TILE):
            part += tb[i, tx] * ta[ty, i]
        total += part
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
