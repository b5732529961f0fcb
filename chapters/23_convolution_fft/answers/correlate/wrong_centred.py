# verdict: negative-index
# The middle of the filter is on the pixel.
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                value += (
                    x[row + p - w.shape[0] // 2, col + q - w.shape[1] // 2] * w[p, q]
                )
        out[row, col] = value
