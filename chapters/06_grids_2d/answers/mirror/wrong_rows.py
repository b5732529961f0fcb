# verdict: wrong-value
# Reverse the rows instead of the columns.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row < m and col < n:
        out[m - 1 - row + m * col] = x[row + m * col]  # <- here
