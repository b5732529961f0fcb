# %% [markdown]
# # 24 · Attention
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/24_attention.ipynb)
#
# **After this lab, you can**
#
# - count the bytes and operations of attention, with and without a score matrix in
#   global memory;
# - write FlashAttention's forward pass, for ordinary arithmetic and for tensor cores;
# - skip the tiles that a causal mask hides entirely, and apply a mask only where one is
#   needed;
# - merge attention over parts of the keys by their log-sum-exps;
# - write a backward pass that recomputes the weights instead of storing them.
#
# **You need** about 150 minutes, and no GPU: the exercises run in the simulator, and
# measurements show times from the reference GPU, an H200. On a GPU, the exercises need
# compute capability 7.5, the fast kernels compute capability 9.0, and measurements 6 GB
# of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32

from weft import check, hint, quiz
from weft.intrinsics import (
    exp2,
    f16_pair,
    hold,
    hold_words,
    ldmatrix_x4,
    mma_f16,
    wgmma_wait,
)

chapter = weft.lab("24_attention")
checks, kernels, hopper = chapter.checks, chapter.kernels, chapter.warpgroup
LOWEST, NOTHING = kernels.LOWEST, kernels.NOTHING
D, KEYS = 8, 8  # exercise 2: numbers per row, keys per tile
SCALE, copy_tile = kernels.SCALE, kernels.copy_tile
PITCH, SCALE2, FULL = kernels.PITCH, kernels.SCALE2, kernels.FULL
copy_words, load_queries = kernels.copy_words, kernels.load_queries
put_scores, load_scores = kernels.put_scores, kernels.load_scores
put_sums, put_row = kernels.put_sums, kernels.put_row
scores_of, add_values = kernels.scores_of, kernels.add_values
WORDS, load_first, load_tile = hopper.WORDS, hopper.load_first, hopper.load_tile
first_tile, last_tile = hopper.first_tile, hopper.last_tile
start_scores, start_values = hopper.start_scores, hopper.start_values
hide_end, soften_row = hopper.hide_end, hopper.soften_row
pack_words, put_fragments = hopper.pack_words, hopper.put_fragments

# %% [markdown]
# ## Attention without fusion
#
# A head of attention has three matrices with one row of `d` numbers per token: queries
# `q`, keys `k` and values `v`. A softmax turns a query's scores, one per key, into
# weights that sum to 1. The output is the sum of all values, each multiplied by its
# weight:
#
# $$S = \frac{q\,k^T}{\sqrt d}, \qquad P = \text{softmax}(S), \qquad o = P\,v$$
#
# With a **causal** mask, a query sees only the keys up to its own position. So the
# first query sees only the first key, and its output is the first value, as the example
# shows. `checks.attention` computes attention in NumPy, for `q`, `k` and `v` of shape
# (heads, seq, d). Its second result is the **log-sum-exp** of each row of scores,
# $\log \sum_j e^{S_{ij}}$. You will need it twice: to merge parts, and for the backward
# pass.

# %% tags=["folded"]
rng = np.random.default_rng(24)
q, k, v = rng.normal(0, 1, (3, 1, 5, 4))
out, lse = checks.attention(q, k, v, causal=True)
print(out[0, 0], "is the first value:", v[0, 0])
print("log-sum-exp:", lse[0])

# %% [markdown]
# ## 1 · Count first
#
# The scores of one head are a matrix of seq × seq. With 16,384 tokens and 2 bytes per
# score, this matrix occupies 512 MB, whereas the head's `q`, `k`, `v` and output
# together occupy 16 MB. A program that writes `S` to memory, reads it back for the
# softmax, writes `P`, and reads `P` for the second product spends most of its time on
# these two matrices. **FlashAttention** never writes them. A block of threads keeps
# `tile` rows of queries and goes over all keys and values, tile by tile. It keeps only
# one tile of scores at a time, in registers.
#
# Count the operations and the bytes of both programs, for `heads` heads without a mask.
# Each number is stored in 2 bytes. Stuck? Run `hint("costs")`; there are three hints.
# Return three integers:
#
# - `flops`: the operations of the two matrix products. A multiplication and an addition
#   are two operations.
# - `naive`: the bytes moved by three kernels, each of which reads its inputs once and
#   writes its output once. The first computes `S` from `q` and `k`, the second `P` from
#   `S`, and the third the output from `P` and `v`.
# - `fused`: the bytes moved by the blocks of one fused kernel. Each block reads its
#   `tile` rows of `q`, **all** of `k` and of `v`, and writes `tile` rows of output. The
#   last block may have fewer rows.

# %%
def costs(heads, seq, d, tile):
    """Return the operations of attention, and the bytes of both programs."""
    # about 6 lines
    # BEGIN SOLUTION
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 4 * matrix
    fused = 2 * rows + blocks * 2 * rows
    return heads * flops, heads * naive, heads * fused
    # END SOLUTION

