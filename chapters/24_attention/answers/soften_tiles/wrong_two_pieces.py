# verdict: constants
# A tile of 16 keys has two pieces.
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
        for half in (0, 2):
            top = top0 if half == 0 else top1
            high = top
            for n in range(TILE8):
                high = max(high, max(s[n, half], s[n, half + 1]))
            high = max(high, cuda.shfl_xor_sync(FULL, high, 2))
            high = max(high, cuda.shfl_xor_sync(FULL, high, 1))
            factor = exp2(top - high)
            more = float32(0)
            for n in range(2):  # <- here
                for m in range(half, half + 2):
                    o[n, m] *= factor
                    s[n, m] = exp2(s[n, m] - high)
                    more += s[n, m]
            if half == 0:
                top0, weight0 = high, weight0 * factor + more
            else:
                top1, weight1 = high, weight1 * factor + more
        for i in range(4 * TILE8):
            o[i // 4, i % 4] += s[i // 4, i % 4]

    put_sums(out, lse, row, o, t, 0, top0, weight0)
    put_sums(out, lse, row + int32(8), o, t, 2, top1, weight1)
