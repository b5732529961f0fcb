# verdict: pass
# Loop over the pixels under the filter.
@cuda.jit
def convolve_same(x, w, out):
    """Write the convolution of x with w into out: same size, zeros outside."""
    col, row = cuda.grid(2)

    ph, pw = w.shape[0] // 2, w.shape[1] // 2
    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for i in range(max(row - ph, 0), min(row + ph + 1, x.shape[0])):
            for j in range(max(col - pw, 0), min(col + pw + 1, x.shape[1])):
                value += x[i, j] * w[row - i + ph, col - j + pw]
        out[row, col] = value
