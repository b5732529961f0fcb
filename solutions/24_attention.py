# %% [markdown]
# # 24 · Attention
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/24_attention.ipynb)
#
# **After this lab, you can**
#
# - count the bytes and operations of attention, with and without a score matrix in
#   memory;
# - write FlashAttention's forward pass, on ordinary cores and on tensor cores;
# - skip the tiles that a causal mask leaves empty, and mask only where it is needed;
# - merge attention over parts of the keys by its log-sum-exp;
# - write a backward pass that computes the weights again instead of storing them.
#
# **You need** about 130 minutes. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show times from the reference GPU, an H200. The
# exercises run on any GPU of compute capability 7.5 or higher. The fast kernels at the
# end use TMA and `wgmma`, which only compute capability 9.0 has (H100, H200); the
# measurements take 6 GB of memory.

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
    exp2,
    f16_pair,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mma_bf16,
    mma_f16,
    store4,
)
from weft.templates import large_shared, specialise
from weft.timing import BurstStopwatch

weft.lab("24_attention")

# %% [markdown]
# ## Two products and a softmax
#
# A head of attention has three matrices with one row of `d` numbers per token: the
# queries `q`, the keys `k` and the values `v`. Each query is compared with all keys. A
# softmax turns the scores of a query into weights, which sum to 1. The query's output
# is the sum of all values with these weights:
#
# $$S = \frac{q\,k^T}{\sqrt d}, \qquad P = \text{softmax}(S), \qquad o = P\,v$$
#
# With a **causal** mask, a query only sees keys up to its own position. That is how a
# language model is kept from looking at the words that it should predict.
#
# Here is all of it in NumPy, for `q`, `k` and `v` of shape (heads, seq, d). The second
# result is the **log-sum-exp** of each row of scores, $\log \sum_j e^{S_{ij}}$. You will
# need it twice: to merge parts, and for the backward pass.

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
# The scores of one head are a matrix of seq × seq. At 16,384 tokens and 2 bytes each,
# that is 512 MB, and the head's `q`, `k`, `v` and output together are 16 MB. A program
# that writes `S` to memory, reads it back for the softmax, writes `P` and reads it
# again for the second product spends its time on these matrices.
#
# **FlashAttention** never writes them. A block of threads keeps `tile` rows of queries
# and goes over all keys and values, tile by tile. What it needs of `S` exists for one
# tile at a time, in registers.
#
# Count both, for `heads` heads without a mask. Numbers are stored in 2 bytes.
#
# - `flops`: a multiplication and an addition are two operations. Count only the two
#   products.
# - `naive`: bytes moved by three kernels, each of which reads its inputs once and
#   writes its output once: `q` and `k` to `S`; `S` to `P`; `P` and `v` to the output.
# - `fused`: bytes moved by the blocks of one fused kernel. Each of them reads its
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
    return heads * flops, heads * naive, heads * fused


def compare_costs(got, wanted):
    """Say which of the three numbers is wrong, and how it may have come about."""
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
# The two products need the same number of operations in both ways; what differs is the
# bytes. Divide the one by the other:

# %% tags=["solution"]
print(f"{'seq':>6} {'FLOP/B, naive':>14} {'FLOP/B, fused':>14}")
for seq in (1024, 4096, 16384):
    flops, naive, fused = costs(16, seq, 128, 128)
    print(f"{seq:6} {flops / naive:14.0f} {flops / fused:14.0f}")

# %% [markdown] tags=["solution"]
# An H200 needs about 200 operations per byte to be limited by its tensor cores rather
# than by its memory. With `S` in memory attention never gets there, however long the
# sequence is. Fused, it has about twice as many operations per byte as a block has
# rows, *divided by two for K and V*: one per row of the tile. And most of these reads
# come from the L2 cache, because the blocks of one head all read the same `k` and `v`.

