# verdict: wrong-value
# I use the formula that I know, for rows one after another.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    col, row = cuda.grid(2)

    if row < m and col < n:
        out[row * n + (n - 1 - col)] = x[row * n + col]  # <- here
