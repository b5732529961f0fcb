# verdict: loads
# One thread for each matrix of the batch.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)
    batch, m, n = out.shape

    if z < batch and row == 0 and col == 0:
        for r in range(m):
            for c in range(n):
                total = float32(0)
                for i in range(a.shape[2]):
                    total += a[z, r, i] * b[z, i, c]  # <- here
                out[z, r, c] = total
