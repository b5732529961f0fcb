# verdict: loads
# Only one of the pieces may write.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    if col < x.shape[1] and first == 0:
        part = float32(0)
        for row in range(x.shape[0]):
            part += x[row, col]  # <- here
        out[col] = part
