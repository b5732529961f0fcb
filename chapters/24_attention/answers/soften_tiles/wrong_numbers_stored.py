# verdict: wrong-value
# Only the row, its top and its weight differ.
@cuda.jit
def soften_tiles(scores, out, lse):
    """Add up the weights of all tiles of a row of scores, 16 rows per warp."""
    s = cuda.local.array((TILE8, 4), float32)
    o = cuda.local.array((TILE8, 4), float32)
    lane = int32(cuda.threadIdx.x)
    t = lane % int32(4)
    row = int32(cuda.blockIdx.x) * int32(16) + lane // int32(4)
    for i in range(4 * TILE8):
        o[i // 4, i % 4] = float32(0)
    top0, top1 = LOWEST, LOWEST  # of rows g and g + 8
    weight0, weight1 = float32(0), float32(0)

    for start in range(int32(0), int32(scores.shape[1]), int32(TILE)):
        load_scores(s, scores, row, start, t)
        new0, new1 = top0, top1
        for n in range(TILE8):
            new0 = max(new0, max(s[n, 0], s[n, 1]))
            new1 = max(new1, max(s[n, 2], s[n, 3]))
        for x in (1, 2):
            new0 = max(new0, cuda.shfl_xor_sync(FULL, new0, x))
            new1 = max(new1, cuda.shfl_xor_sync(FULL, new1, x))
        factor0, factor1 = exp2(top0 - new0), exp2(top1 - new1)
        top0, top1 = new0, new1
        weight0 *= factor0
        weight1 *= factor1
        for n in range(TILE8):
            o[n, 0] *= factor0
            o[n, 1] *= factor0
            o[n, 2] *= factor1
            o[n, 3] *= factor1
            s[n, 0] = exp2(s[n, 0] - top0)
            s[n, 1] = exp2(s[n, 1] - top0)
            s[n, 2] = exp2(s[n, 2] - top1)
            s[n, 3] = exp2(s[n, 3] - top1)
            weight0 += s[n, 0] + s[n, 1]
            weight1 += s[n, 2] + s[n, 3]
        for i in range(4 * TILE8):
            o[i // 4, i % 4] += s[i // 4, i % 4]

    put_sums(out, lse, row, o, t, 0, top0, weight0)
    put_sums(out, lse, row + int32(8), o, t, 0, top1, weight1)  # <- here
