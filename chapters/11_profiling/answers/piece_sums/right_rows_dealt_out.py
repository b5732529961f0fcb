# verdict: pass
# Deal the rows out to the pieces, one by one.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1]:
        part = float32(0)
        for row in range(cuda.blockIdx.y, x.shape[0], cuda.gridDim.y):
            part += x[row, col]
        cuda.atomic.add(out, col, part)
