# verdict: pass
# A row of a and a column of b, as views.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        along, down = a[row], b[:, col]
        total = float32(0)
        for i in range(along.size):
            total += along[i] * down[i]
        out[row, col] = total
