# verdict: pass
# Read from the mirrored column, and write to my own.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    i, j = cuda.grid(2)

    if i < m and j < n:
        out[j * m + i] = x[(n - 1 - j) * m + i]
