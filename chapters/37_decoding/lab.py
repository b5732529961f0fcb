# %% [markdown]
# # 37 · Attention as it is served
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/37_decoding.ipynb)
#
# **After this lab, you can**
#
# - compute how much a decoding step has to read, and what limits its speed;
# - write attention for a single query, with an online softmax in each warp;
# - divide the keys of a sequence among blocks, for sequences of different lengths;
# - merge maxima, weights and sums in parallel;
# - read keys and values from pages, once for all query heads that share them.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show times from the reference GPU, an H200. The
# exercises also run on any GPU of compute capability 7.5 or higher. The fast kernel at
# the end requires compute capability 8.0; the measurements need 12 GB of GPU memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

from numba import cuda, float32

from weft import check, hint, quiz

chapter = weft.lab("37_decoding")
checks, kernels = chapter.checks, chapter.kernels

# %% [markdown]
# ## 1 · What a step reads
#
# A language model writes one token at a time. In every layer, the new token has one
# query per head. This query attends to the keys and values of all tokens so far, which
# are kept in a **cache** in global memory. With **grouped queries** (GQA), several
# query heads share a head of keys and values: with 32 query heads and 8 key/value
# heads, query heads 0 to 3 use key/value head 0, query heads 4 to 7 use head 1, and so
# on.
#
# A step serves several sequences, and `lengths` has the number of keys of each. Count,
# for one layer,
#
# - `flops`: the operations of the two products, that of each query with its keys and
#   that of the weights with the values. A multiplication and an addition are two
#   operations.
# - `once`: the bytes moved if each key/value head of a sequence is read once, for all
#   query heads that share it.
# - `apart`: the bytes moved if each query head reads its keys and values itself.
#
# Both numbers of bytes include the queries, which are read, and the outputs, which are
# written; each of these has one row of `d` numbers per query head and sequence. Numbers
# have 2 bytes. Stuck? Run `hint("step_costs")`; there are three hints.
#
# ```python
# step_costs(lengths, heads, kv_heads, d)    # -> (flops, once, apart)
# ```

# %%
def step_costs(lengths, heads, kv_heads, d):
    """Return the operations of a decoding step, and its bytes in two ways."""
    # about 6 lines
    # BEGIN SOLUTION
    keys = sum(lengths)
    flops = 4 * d * heads * keys
    rows = 2 * 2 * d * heads * len(lengths)
    once = 2 * 2 * d * kv_heads * keys + rows
    apart = 2 * 2 * d * heads * keys + rows
    return flops, once, apart
    # END SOLUTION


# %%
check(
    step_costs,
    spec=checks.counted,
    inputs=[
        ([5], 3, 1, 8),
        ([100, 7, 33], 4, 2, 16),
        ([4096] * 8, 32, 8, 128),
    ],
    same=checks.compare_costs,
    because=checks.why_other_costs,
)

# %% [markdown] tags=["solution"]
# An H200 needs about 200 operations per byte before its tensor cores are the limit. The
# next cell divides your operations by your bytes.

# %% tags=["solution"]
for heads, kv_heads in ((32, 32), (32, 8), (64, 8)):
    flops, once, apart = step_costs([4096] * 8, heads, kv_heads, 128)
    print(
        f"{heads} query heads, {kv_heads:2} key/value heads: "
        f"{flops / once:4.1f} FLOP/B if read once, {flops / apart:.1f} if apart"
    )

# %% [markdown] tags=["solution"]
# A step does one operation per byte for each query head of a group. The length and the
# number of the sequences make no difference, since each sequence has its own keys. So a
# step takes at least the time of reading the cache, and a kernel should read every byte
# once, at the full rate.

# %% [markdown]
# ## 2 · One query
#
# Here is the kernel for one sequence in which each query head has its own keys. **You
# begin with an empty function.** A block is one warp, and computes one head: the grid
# has `heads` blocks of 32 threads.
#
# A row of `D` numbers is spread over the warp: lane `l` has the `COLS` columns `l`,
# `l + 32`, … For every key, each lane adds up the products of its columns of the query
# and of the key. `warp_sum(x)` adds up `x` over the warp, and returns the sum to every
# lane. The score is the sum over all lanes times `SCALE`, which is $1/\sqrt d$.
#
# Then take the step of chapter 16's online softmax, as in lab 24. Keep the largest
# score so far, the sum of the weights, and the lane's columns of the weighted sum of
# the values, all relative to the same maximum. After the last key, divide.
#
# - `LOWEST` is the lowest finite float32: use it as the initial maximum.
# - `cuda.local.array(COLS, float32)` makes an array in the lane's registers.
# - `k` and `v` are float16; a product of a float32 and a float16 is a float32.
#
# ```python
# one_query(q, k, v, out)
# # float32 (heads, D), float16 (heads, keys, D) twice -> float32 (heads, D)
# ```
#
# Stuck? `hint("one_query")`.

