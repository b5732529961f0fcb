# verdict: pass
# The weights as a sequence, summed in a loop.
WEIGHTS = RED, GREEN, BLUE


@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col, row = cuda.grid(2)
    if row >= x.shape[0] or col >= x.shape[1]:
        return

    total = float32(0)
    for k in range(3):
        total += WEIGHTS[k] * x[row, col, k]
    out[row, col] = total
