# verdict: pass
# The next tiles are in flight while these are multiplied.
WIDTH = 36


@cuda.jit
def gemm_wide(alpha, a, b, beta, c):
    ta = cuda.shared.array((BK, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((BK, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    x, y = t % int32(BN // TN), t // int32(BN // TN)
    ra, ka = t // int32(BK // 4), t % int32(BK // 4) * int32(4)
    kb, cb = t // int32(BN // 4), t % int32(BN // 4) * int32(4)
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)
    k = int32(a.shape[1])
    p = four(a, row0 + ra, ka)
    q = four(b, kb, col0 + cb)
    start = int32(0)
    while start < k:
        for i in range(4):
            ta[ka + i, ra] = p[i]
        store4(tb, (kb, cb), q[0], q[1], q[2], q[3])
        cuda.syncthreads()
        start += int32(BK)
        if start < k:
            p = four(a, row0 + ra, start + ka)
            q = four(b, start + kb, col0 + cb)
        for d in range(BK):
            for j in range(0, TN, 4):
                fb[j], fb[j + 1], fb[j + 2], fb[j + 3] = load4(
                    tb, (d, 4 * x + j * (BN // TN))
                )
            for i in range(0, TM, 4):
                v = load4(ta, (d, 4 * y + i * (BM // TM)))
                for e in range(4):
                    for j in range(TN):
                        sums[i + e, j] += v[e] * fb[j]
        cuda.syncthreads()

    for u in range(TM):
        r = row0 + int32(4) * y + int32(u // 4 * 4 * (BM // TM) + u % 4)
        for j in range(0, TN, 4):
            s = col0 + int32(4) * x + int32(j * (BN // TN))
            put4(
                c,
                r,
                s,
                sums[u, j],
                sums[u, j + 1],
                sums[u, j + 2],
                sums[u, j + 3],
                alpha,
                beta,
            )
