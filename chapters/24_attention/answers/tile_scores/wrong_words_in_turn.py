# verdict: wrong-value
# Words 0 and 2 are the operand of the first piece, 1 and 3 that of the second.
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
            w0, w1, w2, w3 = ldmatrix_x4(tk, (16 * n + key, 8 * m + word))
            mma_f16(s[2 * n], fq[m], (w0, w2))
            mma_f16(s[2 * n + 1], fq[m], (w1, w3))
    for n in range(TILE8):
        for i in range(4):
            s[n, i] *= SCALE2
            query = row + i // 2 * 8
            column = start + 8 * n + 2 * t + i % 2
            if column >= seq or (causal and column > query):
                s[n, i] = NOTHING
    put_scores(scores, s, head, row, start, t)
