# verdict: wrong-value
# Hide the later keys, whatever `causal` is.
@cuda.jit
def tile_scores(q, k, causal, scores):
    """Scores of all queries and one tile of keys, 16 queries per warp."""
    tk = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    fq = cuda.local.array((HEAD16, 4), int32)
    s = cuda.local.array((TILE8, 4), float32)
    thread, head = int32(cuda.threadIdx.x), int32(cuda.blockIdx.z)
    lane, t = thread % int32(32), thread % int32(4)
    seq, start = int32(q.shape[1]), int32(cuda.blockIdx.y) * int32(TILE)
    row = int32(cuda.blockIdx.x) * int32(16 * WARPS)
    row += thread // int32(32) * int32(16) + lane // int32(4)
    key = lane % int32(8) + lane // int32(16) * int32(8)
    word = lane // int32(8) % int32(2) * int32(4)
    for i in range(4 * TILE8):
        s[i // 4, i % 4] = float32(0)
    load_queries(fq, q, head, row, t)
    copy_words(tk, k, head, start)
    cuda.syncthreads()
    for n in range(TILE16):
        for m in range(HEAD16):
            at = int32(16 * n) + key, int32(8 * m) + word
            fk = ldmatrix_x4(tk, at)
            mma_f16(s[2 * n], fq[m], fk[:2])
            mma_f16(s[2 * n + 1], fq[m], fk[2:])

    last0 = min(seq - int32(1), row)
    last1 = min(seq - int32(1), row + int32(8))
    for j in range(2 * TILE8):
        col = start + int32(j // 2 * 8) + int32(2) * t + int32(j % 2)
        s[j // 2, j % 2] *= SCALE2
        s[j // 2, j % 2 + 2] *= SCALE2
        if col > last0:
            s[j // 2, j % 2] = NOTHING
        if col > last1:
            s[j // 2, j % 2 + 2] = NOTHING
    put_scores(scores, s, head, row, start, t)  # <- here
