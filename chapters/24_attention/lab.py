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
# **You need** about 130 minutes. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show times from the reference GPU, an H200. The
# exercises also run on any GPU of compute capability 7.5 or higher. The fast kernels at
# the end use the TMA and `wgmma`, which require compute capability 9.0 (H100, H200);
# the measurements need 6 GB of GPU memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32, uint8, uint64
from numba.cuda import libdevice

from weft import bench, check, hint, quiz
from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    bulk_commit,
    bulk_copy,
    bulk_wait,
    bulk_wait_read,
    descriptor,
    descriptor_columns,
    exp2,
    f16_pair,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    hold_words,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    mma_bf16,
    mma_f16,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x4,
    store4,
    tma_load_plane,
    tma_store_plane,
    wgmma_bf16,
    wgmma_bf16_chained,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)
from weft.templates import large_shared, specialise
from weft.timing import BurstStopwatch

weft.lab("24_attention")

# %% [markdown]
# ## Two products and a softmax
#
# A head of attention has three matrices with one row of `d` numbers per token: the
# queries `q`, the keys `k` and the values `v`. Each query is compared with all keys,
# which gives one score per key. A softmax turns the scores of a query into weights,
# which sum to 1. The query's output is the sum of all values, each multiplied by its
# weight:
#
# $$S = \frac{q\,k^T}{\sqrt d}, \qquad P = \text{softmax}(S), \qquad o = P\,v$$
#
# With a **causal** mask, a query sees only the keys up to its own position. The mask
# keeps a language model from looking at the words that it has to predict.
#
# The next cell computes attention in NumPy, for `q`, `k` and `v` of shape (heads, seq,
# d). The second result is the **log-sum-exp** of each row of scores, $\log \sum_j
# e^{S_{ij}}$. You will need it twice: to merge parts, and for the backward pass.


# %% tags=["given"]
def attention(q, k, v, causal=False):
    """Return the output (heads, seq, d) and the log-sum-exp (heads, seq)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    if causal:
        s[:, *np.triu_indices(q.shape[1], 1)] = -np.inf
    top = s.max(axis=2, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(axis=2, keepdims=True)
    lse = top + np.log(total)
    return (p / total @ v).astype("f4"), lse[..., 0].astype("f4")


# %%
rng = np.random.default_rng(24)
q, k, v = rng.normal(0, 1, (3, 1, 5, 4))
out, lse = attention(q, k, v, causal=True)
print(out[0, 0], "is the first value:", v[0, 0])
print("log-sum-exp:", lse[0])

# %% [markdown]
# ## 1 · Count first
#
# The scores of one head are a matrix of seq × seq. With 16,384 tokens and 2 bytes per
# score, this matrix has 512 MB, whereas the head's `q`, `k`, `v` and output together
# have 16 MB. A program that writes `S` to memory, reads it back for the softmax, writes
# `P`, and reads `P` again for the second product spends most of its time on these two
# matrices.
#
# **FlashAttention** never writes `S` or `P`. A block of threads keeps `tile` rows of
# queries and goes over all keys and values, tile by tile. It keeps the scores of only
# one tile of keys at a time, in registers.
#
# Count the operations and the bytes of both programs, for `heads` heads without a mask.
# Each number is stored in 2 bytes.
#
# - `flops`: the operations of the two matrix products. A multiplication and an addition
#   are two operations.
# - `naive`: the bytes moved by three kernels, each of which reads its inputs once and
#   writes its output once. The first computes `S` from `q` and `k`, the second `P` from
#   `S`, and the third the output from `P` and `v`.
# - `fused`: the bytes moved by the blocks of one fused kernel. Each block reads its
#   `tile` rows of `q`, **all** of `k` and of `v`, and writes `tile` rows of output. The
#   last block may have fewer rows.
#
# ```python
# costs(heads, seq, d, tile)    # -> (flops, naive, fused), three integers
# ```
#
# Stuck? Run `hint("costs")`; there are three hints.


# %% tags=["given"]
def counted(heads, seq, d, tile):
    """Count operations and bytes one matrix and one block at a time."""
    matrix, rows = 2 * seq * seq, 2 * seq * d
    flops = sum(2 * seq * d * seq for _product in ("q k", "p v"))
    naive = (2 * rows + matrix) + (matrix + matrix) + (matrix + rows + rows)
    fused = 0
    for first in range(0, seq, tile):
        own = 2 * d * min(tile, seq - first)
        fused += own + 2 * rows + own
    return tuple(heads * each for each in (flops, naive, fused))


def compare_costs(got, wanted):
    """Say which of the three numbers is wrong, and perhaps why."""
    if not isinstance(got, tuple | list) or len(got) != 3:
        return "Return three numbers: (flops, naive, fused)."
    for name, mine, right in zip(
        ("flops", "naive", "fused"), got, wanted, strict=True
    ):
        if mine == right:
            continue
        share = mine / right
        if share == 0.5:
            common = {
                "flops": "a multiplication and an addition count as two, and "
                "there are two products",
                "naive": "a number has 2 bytes",
                "fused": "a number has 2 bytes",
            }[name]
            return f"`{name}` is half of what it should be: {common}."
        if share == 2:
            return f"`{name}` is twice what it should be."
        return f"`{name}` is {mine:,}; counted one by one it is {right:,}."
    return ""


# %%
def costs(heads, seq, d, tile):
    """Return the operations, and the bytes of two ways, of attention."""
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
    costs,
    spec=counted,
    inputs=[(1, 64, 16, 32), (3, 100, 8, 32), (2, 1000, 128, 128)],
    same=compare_costs,
    without=("counted",),
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
# byte, and never exceeds this number, however long the sequence is. Fused, it has about
# one operation per byte for each row of the tile, which here makes 128. But what
# matters more is *where* the bytes come from. All blocks of a head read the same `k`
# and `v`, at about the same time: 8 MB for 16,384 tokens, which stay in the L2 cache.
# `S` has 512 MB per head, which do not fit in it.

# %% [markdown]
# ## 2 · FlashAttention, on ordinary cores
#
# Chapter 16's online softmax goes over a row once, and keeps the largest score so far,
# `top`, and the sum of $e^{s - \text{top}}$, `weight`. For attention, the kernel also
# keeps the weighted sum of the values so far, `total`. Its weights are relative to the
# same `top`. What must happen to `total` when a larger score arrives?
#
# In this kernel a thread computes one query, and a block of 32 threads goes over tiles
# of `KEYS` keys and values, which all of its threads share. The given code loads the
# thread's row of `q` and multiplies it by `SCALE`, which is $1/\sqrt d$.
# `copy_tile(tile, x, head, start)` copies a tile from row `start` on; beyond the last
# row, it writes zeros.
#
# Write the code for each tile, with its barriers, and the code after the last tile.
# Note three points:
#
# - a key beyond the end of the sequence has a score of 0, not of minus infinity, but it
#   must not get any weight;
# - all threads take part in the copies, including those without a query;
# - `lse` is the log-sum-exp; compute it from `top` and `weight`.
#
# You can use `max`, `math.exp` and `math.log` in a kernel. The array `s` is for the
# scores of one tile.
#
# ```python
# flash_rows(q, k, v, out, lse)
# # (heads, seq, D) three times -> (heads, seq, D), (heads, seq)  float32
# ```
#
# Stuck? `hint("flash_rows")`.

# %% tags=["given"]
D, KEYS = 8, 8  # numbers per row, keys per tile
SCALE = float32(D**-0.5)
LOWEST = float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = float32(-np.inf)


@cuda.jit(device=True)
def copy_tile(tile, x, head, start):
    """Copy rows of x[head] from `start` on; zeros where there are none."""
    rows, cols = tile.shape
    for i in range(cuda.threadIdx.x, rows * cols, cuda.blockDim.x):
        row, col = i // cols, i % cols
        if start + row < x.shape[1]:
            tile[row, col] = x[head, start + row, col]
        else:
            tile[row, col] = float32(0)


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


# %% tags=["given"]
def rows_of(rng, heads, seq):
    """Return q, k and v; later keys, and odd heads, have larger scores."""
    q, k, v = (rng.normal(0, 1, (heads, seq, D)) for _ in "qkv")
    k *= 1 + 2 * np.arange(seq)[:, None] / seq
    q[1::2] *= 15
    return tuple((x - 0.5).astype("f4") for x in (q, k, v))


def by_tiles(q, k, v, keys, *, old="all", beyond=False, scale=1):
    """Return attention by tiles of `keys` keys, with something left out."""
    heads, seq, d = q.shape
    padded = -(-seq // keys) * keys if beyond else seq
    k, v = (np.pad(x, ((0, 0), (0, padded - seq), (0, 0))) for x in (k, v))
    s = q * d ** (-0.5 * scale) @ k.transpose(0, 2, 1)
    top = np.full((heads, seq, 1), -1e30)
    total, weight = np.zeros(q.shape), np.zeros((heads, seq, 1))
    for start in range(0, padded, keys):
        tile = s[:, :, start : start + keys]
        new = np.maximum(top, tile.max(axis=2, keepdims=True))
        factor = np.exp(top - new)
        p = np.exp(tile - new)
        weight = weight * (factor if old in ("all", "weight") else 1)
        total = total * (factor if old in ("all", "total") else 1)
        weight = weight + p.sum(axis=2, keepdims=True)
        total = total + p @ v[:, start : start + keys]
        top = new
    return total / weight, (top + np.log(weight))[..., 0]


def left_out(q, k, v, out, lse):
    """Say what a wrong result has left out, if that explains it."""
    right, its_lse = by_tiles(q, k, v, KEYS)
    if np.allclose(right, out, 1e-3, 1e-3):
        if np.allclose(lse, np.exp(its_lse), 1e-3):
            return "The output is right. `lse` is a sum, without its logarithm."
        return "The output is right, and `lse` is not."
    guesses = {
        "the values so far are not rescaled when a larger score arrives": {
            "old": "weight"
        },
        "the weight so far is not rescaled when a larger score arrives": {
            "old": "total"
        },
        "nothing is rescaled when a larger score arrives": {"old": "none"},
        "keys beyond the end of the sequence get a weight": {"beyond": True},
        "scores are not multiplied by `SCALE`": {"scale": False},
        "scores are multiplied by `SCALE` twice": {"scale": 2},
    }
    for reason, options in guesses.items():
        found, _ = by_tiles(q, k, v, KEYS, **options)
        if np.allclose(found, out, 1e-3, 1e-3):
            return f"This is the result if {reason}."
    return ""


# %%
check(
    flash_rows,
    spec=attention,
    inputs=rows_of,
    sizes=[(1, 8), (2, 37)],
    launch=lambda heads, seq: ((-(-seq // 32), heads), 32),
    full=(4, 1000),
    tolerance=1e-4,
    limits={"float64": 0},
    constants=[{"KEYS": 4}],
    because=left_out,
)

# %% [markdown] tags=["solution"]
# `weight` and `total` are sums relative to `top`. When `top` rises, both shrink by the
# same factor. In the first tile the factor is $e^{\text{LOWEST} - \dots} = 0$, which
# does no harm because both sums are still zero.
#
# The division by `weight` happens once, at the end. And no matrix of seq × seq numbers
# has been stored anywhere.

# %% [markdown]
# ## 3 · Which tiles, and which masks?
#
# A causal mask hides about half of all scores. To save time, a block must not compute
# the hidden scores: it stops after the last tile with a key that one of its queries
# sees. Most of the tiles before it need no mask at all, and only a few contain hidden
# scores. The end of the sequence raises the same question without a causal mask: the
# last tile of keys may extend beyond it.
#
# A block computes queries `first` to `first + rows - 1`, but none beyond the end of the
# sequence, which has `seq` tokens. Tile j contains keys `j * keys` to
# `j * keys + keys - 1`. Return two numbers of tiles, both counted from tile 0 on:
#
# - `free`: the number of consecutive tiles that need no mask, because each of the
#   block's queries sees all of their keys;
# - `count`: the number of tiles that have to be computed, because some query of the
#   block sees a key in them.
#
# ```python
# key_tiles(first, rows, keys, seq, causal)    # -> (free, count)
# ```
#
# `rows` and `keys` need not be equal, and neither has to divide `seq`. Compute both
# numbers without a loop, since a block needs them before it starts. Stuck?
# `hint("key_tiles")`.


# %% tags=["given"]
def seen_tiles(first, rows, keys, seq, causal):
    """Count the tiles by looking at every pair of a query and a key."""
    queries = np.arange(first, min(first + rows, seq))[:, None]
    free, count, before = 0, 0, True
    for j in range(-(-seq // keys)):
        columns = np.arange(j * keys, (j + 1) * keys)
        seen = (columns < seq) & ((columns <= queries) | (not causal))
        count += bool(seen.any())
        before = before and bool(seen.all())
        free += before
    return free, count


def compare_tiles(got, wanted):
    """Say which of the two numbers is wrong."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "Return two numbers: (free, count)."
    if got[1] > wanted[1]:
        return f"Tile {wanted[1]} is computed, and no query sees a key in it."
    if got[1] < wanted[1]:
        return f"Tile {got[1]} is skipped, and some query sees a key in it."
    if got[0] > wanted[0]:
        return f"Tile {wanted[0]} gets no mask, and some of it is hidden."
    if got[0] < wanted[0]:
        return f"Tile {got[0]} gets a mask, and none of it is hidden."
    return ""


