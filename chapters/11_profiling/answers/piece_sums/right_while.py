# verdict: pass
# Add each row as long as there is one.
@cuda.jit
def piece_sums(x, out):
    """Add the sum of each piece of PIECE rows to its column of out."""
    col = cuda.grid(1)
    first = cuda.blockIdx.y * PIECE

    row = first
    if col < x.shape[1]:
        part = x[row, col]
        row += 1
        while row < first + PIECE and row < x.shape[0]:
            part += x[row, col]
            row += 1
        cuda.atomic.add(out, col, part)
