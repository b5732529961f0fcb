# verdict: wrong-value
# Outside the image there is nothing more to add.
@cuda.jit
def convolve_same(x, w, out):
    """Write the convolution of x with w into out: same size, zeros outside."""
    col, row = cuda.grid(2)

    if row >= out.shape[0] or col >= out.shape[1]:
        return
    ph, pw = w.shape[0] // 2, w.shape[1] // 2
    value = float32(0)
    for p in range(w.shape[0]):
        for q in range(w.shape[1]):
            i = row + ph - p
            j = col + pw - q
            if i < 0 or i >= x.shape[0] or j < 0 or j >= x.shape[1]:
                break
            value += x[i, j] * w[p, q]
    out[row, col] = value
