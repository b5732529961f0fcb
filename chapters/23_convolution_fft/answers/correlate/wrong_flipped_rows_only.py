# verdict: wrong-value
# Reverse the filter in one of the two directions.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        kh, kw = w.shape
        for p in range(kh):
            for q in range(kw):
                value += x[row + p, col + q] * w[kh - 1 - p, q]
        out[row, col] = value  # <- here
