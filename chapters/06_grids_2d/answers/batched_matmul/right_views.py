# verdict: pass
# Take views of my two matrices, then go on as in matmul.
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    col, row, z = cuda.grid(3)

    if z < a.shape[0] and row < a.shape[1] and col < b.shape[2]:
        left, right = a[z], b[z]
        total = float32(0)
        for i in range(left.shape[1]):
            total += left[row, i] * right[i, col]
        out[z, row, col] = total
