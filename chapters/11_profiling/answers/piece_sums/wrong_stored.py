# verdict: wrong-value
# The sum of a piece is the result.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1]:
        part = float32(0)
        for row in range(first, min(first + PIECE, x.shape[0])):
            part += x[row, col]
        out[col] = part  # <- here
