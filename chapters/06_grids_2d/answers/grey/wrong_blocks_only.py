# verdict: unwritten
# The position in the block is the position in the picture.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.threadIdx.x, cuda.threadIdx.y

    if row < out.shape[0] and col < out.shape[1]:
        red, green, blue = x[row, col, 0], x[row, col, 1], x[row, col, 2]
        out[row, col] = RED * red + GREEN * green + BLUE * blue
