# verdict: unwritten
# The rows of a picture come first, so those of the grid do, too.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    row, col = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        red, green, blue = x[row, col, 0], x[row, col, 1], x[row, col, 2]
        out[row, col] = RED * red + GREEN * green + BLUE * blue
