# %% [markdown]
# # 08 · Warps
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/08_warps.ipynb)
#
# **After this lab, you can**
#
# - say which threads make up a warp, for a block of any shape;
# - predict what a branch costs, and rewrite one so that warps do not diverge;
# - add up, compare and filter values within a warp, with shuffles, votes and masks and
#   without any memory;
# - say which lanes take part in a warp operation, and which lanes have to;
# - combine warps through shared memory, and know what waiting costs at each scope:
#   warp, block, cluster, grid.
#
# **You need** about 80 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU. If
# you use a GPU, it needs compute capability 7.5 or higher (9.0 for clusters) and 2 GB
# of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32

from weft import check, hint, quiz
from weft.intrinsics import load4

chapter = weft.lab("08_warps")
checks = chapter.checks

# %% [markdown]
# ## 1 · Who is in my warp
#
# The hardware numbers the threads of a block consecutively, and cuts that sequence into
# warps of 32. `x` varies fastest, then `y`. In a block of 8 × 6 threads:
#
# | threadIdx (x, y) | number in the block | warp | lane |
# | --- | ---: | ---: | ---: |
# | (0, 0) | 0 | 0 | 0 |
# | (7, 0) | 7 | 0 | 7 |
# | (0, 1) | 8 | 0 | 8 |
# | (7, 3) | 31 | 0 | 31 |
# | (0, 4) | 32 | 1 | 0 |
#
# Write the arithmetic. For thread (`tx`, `ty`) of a block that is `width` threads wide,
# return the number of its warp and its lane. This is ordinary Python, not a kernel yet.
# Stuck? `hint("warp_of")`; there are three hints.
#
# ```python
# warp_of(tx, ty, width) -> (warp, lane)
# ```

# %%
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    # about 2 lines
    # BEGIN SOLUTION
    number = tx + ty * width
    return number // 32, number % 32
    # END SOLUTION


# %%
check(
    warp_of,
    spec=lambda tx, ty, width: divmod(
        list(np.ndindex(ty + 1, width)).index((ty, tx)), 32
    ),
    inputs=[(0, 0, 32), (31, 7, 32), (0, 4, 8), (7, 3, 8), (39, 2, 40)],
)

# %% [markdown] tags=["solution"]
# With a third dimension, the number is `tx + width * (ty + height * tz)`. In a block 32
# threads wide, each row is a warp and `threadIdx.x` is the lane, which is why so many
# kernels choose blocks of (32, 8). In a block 40 wide, no row is a warp and no warp is
# a whole row.
#
# A kernel can read its lane from `cuda.laneid`. There is no `cuda.warpid`, so calculate
# the number of the warp.

# %% [markdown]
# ## 2 · A branch without divergence
#
# A warp issues one instruction for its 32 lanes. If lanes take different branches, the
# warp runs the branches one after another, each with the other lanes switched off.
# That is **divergence**.
#
# Every second sample of a signal goes through one formula, `rise`, and the others go
# through another, `fold`. Here is the obvious kernel. It branches on the parity of `i`,
# so in every warp 16 lanes take one side and 16 the other.

# %% tags=["given"]
@cuda.jit(device=True)
def rise(v, table):
    s = float32(0)
    for k in range(table.size):
        s = s * v + table[k]
    return s


@cuda.jit(device=True)
def fold(v, table):
    s = v
    for k in range(table.size):
        s = table[k] - s * s
    return s


@cuda.jit
def obvious(x, table, out):
    i = cuda.grid(1)

    if i < x.size:
        if i % 2 == 0:
            out[i] = rise(x[i], table)
        else:
            out[i] = fold(x[i], table)


# %% [markdown]
# Thread `i` need not process element `i`. Assign the elements differently: let all
# lanes of a warp take elements of the same parity, so that the branch has the same
# outcome for the whole warp. Each element is still processed by exactly one thread, and
# goes through its own formula only. (Computing both formulas and choosing one result
# would avoid the branch, but double the work.) The launch has at least as many threads
# as elements, in blocks of 128.
#
# ```python
# even_odd(x, table, out)    # (n,), (k,) -> (n,)  float32
# ```
#
# The check counts how many lanes of a warp take part in a load from the table, and
# requires 32 wherever `n` is a multiple of 128. It also counts the operations: one
# formula needs about 16 per element. Stuck? `hint("even_odd")`.

