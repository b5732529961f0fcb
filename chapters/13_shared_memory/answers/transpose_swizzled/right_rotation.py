# verdict: pass
# Rotate each row by its number, which is a permutation, too.
@cuda.jit
def transpose_swizzled(x, out):
    """Transpose x (m, n) into out (n, m) through a swizzled tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, (tx + ty) % TILE] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, (ty + tx) % TILE]
