# verdict: loads
# Add up in out, which is loaded twice for that.
@cuda.jit
def grey(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = RED * x[row, col, 0]
        out[row, col] += GREEN * x[row, col, 1]  # <- here
        out[row, col] += BLUE * x[row, col, 2]
