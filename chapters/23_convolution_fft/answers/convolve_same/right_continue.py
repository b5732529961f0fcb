# verdict: pass
# Skip what is outside.
@cuda.jit
def convolve_same(x, w, out):
    """Write the convolution of x with w into out: same size, zeros outside."""
    col, row = cuda.grid(2)

    if row >= out.shape[0] or col >= out.shape[1]:
        return
    value = float32(0)
    for p in range(w.shape[0]):
        i = row + w.shape[0] // 2 - p
        if i < 0 or i >= x.shape[0]:
            continue
        for q in range(w.shape[1]):
            j = col + w.shape[1] // 2 - q
            if j < 0 or j >= x.shape[1]:
                continue
            value += x[i, j] * w[p, q]
    out[row, col] = value
