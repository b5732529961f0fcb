# verdict: guarded
# Choose between a load and a zero; but that is an `if` around the load as well.
@cuda.jit
def transpose_rows(x, out):
    """Transpose x (m, n) into out (n, m), four elements per thread."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE  # first row in x, first column in out
    left = cuda.blockIdx.x * TILE  # first column in x, first row in out
    m, n = x.shape

    for j in range(0, TILE, ROWS):
        row, col = top + ty + j, left + tx
        value = x[row, col] if row < m and col < n else float32(0)  # <- here
        tile[ty + j, tx] = value
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]
