# verdict: uninitialised
# out is as good a place for the sum as any.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        for i in range(a.shape[1]):
            out[row, col] += a[row, i] * b[i, col]  # <- here
