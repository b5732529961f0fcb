# verdict: pass
# Threads without a result return; the loops go backwards.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row >= out.shape[0] or col >= out.shape[1]:
        return
    value = float32(0)
    for p in range(w.shape[0] - 1, -1, -1):
        for q in range(w.shape[1] - 1, -1, -1):
            value += w[p, q] * x[row + p, col + q]
    out[row, col] = value
