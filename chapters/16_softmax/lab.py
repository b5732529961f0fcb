# %% [markdown]
# # 16 · Softmax
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/16_softmax.ipynb)
#
# **After this lab, you can**
#
# - compute a softmax that does not overflow, and say how it handles minus infinity;
# - merge the pairs (maximum, sum) of two pieces of a row, in any order;
# - read each row only once, whether a warp, a block or several blocks hold it;
# - choose among these three ways for a given shape, and say what then limits the speed;
# - write the backward pass with a warp per row, and read the version for blocks.
#
# **You need** about 110 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher (8.0 for bfloat16)
# and 6 GB of memory. From 8.0 on, it also needs at least 22 multiprocessors: with
# fewer, kernels whose blocks wait for each other would wait for ever. The first cell
# tells you if your GPU has fewer.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32

from weft import bench, check, hint, quiz
from weft.intrinsics import load4, store4

chapter = weft.lab("16_softmax")
checks, kernels = chapter.checks, chapter.kernels
slips = chapter.slips

# %% [markdown]
# ## Look: a formula that fails
#
# A softmax turns a row of scores into shares that add up to 1. The share of score $x_j$
# is $e^{x_j}$, divided by the sum of all $e^{x_k}$ of the row.
#
# Below are four rows of three scores. In each row the scores rise by 1 from left to
# right, so all four rows have the same shares. For which rows does the formula give the
# right shares in float32, whose largest number is 3.4e38?

# %%
four_rows = np.float32([[1], [81], [101], [-120]]) + np.float32([0, 1, 2])

with np.errstate(all="ignore"):
    powers = np.exp(four_rows)
    for row, share in zip(
        four_rows, powers / powers.sum(axis=1, keepdims=True), strict=True
    ):
        print(row, "->", share)

# %% [markdown] tags=["solution"]
# $e^{89}$ is larger than 3.4e38, so for scores of 89 and more, the formula divides
# infinity by infinity. For scores far below zero, all powers round to 0, and the
# formula divides 0 by 0.
#
# The shares do not change if you subtract the same number from all scores of a row,
# because all powers then shrink by the same factor. Subtract the **largest**. The
# largest power is then $e^0 = 1$, nothing overflows, and the sum is at least 1.

# %% [markdown]
# The reference of this lab subtracts the maximum first. Scores of **minus infinity**
# are common: attention uses them to exclude elements, since $e^{-\infty}$ is 0. For a
# row in which every score is minus infinity, the softmax is not defined. PyTorch
# returns NaN for such a row, and so does the reference. The two constants below are for
# your kernels.

# %% tags=["given"]
LOWEST = np.float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = np.float32(-np.inf)

# %%
print(checks.shares(four_rows))

# %% [markdown]
# ## 1 · Three passes
#
# A block processes one row, in three passes, which compute
#
# 1. the largest element;
# 2. the sum of $e^{x - \text{largest}}$;
# 3. the shares, which it writes to `out`.
#
# Each thread takes every 256th column, as in a grid-stride loop, but within its row.
# You are given four device functions that combine the threads' results.
# `warp_max(value)` and `warp_sum(value)` combine the values of a warp,
# `block_max(value)` and `block_sum(value)` those of a block. Call each of the latter
# two at most once: a second call would overwrite shared memory that other warps may
# still be reading. All four are as in chapter 14, except that the shuffles are
# butterflies (chapter 8), so **all** threads get the result.
#
# You can use `max` and `math.exp` in a kernel. Start the maximum from `LOWEST`, the
# lowest finite number. Minus infinity would also do here, but not in exercise 2. Stuck?
# `hint("softmax_passes")`; there are three hints.
#
# ```python
# softmax_passes(x, out)    # (rows, cols) -> (rows, cols)  float32; blocks of 256
# ```

# %% tags=["given"]
warp_max, warp_sum = kernels.warp_max, kernels.warp_sum
block_max, block_sum = kernels.block_max, kernels.block_sum

# %%
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    # about 12 lines
    # BEGIN SOLUTION
    top = LOWEST
    for col in range(t, cols, width):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t, cols, width):
        out[row, col] = math.exp(x[row, col] - top) * scale
    # END SOLUTION

