# verdict: out-of-bounds
# Only negative indices are dangerous, because they count from the end.
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
                if i >= 0 and j >= 0:
                    value += x[i, j] * w[p, q]  # <- here
        out[row, col] = value
