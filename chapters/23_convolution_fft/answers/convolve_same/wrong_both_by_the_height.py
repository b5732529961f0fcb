# verdict: wrong-value
# Both indices are bounded by the height.
@cuda.jit
def convolve_same(x, w, out):
    """Write the convolution of x with w into out: same size, zeros outside."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                i = row + w.shape[0] // 2 - p
                j = col + w.shape[1] // 2 - q
                if 0 <= i < x.shape[0] and 0 <= j < x.shape[0]:  # <- here
                    value += x[i, j] * w[p, q]
        out[row, col] = value
