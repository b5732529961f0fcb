# verdict: loads
# Registers are enough.
@cuda.jit
def gemm_1d(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, TM rows of a column per thread."""
    sums = cuda.local.array(TM, float32)
    m, n, k = int32(c.shape[0]), int32(c.shape[1]), int32(a.shape[1])
    t = int32(cuda.threadIdx.x)
    row = int32(cuda.blockIdx.y) * int32(BM) + t // int32(BN) * int32(TM)
    col = int32(cuda.blockIdx.x) * int32(BN) + t % int32(BN)

    for j in range(TM):
        sums[j] = float32(0)
    if col < n:
        for i in range(k):
            value = b[i, col]
            for j in range(TM):
                if row + int32(j) < m:
                    sums[j] += a[row + int32(j), i] * value
        for j in range(TM):
            if row + int32(j) < m:
                total = alpha * sums[j]
                if beta != 0:
                    total += beta * c[row + int32(j), col]
                c[row + int32(j), col] = total
