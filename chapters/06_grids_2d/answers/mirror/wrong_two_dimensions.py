# verdict: type
# A matrix has two indices.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row < m and col < n:
        out[row, n - 1 - col] = x[row, col]  # <- here
