# verdict: pass
# Four loads into variables, then four stores into the tile.
@cuda.jit
def transpose_rows(x, out):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    m, n = x.shape
    col = min(left + tx, n - 1)
    a = x[min(top + ty, m - 1), col]
    b = x[min(top + ty + 8, m - 1), col]
    c = x[min(top + ty + 16, m - 1), col]
    d = x[min(top + ty + 24, m - 1), col]
    tile[ty, tx] = a
    tile[ty + 8, tx] = b
    tile[ty + 16, tx] = c
    tile[ty + 24, tx] = d
    cuda.syncthreads()
    if top + tx < m:
        for j in range(ty, TILE, ROWS):
            if left + j < n:
                out[left + j, top + tx] = tile[tx, j]
