# verdict: loads
# One thread for each row, which then walks along it.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.grid(2)

    if col == 0 and row < out.shape[0]:
        for k in range(out.shape[1]):
            red, green, blue = x[row, k, 0], x[row, k, 1], x[row, k, 2]  # <- here
            out[row, k] = RED * red + GREEN * green + BLUE * blue
