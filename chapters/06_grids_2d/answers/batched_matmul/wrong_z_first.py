# verdict: unwritten
# The axes come in the order of the shape.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    z, row, col = cuda.grid(3)

    if z < out.shape[0] and row < out.shape[1] and col < out.shape[2]:
        total = float32(0)
        for i in range(a.shape[2]):
            total += a[z, row, i] * b[z, i, col]
        out[z, row, col] = total
