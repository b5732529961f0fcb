# verdict: out-of-bounds
# The mirror of column 0 is column n.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row < m and col < n:
        out[row + m * (n - col)] = x[row + m * col]  # <- here
