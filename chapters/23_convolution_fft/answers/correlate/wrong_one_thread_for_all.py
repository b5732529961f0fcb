# verdict: loads
# One thread can do it all.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row == 0 and col == 0:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                value = float32(0)
                for p in range(w.shape[0]):
                    for q in range(w.shape[1]):
                        value += x[i + p, j + q] * w[p, q]  # <- here
                out[i, j] = value