# %%
check(
    softmax_passes,
    spec=checks.shares,
    inputs=lambda rng, rows, cols: (slips.peaked(rng, rows, cols),),
    sizes=[(1, 1), (3, 40), (2, 700)],
    launch=lambda rows, cols: (rows, 256),
    full=(300, 5001),
    limits={"sectors": 5, "loads": 12, "float64": 0},
    because=slips.why_not_passes,
)

# %% [markdown] tags=["solution"]
# In the row that contains only -inf, `top` stays at `LOWEST`, all powers are 0, and so
# is their sum. 1 / 0 is infinity, and 0 times infinity is NaN, as required.

# %% [markdown]
# ## 2 · Merge two pieces
#
# The sum depends on the maximum, and the maximum on the whole row. That seems to
# require one pass for each of them, but one is enough for both. Suppose you know, for
# one piece of a row, its maximum $m$ and its sum $s$ of $e^{x - m}$. For another piece
# you know $m_2$ and $s_2$. For both pieces together:
#
# - the maximum is the larger of $m$ and $m_2$; call it $M$;
# - $s$ is a sum of powers relative to $m$. To make it relative to $M$, multiply it by
#   $e^{m - M}$; $s_2$ changes in the same way.
#
# So two pairs **merge** into one, and the order in which pieces are merged does not
# matter. A single element is also a piece: its pair is $(x, 1)$. The sum of an empty
# piece is 0.
#
# The maximum of an empty piece cannot be minus infinity, because merging two empty
# pieces would then compute $-\infty - (-\infty)$, which is NaN. Use `LOWEST`. It is
# finite, so the difference is 0, as it should be. Only -inf is lower.
#
# Write `merge`, a device function that returns the two numbers of the merged pair. For
# each row, the kernel below calls `merge` with the pairs in that row of `a` and `b`.
# Stuck? `hint("merge_pairs")`.
#
# ```python
# merge(m, s, m2, s2)         # two pairs -> their pair
# merge_pairs(a, b, out)      # (n, 2), (n, 2) -> (n, 2)  float32
# ```

