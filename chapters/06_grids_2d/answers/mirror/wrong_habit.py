# verdict: sectors
# x is the column, as always.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    col, row = cuda.grid(2)

    if row < m and col < n:
        out[row + m * (n - 1 - col)] = x[row + m * col]  # <- here
