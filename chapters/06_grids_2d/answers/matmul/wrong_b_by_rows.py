# verdict: out-of-bounds
# A row of a times a row of b.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[col, i]  # <- here
        out[row, col] = total
