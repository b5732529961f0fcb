# verdict: sectors
# out[col, row] is what a transpose is; the tile is in between.
@cuda.jit
def transpose_tiled(x, out):
    """Transpose x (m, n) into out (n, m) through a tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = tile[ty, tx]  # <- here