# %% [markdown]
# ## 2 · FlashAttention, on ordinary cores
#
# Chapter 16's online softmax goes over a row once, keeping the largest score so far,
# `top`, and the sum of $e^{s - \text{top}}$, `weight`. For attention one thing is
# added: the weighted sum of the values so far, `total`. It was summed relative to the
# same `top`. What happens to it when a larger score arrives?
#
# In this kernel a thread has one query, and a block of 32 threads goes over tiles of
# `KEYS` keys and values, which all of its threads share. The thread's row is loaded for
# you, and multiplied by `SCALE`, which is $1/\sqrt d$. `copy_tile(tile, x, head,
# start)` copies a tile from row `start` on; where the rows have ended, it writes zeros.
#
# Write what happens for each tile, with the barriers, and after the last. Three things
# to mind:
#
# - a key beyond the end of the sequence has a score of 0, not of minus infinity. It
#   must not get any weight;
# - all threads copy, those without a query included;
# - `lse` is the log-sum-exp, from `top` and `weight`.
#
# `max`, `math.exp` and `math.log` work in a kernel. The array `s` is for the scores of
# one tile.
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

    for c in range(D):
        mine[c] = q[head, row, c] * SCALE if row < seq else float32(0)
        total[c] = float32(0)
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
    """Return q, k and v; the later a key is, the larger its scores."""
    q, k, v = (rng.normal(0, 1, (heads, seq, D)) for _ in "qkv")
    k *= 1 + 2 * np.arange(seq)[:, None] / seq
    return tuple((x - 0.5).astype("f4") for x in (q, k, v))


def by_tiles(q, k, v, keys, *, old="all", beyond=False, scale=True):
    """Return attention by tiles of `keys` keys, with something left out."""
    heads, seq, d = q.shape
    padded = -(-seq // keys) * keys if beyond else seq
    k, v = (np.pad(x, ((0, 0), (0, padded - seq), (0, 0))) for x in (k, v))
    s = (q * (d**-0.5 if scale else 1)) @ k.transpose(0, 2, 1)
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
    }
    for reason, options in guesses.items():
        found, its_lse = by_tiles(q, k, v, KEYS, **options)
        if np.allclose(found, out, 1e-3, 1e-3):
            return f"This is the result if {reason}."
    right, its_lse = by_tiles(q, k, v, KEYS)
    if np.allclose(right, out, 1e-3, 1e-3):
        if np.allclose(lse, np.exp(its_lse), 1e-3):
            return "The output is right. `lse` is a sum, without its logarithm."
        return "The output is right, and `lse` is not."
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
# same factor. In the first tile the factor is $e^{\text{LOWEST} - \dots} = 0$, and it
# multiplies zeros.
#
# The division by `weight` happens once, at the end. And nothing of the size seq × seq
# has been stored anywhere.

# %% [markdown]
# ## 3 · Which tiles, and which masks?
#
# A causal mask hides half of all scores. To gain from that, a block must not compute
# them: it stops after the last tile that has anything to see. Most of the tiles before
# it need no mask at all, and only a few have a hidden score. The end of the sequence is
# the same question without causality: the last tile of keys may be cut off.
#
# A block has the queries `first` to `first + rows - 1`, as far as there are any: the
# sequence has `seq` tokens. Tile j has the keys `j * keys` to `j * keys + keys - 1`.
# Return two numbers of tiles, counted from the left:
#
# - `free`: so many tiles in a row, from tile 0 on, need no mask, because each of the
#   block's queries sees all of their keys;
# - `count`: so many tiles have to be computed, because some query sees a key in them.
#
# ```python
# key_tiles(first, rows, keys, seq, causal)    # -> (free, count)
# ```
#
# `rows` and `keys` need not be equal, and neither need divide `seq`. Do it without a
# loop: a block has to know before it starts. Stuck? `hint("key_tiles")`.


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
# The first query decides which tiles are free, because it sees least. The last one
# decides how many are needed.
#
# How much of the work is left? For tiles of 128 × 128:

