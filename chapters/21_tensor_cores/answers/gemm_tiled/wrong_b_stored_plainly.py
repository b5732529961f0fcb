# verdict: wrong-value
# I forgot the swizzle where b is stored.
@cuda.jit
def gemm_tiled(a, b, c):
    """Write a @ b into c, with tiles in shared memory."""
    ta = cuda.shared.array((BM, KW), int32, alignment=16)
    tb = cuda.shared.array((BK, NW), int32, alignment=16)
    sums = cuda.local.array((MF, NF, 4), float32)
    fb = cuda.local.array((NF, 2), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    wm = warp // int32(BN // WN) * int32(WM)  # the warp's corner in the tile
    wn = warp % int32(BN // WN) * int32(WN)
    clear(sums)

    for start in range(int32(0), int32(a.shape[1]), int32(KW)):
        for n in range(t, BM * KW // 4, THREADS):
            r, piece = n // (KW // 4), n % (KW // 4)
            p, q, s, u = four(a, row0 + r, start + 4 * piece)
            store4(ta, (r, place(r, piece)), p, q, s, u)
        for n in range(t, BK * NW // 4, THREADS):
            r, piece = n // (NW // 4), n % (NW // 4)
            p, q, s, u = four(b, 2 * start + r, col0 // 2 + 4 * piece)
            store4(tb, (r, 4 * piece), p, q, s, u)
        cuda.syncthreads()

        for k in range(BK // 16):
            for j in range(0, NF, 2):
                r = 16 * k + lane % 16
                piece = (wn + 8 * j) // 8 + lane // 16
                f = ldmatrix_x4_trans(tb, (r, place(r, piece)))
                fb[j, 0], fb[j, 1] = f[0], f[1]  # <- here
                fb[j + 1, 0], fb[j + 1, 1] = f[2], f[3]
            for i in range(MF):
                r = wm + 16 * i + lane % 16
                piece = 2 * k + lane // 16
                fa = ldmatrix_x4(ta, (r, place(r, piece)))
                for j in range(NF):
                    mma_f16(sums[i, j], fa, fb[j])
        cuda.syncthreads()
    put(c, sums, row0 + wm, col0 + wn, lane)
