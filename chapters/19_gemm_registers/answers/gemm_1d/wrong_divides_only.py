# verdict: out-of-bounds
# The sizes are round numbers.
@cuda.jit
def gemm_1d(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, TM rows of a column per thread."""
    ta = cuda.shared.array((BM, BK), float32)
    tb = cuda.shared.array((BK, BN), float32)
    sums = cuda.local.array(TM, float32)
    m, n, k = int32(c.shape[0]), int32(c.shape[1]), int32(a.shape[1])
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    row, col = t // int32(BN) * int32(TM), t % int32(BN)
    ra, ka = t // int32(BK), t % int32(BK)  # what this thread loads
    rb, cb = t // int32(BN), t % int32(BN)

    for j in range(TM):
        sums[j] = float32(0)

    for start in range(int32(0), k, int32(BK)):
        ta[ra, ka] = a[row0 + ra, start + ka]  # <- here
        tb[rb, cb] = b[start + rb, col0 + cb]
        cuda.syncthreads()

        for i in range(int32(BK)):
            value = tb[i, col]
            for j in range(TM):
                sums[j] += ta[row + int32(j), i] * value
        cuda.syncthreads()

    for j in range(TM):
        r, s = row0 + row + int32(j), col0 + col
        if r < m and s < n:
            total = alpha * sums[j]
            if beta != 0:
                total += beta * c[r, s]
            c[r, s] = total
