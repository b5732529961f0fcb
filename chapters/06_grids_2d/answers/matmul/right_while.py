# verdict: pass
# Return early, and loop with while.
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    m, k = a.shape
    n = b.shape[1]
    if row >= m or col >= n:
        return
    total = float32(0)
    i = 0
    while i < k:
        total = a[row, i] * b[i, col] + total
        i += 1
    out[row, col] = total
