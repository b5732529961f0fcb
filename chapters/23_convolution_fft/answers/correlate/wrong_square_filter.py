# verdict: out-of-bounds
# A filter is square.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        k = w.shape[0]
        for p in range(k):
            for q in range(k):
                value += x[row + p, col + q] * w[p, q]  # <- here
        out[row, col] = value
