# verdict: wrong-value
# Every thread adds up its column.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1]:
        part = float32(0)
        for row in range(x.shape[0]):
            part += x[row, col]
        cuda.atomic.add(out, col, part)  # <- here
