# verdict: uninitialised
# One thread for each i; all of them add to the same element.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    i, row = cuda.grid(2)

    if row < out.shape[0] and i < a.shape[1]:
        for col in range(out.shape[1]):
            out[row, col] += a[row, i] * b[i, col]  # <- here
