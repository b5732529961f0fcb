# verdict: out-of-bounds
# The launch covers the matrix.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    out[row + m * (n - 1 - col)] = x[row + m * col]  # <- here
