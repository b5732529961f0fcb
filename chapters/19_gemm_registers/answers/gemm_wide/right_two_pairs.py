# verdict: pass
# Two pairs of tiles take turns, with one barrier per pair.
WIDTH = BM + 4


@cuda.jit
def gemm_wide(alpha, a, b, beta, c):
    ta = cuda.shared.array((2, BK, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((2, BK, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)
    x, y = t % (BN // TN), t // (BN // TN)
    ra, ka = t // (BK // 4), t % (BK // 4) * 4
    kb, cb = t // (BN // 4), t % (BN // 4) * 4
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)
    side = int32(0)
    for start in range(0, a.shape[1], BK):
        p = four(a, row0 + ra, start + ka)
        q = four(b, start + kb, col0 + cb)
        for i in range(4):
            ta[side, ka + i, ra] = p[i]
        store4(tb[side], (kb, cb), q[0], q[1], q[2], q[3])
        cuda.syncthreads()
        for d in range(BK):
            for i in range(0, TM, 4):
                fa[i], fa[i + 1], fa[i + 2], fa[i + 3] = load4(
                    ta[side], (d, 4 * y + i * (BM // TM))
                )
            for j in range(0, TN, 4):
                fb[j], fb[j + 1], fb[j + 2], fb[j + 3] = load4(
                    tb[side, d], 4 * x + j * (BN // TN)
                )
            for i in range(TM):
                for j in range(TN):
                    sums[i, j] += fa[i] * fb[j]
        side = int32(1) - side
    for u in range(TM):
        r = row0 + 4 * y + u // 4 * 4 * (BM // TM) + u % 4
        for j in range(0, TN, 4):
            s = col0 + 4 * x + j * (BN // TN)
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
