# verdict: pass
# A sum may begin at its end.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(b.shape[0] - 1, -1, -1):
            total += b[i, col] * a[row, i]
        out[row, col] = total
