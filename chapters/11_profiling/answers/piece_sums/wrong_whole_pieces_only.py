# verdict: wrong-value
# Add up a piece only if all of it fits.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1] and first + PIECE <= x.shape[0]:
        part = float32(0)
        for row in range(first, first + PIECE):
            part += x[row, col]
        cuda.atomic.add(out, col, part)