# %% tags=["given"]
D, COLS, SCALE = kernels.D, kernels.COLS, kernels.SCALE
LOWEST, warp_sum = kernels.LOWEST, kernels.warp_sum


# %%
@cuda.jit
def one_query(q, k, v, out):
    """Attention of one query per head, one warp per head."""
    # about 20 lines
    # BEGIN SOLUTION
    mine = cuda.local.array(COLS, float32)  # this lane's columns of the query
    total = cuda.local.array(COLS, float32)  # and of the weighted values
    head, lane = cuda.blockIdx.x, cuda.threadIdx.x
    for i in range(COLS):
        mine[i] = q[head, 32 * i + lane] * SCALE
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    for j in range(k.shape[1]):
        s = float32(0)
        for i in range(COLS):
            s += mine[i] * k[head, j, 32 * i + lane]
        s = warp_sum(s)

        new = max(top, s)
        factor, p = math.exp(top - new), math.exp(s - new)
        weight = weight * factor + p
        for i in range(COLS):
            total[i] = total[i] * factor + p * v[head, j, 32 * i + lane]
        top = new

    for i in range(COLS):
        out[head, 32 * i + lane] = total[i] / weight
    # END SOLUTION


# %%
check(
    one_query,
    spec=checks.attention,
    inputs=checks.query_and_keys,
    sizes=[(1, 3), (4, 19)],
    launch=lambda heads, keys: (heads, 32),
    full=(32, 2000),
    tolerance=1e-3,
    limits={"float64": 0, "loads": 200},
    because=checks.badly_attended,
)

# %% [markdown] tags=["solution"]
# There is no shared memory and no barrier, because the lanes exchange only the score.
# Every lane has the same maximum and the same weight.
#
# Each key has to wait for the previous one, because it needs `top`. One warp per head
# therefore has only a few hundred bytes in flight, and 32 heads use only 32 of the more
# than 8000 warps of an H200. This kernel is right, but very slow.

# %% [markdown]
# ## 3 · Split the keys
#
# To use the whole GPU, **split-KV** (Flash-Decoding) divides the keys of a sequence
# into slices, one for each block. A block computes the three numbers of the online
# softmax for *its* keys, and stores them as they are: the largest score in `tops`, the
# sum of the weights in `weights`, and the weighted sum of the values, without any
# division, in `totals`. The next exercise merges the slices.
#
# There are now several sequences of different lengths, and the arrays are large enough
# for the longest. Beyond key `lengths[seq] - 1` of a sequence, `k` and `v` contain old
# numbers of other sequences. The grid is (slices, heads, sequences). A slice has
# `length / slices` keys, rounded up, and the last one may have fewer.
#
# With 5 keys in 4 slices, there are 2, 2, 1 and 0 keys. **An empty slice** has to store
# something too: the maximum `LOWEST`, and zeros.
#
# Write the kernel. Most of it is your code of exercise 2, up to the division. Stuck?
# `hint("split_keys")`.
#
# ```python
# split_keys(q, k, v, lengths, slices, tops, weights, totals)
# # float32 (seqs, heads, D), float16 (seqs, heads, keys, D) twice,
# # int32 (seqs,), a number
# # -> float32 (seqs, heads, slices) twice, (seqs, heads, slices, D)
# ```

