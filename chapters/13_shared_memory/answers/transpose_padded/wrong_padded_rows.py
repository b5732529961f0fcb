# verdict: bank-conflicts
# Add one row instead of one column.
@cuda.jit
def transpose_padded(x, out):
    """Transpose x (m, n) into out (n, m) without bank conflicts."""
    tile = cuda.shared.array((33, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]  # <- here
