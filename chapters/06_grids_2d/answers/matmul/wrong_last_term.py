# verdict: wrong-value
# I forgot to add, so each term replaces the one before.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total = a[row, i] * b[i, col]
        out[row, col] = total  # <- here
