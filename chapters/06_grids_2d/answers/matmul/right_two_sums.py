# verdict: pass
# Two sums: one of the even steps, one of the odd steps.
@cuda.jit
def matmul(a, b, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        k = a.shape[1]
        even = float32(0)
        odd = float32(0)
        for i in range(0, k - 1, 2):
            even += a[row, i] * b[i, col]
            odd += a[row, i + 1] * b[i + 1, col]
        if k % 2 == 1:
            even += a[row, k - 1] * b[k - 1, col]
        out[row, col] = even + odd
