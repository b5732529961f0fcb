# verdict: pass
# Loop over the columns first, and over the rows inside.
@cuda.jit
def gemm_2d(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, TM x TN elements per thread."""
    ta = cuda.shared.array((BM, BK), float32)
    tb = cuda.shared.array((BK, BN), float32)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    x, y = t % int32(BN // TN), t // int32(BN // TN)
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)

    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        for cell in range(t, int32(BM * BK), int32(THREADS)):
            r, s = cell // int32(BK), cell % int32(BK)
            ta[r, s] = load(a, row0 + r, start + s)
        for cell in range(t, int32(BK * BN), int32(THREADS)):
            r, s = cell // int32(BN), cell % int32(BN)
            tb[r, s] = load(b, start + r, col0 + s)
        cuda.syncthreads()

        for p in range(int32(BK)):
            for i in range(TM):
                fa[i] = ta[y + int32(i * (BM // TM)), p]
            for j in range(TN):
                fb[j] = tb[p, x + int32(j * (BN // TN))]
            for j in range(TN):
                for i in range(TM):
                    sums[i, j] += fa[i] * fb[j]
        cuda.syncthreads()

    for i in range(TM):
        for j in range(TN):
            r = row0 + y + int32(i * (BM // TM))
            s = col0 + x + int32(j * (BN // TN))
            put(c, r, s, sums[i, j], alpha, beta)
