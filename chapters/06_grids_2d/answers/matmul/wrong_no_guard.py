# verdict: out-of-bounds
# Every thread has an element.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]  # <- here
    out[row, col] = total
