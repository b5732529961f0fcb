# verdict: unwritten
# The number 2 says that it is the other row.
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
        high0, high1 = top0, top1
        for n in range(TILE8):
            for m in range(2):
                high0 = max(high0, s[n, m])
                high1 = max(high1, s[n, m + 2])
        for step in (1, 2):
            high0 = max(high0, cuda.shfl_xor_sync(FULL, high0, step))
            high1 = max(high1, cuda.shfl_xor_sync(FULL, high1, step))

        factor0, factor1 = exp2(top0 - high0), exp2(top1 - high1)
        top0, top1 = high0, high1
        weight0 *= factor0
        weight1 *= factor1
        for n in range(TILE8):
            for m in range(2):
                o[n, m] *= factor0
                o[n, m + 2] *= factor1
                s[n, m] = exp2(s[n, m] - top0)
                s[n, m + 2] = exp2(s[n, m + 2] - top1)
                weight0 += s[n, m]
                weight1 += s[n, m + 2]
        for i in range(4 * TILE8):
            o[i // 4, i % 4] += s[i // 4, i % 4]

    put_sums(out, lse, row, o, t, 0, top0, weight0)
    put_sums(out, lse, row, o, t, 2, top1, weight1)  # <- here
