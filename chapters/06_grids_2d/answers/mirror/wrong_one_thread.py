# verdict: loads
# One thread goes through the matrix.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row == 0 and col == 0:
        for k in range(m * n):
            out[k % m + m * (n - 1 - k // m)] = x[k]  # <- here
