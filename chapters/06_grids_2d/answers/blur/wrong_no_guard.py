# verdict: out-of-bounds
# `at` takes care of the borders.
@cuda.jit(device=True)
def at(x, row, col):
    """Return x[row, col], or the nearest pixel if that is outside."""
    row = min(max(row, 0), x.shape[0] - 1)
    col = min(max(col, 0), x.shape[1] - 1)
    return x[row, col]


@cuda.jit
def blur(x, out):
    """Write the mean of each pixel's 3 x 3 surroundings into out."""
    col, row = cuda.grid(2)

    total = float32(0)
    for i in range(-1, 2):
        for j in range(-1, 2):
            total += at(x, row + i, col + j)
    out[row, col] = total / float32(9)  # <- here
