# verdict: pass
# One loop over all elements of the filter.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    kh, kw = w.shape
    if row < x.shape[0] - kh + 1 and col < x.shape[1] - kw + 1:
        value = float32(0)
        for tap in range(w.size):
            p, q = tap // kw, tap % kw
            value += x[row + p, col + q] * w[p, q]
        out[row, col] = value
