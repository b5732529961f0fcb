# verdict: wrong-value
# b is the same matrix for the whole batch.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)

    if z < out.shape[0] and row < out.shape[1] and col < out.shape[2]:
        total = float32(0)
        for i in range(a.shape[2]):
            total += a[z, row, i] * b[0, i, col]
        out[z, row, col] = total  # <- here
