# verdict: out-of-bounds
# A flat array needs only one guard.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row, col = cuda.grid(2)

    if row + m * col < x.size:
        out[row + m * (n - 1 - col)] = x[row + m * col]  # <- here
