# verdict: out-of-bounds
# The grid is as wide as the matrix.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    part = float32(0)
    for row in range(first, min(first + PIECE, x.shape[0])):
        part += x[row, col]  # <- here
    cuda.atomic.add(out, col, part)
