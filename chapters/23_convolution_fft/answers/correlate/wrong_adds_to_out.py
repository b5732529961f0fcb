# verdict: uninitialised
# out starts as zero.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                out[row, col] += x[row + p, col + q] * w[p, q]  # <- here
