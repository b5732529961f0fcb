# verdict: pass
# Two loops, one down and one to the right.
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
        best = float32(0)
        winner = 4
        for down in range(2):
            for right in range(2):
                value = x[n, 2 * i + down, 2 * j + right, c]
                if best < value:
                    best, winner = value, 2 * down + right
        y[n, i, j, c] = best
        won[n, i, j, c] = winner
