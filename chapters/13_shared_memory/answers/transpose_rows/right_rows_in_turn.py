# verdict: pass
# Each thread loads neighbouring rows, and the second loop starts at ty.
@cuda.jit
def transpose_rows(x, out):
    """Transpose x (m, n) into out (n, m), four elements per thread."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE  # first row in x, first column in out
    left = cuda.blockIdx.x * TILE  # first column in x, first row in out
    m, n = x.shape

    col = min(left + tx, n - 1)
    for r in range(4 * ty, 4 * ty + 4):
        tile[r, tx] = x[min(top + r, m - 1), col]
    cuda.syncthreads()

    for r in range(ty, TILE, ROWS):
        if left + r < n and top + tx < m:
            out[left + r, top + tx] = tile[tx, r]
