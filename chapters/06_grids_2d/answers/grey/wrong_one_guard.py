# verdict: out-of-bounds
# One guard, as in the first kernel.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.grid(2)

    if col < out.shape[1]:
        red, green, blue = x[row, col, 0], x[row, col, 1], x[row, col, 2]  # <- here
        out[row, col] = RED * red + GREEN * green + BLUE * blue