# %%
check(
    costs, spec=checks.counted, same=checks.compare_costs,
    inputs=[(1, 128, 16, 32), (3, 100, 8, 32), (2, 1000, 128, 128)],
    because=checks.why_other_costs,
)

# %% [markdown] tags=["solution"]
# Both programs need the same number of operations for the two products; only the bytes
# differ. The next cell divides operations by bytes.

# %% tags=["solution"]
print(f"{'seq':>6} {'FLOP/B, naive':>14} {'FLOP/B, fused':>14}")
for seq in (1024, 4096, 16384):
    flops, naive, fused = costs(16, seq, 128, 128)
    print(f"{seq:6} {flops / naive:14.0f} {flops / fused:14.0f}")

# %% [markdown] tags=["solution"]
# An H200 needs about 200 operations per byte of memory traffic before its tensor cores
# are the limit. With `S` in memory, attention approaches d / 2 = 64 operations per
# byte, and never exceeds this number, however long the sequence is. The fused kernel
# has about one operation per byte for each row of the tile, which here makes 128. It
# matters more, though, *where* the bytes come from. All blocks of a head read the same
# `k` and `v`, at about the same time: 8 MB for 16,384 tokens, which stay in the L2
# cache. `S` occupies 512 MB per head, which is far too much for that cache.

# %% [markdown]
# ## 2 · FlashAttention, on ordinary cores
#
# Chapter 16's online softmax goes over a row once, and keeps the largest score so far,
# `top`, and the sum of $e^{s - \text{top}}$, `weight`. For attention, the kernel also
# keeps the weighted sum of the values so far, `total`. Its weights are relative to the
# same `top`. What must happen to `total` when a larger score arrives?
#
# A thread computes one query, and the 32 threads of a block share the tiles of `KEYS` =
# 8 keys and values. `copy_tile(tile, x, head, start)` copies a tile from row `start`
# on, writes zeros beyond the last row, and contains no barrier. The given code
# multiplies `q` by `SCALE`, which is $1/\sqrt d$. `LOWEST` is the lowest finite
# float32, and `NOTHING` is minus infinity, the score of a key that is not there.
#
# Write the code for each tile, with barriers, and after the last tile. `q`, `k`, `v`
# and `out` are (heads, seq, D), and `lse` is (heads, seq), float32.
#
# - A key beyond the end of the sequence has a score of 0, not of minus infinity, but it
#   must not get any weight.
# - All threads take part in the copies, including those without a query.
# - `lse` is the log-sum-exp; compute it from `top` and `weight`.
# - You can use `max`, `math.exp` and `math.log` in a kernel. The array `s` is for the
#   scores of one tile. Stuck? `hint("flash_rows")`.

