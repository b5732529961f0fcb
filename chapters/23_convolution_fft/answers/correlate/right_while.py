# verdict: pass
# A while loop over the columns.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            q = 0
            while q < w.shape[1]:
                value += x[row + p, col + q] * w[p, q]
                q += 1
        out[row, col] = value
