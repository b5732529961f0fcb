# verdict: out-of-bounds
# The grid has as many threads in z as there are matrices.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)

    if row < out.shape[1] and col < out.shape[2]:
        total = float32(0)
        for i in range(a.shape[2]):
            total += a[z, row, i] * b[z, i, col]  # <- here
        out[z, row, col] = total