# %%
@cuda.jit
def flash_rows(q, k, v, out, lse):
    """Attention of each head, one thread per query."""
    tk = cuda.shared.array((KEYS, D), float32)
    tv = cuda.shared.array((KEYS, D), float32)
    mine = cuda.local.array(D, float32)  # this thread's query
    total = cuda.local.array(D, float32)  # the weighted sum of the values
    s = cuda.local.array(KEYS, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y
    seq = q.shape[1]

    for i in range(D):
        mine[i] = q[head, row, i] * SCALE if row < seq else float32(0)
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    for start in range(0, seq, KEYS):
        copy_tile(tk, k, head, start)
        copy_tile(tv, v, head, start)
        # about 20 lines
        # BEGIN SOLUTION
        cuda.syncthreads()

        highest = top
        for j in range(KEYS):
            s[j] = float32(0)
            for c in range(D):
                s[j] += mine[c] * tk[j, c]
            if start + j >= seq:
                s[j] = NOTHING
            highest = max(highest, s[j])

        factor = math.exp(top - highest)
        top = highest
        weight *= factor
        for c in range(D):
            total[c] *= factor

        for j in range(KEYS):
            p = math.exp(s[j] - top)
            weight += p
            for c in range(D):
                total[c] += p * tv[j, c]
        cuda.syncthreads()
        # END SOLUTION

    # about 4 lines
    # BEGIN SOLUTION
    if row < seq:
        for c in range(D):
            out[head, row, c] = total[c] / weight
        lse[head, row] = top + math.log(weight)
    # END SOLUTION

# %%
check(
    flash_rows, spec=checks.attention, inputs=checks.rows_of,
    sizes=[(1, 8), (2, 37)], full=(4, 1000), constants=[{"KEYS": 4}],
    launch=lambda heads, seq: ((-(-seq // 32), heads), 32),
    tolerance=1e-4, limits={"float64": 0}, because=checks.left_out,
)

# %% [markdown] tags=["solution"]
# `weight` and `total` are sums relative to `top`. When `top` rises, both shrink by the
# same factor. In the first tile the factor is $e^{\text{LOWEST} - \dots} = 0$, which
# does no harm because both sums are still zero.
#
# The division by `weight` happens once, at the end. No matrix of seq × seq numbers has
# been stored anywhere.

# %% [markdown]
# ## 3 · Which tiles, and which masks?
#
# A causal mask hides about half of all scores. To save time, a block stops after the
# last tile with a key that one of its queries sees. Most tiles before it need no mask.
# Even without a causal mask, the last tile may need one, because it may extend beyond
# the end of the sequence.
#
# A block computes queries `first` to `first + rows - 1`, but none beyond the end of the
# sequence, which has `seq` tokens; `first` is less than `seq`. Tile j contains keys
# `j * keys` to `j * keys + keys - 1`. Return two numbers of tiles, both counted from
# tile 0 on:
#
# - `free`: the number of consecutive tiles that need no mask, because each of the
#   block's queries sees all of their keys;
# - `count`: the number of tiles that have to be computed, because some query of the
#   block sees a key in them.
#
# `rows` and `keys` need not be equal, and neither has to divide `seq`. Compute both
# numbers without a loop, since a block needs them before it starts. (The check stops a
# call that executes too many lines.) Stuck? `hint("key_tiles")`.

# %%
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    # about 5 lines
    # BEGIN SOLUTION
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return (first + 1) // keys, last // keys + 1
    # END SOLUTION

# %%
check(
    key_tiles, spec=checks.seen_tiles, inputs=checks.some_blocks,
    same=checks.compare_tiles, lines=20,
)

# %% [markdown] tags=["solution"]
# The first query decides how many tiles are free, because it sees the fewest keys. The
# last query decides how many tiles are needed, because it sees the most.
#
# The next cell counts how many tiles of 128 × 128 are left.

# %% tags=["solution"]
for seq in (1024, 4096, 16384):
    blocks = [key_tiles(i, 128, 128, seq, True) for i in range(0, seq, 128)]
    done = sum(count for _, count in blocks)
    masked = sum(count - free for free, count in blocks)
    whole = (seq // 128) ** 2
    print(
        f"{seq:6}: {done / whole:.1%} of all tiles, {masked} of {done} masked"
    )

# %% [markdown]
# ## 4 · Scores in fragments
#
# Now compute attention with `mma.sync`, from chapter 21. A warp computes 16 queries,
# and a block has `WARPS` warps. A warp multiplies its queries by a tile of `TILE` keys
# and receives the scores as **fragments**, in pieces of 16 × 8. In piece `n`, lane
# `4 * g + t` has `s[n, 0], s[n, 1]` in row g and `s[n, 2], s[n, 3]` in row g + 8, both
# in columns `8 * n + 2 * t` and `8 * n + 2 * t + 1` of the tile.
#
# Compute the fragments for one tile, whose first key is `start`. In the kernel, `row`
# is the query in row g. `q` and `k` are (heads, seq, HEAD / 2), in words of two
# float16. `scores` is float32 (heads, seq, keys), where keys is seq rounded up to whole
# tiles.
#
# - `ldmatrix_x4(tk, (16 * n + key, 8 * m + word))` loads words `8 * m` to `8 * m + 7`
#   (16 numbers) of keys `16 * n` to `16 * n + 15`. Its first two words are the right
#   operand for piece `2 * n`, and the other two are that for piece `2 * n + 1`; pass
#   two words as a tuple or a slice. The left operand is `fq[m]`. `mma_f16(s[n], left,
#   right)` adds a product to piece n.
# - Multiply the scores by `SCALE2`, which is $\log_2(e)/\sqrt d$. Then the softmax can
#   use powers of 2: `exp2(x)` is a single instruction.
# - Set a score to `NOTHING` if the query does not see the key: a key beyond the `seq`
#   tokens, or with `causal`, a key after the query.
# - `put_scores(scores, s, head, row, start, t)` stores the fragments. Stuck?
#   `hint("tile_scores")`.

# %% tags=["given"]
HEAD, TILE, WARPS = 16, 16, 2  # numbers per row, keys per tile, warps
HEAD8, HEAD16, TILE8, TILE16 = HEAD // 8, HEAD // 16, TILE // 8, TILE // 16

# %%
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
    # about 13 lines: products, scale, mask, put_scores
    # BEGIN SOLUTION
    for n in range(TILE16):
        for m in range(HEAD16):
            at = int32(16 * n) + key, int32(8 * m) + word
            fk = ldmatrix_x4(tk, at)
            mma_f16(s[2 * n], fq[m], fk[:2])
            mma_f16(s[2 * n + 1], fq[m], fk[2:])

    for n in range(TILE8):
        for i in range(4):
            col = start + int32(8 * n + i % 2) + int32(2) * t
            query = row + int32(i // 2 * 8)
            s[n, i] *= SCALE2
            if col >= seq or (causal and col > query):
                s[n, i] = NOTHING
    put_scores(scores, s, head, row, start, t)
    # END SOLUTION

# %%
check(
    tile_scores, spec=checks.masked_scores,
    inputs=chapter.widths.queries_and_keys,
    sizes=[(1, 16, 0), (2, 37, 1), (1, 53, 0)], full=(4, 1000, 1),
    constants=[{"TILE": 32, "TILE8": 4, "TILE16": 2}, chapter.widths.WIDE_HEAD],
    launch=lambda heads, seq, causal: (
        (-(-seq // (16 * WARPS)), -(-seq // TILE), heads), 32 * WARPS),
    tolerance=1e-3, limits={"float64": 0}, because=checks.odd_scores,
)

# %% [markdown] tags=["solution"]
# A lane has scores of two queries, so it needs two different masks.

# %% [markdown]
# ## 5 · A softmax in fragments
#
# A row of a tile is spread over four lanes, those with the same g. The maximum of the
# row takes two shuffles among all lanes, `cuda.shfl_xor_sync(FULL, value, k)` from
# chapter 8: one with k = 1, for the lane whose number differs in bit 0, then one with
# k = 2, for the lane whose number differs in bit 1.
#
# Write the step of the online softmax for one tile: update the maxima, rescale what has
# been summed so far, turn the scores `s` into weights, and add these to the lane's sums
# of weights. `top0` and `weight0` belong to row g, and `top1` and `weight1` to row
# g + 8. In `o`, as in `s`, numbers 0 and 1 of each piece belong to row g, and 2 and 3
# to row g + 8. As prepared in exercise 4, a weight is a power of 2, and the score of a
# hidden key is `NOTHING`. A lane adds up only its own weights. After the last tile,
# `put_sums(out, lse, row, o, t, 0, top0, weight0)` adds up the four lanes of row g, and
# stores this row. For row g + 8, pass `row + int32(8)`, 2 for 0, `top1` and `weight1`.
#
# There are no values yet. Instead of multiplying the weights by a tile of values, this
# kernel adds them to `o` as they are, so column c of the output is the sum of the
# weights of keys c, c + `TILE`, c + 2 `TILE`, …, and each row of it sums to 1. `scores`
# is float32 (rows, keys), `out` is (rows, TILE), and `lse`, to base 2, is (rows,). 16
# divides rows, and `TILE` divides keys. Stuck? `hint("soften_tiles")`.

# %%
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
        # about 24 lines: from the scores s to the weights s
        # BEGIN SOLUTION
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

        for n in range(TILE8):
            for m in range(2):
                s[n, m] = exp2(s[n, m] - top0)
                s[n, m + 2] = exp2(s[n, m + 2] - top1)
                weight0 += s[n, m]
                weight1 += s[n, m + 2]
        # END SOLUTION
        for i in range(4 * TILE8):
            o[i // 4, i % 4] += s[i // 4, i % 4]

    # 2 lines: put_sums for both rows
    # BEGIN SOLUTION
    put_sums(out, lse, row, o, t, 0, top0, weight0)
    put_sums(out, lse, row + int32(8), o, t, 2, top1, weight1)
    # END SOLUTION

# %%
check(
    soften_tiles, spec=checks.summed_weights, inputs=checks.rows_of_scores,
    sizes=[(16, 32), (32, 64)], full=(4096, 1024),
    constants=[{"TILE": 32, "TILE8": 4, "TILE16": 2}],
    launch=lambda rows, keys: (rows // 16, 32),
    tolerance=1e-4, limits={"float64": 0}, because=checks.badly_softened,
)

# %% [markdown] tags=["solution"]
# The maximum has to be the same in all four lanes of a row, so it is exchanged for
# every tile. The four sums of weights are relative to this maximum, and need to be
# added only at the end.

# %% [markdown]
# ## 6 · The second product
#
# The weights are the *left* operand of the second product, in words of two float16. For
# each pair `i` of pieces, `p[i, 0]` and `p[i, 1]` have columns 2t and 2t + 1 of the
# first piece, in rows g and g + 8. `p[i, 2]` and `p[i, 3]` have the same columns of the
# second piece. Compare this with the fragments of the scores: **each lane already holds
# what it needs**. `f16_pair(low, high)` packs two numbers.
#
# Put the kernel together: copy what you need from the cells of exercises 4 and 5, and
# add what is new.
# `q`, `k` and `v` are (heads, seq, HEAD / 2), in words; `out` is float32 (heads, seq,
# HEAD), and `lse` is (heads, seq). Stuck? `hint("flash_mma")`.
#
# - Compute `row` and load the queries as in exercise 4, and begin the sums as in
#   exercise 5; `o` now has `HEAD8` pieces.
# - For each tile, copy keys to `tk` and values to `tv`. After a barrier,
#   `scores_of(s, fq, tk, lane)` sets `s` to the products of exercise 4, scaled. There
#   is no causal mask here, so hide only the keys beyond `seq`.
# - After the softmax of exercise 5, fill `p`; `add_values(o, p, tv, lane)` adds the
#   second product to `o`. A barrier has to follow.
# - After the last tile, sum the weights of each row over its four lanes, which
#   `put_sums` did in exercise 5, and store both rows. `put_row(out, lse, head, row, o,
#   0, t, top0, weight0)` stores row g of the output, divided by its weight, and its
#   log-sum-exp to base e, unless `row` is beyond `seq`. For row g + 8, pass `row +
#   int32(8)`, 2 instead of 0, and the other top and weight.

# %%
@cuda.jit
def flash_mma(q, k, v, out, lse):
    """Attention of each head, 16 queries per warp."""
    tk = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    tv = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    fq = cuda.local.array((HEAD16, 4), int32)
    s = cuda.local.array((TILE8, 4), float32)
    p = cuda.local.array((TILE16, 4), int32)
    o = cuda.local.array((HEAD8, 4), float32)
    thread, head = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    # about 60 lines, of which most are in the cells of exercises 4 and 5
    # BEGIN SOLUTION
    lane, t = thread % int32(32), thread % int32(4)
    seq = int32(q.shape[1])
    row = int32(cuda.blockIdx.x) * int32(16 * WARPS)
    row += thread // int32(32) * int32(16) + lane // int32(4)

    load_queries(fq, q, head, row, t)
    for n in range(HEAD8):
        for m in range(4):
            o[n, m] = float32(0)
    top0, top1 = LOWEST, LOWEST  # of rows g and g + 8
    weight0, weight1 = float32(0), float32(0)

    for start in range(int32(0), seq, int32(TILE)):
        copy_words(tk, k, head, start)
        copy_words(tv, v, head, start)
        cuda.syncthreads()
        scores_of(s, fq, tk, lane)
        high0, high1 = top0, top1
        for j in range(TILE8):
            for i in range(2):
                if start + int32(8 * j + i) + int32(2) * t >= seq:
                    s[j, i] = NOTHING
                    s[j, i + 2] = NOTHING
                high0 = max(high0, s[j, i])
                high1 = max(high1, s[j, i + 2])
        for step in (1, 2):
            high0 = max(high0, cuda.shfl_xor_sync(FULL, high0, step))
            high1 = max(high1, cuda.shfl_xor_sync(FULL, high1, step))

        factor0, factor1 = exp2(top0 - high0), exp2(top1 - high1)
        top0, top1 = high0, high1
        weight0 *= factor0
        weight1 *= factor1
        for j in range(HEAD8):
            o[j, 0] *= factor0
            o[j, 1] *= factor0
            o[j, 2] *= factor1
            o[j, 3] *= factor1

        for j in range(TILE8):
            s[j, 0] = exp2(s[j, 0] - top0)
            s[j, 1] = exp2(s[j, 1] - top0)
            s[j, 2] = exp2(s[j, 2] - top1)
            s[j, 3] = exp2(s[j, 3] - top1)
            weight0 += s[j, 0] + s[j, 1]
            weight1 += s[j, 2] + s[j, 3]
        for i in range(TILE16):
            p[i, 0] = f16_pair(s[2 * i, 0], s[2 * i, 1])
            p[i, 1] = f16_pair(s[2 * i, 2], s[2 * i, 3])
            p[i, 2] = f16_pair(s[2 * i + 1, 0], s[2 * i + 1, 1])
            p[i, 3] = f16_pair(s[2 * i + 1, 2], s[2 * i + 1, 3])
        add_values(o, p, tv, lane)
        cuda.syncthreads()

    for step in (1, 2):
        weight0 += cuda.shfl_xor_sync(FULL, weight0, step)
        weight1 += cuda.shfl_xor_sync(FULL, weight1, step)
    put_row(out, lse, head, row, o, 0, t, top0, weight0)
    put_row(out, lse, head, row + int32(8), o, 2, t, top1, weight1)
    # END SOLUTION

# %%
check(
    flash_mma, spec=checks.attention_of_words, inputs=chapter.widths.words_of,
    sizes=[(1, 16), (2, 37)], full=(4, 1000),
    constants=[{"TILE": 32, "TILE8": 4, "TILE16": 2}, chapter.widths.WIDE_HEAD],
    launch=lambda heads, seq: ((-(-seq // (16 * WARPS)), heads), 32 * WARPS),
    tolerance=4e-3, limits={"float64": 0}, because=checks.in_fragments,
)

# %% [markdown]
# ## 7 · A softmax beside the products
#
# This chapter's fastest kernel multiplies with `wgmma` (chapter 22). Its products are
# **asynchronous**: a warpgroup starts them, and does something else meanwhile. So it
# can compute the softmax of a tile while the tensor cores are busy with the previous
# tile's values.
#
# Write the loop of this kernel, for one head with 64 numbers per row and tiles of 64
# keys. `load_tile` copies keys and values of tile j to the places of tile j - 2.
# `first_tile` has computed the weights of tile 0, in the words `p`. For each further
# tile j,
#
# 1. start two groups: `start_scores(s, memory, j)`, then `start_values(o, p, memory,
#    i)` for the tile i whose weights are in `p`;
# 2. wait for the scores only: `wgmma_wait(n)` waits for all but the last n groups. (A
#    wait for both gives the same result, but leaves the tensor cores idle during the
#    softmax.) Call `hold(s, 32)`, or the compiler may use `s` earlier;
# 3. compute the softmax of tile j: call `hide_end(s, j, seq)`, and `soften_row(s, top,
#    weight, k)` for both rows, with k = 0 for row g and 2 for row g + 8. This does what
#    you wrote in exercise 5, and returns the new maximum, the new weight, and the
#    factor for `o`;
# 4. wait for the values, and call `hold(o, 32)` and `hold_words(p, 16)`;
# 5. rescale `o`: numbers `4 * n` and `4 * n + 1` are in row g, the next two in row
#    g + 8. `pack_words(p, s)` packs the weights.
#
# `last_tile(o, p, memory, i)` adds the values of the last tile i, and waits for them.
# `put_fragments(out, lse, o, k, top, weight)` stores a row; k is as above. Call both at
# the end. `q` is (rows, 32), and `k` and `v` are (seq, 32), in words of two bfloat16;
# `out` is float32 (rows, 64), and `lse` is (rows,). Stuck? `hint("overlapped")`.

# %%
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
        # about 16 lines
        # BEGIN SOLUTION
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
        # END SOLUTION

    # 3 lines
    # BEGIN SOLUTION
    last_tile(o, p, memory, count - int32(1))
    put_fragments(out, lse, o, 0, top0, weight0)
    put_fragments(out, lse, o, 2, top1, weight1)
    # END SOLUTION

# %%
check(
    overlapped, spec=checks.one_head, inputs=checks.one_heads_words,
    sizes=[(80, 60), (64, 150)], launch=lambda rows, seq: (-(-rows // 64), 128),
    tolerance=2e-2, limits={"in_flight": 2}, because=checks.out_of_step,
)

# %% [markdown] tags=["solution"]
# The weights of tile j - 1 are relative to the old maximum, and so is everything in
# `o`. Therefore `o` is rescaled after the values of tile j - 1 have been added, and
# before those of tile j are. With `wgmma_wait(0)` as the first wait, the result would
# be the same, but the tensor cores would be idle during the softmax.

# %% [markdown]
# ## 8 · Merge parts
#
# A language model that generates a text has one query per head at a time, and the keys
# of all the text so far. With one block per head, 16 heads would keep only 16 of 132
# SMs busy. **Split-KV** (FlashDecoding) divides the keys into parts. Each block
# computes the attention over one part, and writes the output *of this part* and its
# log-sum-exp. A second kernel merges the parts.
#
# Part $i$ has the output $o_i$, which is a weighted mean of its values, and the
# log-sum-exp $L_i$, which is the logarithm of the sum of its weights before the
# division. Find the weight of $o_i$ in the mean over all parts, and the log-sum-exp of
# all parts together. A part without any key has $L_i = -\infty$, and its output is
# meaningless, possibly NaN. At least one part of each head has keys.
#
# Log-sum-exps can be larger than 100, and $e^{100}$ overflows in float32. Avoid this
# overflow as the softmax does. A block computes one head, and its thread `c` computes
# column `c`. `parts` is (heads, n, d), `lses` is (heads, n), `out` is (heads, d), and
# `lse` is (heads,), all float32. Stuck? `hint("merge_parts")`.

# %%
@cuda.jit
def merge_parts(parts, lses, out, lse):
    """Merge the attention over parts of the keys, one head per block."""
    head, c = cuda.blockIdx.x, cuda.threadIdx.x
    n = parts.shape[1]

    # about 14 lines
    # BEGIN SOLUTION
    top = lses[head, 0]
    for i in range(1, n):
        top = max(top, lses[head, i])

    total, weight = float32(0), float32(0)
    for i in range(n):
        w = math.exp(lses[head, i] - top)
        if w > float32(0):
            weight += w
            total += w * parts[head, i, c]

    out[head, c] = total / weight
    if c == 0:
        lse[head] = top + math.log(weight)
    # END SOLUTION

# %%
check(
    merge_parts, spec=checks.whole, inputs=checks.some_parts,
    sizes=[(3, 2, 8), (4, 5, 32)], full=(64, 33, 128),
    launch=lambda heads, n, d: (heads, d),
    tolerance=1e-4, limits={"float64": 0}, because=checks.badly_merged,
)

# %% [markdown] tags=["solution"]
# This is chapter 16's `merge` for any number of parts: $L_i$ replaces both the maximum
# and the sum. Merging two parts is associative and commutative, so the parts may be
# tiles of a loop, blocks of a grid or GPUs in a ring. A part has to pass on only its
# output and one number per row.

# %% [markdown]
# ## 9 · Backward, without the weights
#
# Let $g$ be the gradient of the loss with respect to the output. Going backwards
# through the three formulas of attention gives
#
# $$dP = g\,v^T, \quad dS = P \circ (dP - \delta), \quad dq = \frac{dS\,k}{\sqrt d},
# \quad dk = \frac{dS^T q}{\sqrt d}, \quad dv = P^T g$$
#
# where $\circ$ multiplies element by element and $\delta_i = \sum_j P_{ij}\,dP_{ij}$ is
# one number per row, which has been computed beforehand. The forward pass has stored
# the log-sum-exps instead of $P$. These are enough to recompute any single weight
# without going over its row. Find out how.
#
# Write the kernel for `dq`, with one thread per query and a **causal** mask. `D` and
# `SCALE` are those of exercise 2, but `q` has not been multiplied by `SCALE` here. Each
# key takes two dot products and one update of the sums. No maximum is needed, and
# nothing has to be rescaled. `lse` and `delta` are (heads, seq), and all other arrays
# (heads, seq, D), float32. Stuck? `hint("grad_q")`.

# %%
@cuda.jit
def grad_q(q, k, v, g, lse, delta, dq):
    """Write the gradient of the queries, one thread per query."""
    sums = cuda.local.array(D, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y

    if row < q.shape[1]:
        for i in range(D):
            sums[i] = float32(0)
        # about 14 lines
        # BEGIN SOLUTION
        for j in range(row + 1):
            s, dp = float32(0), float32(0)
            for c in range(D):
                s += q[head, row, c] * k[head, j, c]
                dp += g[head, row, c] * v[head, j, c]
            p = math.exp(s * SCALE - lse[head, row])
            ds = p * (dp - delta[head, row])
            for c in range(D):
                sums[c] += ds * k[head, j, c]

        for c in range(D):
            dq[head, row, c] = sums[c] * SCALE
        # END SOLUTION

# %%
check(
    grad_q, spec=checks.gradient_of_queries, inputs=checks.after_forward,
    sizes=[(1, 4), (2, 21)], full=(4, 1000),
    launch=lambda heads, seq: ((-(-seq // 32), heads), 32),
    tolerance=2e-4, limits={"float64": 0}, because=checks.bad_gradient,
)

# %% [markdown] tags=["solution"]
# With the log-sum-exp $L$, a weight is $P_{ij} = e^{S_{ij} - L_i}$: $L$ replaces both
# the maximum and the division, so the backward pass can process tiles in any order. It
# needs five products, whereas the forward pass needs two: $S$ again, $dP$, $dv$, $dk$
# and $dq$.

# %% [markdown]
# ## Measure: the forward pass
#
# The problem has 16 heads of 4096 tokens and no mask, which makes 137 GFLOP. "ordinary
# cores" is exercise 2 in float32, and "mma.sync" is exercise 6 in bfloat16, with 64
# queries per block and tiles of 64 keys. "loads first" is the same kernel, except that
# a thread loads all its pieces of a tile before it stores the first. "TMA + wgmma" is
# the chapter's fast kernel (see *More measurements*). "three operations" is the formula
# in PyTorch, in bfloat16; in PyTorch's "math", intermediate results are float32.
# "flash" is PyTorch's FlashAttention-2, "cuDNN" is NVIDIA's kernel, and "FlexAttention"
# is what `torch.compile` turns into a Triton kernel. Guess three speeds, relative to
# cuDNN.

# %%
guess = {"three operations": None, "mma.sync": None, "loads first": None}

rungs = chapter.measure.rungs(flash_rows, flash_mma, guess)
rungs

# %% tags=["solution"]
rungs.expect("flash", at_least=2, times="three operations")
rungs.expect("three operations", at_least=1.5, times="math")
rungs.expect("mma.sync", at_least=10, times="ordinary cores")
rungs.expect("loads first", at_least=2, times="mma.sync")
rungs.expect("TMA + wgmma", at_least=1, times="cuDNN")
rungs.expect("TMA + wgmma", at_least=1.7, times="flash")
rungs.expect("TMA + wgmma", at_least=1.2, times="FlexAttention")

# %% [markdown] tags=["solution"]
# `mma.sync` is slower than the three operations, although it never stores the scores.
# Each of its threads has one load in flight: it waits for 16 bytes, stores them, and
# only then loads the next. `loads first` changes nothing else, and is more than three
# times as fast. `flash` is probably faster still because it copies asynchronously,
# while it multiplies.

# %% [markdown]
# ## More measurements
#
# The rest of the lab shows kernels that use a Hopper GPU fully, their errors, and more
# tables, which the solution and the chapter's page explain. All code is in the modules
# of `chapters/24_attention`. The last section has ideas for more.

# %% [markdown]
# ### The kernels at full speed
#
# To reach its full speed, an H200 needs the TMA and `wgmma`, from chapter 22. The
# kernel `attend` in `forward_kernel.py` runs the algorithm of exercise 6 with these
# two. Its docstring lists what has changed, and the chapter explains it. Read
# `attend_tiles` first.
#
# For the backward pass, `backward_kernels.py` has two kernels, so that each can keep
# its sums in registers. `grads_kv` keeps `dk` and `dv` of 128 keys, goes over all
# queries and stores `dS`. `grads_queries` keeps `dq` of 256 queries and multiplies `dS`
# by the keys. (Without the memory for `dS`, `grads_queries_again` computes `S` and `dP`
# once more.) No block adds to a sum in memory: there are no atomic additions, and the
# result is bit for bit the same in every run.
#
# The next cell tests these kernels. It compares every element with float64, with and
# without a mask, for a length that is a multiple of the tile and one that is not. It
# fills the outputs with NaN beforehand, and compares 20 runs bit by bit. It also prints
# the errors of cuDNN. The last lines are for the forward pass with larger scores. The
# cell needs a GPU of compute capability 9.0.

# %%
chapter.accuracy.report()

# %% [markdown]
# ### Three operations, one by one
#
# Which of the three operations takes most of the time: the first product, the softmax,
# or the second product?

# %%
parts = chapter.measure.one_by_one()
parts

# %% [markdown] tags=["solution"]
# The softmax, which does next to no arithmetic, takes more than twice as long as both
# products together. It only moves the matrix of scores, and PyTorch's kernel does not
# even do that at the speed of a copy.

# %% [markdown]
# ### More sizes
#
# The next cell times more sizes, with and without a causal mask. With a causal mask,
# only half of the operations are counted. Our kernel writes the log-sum-exp, as a
# forward pass in training has to. PyTorch's backends are called as for inference, where
# they are at least as fast as in training.

# %%
sizes = chapter.measure.sizes()
for table in sizes.values():
    print(table)

# %% tags=["solution"]
for (seq, _), table in sizes.items():
    table.expect("TMA + wgmma", at_least=0.93 if seq == 1024 else 1)
    table.expect("TMA + wgmma", at_least=1.5, times="flash")

# %% [markdown]
# Two details of the loop over tiles change the result only by rounding. The next cell
# times the kernel without them, then with one, with both, and with larger tiles of
# keys. Without a mask, the row *short last tile* computes the last tile of keys only to
# the end of the sequence, rounded up to a multiple of 16. In the last row, the tiles of
# several heads are sorted together, or the last tiles are cut where that helps, and
# tiles have the faster size. The chapter explains all of these.

# %%
steps = chapter.measure.steps()
for table in steps.values():
    print(table)

# %% [markdown]
# ### The backward pass
#
# The table counts the operations of five products: 10 · seq² · d per head. In
# `TMA + wgmma`, the first kernel writes `dS` to memory, 2.1 GB for these 64 heads, and
# the second reads it again. `seven products` needs no such memory, because the second
# kernel computes `S` and `dP` again. Which of the two is faster? With a causal mask,
# the row `head after head` shows the first if each head's blocks follow those of the
# head before.
#
# PyTorch's own backward passes are called through the operators that autograd calls.

# %%
backward = chapter.measure.backward()
for table in backward.values():
    print(table)

# %% tags=["solution"]
for table in backward.values():
    table.expect("TMA + wgmma", at_least=1.4)
    table.expect("TMA + wgmma", at_least=0.9, times="cuDNN")
    table.expect("TMA + wgmma", at_least=1.05, times="seven products")

# %% [markdown] tags=["solution"]
# With `wgmma`, even our seven products take less time than FlashAttention-2's five with
# `mma.sync`. Five products take less time than seven, although `dS` goes through
# memory. The results of both are bit for bit the same in every run.

# %% [markdown]
# ### If you want more
#
# - Write grouped queries: 8 query heads share one head of keys and values. Which index
#   has to change, and in which of the three fast kernels is a different index not
#   enough?
# - Write a sliding window: each query sees only the last 1024 keys up to its own.
#   Extend `key_tiles`, then `flash_rows`.
# - Call `flash_rows` once per part of the keys and merge the parts with `merge_parts`.
#   How many parts do you need to keep all SMs busy with one query per head?
# - Write a single backward kernel: let `grads_kv` also compute `dq`, with atomic
#   additions to float32, and no longer store `dS`. Which version is faster, and are the
#   results of two runs still the same?

# %% [markdown]
# ## What you learned
#
# 1. The score matrix in memory makes attention slow. A kernel needs to keep only one
#    tile of scores at a time, in registers.
# 2. An online softmax that also carries an output has to rescale that output when the
#    maximum rises.
# 3. A causal mask needs two numbers per block: how many tiles need no mask, and how
#    many tiles are needed at all.
# 4. On tensor cores, the first product leaves its results in the lanes that need them
#    for the second product.
# 5. From the softmax, only the log-sum-exp has to be kept. It is enough to merge parts,
#    and to recompute any weight.

# %%
quiz()
