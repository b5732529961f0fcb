# verdict: constants
# An iteration along k has 8 steps.
WIDTH = 36


@cuda.jit
def gemm_wide(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, loading four at a time."""
    ta = cuda.shared.array((BK, WIDTH), float32, alignment=16)  # turned
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

    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        p = four(a, row0 + ra, start + ka)
        q = four(b, start + kb, col0 + cb)
        for i in range(4):
            ta[ka + int32(i), ra] = p[i]
        store4(tb, (kb, cb), q[0], q[1], q[2], q[3])
        cuda.syncthreads()

        for p in range(8):  # <- here
            for i in range(0, TM, 4):
                v = load4(ta, (p, int32(4) * y + int32(i * (BM // TM))))
                for e in range(4):
                    fa[i + e] = v[e]
            for j in range(0, TN, 4):
                v = load4(tb, (p, int32(4) * x + int32(j * (BN // TN))))
                for e in range(4):
                    fb[j + e] = v[e]
            for i in range(TM):
                for j in range(TN):
                    sums[i, j] += fa[i] * fb[j]
        cuda.syncthreads()

    for u in range(TM):
        r = row0 + int32(4) * y + int32(u // 4 * 4 * (BM // TM) + u % 4)
        for j in range(0, TN, 4):
            s = col0 + int32(4) * x + int32(j * (BN // TN))
            d, e = sums[u, j], sums[u, j + 1]
            f, g = sums[u, j + 2], sums[u, j + 3]
            put4(c, r, s, d, e, f, g, alpha, beta)
