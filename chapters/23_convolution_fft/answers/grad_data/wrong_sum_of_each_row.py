# verdict: wrong-value
# Every row of the filter has its own sum.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    if row < dx.shape[0] and col < dx.shape[1]:
        for p in range(w.shape[0]):
            value = float32(0)  # <- here
            for q in range(w.shape[1]):
                i, j = row - p, col - q
                if 0 <= i < dy.shape[0] and 0 <= j < dy.shape[1]:
                    value += dy[i, j] * w[p, q]
            dx[row, col] = value