# %%
@cuda.jit
def split_keys(q, k, v, lengths, slices, tops, weights, totals):
    """Attend to a slice of the keys of each head, one warp per slice."""
    mine = cuda.local.array(COLS, float32)
    total = cuda.local.array(COLS, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    # about 24 lines: the query, the slice, its keys, three stores
    # BEGIN SOLUTION
    for i in range(COLS):
        mine[i] = q[seq, head, 32 * i + lane] * SCALE
        total[i] = float32(0)
    top, weight = LOWEST, float32(0)

    length = lengths[seq]
    size = (length + slices - 1) // slices
    first = part * size

    for j in range(first, min(first + size, length)):
        s = float32(0)
        for i in range(COLS):
            s += mine[i] * k[seq, head, j, 32 * i + lane]
        s = warp_sum(s)

        new = max(top, s)
        factor, p = math.exp(top - new), math.exp(s - new)
        weight = weight * factor + p
        for i in range(COLS):
            total[i] = total[i] * factor + p * v[seq, head, j, 32 * i + lane]
        top = new

    for i in range(COLS):
        totals[seq, head, part, 32 * i + lane] = total[i]
    if lane == 0:
        tops[seq, head, part] = top
        weights[seq, head, part] = weight
    # END SOLUTION


# %%
check(
    split_keys,
    spec=checks.slices_of,
    inputs=checks.unequal,
    sizes=[(1, 1, 2, 5), (3, 2, 4, 13)],
    launch=lambda seqs, heads, slices, keys: ((slices, heads, seqs), 32),
    full=(4, 32, 16, 2000),
    tolerance=1e-3,
    limits={"float64": 0, "loads": 60},
    because=checks.badly_sliced,
)

# %% [markdown] tags=["solution"]
# Nothing is divided yet: an empty slice would divide 0 by 0, and its NaN would spread
# to the whole head. Without the division, an empty slice has a weight of 0 and needs no
# special case, either here or in the merge.

# %% [markdown]
# ## 4 · Merge the slices
#
# In lab 24, one thread per column merged outputs that had already been divided. Here
# the sums have not been divided, and one thread per column would be too slow, because
# with 500 slices it would wait for memory 500 times in a row. So a block has `ROWS`
# threads for each column. Thread (c, y) merges slices y, y + `ROWS`, y + 2 `ROWS`, … of
# column c. Then thread (c, 0) merges the `ROWS` results, and writes the output.
#
# Merging is like the step for a key. What are the maximum, the weight and the sum of
# two sets of keys together, if each has its own maximum, weight and sum?
#
# The three shared arrays have one element per thread. A row of threads may have no
# slice at all, if there are fewer slices than `ROWS`.
#
# ```python
# merge_slices(tops, weights, totals, out)
# # float32 (seqs, heads, slices) twice, (seqs, heads, slices, D) -> (seqs, heads, D)
# ```
#
# The grid is (heads, sequences), and a block has (`D`, `ROWS`) threads. Stuck?
# `hint("merge_slices")`.

# %% tags=["given"]
ROWS = kernels.ROWS  # threads per column


# %%
@cuda.jit
def merge_slices(tops, weights, totals, out):
    """Merge the slices of each head, one head per block."""
    row_tops = cuda.shared.array((ROWS, D), float32)
    row_weights = cuda.shared.array((ROWS, D), float32)
    row_totals = cuda.shared.array((ROWS, D), float32)
    head, seq = cuda.blockIdx.x, cuda.blockIdx.y
    c, y = cuda.threadIdx.x, cuda.threadIdx.y

    # about 20 lines
    # BEGIN SOLUTION
    top, weight, total = LOWEST, float32(0), float32(0)
    for i in range(y, tops.shape[2], ROWS):
        new = max(top, tops[seq, head, i])
        old, factor = math.exp(top - new), math.exp(tops[seq, head, i] - new)
        weight = weight * old + weights[seq, head, i] * factor
        total = total * old + totals[seq, head, i, c] * factor
        top = new
    row_tops[y, c], row_weights[y, c], row_totals[y, c] = top, weight, total
    cuda.syncthreads()

    if y == 0:
        for i in range(1, ROWS):
            new = max(top, row_tops[i, c])
            old, factor = math.exp(top - new), math.exp(row_tops[i, c] - new)
            weight = weight * old + row_weights[i, c] * factor
            total = total * old + row_totals[i, c] * factor
            top = new
        out[seq, head, c] = total / weight
    # END SOLUTION


# %%
check(
    merge_slices,
    spec=checks.merged,
    inputs=checks.some_slices,
    sizes=[(1, 1, 2), (3, 2, 9)],
    launch=lambda seqs, heads, slices: ((heads, seqs), (D, ROWS)),
    full=(8, 32, 130),
    tolerance=1e-4,
    limits={"float64": 0},
    constants=[{"ROWS": 2}],
    because=checks.badly_merged,
)

# %% [markdown] tags=["solution"]
# Merging is associative, so it may be divided in any way among threads, rows of
# threads, blocks and kernels. A set without keys, (`LOWEST`, 0, 0), is the neutral
# element.

# %% [markdown]
# ## 5 · Pages, and a group of queries
#
# A server does not know in advance how long an answer will be. If it reserved enough
# memory for the longest possible answer of every sequence, most of this memory would
# stay empty. With a **paged** cache (vLLM), memory is divided into pages of `PAGE`
# keys, and a sequence gets another page when its last one is full. Key j of sequence
# `seq` is row `j % PAGE` of page `table[seq, j // PAGE]`. The other rows of a
# sequence's last page contain old numbers, and after that page's entry, the table
# contains old page numbers.
#
# The second idea follows from the bytes of exercise 1. A block handles all `GROUP`
# query heads that share its key/value head, and **reads every key and value once**.
# Query heads `head * GROUP` to `head * GROUP + GROUP - 1` share key/value head `head`.
# The block keeps a maximum, a weight and sums for each query head.
#
# The grid is (slices, kv_heads, sequences), and the slices are those of exercise 3.
# Write the kernel: load the queries, go over the keys of the slice, and store three
# results per query head. The check counts loads: for 13 keys in 2 slices, a thread may
# load 50 elements, one of the table for each key included. The given function
# `neutral(top, weight, total)` sets the results of all queries to those of no keys.
# Stuck? `hint("paged_group")`.
#
# ```python
# paged_group(q, k, v, table, lengths, slices, tops, weights, totals)
# # float32 (seqs, heads, D), float16 (pages, kv_heads, PAGE, D) twice,
# # int32 (seqs, most pages), int32 (seqs,), a number
# # -> float32 (seqs, heads, slices) twice, (seqs, heads, slices, D)
# ```

# %% tags=["given"]
GROUP, PAGE = kernels.GROUP, kernels.PAGE  # queries per kv head, keys per page
neutral = kernels.neutral


# %%
@cuda.jit
def paged_group(q, k, v, table, lengths, slices, tops, weights, totals):
    """Attend to a slice of paged keys, for a group of query heads."""
    mine = cuda.local.array((GROUP, COLS), float32)
    total = cuda.local.array((GROUP, COLS), float32)
    top = cuda.local.array(GROUP, float32)
    weight = cuda.local.array(GROUP, float32)
    key = cuda.local.array(COLS, float32)  # the lane's columns of one key
    value = cuda.local.array(COLS, float32)
    part, head, seq = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    lane = cuda.threadIdx.x

    neutral(top, weight, total)
    # about 28 lines: the queries, the keys, three stores per query
    # BEGIN SOLUTION
    for g in range(GROUP):
        for i in range(COLS):
            mine[g, i] = q[seq, head * GROUP + g, 32 * i + lane] * SCALE

    length = lengths[seq]
    size = (length + slices - 1) // slices
    first = part * size

    for j in range(first, min(first + size, length)):
        page, row = table[seq, j // PAGE], j % PAGE
        for i in range(COLS):
            key[i] = k[page, head, row, 32 * i + lane]
            value[i] = v[page, head, row, 32 * i + lane]

        for g in range(GROUP):
            s = float32(0)
            for i in range(COLS):
                s += mine[g, i] * key[i]
            s = warp_sum(s)

            new = max(top[g], s)
            factor, p = math.exp(top[g] - new), math.exp(s - new)
            weight[g] = weight[g] * factor + p
            for i in range(COLS):
                total[g, i] = total[g, i] * factor + p * value[i]
            top[g] = new

    for g in range(GROUP):
        query = head * GROUP + g
        for i in range(COLS):
            totals[seq, query, part, 32 * i + lane] = total[g, i]
        if lane == 0:
            tops[seq, query, part] = top[g]
            weights[seq, query, part] = weight[g]
    # END SOLUTION


# %%
check(
    paged_group,
    spec=checks.slices_of_pages,
    inputs=checks.rising_pages,
    sizes=[(1, 1, 2, 10), (3, 2, 2, 13)],
    launch=lambda seqs, kv_heads, slices, keys: (
        (slices, kv_heads, seqs),
        32,
    ),
    full=(4, 8, 16, 2000),
    tolerance=1e-3,
    limits={"float64": 0, "loads": checks.MOST_LOADS},
    because=checks.badly_paged,
)

# %% [markdown] tags=["solution"]
# The table takes one small load per key here, and one per page in a kernel that goes
# over whole pages. The rest of the kernel does not depend on where the pages are.
# Reading keys once for `GROUP` queries divides the traffic by `GROUP`, which is why
# models group their queries. With 32 query heads and 8 key/value heads, a quarter of
# the bytes is left.

# %% [markdown]
# ## Measure: from a warp per head to the rate of memory
#
# The case is one sequence of 32,768 keys, with 32 query heads, 8 key/value heads and
# rows of 128 float16 numbers. It has four layers, each with its own cache. A row's rate
# is the 537 MB of the caches divided by its time. "read" is one of PyTorch's kernels, a
# sum over the same number of bytes. Write down the speed that you expect of each row,
# as a multiple of that of "flash", PyTorch's Flash-Decoding.
#
# - "one warp per head" is exercise 2, and "split" is exercises 3 and 4; both read the
#   keys of a group once per query head;
# - "shared" is exercises 5 and 4, with a single long page for the sequence;
# - "paged" is the same with pages of 16 keys, in random places;
# - "wide loads" reads 16 bytes per lane, and eight keys per warp at a time;
# - "tensor cores" multiplies with `mma.sync`, in pieces that are equally long for all
#   blocks; "loads ahead" loads the next tile before it uses the current one; in "one
#   launch", the last block of a head merges.

# %%
guess = {
    "read": None,
    "one warp per head": None,
    "split": None,
    "shared": None,
    "paged": None,
    "wide loads": None,
    "tensor cores": None,
    "loads ahead": None,
    "one launch": None,
}

ladder = chapter.measure.ladder(
    one_query,
    split_keys,
    merge_slices,
    paged_group,
    guess,
)
ladder

# %% tags=["solution"]
ladder.expect("split", at_least=10, times="one warp per head")
ladder.expect("shared", at_least=1.2, times="split")
ladder.expect("wide loads", at_least=1.2, times="paged")
ladder.expect("one launch", at_least=1, times="flash")

# %% [markdown]
# ## More measurements
#
# The rest of the lab shows the fast kernel, its errors, other batches, and the
# libraries. All code is in the modules of `chapters/37_decoding`. The solution and the
# chapter's page explain the tables. The last section has ideas for more.

# %% [markdown]
# ### The kernel
#
# The kernel is `decode` in `decode_kernel.py`; read its docstring first. `cache.plan`
# cuts the keys of all sequences into pieces. The next cell compares its results with
# float64, for equal and unequal lengths, with and without pages, and for groups of 4
# and 8 queries.

# %%
chapter.accuracy.report()

# %% [markdown]
# ### How many slices?
#
# More slices keep more warps busy, but there is more to merge. This table repeats
# "split", exercises 3 and 4, for several numbers of slices.

# %%
slices = chapter.measure.slices(split_keys, merge_slices)
slices

# %% tags=["solution"]
slices.expect("64 slices", at_least=2, times="8 slices")

# %% [markdown]
# ### Other batches
#
# The next cell uses batches of equally long sequences, and calls PyTorch's backends in
# the way that is fastest for them. "yours" is exercises 5 and 4, with pages of 16 keys.
# "contiguous" and "paged" are `decode` without and with pages of 16 keys.

# %%
batches = chapter.measure.batches(paged_group, merge_slices)
for table in batches.values():
    print(table)

# %% tags=["solution"]
for table in batches.values():
    table.expect("paged", at_least=0.9, times="flash")

# %% [markdown]
# ### Ragged lengths
#
# The batch has 64 sequences of 128 to 8192 keys. "padded, masked" is PyTorch's
# `scaled_dot_product_attention`, with arrays that are long enough for the longest
# sequence.

# %%
ragged = chapter.measure.ragged(paged_group, merge_slices)
ragged

# %% tags=["solution"]
ragged.expect("paged", at_least=1, times="padded, masked")

# %% [markdown]
# ### If you want more
#
# - Write `plan` yourself: cut the keys of 64 ragged sequences into equal shares for 132
#   blocks, and let exercise 3 take its slice from an array of pieces.
# - Merge in the last block: an atomic counter per head, and two fences (chapter 14).
#   What must the last block do with the counter?
# - Store keys and values in 8 bits, with one scale per row. How fast can a step be now?
# - Sixteen sequences begin with the same 1000 tokens. Let one block handle the queries
#   of all sixteen, as *cascade inference* does, and merge.

# %% [markdown]
# ## What you learned
#
# 1. A decoding step does about one operation per byte and query head of a group. It
#    takes at least as long as reading the cache, whatever the batch.
# 2. With one query, there is only one block per head; split-KV makes as many blocks as
#    the GPU needs.
# 3. Store the sums of a slice without dividing them. Then an empty slice is the neutral
#    element, and merging is associative.
# 4. A page table adds a small load per key, or one per page in a kernel that goes over
#    whole pages. With it, a sequence's keys can be anywhere in memory.
# 5. A block that attends for a whole group of query heads reads each key once.

# %%
quiz()
