# verdict: pass
# First the corner of the tile, then the place in it.
@cuda.jit
def transpose_tiled(x, out):
    """Transpose x (m, n) into out (n, m) through a tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    m, n = x.shape

    if top + ty < m and left + tx < n:
        tile[ty, tx] = x[top + ty, left + tx]
    cuda.syncthreads()

    if left + ty < n and top + tx < m:
        out[left + ty, top + tx] = tile[tx, ty]
