# verdict: pass
# Loop over the results that saw this pixel.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    kh, kw = w.shape
    if row < dx.shape[0] and col < dx.shape[1]:
        value = float32(0)
        for i in range(max(row - kh + 1, 0), min(row + 1, dy.shape[0])):
            for j in range(max(col - kw + 1, 0), min(col + 1, dy.shape[1])):
                value += dy[i, j] * w[row - i, col - j]
        dx[row, col] = value
