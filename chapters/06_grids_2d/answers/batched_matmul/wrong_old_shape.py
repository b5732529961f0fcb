# verdict: unwritten
# The guard is the one from matmul.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)

    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(a.shape[2]):
            total += a[z, row, i] * b[z, i, col]
        out[z, row, col] = total
