# verdict: out-of-bounds
# Multiply the elements at the same place.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = a[row, col] * b[row, col]  # <- here
