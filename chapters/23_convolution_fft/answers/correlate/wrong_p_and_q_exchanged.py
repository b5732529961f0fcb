# verdict: out-of-bounds
# p goes to the right, and q goes down.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                value += x[row + q, col + p] * w[p, q]  # <- here
        out[row, col] = value
