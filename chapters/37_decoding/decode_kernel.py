"""Decoding at the speed of memory: the kernel `decode`.

A block works through its *pieces*: some keys of one sequence and one key/value head,
which a group of query heads shares. The host cuts all keys into pieces, so that every
block has the same number of tiles (`cache.plan`). A warp multiplies tiles of 16 keys,
and needs no shared memory and no barrier for it:

- `S = Q K^T`, with the queries as rows of the left operand. The order of the columns in
  a dot product does not matter. So lane `4 * g + t` takes 16 bytes at a time of key g,
  as they are in memory, and its words are the right operand of two products.
- `O^T = V^T P^T`, with the values as left operand. Its words are pairs of keys, and a
  lane makes them of the words of two keys, which are pairs of columns. The weights in
  the fragments of S are the right operand, as in chapter 24.

So a query is a row of S, which lanes with the same g hold, and a column of O^T, which
lanes with the same t hold. Each warp has its own maximum and sums. They are merged when
a piece ends, first in the block, then, by the last block that arrives, over the pieces.
"""

from numba import cuda, float32, int32

from weft.intrinsics import exp2, f16_pair, load4, load4_nc, mma_f16

from .kernels import (
    AHEAD,
    FULL,
    GROUP,
    LAST_MERGES,
    LOWEST,
    NOTHING,
    PAGE,
    PITCH,
    TILE,
    WARPS,
    WIDE,
)


@cuda.jit(device=True)
def load_queries(fq, q, row, lane):
    """Load the fragments of up to 8 queries, from `row` on; zeros for the others."""
    g, t = lane // int32(4), lane % int32(4)
    for c in range(4):
        four = int32(0), int32(0), int32(0), int32(0)
        if g < int32(GROUP):
            four = load4_nc(q, (row + g, int32(4) * t + int32(16 * c)))
        for i in range(2):
            fq[2 * c + i, 0] = four[2 * i]
            fq[2 * c + i, 1] = int32(0)
            fq[2 * c + i, 2] = four[2 * i + 1]
            fq[2 * c + i, 3] = int32(0)


@cuda.jit(device=True)
def load_keys(fk, k, row, most, lane):
    """Load a tile of keys: piece 8 * n + g from `row` on, at most `most` beyond it."""
    g, t = lane // int32(4), lane % int32(4)
    for n in range(2):
        key = row + min(int32(8 * n) + g, most)
        for c in range(4):
            four = load4_nc(k, (key, int32(4) * t + int32(16 * c)))
            for i in range(4):
                fk[n, 4 * c + i] = four[i]


