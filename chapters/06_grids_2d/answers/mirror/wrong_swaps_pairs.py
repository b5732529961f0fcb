# verdict: unwritten
# A thread swaps a pair, so half of the columns will do; the middle one has no partner.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row < m and col < n // 2:
        out[row + m * (n - 1 - col)] = x[row + m * col]  # <- here
        out[row + m * col] = x[row + m * (n - 1 - col)]  # <- here
