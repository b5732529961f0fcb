# verdict: barriers
# Wait after each row that is loaded.
@cuda.jit
def transpose_rows(x, out):
    """Transpose x (m, n) into out (n, m), four elements per thread."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE  # first row in x, first column in out
    left = cuda.blockIdx.x * TILE  # first column in x, first row in out
    m, n = x.shape

    col = min(left + tx, n - 1)
    for j in range(0, TILE, ROWS):
        row = min(top + ty + j, m - 1)
        tile[ty + j, tx] = x[row, col]
        cuda.syncthreads()  # <- here

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]
