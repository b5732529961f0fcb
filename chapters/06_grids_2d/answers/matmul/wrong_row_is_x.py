# verdict: unwritten
# Rows come first.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    row, col = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        out[row, col] = total
