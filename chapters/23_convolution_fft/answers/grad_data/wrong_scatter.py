# verdict: uninitialised
# Each result hands its gradient to the pixels it has seen.
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    if row < dy.shape[0] and col < dy.shape[1]:
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                dx[row + p, col + q] += dy[row, col] * w[p, q]  # <- here
