# verdict: wrong-value
# The winner is pixel 0 until another one is larger.
@cuda.jit
def relu_pool(x, y, won):
    """Write the largest of each 2 x 2 window, or 0, and which pixel it was."""
    at = cuda.grid(1)

    if at < y.size:
        c = at % y.shape[3]
        rest = at // y.shape[3]
        j = rest % y.shape[2]
        i = rest // y.shape[2] % y.shape[1]
        n = rest // y.shape[2] // y.shape[1]
        best = max(x[n, 2 * i, 2 * j, c], float32(0))
        winner = 0
        for k in range(4):
            value = x[n, 2 * i + k // 2, 2 * j + k % 2, c]
            if value > best:
                best = value
                winner = k
        y[n, i, j, c] = best
        won[n, i, j, c] = winner