# %% tags=["solution"]
for seq in (1024, 4096, 16384):
    blocks = [key_tiles(i, 128, 128, seq, True) for i in range(0, seq, 128)]
    done = sum(count for _, count in blocks)
    masked = sum(count - free for free, count in blocks)
    whole = (seq // 128) ** 2
    print(f"{seq:6}: {done / whole:.1%} of all tiles, {masked} of {done} masked")

# %% [markdown]
# ## 4 · On tensor cores
#
# Now with `mma.sync`, from chapter 21. A warp has 16 queries. It multiplies them with a
# tile of keys, and gets scores as **fragments**: lane `4 * g + t` holds, of each 16 × 8
# piece `j` of the scores,
#
# `s[j, 0], s[j, 1]` of row g, `s[j, 2], s[j, 3]` of row g + 8, both in columns
# `8 * j + 2 * t` and `8 * j + 2 * t + 1`.
#
# So a lane has parts of two rows, and a row is in the four lanes of one g. Its maximum
# takes two shuffles: with the lane whose number differs in bit 0, then in bit 1.
#
# The weights then are the *left* operand of the second product. Its fragment wants
# words of two float16: for each 16 columns of `P`, that is for each pair of pieces,
#
# | word | row | columns |
# | --- | --- | --- |
# | `p[i, 0]` | g | 2t, 2t + 1 of the first piece |
# | `p[i, 1]` | g + 8 | the same |
# | `p[i, 2]` | g | 2t, 2t + 1 of the second piece |
# | `p[i, 3]` | g + 8 | the same |
#
# Compare the two tables: **each lane already holds what it needs**. `f16_pair(low,
# high)` makes the word. Nothing goes through shared memory.
#
# The products and copies are given. The scores come multiplied by $\log_2(e)/\sqrt d$,
# so use `exp2(x)`, one instruction, in place of $e^x$. Write the middle: hide keys
# beyond `seq`, update `top`, `weight` and the sums `o`, and fill `p`. There are two of
# each, for rows g and g + 8; `o[j, 0]` and `o[j, 1]` belong to row g. And after the
# last tile, the sum of a row over its four lanes.
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
PITCH = HW + 4  # words from row to row of a tile: ldmatrix without conflicts
SCALE2 = float32(math.log2(math.e) * HEAD**-0.5)
LN2 = float32(math.log(2))
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def copy_words(tile, x, head, start):
    """Copy rows of x[head] from `start` on; zeros where there are none."""
    for i in range(int32(cuda.threadIdx.x), TILE * HW // 4, 32 * WARPS):
        row, word = i // int32(HW // 4), i % int32(HW // 4) * int32(4)
        if start + row < x.shape[1]:
            a, b, c, d = load4(x, (head, start + row, word))
            store4(tile, (row, word), a, b, c, d)
        else:
            zero = int32(0)
            store4(tile, (row, word), zero, zero, zero, zero)


@cuda.jit(device=True)
def load_queries(fq, q, head, row, t):
    """Load the fragments of 16 queries: rows `row` and row + 8 of this lane."""
    last = int32(q.shape[1]) - int32(1)
    near, far = min(row, last), min(row + int32(8), last)
    for i in range(HEAD // 16):
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
    for j in range(TILE // 8):
        for i in range(4):
            s[j, i] = float32(0)
    for j in range(TILE // 16):
        for i in range(HEAD // 16):
            at = int32(16 * j) + row, int32(8 * i) + word
            fk = ldmatrix_x4(tk, at)
            mma_f16(s[2 * j], fq[i], fk[:2])
            mma_f16(s[2 * j + 1], fq[i], fk[2:])
    for j in range(TILE // 8):
        for i in range(4):
            s[j, i] *= SCALE2


@cuda.jit(device=True)
def add_values(o, p, tv, lane):
    """Add the products of the weights p and a tile of values to o."""
    row = lane % int32(16)
    word = lane // int32(16) * int32(4)
    for i in range(TILE // 16):
        for j in range(HEAD // 16):
            at = int32(16 * i) + row, int32(8 * j) + word
            fv = ldmatrix_x4_trans(tv, at)
            mma_f16(o[2 * j], p[i], fv[:2])
            mma_f16(o[2 * j + 1], p[i], fv[2:])


@cuda.jit(device=True)
def put_row(out, lse, head, row, o, k, t, top, total):
    """Write one row of the output from numbers k and k + 1 of the fragments."""
    if row < out.shape[1]:
        for j in range(HEAD // 8):
            col = int32(8 * j) + int32(2) * t
            out[head, row, col] = o[j, k] / total
            out[head, row, col + int32(1)] = o[j, k + 1] / total
        if t == 0:
            lse[head, row] = (top + libdevice.log2f(total)) * LN2


# %%
@cuda.jit
def flash_mma(q, k, v, out, lse):
    """Attention of each head, 16 queries per warp."""
    tk = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    tv = cuda.shared.array((TILE, PITCH), int32, alignment=16)
    fq = cuda.local.array((HEAD // 16, 4), int32)
    s = cuda.local.array((TILE // 8, 4), float32)
    p = cuda.local.array((TILE // 16, 4), int32)
    o = cuda.local.array((HEAD // 8, 4), float32)
    thread, head = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    lane, t = thread % int32(32), thread % int32(4)
    seq = int32(q.shape[1])
    row = int32(cuda.blockIdx.x) * int32(16 * WARPS)
    row += thread // int32(32) * int32(16) + lane // int32(4)

    load_queries(fq, q, head, row, t)
    for j in range(HEAD // 8):
        for i in range(4):
            o[j, i] = float32(0)
    top0, top1 = LOWEST, LOWEST  # of rows g and g + 8
    weight0, weight1 = float32(0), float32(0)

    for start in range(int32(0), seq, int32(TILE)):
        copy_words(tk, k, head, start)
        copy_words(tv, v, head, start)
        cuda.syncthreads()
        scores_of(s, fq, tk, lane)
        # about 35 lines: from s to p
        # BEGIN SOLUTION
        high0, high1 = top0, top1
        for j in range(TILE // 8):
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
        for j in range(HEAD // 8):
            o[j, 0] *= factor0
            o[j, 1] *= factor0
            o[j, 2] *= factor1
            o[j, 3] *= factor1

        for j in range(TILE // 8):
            s[j, 0] = exp2(s[j, 0] - top0)
            s[j, 1] = exp2(s[j, 1] - top0)
            s[j, 2] = exp2(s[j, 2] - top1)
            s[j, 3] = exp2(s[j, 3] - top1)
            weight0 += s[j, 0] + s[j, 1]
            weight1 += s[j, 2] + s[j, 3]
        for i in range(TILE // 16):
            p[i, 0] = f16_pair(s[2 * i, 0], s[2 * i, 1])
            p[i, 1] = f16_pair(s[2 * i, 2], s[2 * i, 3])
            p[i, 2] = f16_pair(s[2 * i + 1, 0], s[2 * i + 1, 1])
            p[i, 3] = f16_pair(s[2 * i + 1, 2], s[2 * i + 1, 3])
        # END SOLUTION
        add_values(o, p, tv, lane)
        cuda.syncthreads()

    # about 3 lines: the sum of each row
    # BEGIN SOLUTION
    for step in (1, 2):
        weight0 += cuda.shfl_xor_sync(FULL, weight0, step)
        weight1 += cuda.shfl_xor_sync(FULL, weight1, step)
    # END SOLUTION
    put_row(out, lse, head, row, o, 0, t, top0, weight0)
    put_row(out, lse, head, row + int32(8), o, 2, t, top1, weight1)


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
    ratio = (np.abs(out).sum(axis=2) / np.abs(right).sum(axis=2)).mean()
    if 3 < ratio < 5.5:
        return (
            "Every row is about four times too large: a lane has only summed "
            "the weights that it holds itself."
        )
    near, far = (np.arange(seq) % 16 < 8), (np.arange(seq) % 16 >= 8)
    good = np.isclose(right, out, **close).all(axis=(0, 2))
    if good[near].all() and not good[far].any():
        return "Rows 0 to 7 of each warp are right; rows 8 to 15 are not."
    if good[far].all() and not good[near].any():
        return "Rows 8 to 15 of each warp are right; rows 0 to 7 are not."
    return ""


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
# A lane sums the weights that it holds, relative to a maximum that all four lanes of
# its row agree on. So their four sums can wait until the end, and only the maximum has
# to be exchanged for every tile.

# %% [markdown]
# ## 5 · Merge parts
#
# A language model that writes a text has one query at a time, and all keys of the text
# so far. With one query per head a kernel like the ones above has one row per block,
# and one block per head: 16 heads would keep 16 of 132 SMs busy. **Split-KV**
# (FlashDecoding) cuts the keys into parts. Each block computes the attention of its
# head's query over one part, and writes the output *of that part* and its log-sum-exp.
#
# A second kernel merges them. Part $i$ has the output $o_i$, which is a weighted mean
# of its values, and $L_i$, the logarithm of the sum of its weights. How much does
# $o_i$ count in the mean over all parts? And what is the log-sum-exp of all?
#
# A part without any key has $L_i = -\infty$, and its output is meaningless: not a
# number, perhaps. At least one part of each head has keys.
#
# Log-sum-exps can be larger than 100, and $e^{100}$ overflows in float32. You know what
# to do about that.
#
# ```python
# merge_parts(parts, lses, out, lse)
# # (heads, n, d), (heads, n) -> (heads, d), (heads,)  float32
# ```
#
# A block has one head, and thread `c` is responsible for column `c`. Stuck?
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
    if np.isnan(out).any():
        if np.isnan(out[::3]).all() and np.isfinite(parts[::3, 0]).all():
            return "NaN where the log-sum-exps are large: did e^x overflow?"
        return (
            "The output is NaN. Zero times NaN is NaN: leave a part out "
            "if it has no weight."
        )
    if np.allclose(out, np.nanmean(parts, axis=1), 1e-3, 1e-3):
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
    sizes=[(1, 1, 8), (4, 5, 32)],
    launch=lambda heads, n, d: (heads, d),
    full=(64, 33, 128),
    tolerance=1e-4,
    limits={"float64": 0},
    because=badly_merged,
)

# %% [markdown] tags=["solution"]
# This is chapter 16's `merge` for any number of pieces: $L_i$ stands for maximum and
# sum at once. Merging two parts is associative and commutative, so the parts may be
# tiles of a loop, blocks of a grid or GPUs in a ring. All that a part has to hand on is
# its output and one number per row.

# %% [markdown]
# ## 6 · Backward, without the weights
#
# Let $g$ be the gradient of the loss with respect to the output. From the three lines
# of attention follow, step by step backwards,
#
# $$dP = g\,v^T, \quad dS = P \circ (dP - \delta), \quad dq = \frac{dS\,k}{\sqrt d},
# \quad dk = \frac{dS^T q}{\sqrt d}, \quad dv = P^T g$$
#
# where $\delta_i = \sum_j P_{ij}\,dP_{ij}$, one number per row. The sum is over all
# keys, but it equals $\sum_c g_{ic}\,o_{ic}$, over the columns of one row of the output:
# cheap, and computed beforehand.
#
# What about $P$? The forward pass has not stored it. It has stored the log-sum-exp, and
# that is enough to compute any single weight again, without going over the row first.
# How?
#
# Write `dq`, one thread per query, with a **causal** mask. `delta` is given to you.
#
# ```python
# grad_q(q, k, v, g, lse, delta, dq)
# # (heads, seq, D) four times, (heads, seq) twice -> (heads, seq, D)  float32
# ```
#
# Each key takes two dot products and one update. No maximum is needed and nothing is
# ever rescaled. Stuck? `hint("grad_q")`.


# %%
@cuda.jit
def grad_q(q, k, v, g, lse, delta, dq):
    """Write the gradient of the queries, one thread per query."""
    sums = cuda.local.array(D, float32)
    row, head = cuda.grid(1), cuda.blockIdx.y

    if row < q.shape[1]:
        for c in range(D):
            sums[c] = float32(0)
        # about 13 lines
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
        # END SOLUTION
        for c in range(D):
            dq[head, row, c] = sums[c] * SCALE


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
# With the log-sum-exp $L$, a weight is $P_{ij} = e^{S_{ij} - L_i}$: division and
# maximum are both in $L$. So the backward pass can take tiles in any order, and needs
# five products in place of the forward pass's two: $S$ again, $dP$, $dv$, $dk$ and
# $dq$.
