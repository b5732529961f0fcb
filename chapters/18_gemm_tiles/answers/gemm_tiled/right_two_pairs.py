# verdict: pass
# Two pairs of tiles take turns, so one barrier per pair is enough.
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c; TILE divides all sizes."""
    ta = cuda.shared.array((2, TILE, TILE), float32)
    tb = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)

    for start in range(0, a.shape[1], TILE):
        z = start // TILE % 2
        ta[z, ty, tx] = a[row, start + tx]
        tb[z, ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[z, ty, i] * tb[z, i, tx]

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