def some_blocks(rng):
    """Return blocks with equal and unequal tiles, and ragged ends."""
    cases = [(0, 128, 128, 1000, True), (128, 128, 128, 1000, True)]
    cases += [(896, 128, 128, 1000, True), (896, 128, 128, 1000, False)]
    cases += [(0, 64, 32, 128, False), (64, 64, 16, 100, True)]
    cases += [(32, 32, 128, 256, True), (96, 48, 40, 120, True)]
    for _ in range(24):
        rows, keys = (int(n) for n in rng.integers(2, 40, 2))
        seq = int(rng.integers(3, 200))
        first = int(rng.integers(0, -(-seq // rows))) * rows
        cases.append((first, rows, keys, seq, bool(rng.random() < 0.7)))
    return cases


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
    key_tiles,
    spec=seen_tiles,
    inputs=some_blocks,
    same=compare_tiles,
    without=("seen_tiles",),
    lines=20,
)

# %% [markdown] tags=["solution"]
# The first query decides how many tiles are free, because it sees the fewest keys. The
# last query decides how many tiles are needed, because it sees the most.
#
# How much of the work is left? The next cell counts it for tiles of 128 × 128.

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
# ## 4 · On tensor cores
#
# Now write the same algorithm with `mma.sync`, from chapter 21. A warp computes 16
# queries. It multiplies them by a tile of keys, and receives the scores as
# **fragments**. Of each 16 × 8 piece `j` of the scores, lane `4 * g + t` holds
#
# `s[j, 0], s[j, 1]` in row g and `s[j, 2], s[j, 3]` in row g + 8, both in columns
# `8 * j + 2 * t` and `8 * j + 2 * t + 1`.
#
# So a lane has parts of two rows, and a row is spread over the four lanes with the same
# g. The maximum of a row takes two shuffles: first with the lane whose number differs
# in bit 0, then with the lane whose number differs in bit 1.
#
# The weights are then the *left* operand of the second product. Its fragments consist
# of words of two float16. For each 16 columns of `P`, that is, for each pair `i` of
# pieces, they are
#
# | word | row | columns |
# | --- | --- | --- |
# | `p[i, 0]` | g | 2t, 2t + 1 of the first piece |
# | `p[i, 1]` | g + 8 | the same |
# | `p[i, 2]` | g | 2t, 2t + 1 of the second piece |
# | `p[i, 3]` | g + 8 | the same |
#
# Compare this table with the fragments of the scores: **each lane already holds what it
# needs**. `f16_pair(low, high)` combines two numbers into a word. Nothing goes through
# shared memory.
#
# The copies and the functions for the products are given. `scores_of` multiplies the
# scores by $\log_2(e)/\sqrt d$, so use `exp2(x)`, which is one instruction, instead of
# $e^x$. Write the code between the products, and the end of the kernel:
#
# - hide keys beyond `seq`, update the maxima, the weights and the sums `o`, and fill
#   `p`. `top0` and `weight0` belong to row g, and `top1` and `weight1` to row g + 8;
#   `o[j, 0]` and `o[j, 1]` belong to row g, and `o[j, 2]` and `o[j, 3]` to row g + 8;
# - call `add_values(o, p, tv, lane)`, which adds the second product to `o`. A barrier
#   has to follow;
# - after the last tile, sum the weights of each row over its four lanes, and store both
#   rows. `put_row(out, lse, head, row, o, 0, t, top0, weight0)` stores row g of the
#   output and its log-sum-exp. For row g + 8, pass `row + int32(8)`, 2 instead of 0,
#   and `top1` and `weight1`.
#
# ```python
# flash_mma(q, k, v, out, lse)
# # int32 (heads, seq, HEAD / 2) three times -> float32 (heads, seq, HEAD), (heads, seq)
# ```
#
# `q`, `k` and `v` are words of two float16. Stuck? `hint("flash_mma")`.

# %% tags=["given"]
HEAD, TILE, WARPS = 16, 16, 2  # numbers per row, keys per tile, warps
HW = HEAD // 2  # words per row
HEAD8, HEAD16, TILE8, TILE16 = HEAD // 8, HEAD // 16, TILE // 8, TILE // 16
PITCH = HW + 4  # words from row to row of a tile: ldmatrix without conflicts
SCALE2 = float32(math.log2(math.e) * HEAD**-0.5)
LN2 = float32(math.log(2))
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def copy_words(tile, x, head, start):
    """Copy rows of x[head] from `start` on; zeros where there are none."""
    pieces = int32(TILE * HW // 4)
    for at in range(int32(cuda.threadIdx.x), pieces, int32(32 * WARPS)):
        row, word = at // int32(HW // 4), at % int32(HW // 4) * int32(4)
        if start + row < x.shape[1]:
            a, b, c, d = load4(x[head], (start + row, word))
            store4(tile, (row, word), a, b, c, d)
        else:
            zero = int32(0)
            store4(tile, (row, word), zero, zero, zero, zero)


@cuda.jit(device=True)
def load_queries(fq, q, head, row, t):
    """Load the fragments of 16 queries: rows `row` and row + 8 of this lane."""
    last = int32(q.shape[1]) - int32(1)
    near, far = min(row, last), min(row + int32(8), last)
    for i in range(HEAD16):
        w = int32(8 * i) + t
        fq[i, 0] = q[head, near, w]
        fq[i, 1] = q[head, far, w]
        fq[i, 2] = q[head, near, w + int32(4)]
        fq[i, 3] = q[head, far, w + int32(4)]


@cuda.jit(device=True)
def scores_of(s, fq, tk, lane):
    """Write the scaled scores of 16 queries and a tile of keys into s."""
    row = lane % int32(8) + lane // int32(16) * int32(8)
    word = lane // int32(8) % int32(2) * int32(4)
    for n in range(TILE8):
        for m in range(4):
            s[n, m] = float32(0)
    for n in range(TILE16):
        for m in range(HEAD16):
            at = int32(16 * n) + row, int32(8 * m) + word
            fk = ldmatrix_x4(tk, at)
            mma_f16(s[2 * n], fq[m], fk[:2])
            mma_f16(s[2 * n + 1], fq[m], fk[2:])
    for n in range(TILE8):
        for m in range(4):
            s[n, m] *= SCALE2


@cuda.jit(device=True)
def add_values(o, p, tv, lane):
    """Add the products of the weights p and a tile of values to o."""
    row = lane % int32(16)
    word = lane // int32(16) * int32(4)
    for m in range(TILE16):
        for n in range(HEAD16):
            at = int32(16 * m) + row, int32(8 * n) + word
            fv = ldmatrix_x4_trans(tv, at)
            mma_f16(o[2 * n], p[m], fv[:2])
            mma_f16(o[2 * n + 1], p[m], fv[2:])


@cuda.jit(device=True)
def put_row(out, lse, head, row, o, k, t, top, total):
    """Write one row of the output from numbers k and k + 1 of the fragments."""
    if row < out.shape[1]:
        for n in range(HEAD8):
            col = int32(8 * n) + int32(2) * t
            out[head, row, col] = o[n, k] / total
            out[head, row, col + int32(1)] = o[n, k + 1] / total
        if t == 0:
            lse[head, row] = (top + libdevice.log2f(total)) * LN2


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
        # about 37 lines: from s to p, add_values, a barrier
        # BEGIN SOLUTION
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
        # END SOLUTION

    # about 5 lines: the sum of each row, and put_row
    # BEGIN SOLUTION
    for step in (1, 2):
        weight0 += cuda.shfl_xor_sync(FULL, weight0, step)
        weight1 += cuda.shfl_xor_sync(FULL, weight1, step)
    put_row(out, lse, head, row, o, 0, t, top0, weight0)
    put_row(out, lse, head, row + int32(8), o, 2, t, top1, weight1)
    # END SOLUTION


# %% tags=["given"]
def numbers(w):
    """Return the float16 numbers of int32 words, as float32."""
    return np.ascontiguousarray(w).view(np.float16).astype("f4")


def words_of(rng, heads, seq):
    """Return q, k and v, words of float16; later keys have larger scores."""
    found = []
    for name in "qkv":
        x = rng.normal(0, 1, (heads, seq, HEAD)) - 0.25
        if name == "k":
            x *= 1 + 2 * np.arange(seq)[:, None] / seq
        found.append(x.astype(np.float16).view(np.int32))
    return tuple(found)


def attention_of_words(q, k, v):
    """Return attention of words of float16."""
    return attention(numbers(q), numbers(k), numbers(v))


def in_fragments(q, k, v, out, lse):
    """Say what a wrong result has left out, if that explains it."""
    q, k, v = map(numbers, (q, k, v))
    seq, close = q.shape[1], {"rtol": 0.02, "atol": 0.02}
    right = attention(q, k, v)[0]
    if np.allclose(right, out, **close):
        return "The output is right, and `lse` is not."
    guesses = {
        "`o` is not rescaled when a larger score arrives": {"old": "weight"},
        "the weights are not rescaled when a larger score arrives": {
            "old": "total"
        },
        "nothing is rescaled when a larger score arrives": {"old": "none"},
        "keys beyond the end of the sequence get a weight": {"beyond": True},
    }
    for reason, options in guesses.items():
        if np.allclose(by_tiles(q, k, v, TILE, **options)[0], out, **close):
            return f"This is the result if {reason}."
    for reason, found in misplaced(q, k, v).items():
        if np.allclose(found, out, **close):
            return f"This is the result if {reason}."
    near, far = (np.arange(seq) % 16 < 8), (np.arange(seq) % 16 >= 8)
    good = np.isclose(right, out, **close).all(axis=(0, 2))
    if good[near].all() and not good[far].any():
        return "Rows 0 to 7 of each warp are right; rows 8 to 15 are not."
    if good[far].all() and not good[near].any():
        return "Rows 8 to 15 of each warp are right; rows 0 to 7 are not."
    return ""


def misplaced(q, k, v):
    """Return the results of weights that are in the wrong place."""
    heads, seq, d = q.shape
    padded = -(-seq // 16) * 16
    s = q @ k.transpose(0, 2, 1) / math.sqrt(d)
    p = np.zeros((heads, padded, padded))
    p[:, :seq, :seq] = np.exp(s - s.max(axis=2, keepdims=True))
    v = np.pad(v, ((0, 0), (0, padded - seq), (0, 0)))
    total = p.sum(axis=2, keepdims=True)
    total[:, seq:] = 1

    halves = p.reshape(heads, padded, -1, 2)[..., ::-1].reshape(p.shape)
    tiles = p.reshape(heads, -1, 2, 8, padded // 16, 2, 8)
    quarters = tiles.transpose(0, 1, 5, 3, 4, 2, 6).reshape(p.shape)
    lanes = p.reshape(heads, padded, -1, 4, 2).sum(axis=(2, 4))  # per t
    lanes[:, seq:] = 1
    own = np.repeat(np.tile(lanes, (1, 1, d // 8)), 2, axis=2)
    found = {
        "the two numbers of each word are exchanged": halves @ v / total,
        "words 1 and 2 of each `p[i]` are exchanged": quarters @ v / total,
        "a lane has only summed the weights that it holds": p @ v / own,
    }
    return {reason: each[:, :seq] for reason, each in found.items()}


# %%
check(
    flash_mma,
    spec=attention_of_words,
    inputs=words_of,
    sizes=[(1, 16), (2, 37)],
    launch=lambda heads, seq: (
        (-(-seq // (16 * WARPS)), heads),
        32 * WARPS,
    ),
    full=(4, 1000),
    tolerance=4e-3,
    limits={"float64": 0},
    because=in_fragments,
)

# %% [markdown] tags=["solution"]
# A lane sums the weights that it holds, relative to a maximum that is the same in all
# four lanes of its row. So the four sums need to be added only at the end, whereas the
# maximum has to be exchanged for every tile.

# %% [markdown]
# ## 5 · Merge parts
#
# A language model that generates a text has one query at a time, and the keys of all
# the text so far. With one query per head, a kernel like those above has one row per
# block and one block per head: 16 heads would keep only 16 of 132 SMs busy.
# **Split-KV** (FlashDecoding) divides the keys into parts. Each block computes the
# attention of its head's query over one part, and writes the output *of this part* and
# its log-sum-exp.
#
# A second kernel merges the parts. Part $i$ has the output $o_i$, which is a weighted
# mean of its values, and the log-sum-exp $L_i$, which is the logarithm of the sum of
# its weights before the division. With which weight does $o_i$ enter the mean over all
# parts? And what is the log-sum-exp of all parts together?
#
# A part without any key has $L_i = -\infty$, and its output is meaningless, possibly
# NaN. At least one part of each head has keys.
#
# Log-sum-exps can be larger than 100, and $e^{100}$ overflows in float32. Avoid this
# overflow as the softmax does.
#
# ```python
# merge_parts(parts, lses, out, lse)
# # (heads, n, d), (heads, n) -> (heads, d), (heads,)  float32
# ```
#
# A block computes one head, and its thread `c` computes column `c`. Stuck?
# `hint("merge_parts")`.


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


# %% tags=["given"]
def some_parts(rng, heads, n, d):
    """Return outputs of parts with their log-sum-exps; one part is empty."""
    parts = rng.normal(1, 2, (heads, n, d)).astype("f4")
    lses = rng.normal(0, 1.5, (heads, n)).astype("f4")
    lses[::3] += 150
    lses[1::3] -= 150
    lses[2::3, 1] += 100
    if n > 2:
        lses[:, n // 2] = -np.inf
        parts[:, n // 2] = np.nan
        lses[0, 0], parts[0, 0] = -np.inf, np.nan
    return parts, lses


def whole(parts, lses):
    """Return the attention over all parts."""
    parts, lses = parts.astype(np.float64), lses.astype(np.float64)
    top = lses.max(axis=1, keepdims=True)
    w = np.exp(lses - top)
    total = w.sum(axis=1, keepdims=True)
    mean = (w[..., None] * np.where(w[..., None] > 0, parts, 0)).sum(axis=1)
    return (mean / total).astype("f4"), (top + np.log(total))[:, 0].astype("f4")


def badly_merged(parts, lses, out, lse):
    """Say how a wrong result may have come about."""
    right, its_lse = whole(parts, lses)
    bad, empty = (np.isnan(x).reshape(len(x), -1).any(1) for x in (out, parts))
    if bad.any() and not (bad[empty].all() and empty[bad].all()):
        return "Did e^x overflow? `top` has to be the largest log-sum-exp."
    if bad.any():
        return (
            "The output is NaN. Zero times NaN is NaN: leave a part out "
            "if it has no weight."
        )
    several = parts.shape[1] > 1
    if several and np.allclose(out, np.nanmean(parts, axis=1), 1e-3, 1e-3):
        return (
            "This is the mean of the parts. A part with larger scores must "
            "count for more."
        )
    if np.allclose(out, right, 1e-3, 1e-3):
        return "The output is right, and `lse` is not."
    weight = np.exp(its_lse - lses.max(axis=1))[:, None]
    if np.allclose(out, right * weight, 1e-3, 1e-3):
        return "The weights do not sum to 1: they have not been divided."
    return ""


# %%
check(
    merge_parts,
    spec=whole,
    inputs=some_parts,
    sizes=[(3, 2, 8), (4, 5, 32)],
    launch=lambda heads, n, d: (heads, d),
    full=(64, 33, 128),
    tolerance=1e-4,
    limits={"float64": 0},
    because=badly_merged,
)

# %% [markdown] tags=["solution"]
# This is chapter 16's `merge` for any number of parts: $L_i$ replaces both the maximum
# and the sum. Merging two parts is associative and commutative, so the parts may be
# tiles of a loop, blocks of a grid or GPUs in a ring. A part has to pass on only its
# output and one number per row.

# %% [markdown]
# ## 6 · Backward, without the weights
#
# Let $g$ be the gradient of the loss with respect to the output. Going backwards
# through the three formulas of attention gives
#
# $$dP = g\,v^T, \quad dS = P \circ (dP - \delta), \quad dq = \frac{dS\,k}{\sqrt d},
# \quad dk = \frac{dS^T q}{\sqrt d}, \quad dv = P^T g$$
#
# where $\circ$ multiplies element by element and $\delta_i = \sum_j P_{ij}\,dP_{ij}$ is
# one number per row. The sum is over all keys, but it equals $\sum_c g_{ic}\,o_{ic}$, a
# sum over the columns of one row of the output, which is cheap and can be computed
# beforehand.
#
# What about $P$? The forward pass has not stored this matrix. But it has stored the
# log-sum-exps, and these are enough to recompute any single weight without going over
# its row first. How?
#
# Write the kernel for `dq`, with one thread per query and a **causal** mask. `delta`
# has already been computed.
#
# ```python
# grad_q(q, k, v, g, lse, delta, dq)
# # (heads, seq, D) four times, (heads, seq) twice -> (heads, seq, D)  float32
# ```
#
# Each key takes two dot products and one update of the sums. No maximum is needed, and
# nothing has to be rescaled. Stuck? `hint("grad_q")`.


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


# %% tags=["given"]
def after_forward(rng, heads, seq):
    """Return what the backward pass gets: q, k, v, g, lse and delta."""
    q, k, v, g = (
        rng.normal(0.25, 1, (heads, seq, D)).astype("f4") for _ in "qkvg"
    )
    out, lse = attention(q, k, v, causal=True)
    return q, k, v, g, lse, (g * out).sum(axis=2).astype("f4")


def parts_of_gradient(q, k, v, g, lse, delta, causal=True):
    """Return P, dP and k in float64."""
    q, k, v, g, lse = (x.astype(np.float64) for x in (q, k, v, g, lse))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    if causal:
        s[:, *np.triu_indices(q.shape[1], 1)] = -np.inf
    with np.errstate(over="ignore"):
        p = np.exp(s - lse[..., None])
    return p, g @ v.transpose(0, 2, 1), k


def gradient_of_queries(q, k, v, g, lse, delta):
    """Return the gradient of the queries."""
    p, dp, k = parts_of_gradient(q, k, v, g, lse, delta)
    ds = p * (dp - delta[..., None])
    return (ds @ k / math.sqrt(q.shape[2])).astype("f4")


def bad_gradient(q, k, v, g, lse, delta, dq):
    """Say how a wrong gradient may have come about."""
    root = math.sqrt(q.shape[2])
    p, dp, keys = parts_of_gradient(q, k, v, g, lse, delta)
    row = delta[..., None]
    right = p * (dp - row) @ keys / root
    free, dp_free, _ = parts_of_gradient(q, k, v, g, lse, delta, causal=False)
    guesses = {
        "`delta` is not subtracted": p * dp @ keys / root,
        "`delta` is added": p * (dp + row) @ keys / root,
        "dS is not multiplied by P": (np.tril(dp - row)) @ keys / root,
        "the sum goes over the values, not the keys": p * (dp - row) @ v / root,
        "the mask is left out": free * (dp_free - row) @ keys / root,
        "a query does not see its own key": (
            np.tril(p, -1) * (dp - row) @ keys / root
        ),
        "it is scaled twice": right / root,
        "delta is subtracted after the multiplication by P": (
            np.tril(p * dp - row) @ keys / root
        ),
    }
    for reason, found in guesses.items():
        if np.allclose(found, dq, 1e-3, 1e-3):
            return f"This is the result if {reason}."
    return ""


# %%
check(
    grad_q,
    spec=gradient_of_queries,
    inputs=after_forward,
    sizes=[(1, 4), (2, 21)],
    launch=lambda heads, seq: ((-(-seq // 32), heads), 32),
    full=(4, 1000),
    tolerance=2e-4,
    limits={"float64": 0},
    because=bad_gradient,
)

# %% [markdown] tags=["solution"]
# With the log-sum-exp $L$, a weight is $P_{ij} = e^{S_{ij} - L_i}$: $L$ takes the place
# of both the maximum and the division. So the backward pass can process tiles in any
# order. It needs five products, whereas the forward pass needs two: $S$ again, $dP$,
# $dv$, $dk$ and $dq$.

# %% [markdown]
# ## The kernels at full speed
#
# To reach its full speed, an H200 needs the TMA and `wgmma`, from chapter 22. The
# kernel below is given. It uses the algorithm of exercise 4, with these changes:
#
# - a **warpgroup** of 4 warps multiplies 64 queries by 128 keys with 8 instructions;
#   two warpgroups share the tiles of keys and values of a block, so a block computes
#   128 queries;
# - one thread, the **producer**, copies tiles into two stages with the TMA, and does
#   nothing else. For the TMA each head is a separate matrix: rows beyond its end are
#   loaded as zeros, and they are not stored;
# - the weights remain in registers and are the left operand of the next `wgmma`,
#   exactly as in exercise 4;
# - a warpgroup computes the softmax while products are running. It starts the scores of
#   the next tile and the second product of the current tile, and then computes the
#   softmax of the next tile;
# - only the tiles that need a mask get one, and tiles that are entirely hidden are
#   skipped;
# - the 132 blocks are persistent: each computes one tile of the output after the other.
#   A block gets the number of its next tile from a counter in global memory. The last
#   block to finish resets the counter to zero.
#
# Read `attend_tiles` first. The other functions load, store and count.

# %% tags=["given"]
CAUSAL = False
FAR = float32(-1e30)
LOG2E = float32(math.log2(math.e))
STAGES = 2
BOX = 16384  # bytes: 128 rows of 64 bfloat16
ROWS = 2 * BOX  # bytes: 128 rows of 128 bfloat16, two boxes
FIRST_K = 2 * ROWS  # after two tiles of queries
FIRST_V = FIRST_K + STAGES * ROWS
SHARED = FIRST_V + STAGES * ROWS
Q_FULL, Q_EMPTY, K_FULL, K_EMPTY = 0, 2, 4, 4 + STAGES
V_FULL, V_EMPTY, BARS = 4 + 2 * STAGES, 4 + 3 * STAGES, 4 + 4 * STAGES


@cuda.jit(device=True)
def load_rows(memory, at, stack, row, plane, bars, s):
    """Start to load 128 rows of one head, and announce them at a barrier."""
    mbarrier_arrive_expect_tx(bars, s, int32(ROWS))
    two_boxes(memory, at, BOX, stack, row, plane, bars, s)


@cuda.jit(device=True)
def two_boxes(memory, at, size, stack, row, plane, bars, s):
    """Start to load the left and the right 64 numbers of some rows."""
    tma_load_plane(memory, at, stack, int32(0), row, plane, bars, s)
    at += int32(size)
    tma_load_plane(memory, at, stack, int32(64), row, plane, bars, s)


@cuda.jit(device=True)
def next_stage(stage, phase, stages):
    """Return the stage that follows, and its phase."""
    stage += int32(1)
    if stage == int32(stages):
        return int32(0), phase ^ int32(1)
    return stage, phase


@cuda.jit(device=True)
def products_128(acc, a, b):
    """Start acc = a @ b.T: 64 rows of 128 numbers, and 128 rows of 128."""
    wgmma_fence()
    for step in range(8):
        more = step // 4 * 1024 + step % 4 * 2
        wgmma_bf16(acc, 128, a + more, b + more, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def chain_128(acc, words, b):
    """Start acc += words @ b: 64 x 128 in registers, and 128 rows of 128."""
    wgmma_fence()
    for step in range(8):
        at = b + 128 * step
        wgmma_bf16_chained(acc, 128, words, 4 * step, at, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def hide(s, col, row, seq):
    """Hide the keys that rows `row` and row + 8 do not see."""
    last0, last1 = seq - int32(1), seq - int32(1)
    if CAUSAL:
        last0, last1 = row, row + int32(8)
    for i in range(16):
        c = col + int32(8 * i)
        if c > last0:
            s[4 * i] = FAR
        if c + int32(1) > last0:
            s[4 * i + 1] = FAR
        if c > last1:
            s[4 * i + 2] = FAR
        if c + int32(1) > last1:
            s[4 * i + 3] = FAR


@cuda.jit(device=True)
def row_max(s, k):
    """Return the largest of a row, over its four lanes."""
    top = s[k]
    for i in range(16):
        pair = libdevice.fmaxf(s[4 * i + k], s[4 * i + k + 1])
        top = libdevice.fmaxf(top, pair)
    top = libdevice.fmaxf(top, cuda.shfl_xor_sync(FULL, top, 1))
    return libdevice.fmaxf(top, cuda.shfl_xor_sync(FULL, top, 2))


@cuda.jit(device=True)
def soften(s, top, weight, scale, k):
    """Turn scores of a row into weights; return top, weight and factor."""
    highest = libdevice.fmaxf(top, row_max(s, k) * scale)
    factor = exp2(top - highest)
    total = float32(0)
    for i in range(16):
        s[4 * i + k] = exp2(s[4 * i + k] * scale - highest)
        s[4 * i + k + 1] = exp2(s[4 * i + k + 1] * scale - highest)
        total += s[4 * i + k] + s[4 * i + k + 1]
    return highest, weight * factor + total, factor


@cuda.jit(device=True)
def pack(words, s, count):
    """Round pairs of numbers to words of two bfloat16."""
    for i in range(count):
        words[i] = bf16_pair(s[2 * i], s[2 * i + 1])


@cuda.jit(device=True)
def put_rows(memory, at, acc, f0, f1, u, group, stack, row, plane):
    """Scale 64 rows of sums and start to store them, through shared memory."""
    lane = u & int32(31)
    line = ((u >> int32(5)) << int32(4)) + (lane & int32(15))
    named_barrier(group, int32(128))
    for i in range(8):
        piece = ((lane >> int32(4)) + int32(i % 4 * 2)) ^ (line & int32(7))
        near = line * int32(128) + piece * int32(16)
        stmatrix_x4(
            memory,
            at + int32(i // 4 * BOX) + near,
            bf16_pair(acc[8 * i] * f0, acc[8 * i + 1] * f0),
            bf16_pair(acc[8 * i + 2] * f1, acc[8 * i + 3] * f1),
            bf16_pair(acc[8 * i + 4] * f0, acc[8 * i + 5] * f0),
            bf16_pair(acc[8 * i + 6] * f1, acc[8 * i + 7] * f1),
        )
    fence_async()
    named_barrier(group, int32(128))
    if u == 0:
        tma_store_plane(stack, int32(0), row, plane, memory, at)
        at += int32(BOX)
        tma_store_plane(stack, int32(64), row, plane, memory, at)
        bulk_commit()


@cuda.jit(device=True)
def of_tile(tile, blocks):
    """Return the head, the block of queries, and its number of key tiles."""
    plane = tile // blocks
    i = tile - plane * blocks
    if CAUSAL:
        i = blocks - int32(1) - i  # the longest first
        return plane, i, i + int32(1)
    return plane, i, blocks


@cuda.jit(device=True)
def load_tiles(
    memory, bars, tiles, counter, map_q, map_k, map_v, blocks, total
):
    """The producer: queries, keys and values of one tile after the other."""
    fence_tensor_map(map_q)
    fence_tensor_map(map_k)
    fence_tensor_map(map_v)
    stage, phase = int32(0), int32(1)
    b, q_phase = int32(0), int32(1)
    tile = int32(cuda.blockIdx.x)
    while tile < total:
        plane, i, count = of_tile(tile, blocks)
        mbarrier_wait(bars, int32(Q_EMPTY) + b, q_phase)
        tiles[b] = tile
        at, row = b * int32(ROWS), i * int32(128)
        load_rows(memory, at, map_q, row, plane, bars, int32(Q_FULL) + b)
        for j in range(count):
            at, row = stage * int32(ROWS), int32(j) * int32(128)
            full = int32(K_FULL) + stage
            mbarrier_wait(bars, int32(K_EMPTY) + stage, phase)
            load_rows(
                memory, int32(FIRST_K) + at, map_k, row, plane, bars, full
            )
            full = int32(V_FULL) + stage
            mbarrier_wait(bars, int32(V_EMPTY) + stage, phase)
            load_rows(
                memory, int32(FIRST_V) + at, map_v, row, plane, bars, full
            )
            stage, phase = next_stage(stage, phase, STAGES)
        b, q_phase = next_stage(b, q_phase, 2)
        tile = int32(cuda.gridDim.x) + int32(cuda.atomic.add(counter, 0, 1))
    mbarrier_wait(bars, int32(Q_EMPTY) + b, q_phase)
    tiles[b] = total  # no more
    mbarrier_arrive(bars, int32(Q_FULL) + b)
    if cuda.atomic.add(counter, 1, 1) == int32(cuda.gridDim.x) - int32(1):
        counter[0] = 0
        counter[1] = 0


@cuda.jit(device=True)
def attend_tiles(memory, bars, tiles, map_o, lse, seq, scale, blocks, total, h):
    """A consumer: 64 rows of the output of each tile."""
    s = cuda.local.array(64, float32)
    o = cuda.local.array(64, float32)
    p = cuda.local.array(32, int32)
    u = int32(cuda.threadIdx.x) & int32(127)
    lane, own = u & int32(31), h * int32(64)
    own += (u >> int32(5)) * int32(16) + (lane >> int32(2))
    col = (lane & int32(3)) * int32(2)
    masked = CAUSAL or (seq & int32(127)) != int32(0)  # the last tile
    stage, phase = int32(0), int32(0)
    b, q_phase = int32(0), int32(0)

    mbarrier_wait(bars, int32(Q_FULL), int32(0))
    tile = tiles[0]
    while tile < total:
        plane, i, count = of_tile(tile, blocks)
        row = i * int32(128) + own
        mine = b * int32(ROWS) + h * int32(BOX // 2)
        q = descriptor(memory, mine)
        top0, top1 = FAR, FAR
        weight0, weight1 = float32(0), float32(0)
        for c in range(64):
            o[c] = float32(0)

        # the first tile of keys: its scores and weights
        at = stage * int32(ROWS)
        mbarrier_wait(bars, int32(K_FULL) + stage, phase)
        products_128(s, q, descriptor(memory, int32(FIRST_K) + at))
        wgmma_wait(0)
        hold(s, 64)
        if u == 0:
            mbarrier_arrive(bars, int32(K_EMPTY) + stage)
            if tile >= int32(cuda.gridDim.x):  # not this block's first
                bulk_wait_read(0)  # the output before has left its place
                mbarrier_arrive(bars, int32(Q_EMPTY) + (b ^ int32(1)))
        if masked and count == 1:
            hide(s, col, row, seq)
        top0, weight0, factor0 = soften(s, top0, weight0, scale, 0)
        top1, weight1, factor1 = soften(s, top1, weight1, scale, 2)
        pack(p, s, 32)

        # start the scores of tile j and the values of tile j - 1 together
        for j in range(int32(1), count):
            old, old_phase, old_at = stage, phase, at
            stage, phase = next_stage(stage, phase, STAGES)
            at = stage * int32(ROWS)
            mbarrier_wait(bars, int32(K_FULL) + stage, phase)
            products_128(s, q, descriptor(memory, int32(FIRST_K) + at))
            mbarrier_wait(bars, int32(V_FULL) + old, old_phase)
            v = descriptor_columns(memory, int32(FIRST_V) + old_at, int32(BOX))
            chain_128(o, p, v)
            wgmma_wait(1)  # the scores
            hold(s, 64)
            if u == 0:
                mbarrier_arrive(bars, int32(K_EMPTY) + stage)
            if masked and j == count - 1:
                hide(s, int32(j) * int32(128) + col, row, seq)
            top0, weight0, factor0 = soften(s, top0, weight0, scale, 0)
            top1, weight1, factor1 = soften(s, top1, weight1, scale, 2)
            wgmma_wait(0)  # the values
            hold(o, 64)
            hold_words(p, 32)
            if u == 0:
                mbarrier_arrive(bars, int32(V_EMPTY) + old)
            for c in range(16):
                o[4 * c] *= factor0
                o[4 * c + 1] *= factor0
                o[4 * c + 2] *= factor1
                o[4 * c + 3] *= factor1
            pack(p, s, 32)

        # the values of the last tile, and the output
        mbarrier_wait(bars, int32(V_FULL) + stage, phase)
        v = descriptor_columns(memory, int32(FIRST_V) + at, int32(BOX))
        chain_128(o, p, v)
        for far in (1, 2):
            weight0 += cuda.shfl_xor_sync(FULL, weight0, far)
            weight1 += cuda.shfl_xor_sync(FULL, weight1, far)
        wgmma_wait(0)
        hold(o, 64)
        hold_words(p, 32)
        if u == 0:
            mbarrier_arrive(bars, int32(V_EMPTY) + stage)
        stage, phase = next_stage(stage, phase, STAGES)
        f0, f1 = float32(1) / weight0, float32(1) / weight1
        first = i * int32(128) + h * int32(64)
        put_rows(memory, mine, o, f0, f1, u, h + int32(1), map_o, first, plane)
        if col == 0:
            put_lse(lse, plane, row, seq, top0, weight0)
            put_lse(lse, plane, row + int32(8), seq, top1, weight1)

        b, q_phase = next_stage(b, q_phase, 2)
        mbarrier_wait(bars, int32(Q_FULL) + b, q_phase)
        tile = tiles[b]
    if u == 0:
        bulk_wait(0)


@cuda.jit(device=True)
def put_lse(lse, plane, row, seq, top, weight):
    """Write the log-sum-exp of a row; very large for one beyond the end."""
    found = (top + libdevice.log2f(weight)) * LN2
    lse[plane, row] = found if row < seq else -FAR


@cuda.jit
def attend(map_q, map_k, map_v, map_o, lse, counter, seq, planes, scale):
    """Attention of each head: TMA and wgmma, 3 warpgroups per block."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    bars = cuda.shared.array(BARS, uint64)
    tiles = cuda.shared.array(2, int32)
    t = int32(cuda.threadIdx.x)
    blocks = (int32(seq) + int32(127)) >> int32(7)
    total = blocks * int32(planes)
    if t == 0:
        for b in range(2):
            mbarrier_init(bars, int32(Q_FULL + b), int32(1))
            mbarrier_init(bars, int32(Q_EMPTY + b), int32(2))
        for i in range(STAGES):
            mbarrier_init(bars, int32(K_FULL + i), int32(1))
            mbarrier_init(bars, int32(K_EMPTY + i), int32(2))
            mbarrier_init(bars, int32(V_FULL + i), int32(1))
            mbarrier_init(bars, int32(V_EMPTY + i), int32(2))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            load_tiles(
                memory, bars, tiles, counter, map_q, map_k, map_v, blocks, total
            )
    else:
        setmaxnreg_inc(240)
        h = (t >> int32(7)) - int32(1)
        attend_tiles(
            memory,
            bars,
            tiles,
            map_o,
            lse,
            int32(seq),
            float32(scale),
            blocks,
            total,
            h,
        )


# %% [markdown]
# ### The backward kernels
#
# There are two kernels, so that each can keep its sums in registers. `grads_kv` keeps
# `dk` and `dv` of 128 keys and goes over all queries. `grads_queries` keeps `dq` of 128
# queries and goes over all keys. Both compute `S` and `dP`, so there are seven products
# instead of five. In return, no block adds to a sum in memory: there are no atomic
# additions, and the result is bit for bit the same in every run.
#
# `grads_kv` computes `S` and `dP` transposed, with 64 keys per warpgroup and 64 queries
# per tile. Then `P.T` and `dS.T` are again left operands in registers. `row_sums` runs
# before both kernels and writes `delta`.

# %% tags=["given"]
DEEP = 3  # stages of grads_kv: 64 rows of q and of g each
SIDE = 128  # float32 of a stage: 64 log-sum-exps, 64 deltas
SIDES = DEEP * SIDE
KV_FULL, KV_EMPTY, KV_BARS = 1, 1 + DEEP, 1 + 2 * DEEP
KV_SHARED = 2 * ROWS + DEEP * ROWS
Q_SHARED = 2 * ROWS + 4 * ROWS  # two stages of k and v


@cuda.jit
def row_sums(o, g, lse, delta, lse2, seq):
    """Write delta, the sums of o * g, and lse in base 2; a warp per row."""
    lane, plane = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    row = int32(cuda.blockIdx.x) * int32(8) + int32(cuda.threadIdx.y)
    total, base2 = float32(0), -FAR  # beyond the end
    if row < int32(seq):
        for part in range(2):
            a = o[plane, row, int32(2) * lane + int32(part)]
            b = g[plane, row, int32(2) * lane + int32(part)]
            total += bf16_low(a) * bf16_low(b) + bf16_high(a) * bf16_high(b)
        base2 = lse[plane, row] * LOG2E
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL, total, step)
    if lane == 0:
        delta[plane, row] = total
        lse2[plane, row] = base2


@cuda.jit(device=True)
def products_64(acc, a, b):
    """Start acc = a @ b.T: 64 rows of 128 numbers, and 64 rows of 128."""
    wgmma_fence()
    for step in range(8):
        left = a + (step // 4 * 1024 + step % 4 * 2)
        right = b + (step // 4 * 512 + step % 4 * 2)
        wgmma_bf16(acc, 64, left, right, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def chain_64(acc, words, b):
    """Start acc += words @ b: 64 x 64 in registers, and 64 rows of 128."""
    wgmma_fence()
    for step in range(4):
        at = b + 128 * step
        wgmma_bf16_chained(acc, 128, words, 4 * step, at, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def weights_t(s, side, at, scale):
    """Turn scores.T into weights.T: each column has a log-sum-exp."""
    for i in range(8):
        a, b = side[at + int32(8 * i)], side[at + int32(8 * i + 1)]
        s[4 * i] = exp2(s[4 * i] * scale - a)
        s[4 * i + 1] = exp2(s[4 * i + 1] * scale - b)
        s[4 * i + 2] = exp2(s[4 * i + 2] * scale - a)
        s[4 * i + 3] = exp2(s[4 * i + 3] * scale - b)


@cuda.jit(device=True)
def clear_t(s, query, key):
    """Clear the weights of keys that come after the query."""
    for i in range(8):
        c = query + int32(8 * i)
        if c < key:
            s[4 * i] = float32(0)
        if c + int32(1) < key:
            s[4 * i + 1] = float32(0)
        if c < key + int32(8):
            s[4 * i + 2] = float32(0)
        if c + int32(1) < key + int32(8):
            s[4 * i + 3] = float32(0)


@cuda.jit(device=True)
def grads_t(dp, p, side, at):
    """dP.T becomes dS.T: each column has a delta."""
    for i in range(8):
        a, b = side[at + int32(8 * i)], side[at + int32(8 * i + 1)]
        dp[4 * i] = (dp[4 * i] - a) * p[4 * i]
        dp[4 * i + 1] = (dp[4 * i + 1] - b) * p[4 * i + 1]
        dp[4 * i + 2] = (dp[4 * i + 2] - a) * p[4 * i + 2]
        dp[4 * i + 3] = (dp[4 * i + 3] - b) * p[4 * i + 3]


@cuda.jit(device=True)
def load_queries_for(
    memory, bars, side, maps, lse2, delta, pad, blocks, j, plane, first
):
    """The producer of grads_kv: k and v once, then q and g tile by tile."""
    map_q, map_k, map_v, map_g = maps
    for each in maps:
        fence_tensor_map(each)
    row = j * int32(128)
    mbarrier_arrive_expect_tx(bars, int32(0), int32(2 * ROWS))
    two_boxes(memory, int32(0), BOX, map_k, row, plane, bars, int32(0))
    two_boxes(memory, int32(ROWS), BOX, map_v, row, plane, bars, int32(0))
    stage, phase = int32(0), int32(1)
    for i in range(first, blocks):
        full, at = int32(KV_FULL) + stage, (stage + int32(2)) * int32(ROWS)
        row, near = int32(i) * int32(64), stage * int32(SIDE)
        mbarrier_wait(bars, int32(KV_EMPTY) + stage, phase)
        mbarrier_arrive_expect_tx(bars, full, int32(ROWS + 512))
        two_boxes(memory, at, BOX // 2, map_q, row, plane, bars, full)
        at += int32(BOX)
        two_boxes(memory, at, BOX // 2, map_g, row, plane, bars, full)
        far = plane * pad + row
        bulk_copy(side, near, lse2, far, int32(256), bars, full)
        near += int32(64)
        bulk_copy(side, near, delta, far, int32(256), bars, full)
        stage, phase = next_stage(stage, phase, DEEP)


@cuda.jit(device=True)
def gather_kv(
    memory,
    bars,
    side,
    map_dk,
    map_dv,
    scale,
    factor,
    blocks,
    j,
    plane,
    first,
    h,
):
    """A consumer of grads_kv: dk and dv of 64 keys."""
    s = cuda.local.array(32, float32)
    dp = cuda.local.array(32, float32)
    dk = cuda.local.array(64, float32)
    dv = cuda.local.array(64, float32)
    p = cuda.local.array(16, int32)
    ds = cuda.local.array(16, int32)
    u = int32(cuda.threadIdx.x) & int32(127)
    lane, col = u & int32(31), (u & int32(3)) * int32(2)
    own = j * int32(128) + h * int32(64)
    key = own + (u >> int32(5)) * int32(16) + (lane >> int32(2))
    mine = h * int32(BOX // 2)
    for c in range(64):
        dk[c] = float32(0)
        dv[c] = float32(0)
    k, v = descriptor(memory, mine), descriptor(memory, int32(ROWS) + mine)
    stage, phase = int32(0), int32(0)
    mbarrier_wait(bars, int32(0), int32(0))
    for i in range(first, blocks):
        at = (stage + int32(2)) * int32(ROWS)
        near = stage * int32(SIDE) + col
        mbarrier_wait(bars, int32(KV_FULL) + stage, phase)
        products_64(s, k, descriptor(memory, at))
        products_64(dp, v, descriptor(memory, at + int32(BOX)))
        wgmma_wait(1)
        hold(s, 32)
        weights_t(s, side, near, scale)
        if CAUSAL and i < first + 2:
            clear_t(s, int32(i) * int32(64) + col, key)
        pack(p, s, 16)
        g = descriptor_columns(memory, at + int32(BOX), int32(BOX // 2))
        chain_64(dv, p, g)
        wgmma_wait(1)
        hold(dp, 32)
        grads_t(dp, s, side, near + int32(64))
        pack(ds, dp, 16)
        q = descriptor_columns(memory, at, int32(BOX // 2))
        chain_64(dk, ds, q)
        wgmma_wait(0)
        hold(dv, 64)
        hold(dk, 64)
        hold_words(p, 16)
        hold_words(ds, 16)
        if lane == 0:
            mbarrier_arrive(bars, int32(KV_EMPTY) + stage)
        stage, phase = next_stage(stage, phase, DEEP)
    one, group = float32(1), h + int32(1)
    put_rows(memory, mine, dk, factor, factor, u, group, map_dk, own, plane)
    mine += int32(ROWS)
    put_rows(memory, mine, dv, one, one, u, group, map_dv, own, plane)
    if u == 0:
        bulk_wait(0)


@cuda.jit
def grads_kv(
    map_q,
    map_k,
    map_v,
    map_g,
    map_dk,
    map_dv,
    lse2,
    delta,
    seq,
    pad,
    scale,
    factor,
):
    """Write dk and dv of 128 keys, from all queries that see them."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    side = cuda.shared.array(SIDES, float32, alignment=128)
    bars = cuda.shared.array(KV_BARS, uint64)
    t, plane = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    j = int32(cuda.blockIdx.x)
    blocks = (int32(seq) + int32(63)) >> int32(6)
    first = int32(0)
    if CAUSAL:
        first = int32(2) * j
    if t == 0:
        mbarrier_init(bars, int32(0), int32(1))
        for i in range(DEEP):
            mbarrier_init(bars, int32(KV_FULL + i), int32(1))
            mbarrier_init(bars, int32(KV_EMPTY + i), int32(8))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            maps, pad = (map_q, map_k, map_v, map_g), int32(pad)
            load_queries_for(
                memory,
                bars,
                side,
                maps,
                lse2,
                delta,
                pad,
                blocks,
                j,
                plane,
                first,
            )
    else:
        setmaxnreg_inc(240)
        h, scale = (t >> int32(7)) - int32(1), float32(scale)
        gather_kv(
            memory,
            bars,
            side,
            map_dk,
            map_dv,
            scale,
            float32(factor),
            blocks,
            j,
            plane,
            first,
            h,
        )


@cuda.jit(device=True)
def load_keys_for(memory, bars, maps, i, plane, count):
    """The producer of grads_queries: q and g once, then k and v."""
    map_q, map_k, map_v, map_g = maps
    for each in maps:
        fence_tensor_map(each)
    row = i * int32(128)
    mbarrier_arrive_expect_tx(bars, int32(0), int32(2 * ROWS))
    two_boxes(memory, int32(0), BOX, map_q, row, plane, bars, int32(0))
    two_boxes(memory, int32(ROWS), BOX, map_g, row, plane, bars, int32(0))
    stage, phase = int32(0), int32(1)
    for j in range(count):
        at, row = (int32(2) + stage) * int32(ROWS), int32(j) * int32(128)
        mbarrier_wait(bars, int32(5) + stage, phase)
        load_rows(memory, at, map_k, row, plane, bars, int32(1) + stage)
        at += int32(2 * ROWS)
        mbarrier_wait(bars, int32(7) + stage, phase)
        load_rows(memory, at, map_v, row, plane, bars, int32(3) + stage)
        stage, phase = next_stage(stage, phase, 2)


@cuda.jit(device=True)
def weights_of(s, scale, lse, k):
    """Turn the scores of a row into weights, given its log-sum-exp."""
    for c in range(16):
        s[4 * c + k] = exp2(s[4 * c + k] * scale - lse)
        s[4 * c + k + 1] = exp2(s[4 * c + k + 1] * scale - lse)


@cuda.jit(device=True)
def grads_of(dp, p, delta, k):
    """dP of a row becomes dS."""
    for c in range(16):
        dp[4 * c + k] = (dp[4 * c + k] - delta) * p[4 * c + k]
        dp[4 * c + k + 1] = (dp[4 * c + k + 1] - delta) * p[4 * c + k + 1]


@cuda.jit(device=True)
def gather_q(
    memory, bars, map_dq, lse2, delta, scale, factor, i, plane, count, h
):
    """A consumer of grads_queries: dq of 64 queries."""
    s = cuda.local.array(64, float32)
    dp = cuda.local.array(64, float32)
    dq = cuda.local.array(64, float32)
    ds = cuda.local.array(32, int32)
    u = int32(cuda.threadIdx.x) & int32(127)
    lane, col = u & int32(31), (u & int32(3)) * int32(2)
    own = i * int32(128) + h * int32(64)
    row = own + (u >> int32(5)) * int32(16) + (lane >> int32(2))
    mine = h * int32(BOX // 2)
    for c in range(64):
        dq[c] = float32(0)
    lse0, lse1 = lse2[plane, row], lse2[plane, row + int32(8)]
    delta0, delta1 = delta[plane, row], delta[plane, row + int32(8)]
    q, g = descriptor(memory, mine), descriptor(memory, int32(ROWS) + mine)
    stage, phase = int32(0), int32(0)
    mbarrier_wait(bars, int32(0), int32(0))
    for j in range(count):
        at = (int32(2) + stage) * int32(ROWS)
        mbarrier_wait(bars, int32(1) + stage, phase)
        products_128(s, q, descriptor(memory, at))
        mbarrier_wait(bars, int32(3) + stage, phase)
        products_128(dp, g, descriptor(memory, at + int32(2 * ROWS)))
        wgmma_wait(1)
        hold(s, 64)
        if CAUSAL and j == count - 1:
            hide(s, int32(j) * int32(128) + col, row, row)
        weights_of(s, scale, lse0, 0)
        weights_of(s, scale, lse1, 2)
        wgmma_wait(0)
        hold(dp, 64)
        if u == 0:
            mbarrier_arrive(bars, int32(7) + stage)
        grads_of(dp, s, delta0, 0)
        grads_of(dp, s, delta1, 2)
        pack(ds, dp, 32)
        chain_128(dq, ds, descriptor_columns(memory, at, int32(BOX)))
        wgmma_wait(0)
        hold(dq, 64)
        hold_words(ds, 32)
        if u == 0:
            mbarrier_arrive(bars, int32(5) + stage)
        stage, phase = next_stage(stage, phase, 2)
    put_rows(
        memory, mine, dq, factor, factor, u, h + int32(1), map_dq, own, plane
    )
    if u == 0:
        bulk_wait(0)


@cuda.jit
def grads_queries(
    map_q, map_k, map_v, map_g, map_dq, lse2, delta, seq, scale, factor
):
    """Write dq of 128 queries, from all keys that they see."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    bars = cuda.shared.array(9, uint64)
    t, plane = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    i, count = int32(cuda.blockIdx.x), (int32(seq) + int32(127)) >> int32(7)
    if CAUSAL:
        i = int32(cuda.gridDim.x) - int32(1) - i  # the longest first
        count = i + int32(1)
    if t == 0:
        mbarrier_init(bars, int32(0), int32(1))
        for b in range(4):
            mbarrier_init(bars, int32(1 + b), int32(1))
            mbarrier_init(bars, int32(5 + b), int32(2))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            maps = map_q, map_k, map_v, map_g
            load_keys_for(memory, bars, maps, i, plane, count)
    else:
        setmaxnreg_inc(240)
        h, scale, factor = (
            (t >> int32(7)) - int32(1),
            float32(scale),
            float32(factor),
        )
        gather_q(
            memory, bars, map_dq, lse2, delta, scale, factor, i, plane, count, h
        )


# %% [markdown]
# The host encodes the tensor maps and launches the kernels. `Attention` keeps
# everything that the kernels need for one set of tensors, which are (heads, seq, 128)
# in bfloat16.

# %% tags=["given"]
WIDTH = 128
SCALE128 = WIDTH**-0.5
compiled = {}


def launcher(kernel, causal, shared, arguments):
    """Return a compiled kernel, with or without a causal mask."""
    key = kernel, causal
    if key not in compiled:
        made = specialise(
            kernel,
            unroll=("step",),
            launch_bounds=(384, 1),
            CAUSAL=causal,
        )
        compiled[key] = large_shared(made, shared, *arguments)
    return compiled[key]


class Attention:
    """Attention of bfloat16 tensors (heads, seq, 128) on a GPU."""

    def __init__(self, q, k, v, causal):
        self.q, self.k, self.v, self.causal = q, k, v, causal
        planes, self.seq, _ = q.shape
        self.blocks = -(-self.seq // 128)
        self.planes, self.padded = planes, self.blocks * 128
        self.out = torch.empty_like(q)
        self.lse = q.new_empty(planes, self.padded, dtype=torch.float32)
        self.counter = q.new_zeros(2, dtype=torch.int32)
        self.maps = [stack_map(x, (128, 64)) for x in (q, k, v)]
        self.maps.append(stack_map(self.out, (64, 64)))
        tensors = *self.maps, self.lse, self.counter
        self.arguments = (
            *map(cuda.as_cuda_array, tensors),
            self.seq,
            planes,
            SCALE128 * LOG2E,
        )
        self.kernel = launcher(attend, causal, SHARED, self.arguments)
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        self.grid = min(sms, self.blocks * planes)

    def forward(self):
        """Write the output and the log-sum-exp."""
        launch = self.grid, 384, bench.stream(), SHARED
        self.kernel[launch](*self.arguments)
        return self.out

    def prepare(self, g):
        """Make room for the gradients, given that of the output."""
        self.g = g
        self.dq, self.dk, self.dv = (torch.empty_like(g) for _ in "qkv")
        self.delta, self.lse2 = (torch.empty_like(self.lse) for _ in "dl")
        whole = [stack_map(x, (128, 64)) for x in (self.q, self.k, self.v, g)]
        half = [stack_map(x, (64, 64)) for x in (self.q, g)]
        dq, dk, dv = (
            stack_map(x, (64, 64)) for x in (self.dq, self.dk, self.dv)
        )
        self.maps += [*whole, *half, dq, dk, dv]  # a map lives as long as this

        array = cuda.as_cuda_array
        words = [array(x.view(torch.int32)) for x in (self.out, g)]
        rows = self.lse, self.delta, self.lse2
        self.of_rows = *words, *map(array, rows), self.seq
        scale = SCALE128 * LOG2E, SCALE128
        q, k, v, g = map(array, whole)
        near = map(array, (half[0], whole[1], whole[2], half[1], dk, dv))
        flat = array(self.lse2.view(-1)), array(self.delta.view(-1))
        self.of_kv = *near, *flat, self.seq, self.padded, *scale
        both = array(self.lse2), array(self.delta)
        self.of_q = q, k, v, g, array(dq), *both, self.seq, *scale
        causal = self.causal
        self.kv = launcher(grads_kv, causal, KV_SHARED, self.of_kv)
        self.dq_kernel = launcher(grads_queries, causal, Q_SHARED, self.of_q)

    def backward(self):
        """Write dq, dk and dv; `prepare` and `forward` come before."""
        grid, stream = (self.blocks, self.planes), bench.stream()
        rows = self.padded // 8, self.planes
        row_sums[rows, (32, 8), stream](*self.of_rows)
        self.kv[grid, 384, stream, KV_SHARED](*self.of_kv)
        self.dq_kernel[grid, 384, stream, Q_SHARED](*self.of_q)
        return self.dq, self.dk, self.dv


# %% [markdown]
# The next cell prepares the other implementations: PyTorch's three backends, and
# FlexAttention, which `torch.compile` turns into a Triton kernel. For the backward
# pass, it calls the same operators as autograd.

# %% tags=["given"]
HEADS = 16


def batched(*tensors):
    """Return views (batch, 16, seq, 128) of tensors (heads, seq, 128)."""
    return [x.view(-1, HEADS, *x.shape[1:]) for x in tensors]


def backend(name, q, k, v, causal):
    """Return a function that calls one backend of PyTorch."""
    q, k, v = batched(q, k, v)
    product = torch.nn.functional.scaled_dot_product_attention

    def run():
        with sdpa_kernel(getattr(SDPBackend, name)):
            return product(q, k, v, is_causal=causal)

    return run


def flash_backward(q, k, v, g, causal):
    """Return a function that calls FlashAttention-2's backward pass."""
    q, k, v, g = batched(q, k, v, g)
    aten = torch.ops.aten
    saved = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)
    ran = aten._scaled_dot_product_flash_attention_backward
    out, lse, *lengths, seed, unused, _ = saved
    return lambda: ran(
        g, q, k, v, out, lse, *lengths, 0.0, causal, seed, unused
    )


def cudnn_backward(q, k, v, g, causal):
    """Return a function that calls cuDNN's backward pass."""
    q, k, v, g = batched(q, k, v, g)
    aten = torch.ops.aten
    saved = aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, causal, False
    )
    ran = aten._scaled_dot_product_cudnn_attention_backward
    out, lse, *lengths, seed, offset, _ = saved
    return lambda: ran(
        g, q, k, v, out, lse, seed, offset, None, *lengths, 0.0, causal
    )


def flex(q, k, v):
    """Return a function that calls the compiled FlexAttention."""
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = batched(q, k, v)
    fast = torch.compile(flex_attention)
    return lambda: fast(q, k, v)


def normal(count, heads, seq):
    """Return random tensors (heads, seq, 128) in bfloat16."""
    shape = heads, seq, WIDTH
    return [torch.randn(shape, device="cuda").bfloat16() for _ in range(count)]


def pause():
    """Return a stopwatch for kernels that draw much power."""
    return BurstStopwatch(most=15) if weft.GPU else None


if weft.on_gpu("TMA and wgmma are not simulated"):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from weft.stack_maps import stack_map

    torch.manual_seed(24)
    torch.backends.cuda.matmul.allow_tf32 = False

# %% [markdown]
# ## Look: is it right?
#
# This check compares every element with float64, with and without a mask, for a length
# that is a multiple of the tile and one that is not. It fills the outputs with NaN
# beforehand, compares 20 runs bit by bit, and prints the errors of cuDNN as well.


# %% tags=["given"]
def in_float64(q, k, v, g, causal):
    """Return the output, its log-sum-exp and the three gradients."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    s = q @ k.mT * SCALE128
    if causal:
        later = torch.ones_like(s, dtype=torch.bool).triu(1)
        s = s.masked_fill(later, -math.inf)
    out = torch.softmax(s, dim=-1) @ v
    return (
        out,
        s.logsumexp(-1),
        *torch.autograd.grad(out, (q, k, v), g.double()),
    )


def error(got, wanted):
    """Return the relative error of a tensor."""
    wanted = wanted.reshape(got.shape)
    return ((got - wanted).norm() / wanted.norm()).item()


# %%
if weft.on_gpu("TMA and wgmma are not simulated"):
    print("relative errors      output      dq      dk      dv   log-sum-exp")
    for seq, causal in ((1024, False), (1024, True), (1000, False), (77, True)):
        q, k, v, g = normal(4, HEADS, seq)
        right, right_lse, *grads = in_float64(q, k, v, g, causal)
        mine = Attention(q, k, v, causal)
        mine.prepare(g)
        results = mine.out, mine.dq, mine.dk, mine.dv, mine.lse
        first, same = None, True
        for _ in range(20):
            for each in results:
                each.fill_(math.nan)
            mine.forward()
            mine.backward()
            now = [each.clone() for each in results]
            first = first or now
            same = same and all(map(torch.equal, first, now))
        errors = [
            error(got, wanted)
            for got, wanted in zip(
                (*results[:4], mine.lse[:, :seq]),
                (right, *grads, right_lse),
                strict=True,
            )
        ]
        theirs = [error(backend("CUDNN_ATTENTION", q, k, v, causal)(), right)]
        found = cudnn_backward(q, k, v, g, causal)()
        theirs += map(error, found, grads)
        name = f"{seq}{', causal' if causal else ''}"
        print(f"{name:18}", *(f"{e:7.1e}" for e in errors), "20 alike:", same)
        print(f"{'  cuDNN':18}", *(f"{e:7.1e}" for e in theirs))
        assert same
        assert max(errors) < 4e-3

# %% [markdown]
# ## Measure: the forward pass
#
# The problem has 16 heads of 4096 tokens and no mask, which makes 137 GFLOP. Write down
# the speeds that you expect, relative to cuDNN. "ordinary cores" is exercise 2 in
# float32, "mma.sync" is exercise 4 in bfloat16 with 64 queries per block and tiles of
# 64 keys, and "TMA + wgmma" is the kernel above. "three operations" is the formula in
# PyTorch, in bfloat16. "math" is PyTorch's own backend for this formula, which keeps
# intermediate results in float32.

# %%
guess = {
    "three operations": None,
    "math": None,
    "ordinary cores": None,
    "mma.sync": None,
    "TMA + wgmma": None,
    "flash": None,
    "FlexAttention": None,
}


def forward_rungs():
    """Return the kernels of the ladder and PyTorch's, for 16 heads of 4096."""
    q, k, v = normal(3, HEADS, 4096)
    scaled = q * SCALE128
    array = cuda.as_cuda_array
    wide = [array(x.float()) for x in (q, k, v)]
    out, lse = q.float(), q.new_empty(HEADS, 4096, dtype=torch.float32)
    results = array(out), array(lse)
    rows = specialise(flash_rows, D=WIDTH, SCALE=float32(SCALE128))
    head, tile, warps = WIDTH, 64, 4
    warp = specialise(
        flash_mma,
        launch_bounds=(32 * warps, 1),
        HEAD=head,
        TILE=tile,
        WARPS=warps,
        HW=head // 2,
        PITCH=head // 2 + 4,
        HEAD8=head // 8,
        HEAD16=head // 16,
        TILE8=tile // 8,
        TILE16=tile // 16,
        SCALE2=float32(SCALE128 * LOG2E),
        mma_f16=mma_bf16,
        f16_pair=bf16_pair,
    )
    words = [array(x.view(torch.int32)) for x in (q, k, v)]
    grid, stream = (4096 // (16 * warps), HEADS), bench.stream
    return {
        "cuDNN": backend("CUDNN_ATTENTION", q, k, v, False),
        "three operations": lambda: torch.softmax(scaled @ k.mT, dim=-1) @ v,
        "math": backend("MATH", q, k, v, False),
        "ordinary cores": lambda: rows[(128, HEADS), 32, stream()](
            *wide, *results
        ),
        "mma.sync": lambda: warp[grid, 32 * warps, stream()](*words, *results),
        "TMA + wgmma": Attention(q, k, v, False).forward,
        "flash": backend("FLASH_ATTENTION", q, k, v, False),
        "FlexAttention": flex(q, k, v),
    }


rungs = bench.compare(
    "forward, 16 heads of 4096",
    forward_rungs,
    baseline="cuDNN",
    flops=4 * HEADS * 4096**2 * WIDTH,
    guess=guess,
    stopwatch=pause(),
)
rungs

# %% tags=["solution"]
rungs.expect("flash", at_least=2, times="three operations")
rungs.expect("three operations", at_least=1.5, times="math")
rungs.expect("mma.sync", at_least=10, times="ordinary cores")
rungs.expect("TMA + wgmma", at_least=1, times="cuDNN")
rungs.expect("TMA + wgmma", at_least=1.7, times="flash")
rungs.expect("TMA + wgmma", at_least=1.2, times="FlexAttention")

# %% [markdown]
# The next cell times more sizes, with and without a causal mask. With a causal mask,
# only half of the operations are counted. Our kernel writes the log-sum-exp, as a
# forward pass in training has to. PyTorch's backends are called as for inference, which
# is at least as fast for them.


# %%
def forward_of(batch, seq, causal):
    """Compare the forward pass for one size."""

    def candidates():
        q, k, v = normal(3, batch * HEADS, seq)
        return {
            "cuDNN": backend("CUDNN_ATTENTION", q, k, v, causal),
            "flash": backend("FLASH_ATTENTION", q, k, v, causal),
            "TMA + wgmma": Attention(q, k, v, causal).forward,
        }

    share = 0.5 if causal else 1
    return bench.compare(
        f"forward, {batch} x 16 heads of {seq}{', causal' if causal else ''}",
        candidates,
        baseline="cuDNN",
        flops=share * 4 * batch * HEADS * seq**2 * WIDTH,
        stopwatch=pause(),
    )


sizes = {
    (seq, causal): forward_of(batch, seq, causal)
    for batch, seq in ((4, 1024), (4, 4096), (1, 16384))
    for causal in (False, True)
}
for table in sizes.values():
    print(table)

# %% tags=["solution"]
for (seq, _), table in sizes.items():
    table.expect("TMA + wgmma", at_least=0.93 if seq == 1024 else 1)
    table.expect("TMA + wgmma", at_least=1.5, times="flash")

# %% [markdown]
# ## Measure: the backward pass
#
# The table counts the operations of five products: 10 · seq² · d per head. Our kernels
# compute seven products, so that no sum is accumulated in memory. Are they slower than
# the others?


# %%
def backward_of(causal):
    """Compare the backward pass for 4 x 16 heads of 4096."""

    def candidates():
        q, k, v, g = normal(4, 4 * HEADS, 4096)
        mine = Attention(q, k, v, causal)
        mine.forward()
        mine.prepare(g)
        return {
            "flash": flash_backward(q, k, v, g, causal),
            "cuDNN": cudnn_backward(q, k, v, g, causal),
            "TMA + wgmma": mine.backward,
        }

    share = 0.5 if causal else 1
    return bench.compare(
        f"backward, 4 x 16 heads of 4096{', causal' if causal else ''}",
        candidates,
        baseline="flash",
        flops=share * 10 * 4 * HEADS * 4096**2 * WIDTH,
        stopwatch=pause(),
    )


backward = {causal: backward_of(causal) for causal in (False, True)}
for table in backward.values():
    print(table)

# %% tags=["solution"]
for table in backward.values():
    table.expect("TMA + wgmma", at_least=1.4)
    table.expect("cuDNN", at_least=1.05, times="TMA + wgmma")

# %% [markdown] tags=["solution"]
# Our seven products with `wgmma` take less time than FlashAttention-2's five with
# `mma.sync`. Our results are also bit for bit the same in every run. But cuDNN is still
# faster.

# %% [markdown]
# ## If you want more
#
# - Write grouped queries: 8 query heads share one head of keys and values. Which index
#   has to change, and in which of the three fast kernels is a different index not
#   enough?
# - Write a sliding window: each query sees only the last 1024 keys up to its own.
#   Extend `key_tiles`, then `flash_rows`.
# - Call `flash_rows` once per part of the keys and merge the parts with `merge_parts`.
#   How many parts do you need to keep all SMs busy with one query per head?
# - Write a single backward kernel: let `grads_kv` also compute `dq`, with atomic
#   additions to float32. How much faster is it, and are the results of two runs still
#   the same?
#
# ## What you learned
#
# 1. Attention's products have enough arithmetic; the score matrix in memory is what
#    makes attention slow. It is enough to keep one tile of scores at a time, in
#    registers.
# 2. An online softmax that also carries an output has to rescale that output when the
#    maximum rises.
# 3. A causal mask takes two numbers per block: how many tiles need no mask, and how
#    many tiles are needed at all.
# 4. On tensor cores, the first product leaves its results in the lanes that need them
#    for the second product.
# 5. The log-sum-exp is all that has to be kept of the softmax: it is enough to merge
#    parts, and to recompute any weight in the backward pass.

# %%
quiz()