@cuda.jit(device=True)
def load_values(fv, v, row, most, lane):
    """Load a tile of values: keys 2t, 2t + 1, 2t + 8 and 2t + 9, two pieces of each."""
    g, t = lane // int32(4), lane % int32(4)
    for n in range(4):
        key = row + min(int32(2) * t + int32(n // 2 * 8 + n % 2), most)
        for c in range(2):
            four = load4_nc(v, (key, int32(4) * g + int32(32 * c)))
            for i in range(4):
                fv[n, 4 * c + i] = four[i]


@cuda.jit(device=True)
def score(s, fq, fk, scale, most, lane):
    """Write the scores, to base 2, of the queries and a tile of keys into s."""
    t = lane % int32(4)
    for n in range(2):
        for i in range(4):
            s[n, i] = float32(0)
        for m in range(8):
            mma_f16(s[n], fq[m], fk[n, 2 * m : 2 * m + 2])
        for i in range(2):
            s[n, i] *= scale
            if int32(8 * n + i) + int32(2) * t > most:
                s[n, i] = NOTHING


@cuda.jit(device=True)
def soften(s, top, weight):
    """Turn the scores of a query into weights: the online softmax.

    Returns the new maximum, the lane's sum of weights, and the factor of older sums.
    """
    high = max(max(s[0, 0], s[0, 1]), max(s[1, 0], s[1, 1]))
    high = max(high, cuda.shfl_xor_sync(FULL, high, 1))
    high = max(high, cuda.shfl_xor_sync(FULL, high, 2))
    high = max(high, top)
    factor = exp2(top - high)
    weight *= factor
    for n in range(2):
        for i in range(2):
            s[n, i] = exp2(s[n, i] - high)
            weight += s[n, i]
    return high, weight, factor


@cuda.jit(device=True)
def rescale(o, factor, lane):
    """Multiply the sums of values by the factors of their queries, 2t and 2t + 1."""
    t = lane % int32(4)
    even = cuda.shfl_sync(FULL, factor, int32(8) * t)
    odd = cuda.shfl_sync(FULL, factor, int32(8) * t + int32(4))
    for m in range(8):
        o[m, 0] *= even
        o[m, 1] *= odd
        o[m, 2] *= even
        o[m, 3] *= odd


@cuda.jit(device=True)
def add_values(o, s, fv):
    """Add the values of a tile, with the weights s, to o."""
    fp = cuda.local.array(2, int32)
    fa = cuda.local.array(4, int32)
    low, up = int32(0xFFFF), int32(-65536)
    fp[0] = f16_pair(s[0, 0], s[0, 1])
    fp[1] = f16_pair(s[1, 0], s[1, 1])
    for m in range(8):
        for n in range(2):
            even, odd = fv[2 * n, m], fv[2 * n + 1, m]
            fa[2 * n] = (even & low) | (odd << int32(16))
            fa[2 * n + 1] = ((even >> int32(16)) & low) | (odd & up)
        mma_f16(o[m], fa, fp)


@cuda.jit(device=True)
def put_warp(sums, tops, weights, o, top, weight, warp, lane):
    """Store what a warp has of a piece in shared memory."""
    g, t = lane // int32(4), lane % int32(4)
    weight += cuda.shfl_xor_sync(FULL, weight, 1)
    weight += cuda.shfl_xor_sync(FULL, weight, 2)
    if t == 0 and g < int32(GROUP):
        tops[warp, g] = top
        weights[warp, g] = weight
    for m in range(8):
        column = int32(8) * g + int32(m // 4 * 64 + m % 4 * 2)
        for i in range(4):
            query = int32(2) * t + int32(i % 2)
            if query < int32(GROUP):
                sums[warp, query, column + int32(i // 2)] = o[m, i]


@cuda.jit(device=True)
def merge_warps(sums, tops, weights, query, column):
    """Return the maximum, the weight and two neighbouring sums over all warps."""
    top = tops[0, query]
    for w in range(1, WARPS):
        top = max(top, tops[w, query])
    weight, low, high = float32(0), float32(0), float32(0)
    for w in range(WARPS):
        factor = exp2(tops[w, query] - top)
        weight += factor * weights[w, query]
        low += factor * sums[w, query, column]
        high += factor * sums[w, query, column + int32(1)]
    return top, weight, low, high


@cuda.jit(device=True)
def gather_parts(sums, tops, weights, parts, part_tops, first, count, warp, lane):
    """Let each warp merge some of the parts of a head, and store them as `put_warp`."""
    total = cuda.local.array((GROUP, 4), float32)
    top = cuda.local.array(GROUP, float32)
    weight = cuda.local.array(GROUP, float32)
    for g in range(GROUP):
        top[g], weight[g] = LOWEST, float32(0)
        for i in range(4):
            total[g, i] = float32(0)

    for part in range(first + warp, first + count, int32(WARPS)):
        for g in range(GROUP):
            row = part * int32(GROUP) + int32(g)
            four = load4(parts, (row, int32(4) * lane))
            high = max(top[g], part_tops[row, 0])
            old, new = exp2(top[g] - high), exp2(part_tops[row, 0] - high)
            weight[g] = weight[g] * old + part_tops[row, 1] * new
            for i in range(4):
                total[g, i] = total[g, i] * old + four[i] * new
            top[g] = high

    for g in range(GROUP):
        for i in range(4):
            sums[warp, g, int32(4) * lane + int32(i)] = total[g, i]
        if lane == 0:
            tops[warp, g] = top[g]
            weights[warp, g] = weight[g]


@cuda.jit
def decode(
    q, k, v, table, pieces, first, kv_heads, scale, parts, part_tops, arrived, out
):
    """Attend with one query per head: one piece after another, per block.

    q, out: words (seqs * heads, WIDE / 2); k, v: words (rows, WIDE / 2); table: (seqs,
    pages). pieces: rows of seq, key/value head, first key, last key + 1, first part of
    the head, this part, number of parts; those of block b are numbers first[b] to
    first[b + 1] - 1. parts: (parts * GROUP, WIDE), part_tops: their maxima and weights.
    arrived: counters, zeros before and after.
    """
    sums = cuda.shared.array((WARPS, GROUP, PITCH), float32)
    tops = cuda.shared.array((WARPS, GROUP), float32)
    weights = cuda.shared.array((WARPS, GROUP), float32)
    last = cuda.shared.array(1, int32)
    fq = cuda.local.array((8, 4), int32)
    fk = cuda.local.array((2, 16), int32)
    fv = cuda.local.array((4, 8), int32)
    s = cuda.local.array((2, 4), float32)
    o = cuda.local.array((8, 4), float32)
    thread, block = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x)
    warp, lane = thread // int32(32), thread % int32(32)
    step = int32(TILE * WARPS)

    for piece in range(first[block], first[block + int32(1)]):
        seq, head = pieces[piece, 0], pieces[piece, 1]
        start, stop = pieces[piece, 2], pieces[piece, 3]
        group = (seq * kv_heads + head) * int32(GROUP)
        load_queries(fq, q, group, lane)
        for m in range(8):
            for i in range(4):
                o[m, i] = float32(0)
        top, weight = LOWEST, float32(0)

        key = start + int32(TILE) * warp
        page = int32(0)
        if key < stop:
            page = table[seq, key // int32(PAGE)]
        if AHEAD and key < stop:
            row = (page * kv_heads + head) * int32(PAGE) + key % int32(PAGE)
            load_keys(fk, k, row, stop - key - int32(1), lane)
            load_values(fv, v, row, stop - key - int32(1), lane)
            page = table[seq, min(key + step, stop - int32(1)) // int32(PAGE)]
        while key < stop:
            most = stop - key - int32(1)
            if not AHEAD:
                row = (page * kv_heads + head) * int32(PAGE) + key % int32(PAGE)
                load_keys(fk, k, row, most, lane)
                load_values(fv, v, row, most, lane)
            key += step
            row = (page * kv_heads + head) * int32(PAGE) + key % int32(PAGE)
            score(s, fq, fk, scale, most, lane)
            if AHEAD and key < stop:
                load_keys(fk, k, row, stop - key - int32(1), lane)
            top, weight, factor = soften(s, top, weight)
            rescale(o, factor, lane)
            add_values(o, s, fv)
            if AHEAD and key < stop:
                load_values(fv, v, row, stop - key - int32(1), lane)
            ahead = key + step if AHEAD else key
            page = table[seq, min(ahead, stop - int32(1)) // int32(PAGE)]

        put_warp(sums, tops, weights, o, top, weight, warp, lane)
        cuda.syncthreads()
        base, part, count = pieces[piece, 4], pieces[piece, 5], pieces[piece, 6]
        whole = count == int32(1)
        for i in range(thread, int32(GROUP * WIDE // 2), int32(32 * WARPS)):
            query, word = i // int32(WIDE // 2), i % int32(WIDE // 2)
            top, weight, a, b = merge_warps(sums, tops, weights, query, int32(2) * word)
            if whole:
                out[group + query, word] = f16_pair(a / weight, b / weight)
            else:
                row = (base + part) * int32(GROUP) + query
                parts[row, int32(2) * word] = a
                parts[row, int32(2) * word + int32(1)] = b
                if word == 0:
                    part_tops[row, 0] = top
                    part_tops[row, 1] = weight

        if LAST_MERGES and not whole:
            cuda.threadfence()
            cuda.syncthreads()
            if thread == 0:
                number = seq * kv_heads + head
                before = cuda.atomic.add(arrived, number, int32(1))
                cuda.threadfence()
                last[0] = before == count - int32(1)
                if before == count - int32(1):
                    cuda.atomic.exch(arrived, number, int32(0))
            cuda.syncthreads()
            if last[0]:
                gather_parts(
                    sums, tops, weights, parts, part_tops, base, count, warp, lane
                )
                cuda.syncthreads()
                for i in range(thread, int32(GROUP * WIDE // 2), int32(32 * WARPS)):
                    query, word = i // int32(WIDE // 2), i % int32(WIDE // 2)
                    top, weight, a, b = merge_warps(
                        sums, tops, weights, query, int32(2) * word
                    )
                    out[group + query, word] = f16_pair(a / weight, b / weight)
        cuda.syncthreads()


@cuda.jit
def merge(parts, part_tops, heads, out):
    """Merge the parts of each head in a launch of its own, one head per block.

    heads: rows of first part and number of parts, none if the block has written `out`.
    """
    sums = cuda.shared.array((WARPS, GROUP, PITCH), float32)
    tops = cuda.shared.array((WARPS, GROUP), float32)
    weights = cuda.shared.array((WARPS, GROUP), float32)
    thread, number = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x)
    warp, lane = thread // int32(32), thread % int32(32)
    base, count = heads[number, 0], heads[number, 1]

    if count > int32(1):
        gather_parts(sums, tops, weights, parts, part_tops, base, count, warp, lane)
        cuda.syncthreads()
        for i in range(thread, int32(GROUP * WIDE // 2), int32(32 * WARPS)):
            query, word = i // int32(WIDE // 2), i % int32(WIDE // 2)
            _, weight, a, b = merge_warps(sums, tops, weights, query, int32(2) * word)
            row = number * int32(GROUP) + query
            out[row, word] = f16_pair(a / weight, b / weight)
