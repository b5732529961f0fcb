# verdict: out-of-bounds
# The channel comes first, as in PyTorch.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        red, green, blue = x[0, row, col], x[1, row, col], x[2, row, col]  # <- here
        out[row, col] = RED * red + GREEN * green + BLUE * blue
