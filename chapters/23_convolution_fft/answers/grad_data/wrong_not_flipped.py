# verdict: out-of-bounds
# Use the formula of the forward pass.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    if row < dx.shape[0] and col < dx.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                value += dy[row + p, col + q] * w[p, q]  # <- here
        dx[row, col] = value
