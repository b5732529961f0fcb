# verdict: pass
# Clamp with ifs, and number the nine pixels from 0 to 8.
@cuda.jit(device=True)
def at(x, row, col):
    """Return x[row, col], or the nearest pixel if that is outside."""
    if row < 0:
        row = 0
    elif row >= x.shape[0]:
        row = x.shape[0] - 1
    if col < 0:
        col = 0
    elif col >= x.shape[1]:
        col = x.shape[1] - 1
    return x[row, col]


@cuda.jit
def blur(x, out):
    """Write the mean of each pixel's 3 x 3 surroundings into out."""
    col, row = cuda.grid(2)

    if row >= x.shape[0] or col >= x.shape[1]:
        return
    total = float32(0)
    for k in range(9):
        total += at(x, row + k // 3 - 1, col + k % 3 - 1)
    out[row, col] = total / float32(9)
