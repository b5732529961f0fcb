# verdict: uninitialised
# There are `count` tiles, so that is the last.
@cuda.jit
def overlapped(q, k, v, out, lse):
    """Attention of one head, 64 queries per warpgroup."""
    memory = cuda.shared.array(WORDS, int32, alignment=1024)
    s = cuda.local.array(32, float32)
    o = cuda.local.array(32, float32)
    p = cuda.local.array(16, int32)
    seq = int32(k.shape[0])
    count = (seq + int32(63)) // int32(64)  # tiles of keys
    load_first(o, memory, q, k, v)
    top0, weight0, top1, weight1 = first_tile(s, p, memory, seq)

    for j in range(int32(1), count):
        load_tile(memory, k, v, j)
        start_scores(s, memory, j)
        start_values(o, p, memory, j - int32(1))
        wgmma_wait(1)
        hold(s, 32)
        hide_end(s, j, seq)
        top0, weight0, factor0 = soften_row(s, top0, weight0, 0)
        top1, weight1, factor1 = soften_row(s, top1, weight1, 2)
        wgmma_wait(0)
        hold(o, 32)
        hold_words(p, 16)
        for n in range(8):
            o[4 * n] *= factor0
            o[4 * n + 1] *= factor0
            o[4 * n + 2] *= factor1
            o[4 * n + 3] *= factor1
        pack_words(p, s)

    # 3 lines
    last_tile(o, p, memory, count)  # <- here
    put_fragments(out, lse, o, 0, top0, weight0)
    put_fragments(out, lse, o, 2, top1, weight1)
