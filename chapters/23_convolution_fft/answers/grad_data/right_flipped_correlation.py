# verdict: pass
# A correlation with the reversed filter, starting kh - 1 rows earlier.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    kh, kw = w.shape
    if row < dx.shape[0] and col < dx.shape[1]:
        value = float32(0)
        for p in range(kh):
            for q in range(kw):
                i, j = row - kh + 1 + p, col - kw + 1 + q
                if i >= 0 and j >= 0 and i < dy.shape[0] and j < dy.shape[1]:
                    value += dy[i, j] * w[kh - 1 - p, kw - 1 - q]
        dx[row, col] = value
