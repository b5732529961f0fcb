# verdict: float64
# A sum begins at 0.0.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = 0.0
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                value += x[row + p, col + q] * w[p, q]  # <- here
        out[row, col] = value
