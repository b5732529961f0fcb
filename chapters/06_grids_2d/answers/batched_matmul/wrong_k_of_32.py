# verdict: wrong-value
# Add at most 32 products.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)
    batch, m, n = out.shape

    if z < batch and row < m and col < n:
        total = float32(0)
        for i in range(32):
            if i < a.shape[2]:
                total += a[z, row, i] * b[z, i, col]
        out[z, row, col] = total  # <- here
