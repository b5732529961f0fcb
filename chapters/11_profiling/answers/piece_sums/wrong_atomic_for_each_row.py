# verdict: atomics
# Several threads add to a column, so each addition is an atomic.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1]:
        for row in range(first, min(first + PIECE, x.shape[0])):
            cuda.atomic.add(out, col, x[row, col])  # <- here