# %%
@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return the maximum and sum of two pieces together from those of each."""
    # about 2 lines
    # BEGIN SOLUTION
    top = max(m, m2)
    return top, s * math.exp(m - top) + s2 * math.exp(m2 - top)
    # END SOLUTION


@cuda.jit
def merge_pairs(a, b, out):
    """Merge the pairs in the rows of a and b."""
    i = cuda.grid(1)

    if i < out.shape[0]:
        m, s = merge(a[i, 0], a[i, 1], b[i, 0], b[i, 1])
        out[i, 0] = m
        out[i, 1] = s

# %%
check(
    merge_pairs,
    spec=checks.merged,
    inputs=checks.two_pairs,
    sizes=[1, 16, 70],
    launch=lambda n: (-(-n // 64), 64),
    full=100_000,
    limits={"float64": 0},
    because=slips.why_not_merged,
)

# %% [markdown] tags=["solution"]
# One of the two factors is always $e^0 = 1$. The other is at most 1, so nothing can
# overflow, however large the scores.

# %% [markdown]
# With `merge`, a thread gets both numbers in **one** pass over its columns. This is
# called the **online softmax**. A second pass is still necessary, to write the shares.
# `softmax_online` in the chapter's `kernels.py` is such a kernel, and works for rows of
# any length. You will measure it, as *two passes*, after exercise 4.

# %% [markdown]
# ## 3 · A warp per row
#
# One read is enough if you keep the row until its sum is known. The fastest place to
# keep it is in **registers**. Each thread keeps its part in its own array,
# `cuda.local.array(32, float32)`. If the compiler knows the length of every loop over
# the array, it unrolls the loops, and each element becomes a register.
#
# The arrays of a warp's threads have 32 × 32 = 1024 elements. So a row of up to 1024
# columns fits, and you need no shared memory and no barrier. `warp_max` and `warp_sum`
# combine the lanes' results.
#
# Lane `lane` takes columns `lane`, `lane + 32`, and so on. A column beyond the end
# counts as -inf (`NOTHING`), which adds 0 to the sum. The check allows each thread 32
# loads. Stuck? `hint("softmax_warp")`.
#
# ```python
# softmax_warp(x, out)    # (rows, cols <= 1024)  float32; 4 warps per block
# ```

# %%
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    # about 16 lines
    # BEGIN SOLUTION
    top = LOWEST
    for i in range(32):
        col = lane + 32 * i
        values[i] = x[row, col] if col < x.shape[1] else NOTHING
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(32):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    scale = float32(1) / warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            out[row, col] = values[i] * scale
    # END SOLUTION

# %%
check(
    softmax_warp,
    spec=checks.shares,
    inputs=lambda rng, rows, cols: (slips.peaked(rng, rows, cols),),
    sizes=[(1, 1), (5, 33), (3, 1000)],
    launch=lambda rows, cols: (-(-rows // 4), (32, 4)),
    full=(3001, 900),
    limits={"sectors": 5, "loads": 32, "local": 0, "float64": 0},
    because=slips.why_not_warp,
)

# %% [markdown] tags=["solution"]
# The condition on `row` is the same for all 32 lanes. So either all lanes of a warp
# return or none do, and every lane reaches the shuffles.
#
# Each element's power is computed only once, whereas the kernel with three passes
# computes it twice.

# %% [markdown]
# ## 4 · A block per row
#
# With 4096 columns, each lane of a warp would need 128 registers for its values alone.
# An SM has 65,536 registers, so fewer than 16 such warps would fit on it, although it
# has room for 64 warps. So give the row to more threads: a block of 256, with 16 values
# each.
#
# 1. each warp finds its pair: its maximum, and its sum relative to **its own** maximum;
# 2. lane 0 of each warp puts the pair into shared memory;
# 3. all threads wait at the **only** barrier;
# 4. every warp loads the 8 pairs, into its lanes 0 to 7, and merges them: it finds the
#    maximum of all maxima, and adds up all sums, each rescaled to that maximum. Lanes 8
#    to 31 take part with an empty pair;
# 5. each thread's powers are relative to its warp's maximum. A single factor, the same
#    for all 16 powers, turns them into shares.
#
# `THREADS`, `WARPS` and the 16-byte loads are given. For the stores, use
# `store4(out, (row, col), a, b, c, d)`, under the same condition as `load4`. Stuck?
# `hint("softmax_block")`.
#
# ```python
# softmax_block(x, out)    # (rows, cols <= 4096, a multiple of 4)  float32
# ```

# %% tags=["given"]
THREADS, WARPS = 256, 8

# %%
@cuda.jit
def softmax_block(x, out):
    """Write the softmax of each row of x into out, one block per row."""
    values = cuda.local.array(16, float32)
    tops = cuda.shared.array(WARPS, float32)
    totals = cuda.shared.array(WARPS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = t // 32, t % 32

    for i in range(4):
        a = b = c = d = NOTHING
        col = 4 * (t + THREADS * i)
        if col < x.shape[1]:
            a, b, c, d = load4(x, (row, col))
        values[4 * i], values[4 * i + 1] = a, b
        values[4 * i + 2], values[4 * i + 3] = c, d

    # about 20 lines
    # BEGIN SOLUTION
    top = LOWEST
    for i in range(16):
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(16):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    total = warp_sum(total)
    if lane == 0:
        tops[warp], totals[warp] = top, total
    cuda.syncthreads()

    m = tops[lane] if lane < WARPS else LOWEST
    s = totals[lane] if lane < WARPS else float32(0)
    whole = warp_max(m)
    scale = math.exp(top - whole) / warp_sum(s * math.exp(m - whole))

    for k in range(0, 16, 4):
        at = 4 * t + THREADS * k
        if at < x.shape[1]:
            a, b = values[k] * scale, values[k + 1] * scale
            c, d = values[k + 2] * scale, values[k + 3] * scale
            store4(out, (row, at), a, b, c, d)
    # END SOLUTION

# %%
check(
    softmax_block,
    spec=checks.shares,
    inputs=lambda rng, rows, cols: (slips.peaked(rng, rows, 4 * cols),),
    sizes=[(1, 1), (3, 70), (2, 1000)],
    launch=lambda rows, cols: (rows, 256),
    full=(300, 1001),
    limits={
        "sectors": 16,
        "loads": 4,
        "load_bytes": 16,
        "store_bytes": 16,
        "barriers": 1,
        "local": 0,
        "float64": 0,
    },
    because=slips.why_not_block,
)

# %% [markdown] tags=["solution"]
# For a row of 4096 elements, only 16 numbers go through shared memory, and one barrier
# is enough. Finding first the maximum and then the sum would take two.
#
# A warp whose columns are all -inf has the pair (`LOWEST`, 0). In the merge its sum
# contributes $0 \cdot e^{\dots} = 0$, which is right.

# %% [markdown]
# ## Measure: one read
#
# There are two shapes, both with 16.8 million elements, or 67 MB: 16,384 rows of 1024,
# and 4096 rows of 4096. *One read* is a warp per row for the first shape and a block
# per row for the second. For comparison, both tables include the kernel with three
# passes and the online kernel with two. The second also has the block per row in CUDA
# C++. How close do these kernels come to the copy?
#
# Guess for each shape: 1.0 is as fast as `torch.softmax`, and 0.5 half as fast.

# %%
guess = {
    1024: {"three passes": None, "two passes": None, "one read": None},
    4096: {"three passes": None, "two passes": None, "one read": None},
}

rungs = chapter.measure.rungs(
    softmax_passes, softmax_warp, softmax_block, guess
)
rungs[1024]

# %%
rungs[4096]

# %% tags=["solution"]
for table in rungs.values():
    table.expect("one read", at_least=1.5, times="three passes")
    table.expect("one read", ceiling=0.65)
rungs[4096].expect("one read", at_least=1.2)

# %% [markdown] tags=["solution"]
# *One read* moves as many bytes as the copy. At 4096 columns it is as fast as the copy,
# to within a few per cent. At 1024 columns it is slower than the copy, and slower than
# PyTorch's kernel for short rows, which uses the same idea and also loads 4 bytes at a
# time. The family of kernels under *More measurements* loads 16 bytes at a time.
#
# Two passes are only a few per cent faster than three. The read that they save came
# from a cache, and `merge` has to compute two exponentials for each element. The online
# softmax is worthwhile where the second read would come from memory, or where it makes
# the second read unnecessary.

# %% [markdown]
# ## 5 · Backward
#
# In training, softmax also has a backward pass. `y` is the output of the forward pass,
# `dy` is the gradient with respect to `y`, and the gradient to compute is
#
# $$dx_j = y_j \left( dy_j - \sum_k y_k \, dy_k \right)$$
#
# The pattern is the same as before: first compute one number for the whole row, in this
# case a sum, and then each element. Three arrays are moved instead of two. Use a warp
# per row, for up to 1024 columns, and read everything once, into two arrays in
# registers. The check allows each thread 64 loads. Stuck? `hint("softmax_backward")`.
#
# ```python
# softmax_backward(y, dy, dx)    # (rows, cols <= 1024), twice -> (rows, cols)
# ```

# %%
@cuda.jit
def softmax_backward(y, dy, dx):
    """Write the gradient of the softmax's input into dx, one warp per row."""
    ys = cuda.local.array(32, float32)
    dys = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= y.shape[0]:
        return

    # about 11 lines
    # BEGIN SOLUTION
    total = float32(0)
    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            ys[i], dys[i] = y[row, col], dy[row, col]
            total += ys[i] * dys[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            dx[row, col] = ys[i] * (dys[i] - total)
    # END SOLUTION

# %%
check(
    softmax_backward,
    spec=lambda y, dy: y * (dy - (y * dy).sum(axis=1, keepdims=True)),
    inputs=lambda rng, rows, cols: (
        checks.shares(rng.normal(0, 1, (rows, cols))).astype(np.float32),
        rng.normal(0, 1, (rows, cols)).astype(np.float32),
    ),
    sizes=[(5, 33), (1, 1), (3, 1000)],
    launch=lambda rows, cols: (-(-rows // 4), (32, 4)),
    full=(3001, 900),
    limits={"sectors": 5, "loads": 64, "local": 0, "float64": 0},
    because=slips.why_not_gradient,
)

# %% [markdown] tags=["solution"]
# The backward pass needs only `y`, which the forward pass has computed, but not `x`. It
# computes no exponential.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious. The code and the
# kernels are in the modules of `chapters/16_softmax`. The solution and the chapter's
# two pages explain what each table shows. Read the second page, *Softmax across
# blocks*, before *What a long row needs*. The last section has ideas for more.

# %% [markdown]
# ### Three passes
#
# Calculate first. 8192 × 8192 float32 are 268 MB. Three passes read the matrix three
# times and write it once, which moves 1.07 GB. A copy reads it once and writes it once.
# If each read came from memory, what share of the copy's speed would the three passes
# reach?
#
# But the second pass reads what the first has just read. A row is 32 KB. An SM holds 8
# of these blocks, so its current rows take 256 KB, and those of all 132 SMs take 35 MB.
# The H200 has 256 KB of L1 and shared memory on each SM, and 60 MB of L2. Where will
# the second and third passes find their row?
#
# If `torch.softmax` is 1.0, how fast do you expect your kernel to be, and how fast a
# copy? Write both down. The L2 cache is cleared before each call.

# %%
guess = {"copy": None, "three passes": None}

square = chapter.measure.square(softmax_passes, guess)
square

# %% tags=["solution"]
square.expect("copy", at_least=1.5)
square.expect("copy", at_least=1.3, times="three passes")

# %% [markdown] tags=["solution"]
# Neither kernel comes close to the copy. If all three reads came from memory, the
# kernel would take twice the copy's time. It takes longer than that, although most of
# the second and third reads come from a cache. So it is not limited by bytes. It is
# probably limited by latency: there are three passes, one after the other, with 4 bytes
# per load and two block-wide reductions in between. The kernel also computes two
# exponentials for each element, of eight instructions each.
#
# PyTorch's kernel for rows of this length reads each row once, into registers, but is
# not much faster: it uses a block of 1024 threads for each row, 4 bytes per load, and
# two reductions.
#
# So the goal is to **read each element only once**, without such delays.

# %% [markdown]
# ### A family
#
# The chapter's folder has a complete softmax, with its backward pass, for float32 and
# bfloat16 and for rows of any length. It is built from kernels like yours. Its code is
# in four files:
#
# - `short_rows.py`: a warp per row or a block per row, as in exercises 3 and 4, with
#   the numbers of pieces and threads as parameters;
# - `long_rows.py`: two kinds of kernels for rows that no block can hold. Either several
#   blocks hold a row and wait for each other's pairs, or blocks stay on the GPU and
#   take one row after another, in **teams**. The chapter's second page explains them
#   step by step;
# - `backward_kernels.py`: the backward pass;
# - `family.py`: `softmax` and `backward`, which choose a kernel for the length of the
#   rows.
#
# **Bfloat16** is the upper half of a float32: it has the same range, but only 8 bits of
# precision. Numba has no such type, so a kernel sees a matrix of int32, each of which
# contains two bfloat16. `bf16_low` and `bf16_high` unpack them to float32, which is
# exact, and `bf16_pair` rounds two float32 and packs them. All arithmetic is in
# float32. A load of 16 bytes brings 8 elements.
#
# **`exp2`.** The hardware computes powers of 2 in one instruction, and `math.exp` takes
# seven more to get the last bits right. Here, six correct digits are enough, so the
# kernels use `exp2`, with $e^x = 2^{x \cdot \log_2 e}$.
#
# The next cell compares each kind of kernel with NumPy, guards and -inf included. A row
# that contains only -inf has to give NaN in NumPy and in the kernel. The output has
# lines for a warp per row, a block per row, several blocks per row (twice) and teams,
# and on a GPU also for a row so long that the family gives it to several blocks. Each
# line shows the largest error, forward or backward, as a fraction of the largest
# result. The kernels for long rows get short rows here: in the simulator, a row of
# 262,144 would take a minute.

# %%
chapter.accuracy.report()

# %% [markdown]
# ### Seven shapes, twice
#
# There are seven shapes, in float32 and in bfloat16, from many short rows to few long
# rows. The family is compared with a copy, with `torch.softmax` and with
# `torch.compile`, with all its tuning switched on (`mode="max-autotune-no-cudagraphs"`,
# `dynamic=False`). `torch.compile` generates a kernel for each shape, and the times do
# not include compilation. Because it tries many variants, it takes more than a minute
# for the fourteen cases. If you would rather not wait, lower
# `chapter.shapes.PATIENCE["forward"]`: once compilation has taken that many seconds,
# `torch.compile` is left out of the remaining cases.
#
# The L2 cache is cleared before each call. Where a copy takes less than about 50 µs,
# calls are timed as CUDA graphs instead, and cycle through so many arrays that none
# is still in the cache when its turn comes.
#
# On which shapes will PyTorch be furthest from the copy, and on which the family? Guess
# for 1024 rows of 131,072 float32: how many times as fast as `torch.softmax` is the
# family? Fill in the guess before you run the cell, because it measures all shapes.

# %%
guess = {"family": None}

forward = chapter.measure.forward(guess)
forward.get((1024, 131072, False))

# %% [markdown]
# Here are all fourteen cases. The first column is the copy's time. The others give the
# family's speed: as a share of the copy's, and as a multiple of that of `torch.softmax`
# and of `torch.compile`.

# %%
chapter.shapes.overview(forward, "torch.softmax")

# %% tags=["solution"]
for (_, cols, _), table in forward.items():
    table.expect("family", at_least=1.0)
    table.expect("family", ceiling=0.92 if cols <= 32768 else 0.7)

# %% [markdown] tags=["solution"]
# All these numbers are for the H200. Where a warp or a block holds the row, the family
# is within 4 % of the copy, and no kernel can be much faster, because the bytes are the
# same. In this run, `torch.compile` is equally close in float32 at 32,768 × 1024, and
# reaches 90 to 100 % of the copy on the other four shapes. In bfloat16 it reaches 79 to
# 90 % of the copy at 1024 columns, and less than half of it on longer rows.
#
# On the long rows, the libraries are much further from the copy, because they go
# through such a row two or three times. The family loses 5 to 11 %, and more in
# bfloat16 than in float32. The matrix of 128 rows is then only 67 MB, so the kernel's
# start and end probably take much of its time.

# %% [markdown] tags=["solution"]
# In bfloat16, `torch.compile` takes about as long as in float32, so bytes are not its
# limit. For rows of this length it computes the online softmax in a loop. This can be
# switched off:

# %% tags=["solution"]
compiled = chapter.measure.compiled()
compiled[8192]

# %% [markdown]
# ### What a long row needs
#
# Here is the kernel for long rows, with one technique added at a time. The chapter's
# second page explains them.
#
# - *registers*: each block keeps its piece of a row, 40 KB, in registers alone;
# - *both stores*: in registers and shared memory, 76 KB;
# - *out of step*: the first rows are cut more finely, so the blocks of an SM wait at
#   different times;
# - *with ticket*: each block draws its number from a counter, so nothing depends on the
#   order in which blocks start;
# - *teams*: blocks stay on the GPU, and a group of blocks takes one row after another.
#
# In all of them, four blocks share an SM.
#
# Calculate first. Four blocks of 40 KB on each of 132 SMs hold 21.6 MB, which is 1/25
# of the 537 MB of a matrix of 1024 × 131,072. So memory is idle 25 times, while pairs
# are computed and exchanged. At two microseconds each time, that is 50 µs, on top of
# the time of the copy. With 76 KB, memory is idle 13 times. How often is it idle in
# *out of step*? If *registers* is 1.0, guess how fast the other four are for 1024 rows.
# What will change in the second and third table, for 128 rows? (The third, in bfloat16,
# has only *out of step*, which is 1.0 there, and *teams*.)

# %%
guess = {"both stores": None, "out of step": None}
guess |= {"with ticket": None, "teams": None}

long_rows = chapter.measure.long_rows(guess)
long_rows.get((1024, False))

# %%
long_rows.get((128, False))

# %%
long_rows.get((128, True))

# %% [markdown] tags=["solution"]
# For 1024 rows, two microseconds per wave was a fair guess on the H200. *Registers*
# loses 57 µs in 25 waves, and *both stores* loses 23 µs in 13; *out of step* loses 11
# µs in all. For 128 rows these three kernels take six, three and three waves, and *out
# of step* takes two in bfloat16. The ticket takes one more trip to L2 before a block
# knows what to load. If the blocks are staggered, other blocks can fill most of that
# time.
#
# Teams have no waves. In its first three iterations, a block stores nothing, and in its
# last three it loads nothing, but in between there is hardly any waiting. The price is
# paid in every iteration: values are moved between registers, and there is a barrier
# for every 16 KB. So teams win where there would be few waves, on the H200 by 13 % with
# two waves and by 4 % with three. With 1024 rows they are slower.

# %% tags=["solution"]
for (_, half), table in long_rows.items():
    if half:
        table.expect("teams", at_least=1.05)
    else:
        table.expect("out of step", at_least=1.05)
        table.expect("out of step", ceiling=0.85)

# %% [markdown]
# ### Backward, twice seven shapes
#
# Three arrays are moved here. The ceiling is a copy that moves the same number of
# bytes. PyTorch's own backward pass of softmax is `torch._softmax_backward_data`;
# `torch.compile` compiles the formula. The columns are those of the forward pass.
#
# Before you run the cell, guess: will the family be closer to the copy than in the
# forward pass, or further away?

# %%
gradients_of = chapter.measure.gradients_of()
chapter.shapes.overview(gradients_of, "PyTorch")

# %% tags=["solution"]
for (_, cols, _), table in gradients_of.items():
    table.expect("family", at_least=1.2)
    table.expect("family", ceiling=0.9 if cols <= 32768 else 0.8)

# %% [markdown]
# The next table shows the compiled kernels for long rows. Their *shared memory* holds a
# part of each piece. Any *local memory* would mean that some values did not fit in
# registers.

# %%
family = chapter.family
bench.compiled("long rows", family.long_kernels)

# %% [markdown] tags=["solution"]
# The backward pass has no exponential and no maximum, and for 1024 long rows the family
# comes closer to the copy than in the forward pass. PyTorch first multiplies `dy` by
# `y` in a separate kernel. On the H200, `torch.compile` is faster than the family, by
# up to 5 %, in nine of the ten cases whose rows one block can hold, but much slower on
# the long rows. In seven of the ten cases the family is faster than the copy, which
# moves as many bytes but writes more of them.

# %% [markdown]
# ### The same in Triton
#
# In Triton (chapter 5) a program handles a row as if it were one value, and the
# compiler distributes the row over registers. So exercise 4 takes six lines, which are
# on the chapter's first page. The program loads all columns at once, padded to a power
# of 2, so it reads each row only once, as long as the row fits in registers.
#
# How fast is the Triton kernel on rows of 1024, 8192 and 131,072? In the family, such
# rows are held by a small block, a large block and several blocks, respectively. Again,
# 1.0 is as fast as `torch.softmax`.

# %%
guess = {1024: {"Triton": None}, 8192: {"Triton": None}}
guess |= {131072: {"Triton": None}}

in_triton = chapter.measure.in_triton(guess)
in_triton[1024]

# %%
in_triton[8192]

# %%
in_triton[131072]

# %% tags=["solution"]
for table in in_triton.values():
    table.expect("family", at_least=1.0)

# %% [markdown] tags=["solution"]
# For the longest rows, the program has more values than registers: 131,072 values for
# 1024 threads are 128 per thread, but a thread can have only 64 registers. Compare
# Triton's result for these rows with its other two.

# %% [markdown]
# ### If you want more
#
# - Write `log_softmax`, $x - m - \log s$. Which of the passes change? How many bytes
#   move in the cross-entropy loss, which needs only one element of each row?
# - A mask or a scale that is applied as the scores are read takes no extra pass through
#   memory. Add both.
# - Process rows of 131,072 in pieces of 32 KB, or with five blocks on an SM: change
#   `LONG` in `family.py`. Predict first whether this is faster, and why.
# - Write teams for the backward pass. Each thread holds four units of 16 bytes of `y`
#   and four of `dy`. In which of the four cases with long rows will teams win?
# - Where a row fits into the shared memory of a **cluster** (chapter 8), its blocks can
#   exchange their pairs there instead of through L2. What would that save?
# - Write a softmax of columns, `torch.softmax(x, 0)`. Which elements should each thread
#   hold, so that requests are coalesced?

# %% [markdown]
# ## What you learned
#
# 1. Subtract the maximum first. The pairs (maximum, sum) of pieces merge in any
#    order, so one pass finds both.
# 2. A softmax is a copy with some arithmetic: read once, keep the row in registers,
#    write once.
# 3. A row is held by a warp, a block or several blocks, depending on its length. The
#    idea is the same, and only the place where pairs are merged differs.
# 4. Blocks can exchange pairs in words that are stored and loaded as a whole, if all of
#    these blocks are on the GPU, or soon will be.
# 5. The time in which a block neither loads nor stores has to be filled: by the other
#    blocks of its SM, or, in a persistent block, by its own next rows.
#
# The chapter's second page explains items 4 and 5, and the subject of the quiz's third
# question.

# %%
quiz()