# %%
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    # about 6 lines
    # BEGIN SOLUTION
    warp, lane = t // 32, t % 32
    i = warp // 2 * 64 + 2 * lane + warp % 2

    if i < x.size:
        v = x[i]
        out[i] = rise(v, table) if warp % 2 == 0 else fold(v, table)
    # END SOLUTION


# %%
check(
    even_odd,
    spec=checks.both,
    inputs=lambda rng, n: (
        rng.random(n, np.float32),
        rng.random(8, np.float32) / 2,
    ),
    sizes=[1, 100, 256],
    launch=lambda n: (-(-n // 128), 128),
    full=1 << 12,
    limits={"lanes": 32, "flops": 20 * 128},
)

# %% [markdown] tags=["solution"]
# Two neighbouring warps share 64 neighbouring elements: the even warp takes the even
# elements, and the odd warp takes the odd elements. Both read the same 256 bytes at
# about the same time, so the second warp probably finds in the L1 cache what the first
# has fetched.
#
# Other solutions are equally good. If each thread takes a pair, one element of each
# kind, there is no branch at all. Or the first half of the grid takes the even elements
# and the second half the odd ones, with at most one warp that has both. In all these
# solutions, hardly any warp takes both sides of the branch.

# %% [markdown]
# ## Look at it
#
# Both kernels read and write the same elements, but in different requests. `explore`
# launches your kernel in the simulator and shows them. Before you run the cell, guess
# how many lanes take part in a request for `x`, and how many sectors it touches. Then
# change the name to `obvious`, and compare.

# %%
ones = np.ones(256, np.float32)
weft.explore(even_odd)[2, 128](ones, ones[:8] / 2, np.zeros_like(ones))

# %% [markdown] tags=["solution"]
# All 32 lanes take part, and their elements are two apart, so a request touches 8
# sectors and uses half of each. In `obvious`, each side of the branch makes a request
# with 16 lanes, which touches 4 sectors. A warp of either kernel therefore touches 8
# sectors when it reads, and 8 when it writes: the new order costs no sectors.

# %% [markdown]
# ## Measure: even and odd samples
#
# The signal has 2^24 samples, and the table that both formulas read has 64 entries. How
# fast is your kernel, compared with the obvious one (1.0)?

# %%
guess = {"even_odd": None}

parity = chapter.measure.parity(obvious, even_odd, guess)
parity

# %% tags=["solution"]
parity.expect("even_odd", at_least=1.6, times="obvious")

# %% [markdown]
# ## 3 · A sum without memory
#
# A **shuffle** lets a lane read a register of another lane in its warp.
# `cuda.shfl_down_sync(mask, value, delta)` gives lane `k` the `value` of lane `k +
# delta`, or its own if there is no such lane. All lanes send and receive at the same
# time. `mask` has a bit for each lane that takes part. In nearly all kernels that you
# will write it is `0xFFFFFFFF`, all 32 lanes.
#
# With `delta = 16`, lanes 0 to 15 get the values of lanes 16 to 31 and can add them to
# their own. That reduces the sum of 32 values to a sum of 16. How many such steps does
# it take until one value is left?
#
# ```python
# warp_sum(x, out)    # (n,) -> (n / 32,)  float32; n a multiple of 64
# ```
#
# `out` has one element for every 32 elements of `x`. Each element of `x` has its own
# thread, which loads it once. Do not use atomics (chapter 9): they add in memory, and
# this exercise is about doing without. A kernel reads its lane from `cuda.laneid`,
# which is a number and not a call. Stuck? `hint("warp_sum")`.

# %% tags=["given"]
FULL = 0xFFFFFFFF  # all 32 lanes

# %%
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    # about 4 lines
    # BEGIN SOLUTION
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if cuda.laneid == 0:
        out[i // 32] = value
    # END SOLUTION


# %%
check(
    warp_sum,
    spec=lambda x: x.reshape(-1, 32).sum(axis=1),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 128, 640],
    launch=lambda n: (n // 64, 64),
    full=1 << 20,
    limits={"loads": 1, "shared_loads": 12, "atomics": 0},
    without=("cuda.atomic.add",),
)

# %% [markdown] tags=["solution"]
# There are five steps, because 2^5 = 32. After each step, only half as many lanes still
# matter; the upper lanes go on adding what they happen to read, and their results are
# not used. Letting them go on is cheaper than stopping them, and an `if` around the
# shuffle would be wrong: every lane that the mask names has to reach it.
#
# Only lane 0 has the sum, so only lane 0 writes. With `shfl_xor_sync`, which exchanges
# values between lane `k` and lane `k ^ delta`, all lanes end up with the sum.

# %% [markdown]
# ## 4 · The ragged end
#
# Now `n` can be any number, so the last warp may have lanes without an element. By
# habit you would put everything inside `if i < x.size:`. That breaks the shuffle: its
# mask names 32 lanes, and some of them would never reach the shuffle.
#
# Let every lane take part, and contribute something that does no harm: the **neutral
# element**, 0 for a sum, minus infinity for a maximum. Guard the load and the store,
# not the shuffle.
#
# Give *every* element the maximum of its group of 32 (a softmax needs that). In the
# last group, take the maximum of the elements that exist.
# `cuda.shfl_xor_sync(mask, value, k)` gives each lane the value of lane `laneid ^ k`:
# with `k` = 16, 8, 4, 2, 1, all lanes end up with the same value. Each lane loads only
# its own element; the check counts the loads. Some of the numbers are below -1e30.
# Stuck? `hint("warp_max")`.
#
# ```python
# warp_max(x, out)    # (n,) -> (n,)  float32
# ```

# %% tags=["given"]
LOWEST = np.float32(-np.inf)

# %%
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    # about 7 lines
    # BEGIN SOLUTION
    value = LOWEST
    if i < x.size:
        value = x[i]

    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, k))

    if i < x.size:
        out[i] = value
    # END SOLUTION


# %%
check(
    warp_max,
    spec=lambda x: np.repeat(
        np.maximum.reduceat(x, range(0, x.size, 32)), 32
    )[: x.size],
    inputs=lambda rng, n: (checks.far_below_zero(rng, n),),
    sizes=[64, 50, 1, 200],
    launch=lambda n: (-(-n // 64), 64),
    full=(1 << 20) + 5,
    limits={"loads": 2, "shared_loads": 12},
    without=("cuda.atomic.max",),
)

# %% [markdown] tags=["solution"]
# The load and the store are guarded, but the shuffle is not: this is the same pattern
# as around a barrier. A clamped load, `x[min(i, x.size - 1)]`, works too, because an
# element that appears twice does not change a maximum. It would change a sum.
#
# The data here are all negative. With 0 as the neutral element the kernel would be
# right on most data that you might try, and wrong on these.

# %% [markdown]
# ## 5 · A filter, by vote
#
# `cuda.ballot_sync(mask, predicate)` is a vote. Each lane says yes or no, and each gets
# all the answers, as an integer whose bit `k` is set if lane `k` said yes. Two
# functions turn a vote into a **filter**, which keeps some elements and drops the
# others:
#
# - `cuda.popc(votes)` counts the bits that are set: how many elements the warp keeps;
# - `cuda.lanemask_lt()` returns a mask with the bits of the lanes *below* mine. So
#   `popc(votes & lanemask_lt())` is the number of kept elements before mine, and that
#   is my place.
#
# | lane | 0 | 1 | 2 | 3 | 4 | 5 |
# | --- | --- | --- | --- | --- | --- | --- |
# | x | 3.1 | -2 | -4 | 0.5 | 8 | -1 |
# | says | yes | no | no | yes | yes | no |
# | kept below me | 0 | 1 | 1 | 1 | 2 | 3 |
# | writes to | 0 | | | 1 | 2 | |
#
# Move the positive elements of each group of 32, in order, to the front of the group's
# part of `out`. The rest of that part stays as it is (0). Also write the number of
# positive elements of each group to `counts`: the votes tell every lane how many there
# are, so the check allows no atomics here. Stuck? `hint("warp_filter")`.
#
# ```python
# warp_filter(x, out, counts)    # (n,) -> (n,), (groups,)  float32, int32
# ```

# %%
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    # about 6 lines
    # BEGIN SOLUTION
    votes = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(votes & cuda.lanemask_lt())

    if keep:
        out[i - cuda.laneid + place] = x[i]
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
    # END SOLUTION


# %%
check(
    warp_filter,
    spec=checks.kept,
    inputs=lambda rng, n: (rng.standard_normal(n).astype(np.float32),),
    sizes=[64, 1, 50, 200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: (np.zeros_like(x), np.zeros(-(-x.size // 32), np.int32)),
    full=(1 << 20) + 5,
    limits={"loads": 4, "shared_loads": 12, "atomics": 0},
)

# %% [markdown] tags=["solution"]
# Every lane votes, but only lanes that keep an element write to `out`. No warp waits
# for another, the lanes exchange nothing through memory, and the order is kept, because
# the lanes below mine hold the elements before mine. Chapter 15 does the same for a
# whole array. There, a warp's place depends on what all warps before it have kept.

# %% [markdown]
# ## 6 · The sum of a block
#
# A shuffle cannot reach beyond its warp. To add up a whole block, the warps have to
# exchange their sums through shared memory. `sums = cuda.shared.array(WARPS, float32)`
# declares an array there, with one number per warp.
#
# 1. Each warp adds up its 32 values, with shuffles.
# 2. Lane 0 of each warp stores the sum in `sums`, at the index of its warp.
# 3. Every thread waits at `cuda.syncthreads()`. What was stored before this line can be
#    read after it.
# 4. Warp 0 loads the sums, one per lane, and adds them up, with shuffles. Warp 0 has 32
#    lanes, but there are only 8 sums: what do the other lanes contribute?
#
# ```python
# block_sum(x, out)    # (n,) -> (blocks,)  float32; blocks of 256
# ```
#
# Stuck? `hint("block_sum")`.

# %% tags=["given"]
WARPS = 8  # in a block of 256

# %%
@cuda.jit
def block_sum(x, out):
    """Write the sum of each group of 256 elements of x into out."""
    sums = cuda.shared.array(WARPS, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    value = x[i] if i < x.size else float32(0)

    # about 11 lines
    # BEGIN SOLUTION
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if lane == 0:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        value = sums[lane] if lane < WARPS else float32(0)
        for delta in (4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, delta)
        if lane == 0:
            out[cuda.blockIdx.x] = value
    # END SOLUTION


# %%
check(
    block_sum,
    spec=lambda x: np.array(
        [x[i : i + 256].sum() for i in range(0, x.size, 256)], x.dtype
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 700],
    launch=lambda n: (-(-n // 256), 256),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 12},
    without=("cuda.atomic.add",),
)

# %% [markdown] tags=["solution"]
# A shuffle inside `if warp == 0:` is fine: the condition is the same for all 32 lanes
# of a warp, and the mask refers to one warp only. Inside `if lane < WARPS:` a shuffle
# would be wrong. All 32 lanes of warp 0 take part, and 24 of them contribute a zero.
#
# The barrier has to be that of the block. `cuda.syncwarp()` would not be enough,
# because eight warps write `sums` and one reads it.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: more
# measurements, most with a prediction. Their code is in `measure.py` and their kernels
# in `kernels.py`, both in `chapters/08_warps`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### How many paths?
#
# What does divergence cost? To find out, you need kernels with 1, 2, 4, … 32 different
# branches of the same length. No one wants to type 32 branches, so Python writes the
# kernels. Here is the one with two branches:

# %%
print(chapter.kernels.source(2))

# %% [markdown]
# Every branch does 64 × 16 = 1024 multiply-adds, and every thread takes exactly one
# branch. (The inner loop has a fixed length, so the compiler unrolls it.) `which` holds
# the branch that each thread takes. In the rows named *paths*, it is the lane number
# modulo the number of paths, so the lanes of every warp are spread over all paths. The
# last two rows use the kernels with 8 and with 32 branches again, but now `which` is
# the *warp* number modulo 8 or 32: all branches are taken, and each warp takes only
# one.
#
# Compute the time without divergence first. 2^22 threads do 1024 multiply-adds each.
# These are 2^32 multiply-adds, or 2^27 instructions for whole warps. An H200 has 132
# SMs, each of which issues 4 such instructions per clock cycle, at 1.98 GHz. That makes
# 1045 billion instructions per second, so 2^27 of them take **128 µs**, and the loop
# itself takes some more time.
#
# How fast are 2 and 32 paths, compared with one (1.0)? And how fast are 8 and 32 paths
# if each warp takes only one of them?

# %%
guess = {
    "2 paths": None,
    "32 paths": None,
    "8, a warp each": None,
    "32, a warp each": None,
}

paths = chapter.measure.paths(guess)
paths

# %% tags=["solution"]
paths.expect("1 path", at_least=1.8, times="2 paths")
paths.expect("1 path", at_least=28, times="32 paths")
paths.expect("8, a warp each", at_least=0.8, times="1 path")
paths.expect("8, a warp each", at_least=6, times="8 paths")

# %% [markdown] tags=["solution"]
# If the paths are long, the cost depends on the number of *different* paths that the
# lanes of one warp take. It does not matter which lanes take which path, nor how many
# lanes take each. Across warps a branch is free: the same kernel with the same 8
# branches, assigned warp by warp, takes hardly longer than the kernel with a single
# path.
#
# With 32 branches, the branch is not free, although no warp diverges. The suspect is
# the code, because every branch has its own. The compiler has unrolled each to about
# 130 instructions of 16 bytes, or 2 KB. That makes 66 KB for 32 branches, and the warps
# of an SM are spread over all of it. Perhaps this much code no longer fits in the
# instruction cache. Test that with the same 32 branches and one multiply-add per
# iteration, which take 24 KB.

# %% tags=["solution"]
small = chapter.measure.small()
small.expect("32, a warp each", at_least=0.9, times="1 path")
small.expect("1 path", at_least=28, times="32 paths")
small

# %% [markdown] tags=["solution"]
# Now the branch is free. (Every row takes longer, since an iteration needs as many loop
# instructions for one multiply-add as before for sixteen. Those instructions could also
# hide a slow fetch, so the table supports the suspicion but does not prove it.)

# %% [markdown]
# ### One lane is enough
#
# The next kernel has only one branch, to take or to skip. The rows differ in which
# lanes take it: all lanes, lane 0 of every warp, all lanes of one warp in 32, or no
# lane. In the second and the third row, 1/32 of the threads take the branch. How fast
# are these two rows, compared with the first?

# %%
guess = {"a lane of each warp": None, "a warp of 32": None}

one = chapter.measure.one(guess)
one

# %% tags=["solution"]
one.expect("every lane", at_least=0.9, times="a lane of each warp")
one.expect("a warp of 32", at_least=10, times="a lane of each warp")

# %% [markdown] tags=["solution"]
# A warp with one lane on the long path takes as long as a warp with 32 lanes there. So
# watch the rare, expensive case. If it occurs at random for one element in 32, most
# warps contain such an element, and you pay nearly as much as if all elements were of
# that kind. Collect the rare elements first, so they fill whole warps: the filter of
# exercise 5 does that.

# %% [markdown]
# ### Short branches
#
# Not every `if` becomes a branch. The two sides below are `count` multiply-adds long,
# and each thread executes the `if` 256 times. A bit of its `key` decides which side it
# takes in each iteration. Either all lanes of a warp have the same key (*together*), or
# each lane has its own (*apart*).

# %%
print(chapter.kernels.two_sides(2))

# %% [markdown]
# If every branch cost what the long ones above cost, *apart* would take twice as long
# as *together*, whatever the length. Guess, with *1 together* as 1.0.

# %%
guess = {"4 apart": None, "64 together": None, "64 apart": None}

short = chapter.measure.short(guess)
short

# %% tags=["solution"]
short.expect("1 apart", at_least=0.9, times="1 together")
short.expect("4 apart", at_least=0.9, times="4 together")
short.expect("8 together", at_least=1.15, times="8 apart")
short.expect("64 together", at_least=1.6, times="64 apart")

# %% [markdown] tags=["solution"]
# Up to four multiply-adds per side, it makes hardly any difference which lanes take
# which side. The compiler has generated no branch. The machine code computes both
# sides, under **predicates** that let each instruction take effect in some lanes only,
# or computes one side and selects its operands. No lane diverges, and every lane pays
# for both sides, *together* or *apart*. From eight multiply-adds on there is a real
# branch. If the lanes stay *together*, the branch saves time, since one side is
# skipped. If they are *apart*, the warp runs both sides, and the branching takes time
# as well.
#
# So do not fear `if x[i] > 0: y = a else: y = b`. Fear long branches, and loops whose
# number of iterations differs between lanes: a loop is a branch too, and a warp leaves
# it with its last lane.

# %% [markdown]
# ### Sums of 32
#
# Add up rows of 32 elements, 2^21 of them: 268 MB are read and 8 MB written. Compare
# PyTorch's `x.sum(1)` with three kernels: one thread per row, which reads its 32
# elements one after another; a block that exchanges values in shared memory, with a
# barrier after each step; and your `warp_sum`. (Shared memory is a small memory that
# the threads of a block have in common; at a barrier, `cuda.syncthreads()`, they wait
# for one another.) Guess, with PyTorch as 1.0.

# %%
guess = {"row_sum": None, "shared_sum": None, "warp_sum": None}

summed, sums = chapter.measure.summed(warp_sum, guess)
summed

# %% tags=["solution"]
summed.expect("warp_sum", at_least=1.4, times="shared_sum")
summed.expect("warp_sum", at_least=1.5, times="torch")

# %% [markdown] tags=["solution"]
# Five shuffles are five instructions. In shared memory, each step is two loads, an
# addition, a store, and a barrier at which 256 threads wait for the slowest of them.
# PyTorch's kernel is made for all shapes, and rows this short probably do not suit it.

# %% [markdown] tags=["solution"]
# The copy is still much faster. To see why, count instructions. 2^26 threads are 2^21
# warps. Each warp computes an index, loads, shuffles five times, adds five times, and
# stores for one lane: about 50 instructions, which at 1045 billion per second take 100
# µs in all. So give each lane more elements. With `load4` of chapter 12, a lane takes
# four elements of a row, eight lanes share a row, and a warp takes four rows. Three
# shuffles serve all four rows.

# %% tags=["solution"]
fours = chapter.measure.fours(sums)
fours

# %% tags=["solution"]
fours.expect("four_sum", at_least=1.8, times="warp_sum")
fours.expect("four_sum", ceiling=0.8)

# %% [markdown]
# ### What each scope saves
#
# Add up 2^26 elements into one element with atomic additions: one per thread, one per
# warp after shuffles, or one per block after shared memory.

# %%
total = chapter.measure.total()
total

# %% tags=["solution"]
total.expect("one atomic per warp", at_least=20, times="one atomic per thread")
total.expect("one atomic per block", at_least=4, times="one atomic per warp")

additions = {"thread": 2**26, "warp": 2**21, "block": 2**18}
for row in total:
    who = row.name.split()[-1]
    if who in additions:
        each = row.ms * 1e6 / additions[who]
        print(f"{row.name:18}  {each:.2f} ns each")

# %% [markdown] tags=["solution"]
# In all three rows, the time per addition is almost the same. Additions to one element
# queue up, wherever they come from, and hardly anything else counts here. Adding up
# within a warp first saves 31 of 32 atomic additions, at the price of five shuffles,
# and adding up within a block saves 7 of 8 of the remaining additions, at the price of
# a barrier. Chapter 14 goes on from here.

# %% [markdown]
# ### A filter for a whole array, if order does not matter
#
# If the order does not matter, it is enough that each place in `out` is used once.
# Without a vote, each thread that keeps an element gets a place from a counter, with an
# atomic addition. With a vote, one lane can get the places for its whole warp, and with
# shared memory, one thread can get them for its whole block.

# %%
filtered = chapter.measure.filtered()
filtered

# %% tags=["solution"]
each, one = "one atomic per thread", "one atomic per warp"
filtered.expect(one, at_least=0.8, times=each)
filtered.expect(each, at_least=0.8, times=one)
filtered.expect("one atomic per block", at_least=3, times="one atomic per warp")
filtered.expect("one atomic per block", at_least=1.2, times="torch")

# %% [markdown] tags=["solution"]
# The vote has gained nothing over the plain kernel. Votes are not slow: the compiler
# recognises this pattern, and has put the vote, the `popc` and a single atomic addition
# per warp into `filter_by_threads` as well. Both kernels wait for the same thing, 2^21
# additions to one element, one after another. What helps is to make fewer additions.
# `filter_by_blocks` makes one addition for 256 elements, and overtakes PyTorch, which
# has more to do because it keeps the order.

# %% [markdown]
# ### Beyond the block: the grid
#
# Blocks must not wait for one another, with one exception. In a **cooperative** launch,
# all blocks are on the GPU at the same time, so they can wait for one another:
# `grid.sync()` is a barrier for the whole grid. Numba launches that way automatically
# when it finds one in the kernel. Here each thread writes an element, then reads one
# that another block wrote.

# %%
@cuda.jit
def across(x, out):
    """Write through x, then read what another block has written."""
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)

    x[i] = float32(i)
    grid.sync()
    out[i] = x[x.size - 1 - i]


x, out = cuda.device_array(256, np.float32), cuda.device_array(256, np.float32)
across[4, 64](x, out)
print("turned round:", (out.copy_to_host() == np.arange(256)[::-1]).all())

# %% [markdown]
# ### Clusters, and what waiting costs
#
# GPUs from compute capability 9.0 on have one more level between block and grid, the
# **cluster**: up to 8 blocks that run at the same time, close together. They can wait
# for one another, and read and write each other's shared memory. Numba does not support
# clusters, so their kernels are CUDA C++. In the first of them, each block writes its
# number into its own shared memory, and reads the number of the next block in its
# cluster. The next cell prints what the blocks have read, if the GPU has clusters.
#
# It also times four barriers, by scope: a warp, a block of 256 threads, a cluster of 8
# such blocks, and a grid of 128 such blocks. Each of these kernels does nothing but
# wait, 1000 times, so milliseconds in the table are microseconds per barrier. How many
# times as fast as the grid's barrier are the block's and the cluster's?

# %%
guess = {"syncthreads": None, "cluster": None}

scopes = chapter.measure.scopes(guess)
scopes

# %% tags=["solution"]
scopes.expect("syncthreads", at_least=20, times="grid.sync")
if chapter.measure.has_clusters:
    scopes.expect("cluster", at_least=3, times="grid.sync")
    scopes.expect("syncthreads", at_least=3, times="cluster")

# %% [markdown] tags=["solution"]
# The wider the scope, the longer the wait. A warp's barrier costs next to nothing: in
# this kernel the compiler sees that the lanes are together, and you measure the loop. A
# block's barrier is handled within the SM. A cluster's barrier connects SMs that are
# near one another; on the H100 that we measured it took three times as long as on the
# H200. The grid's barrier goes through memory: each block adds to a counter, and reads
# the counter again and again until all blocks have arrived.

# %% [markdown]
# ### If you want more
#
# - `cuda.match_any_sync(mask, key)` gives each lane the mask of the lanes that have the
#   same key. Use it to count the keys of a warp: one lane for each key writes.
# - Let each lane of `warp_sum` add up several elements before it shuffles, so that a
#   warp sums more than 32. How close to the copy do you get?
# - Write a scan of a warp, in which each lane gets the sum of its own value and all
#   below it: `shfl_up_sync`, five steps, and an `if` that does *not* contain the
#   shuffle.
# - Give one path of the first measurement twice the length. Predict the time for 2, 4
#   and 32 paths.
# - On a GPU, look at the machine code of `two_sides(4)` and `two_sides(8)`, with
#   `inspect_sass()` of a compiled kernel. Find the predicates (`@P0`), and the branch.

# %% [markdown]
# ## What you learned
#
# 1. A warp is 32 threads with consecutive numbers in the block; `x` varies fastest.
# 2. A warp that diverges pays for each different path; between warps a branch is free,
#    and a short `if` is not a branch.
# 3. Every lane that a mask names must reach the operation: let lanes without an element
#    contribute the neutral one; guard loads and stores, never a shuffle.
# 4. Shuffles add up a warp in five steps; a ballot, `popc` and `lanemask_lt` filter it.
# 5. Warps exchange values through shared memory and a barrier; the wider the scope, the
#    longer the wait.

# %%
quiz()
