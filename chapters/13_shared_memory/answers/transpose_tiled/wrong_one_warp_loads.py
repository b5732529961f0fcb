# verdict: loads
# One warp can fill the tile, row by row.
@cuda.jit
def transpose_tiled(x, out):
    """Transpose x (m, n) into out (n, m) through a tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    m, n = x.shape

    if ty == 0 and left + tx < n:
        for j in range(min(TILE, m - top)):
            tile[j, tx] = x[top + j, left + tx]  # <- here
    cuda.syncthreads()

    if left + ty < n and top + tx < m:
        out[left + ty, top + tx] = tile[tx, ty]
