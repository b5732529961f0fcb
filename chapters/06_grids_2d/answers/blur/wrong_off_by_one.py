# verdict: out-of-bounds
# The largest row index is the number of rows.
@cuda.jit(device=True)
def at(x, row, col):
    """Return x[row, col], or the nearest pixel if that is outside."""
    row = min(max(row, 0), x.shape[0])
    col = min(max(col, 0), x.shape[1])
    return x[row, col]  # <- here


@cuda.jit
def blur(x, out):
    """Write the mean of each pixel's 3 x 3 surroundings into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(-1, 2):
            for j in range(-1, 2):
                total += at(x, row + i, col + j)
        out[row, col] = total / float32(9)
