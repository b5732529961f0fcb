# verdict: wrong-value
# Grey is the mean of the three.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = x[row, col, 0] + x[row, col, 1] + x[row, col, 2]
        out[row, col] = total / float32(3)  # <- here
