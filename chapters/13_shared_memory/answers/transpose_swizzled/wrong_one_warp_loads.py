# verdict: loads
# One warp can fill the tile, row by row.
@cuda.jit
def transpose_swizzled(x, out):
    """Transpose x (m, n) into out (n, m) through a swizzled tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    if ty == 0 and col < x.shape[1]:
        for j in range(min(TILE, x.shape[0] - row)):
            tile[j, (tx + j) % TILE] = x[row + j, col]  # <- here
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, (ty + tx) % TILE]
