# verdict: constants
# One index for rows and columns; the number of sums has its own name.
SUMS = TM * TN


@cuda.jit
def gemm_2d(alpha, a, b, beta, c):
    ta = cuda.shared.array((2, BM, BK), float32)
    tb = cuda.shared.array((2, BK, BN), float32)
    sums = cuda.local.array(SUMS, float32)  # <- here
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)
    x, y = t % int32(BN // TN), t // int32(BN // TN)
    for i in range(TM * TN):
        sums[i] = float32(0)
    side = int32(0)
    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        for step in range(0, BM * BK, THREADS):
            r, s = (t + step) // BK, (t + step) % BK
            ta[side, r, s] = load(a, row0 + r, start + s)
        for step in range(0, BK * BN, THREADS):
            r, s = (t + step) // BN, (t + step) % BN
            tb[side, r, s] = load(b, start + r, col0 + s)
        cuda.syncthreads()
        for p in range(int32(BK)):
            for j in range(TN):
                fb[j] = tb[side, p, x + int32(j * (BN // TN))]
            for i in range(TM):
                v = ta[side, y + int32(i * (BM // TM)), p]
                for j in range(TN):
                    sums[i * TN + j] += v * fb[j]
        side ^= int32(1)
    for i in range(TM):
        for j in range(TN):
            r = row0 + y + int32(i * (BM // TM))
            s = col0 + x + int32(j * (BN // TN))
            put(c, r, s, sums[i * TN + j], alpha, beta)
