# verdict: wrong-value
# A row outside dy ends the sum.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    if row < dx.shape[0] and col < dx.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            i = row - p
            if i < 0 or i >= dy.shape[0]:
                break
            for q in range(w.shape[1]):
                j = col - q
                if 0 <= j < dy.shape[1]:
                    value += dy[i, j] * w[p, q]
        dx[row, col] = value
