# %% [markdown]
# # 14 · Reduction
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/14_reduction.ipynb)
#
# **After this lab, you can**
#
# - add up a billion numbers at the rate at which memory can be read;
# - predict, for each kernel, whether bytes, instructions, bank conflicts, barriers or
#   atomics will limit it;
# - finish a sum in one launch, with blocks that cannot wait for one another;
# - say which sums repeat bit for bit, why, and what that costs;
# - use the same pattern for other operations, such as the position of the largest
#   element.
#
# **You need** about 100 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import itertools
import os

import numpy as np
from numba import cuda, float32, float64, int32

from weft import bench, check, hint, quiz
from weft.intrinsics import load4

chapter = weft.lab("14_reduction")
checks, kernels = chapter.checks, chapter.kernels
warp_sum, block_sum = kernels.warp_sum, kernels.block_sum
thread_sum, better = kernels.thread_sum, kernels.better

# %% [markdown]
# ## Look: a sum that stops
#
# The sum of 2^26 numbers between 0 and 1, whose average is one half, must be close to
# 33,554,432. Add them one after the other, in float32, as a loop would. What comes out?
# Guess, then run. (`np.cumsum` adds one after the other; `np.sum` does not.)

# %% tags=["folded"]
values = np.random.default_rng(14).random(1 << 26, np.float32)
exact = values.sum(dtype=np.float64)

print(f"exact            {exact:14,.1f}")
print(f"one by one       {np.cumsum(values)[-1]:14,.1f}")
print(f"np.sum           {values.sum():14,.1f}")

# %% tags=["solution"]
assert np.cumsum(values)[-1] == 1 << 24
assert abs(values.sum() / exact - 1) < 1e-6

# %% [markdown] tags=["solution"]
# At 16,777,216, which is 2^24, the sum has come to a standstill. A float32 has 24
# significant bits. From 2^24 on, neighbouring float32 numbers are 2 apart, and a sum to
# which less than 1 is added rounds back to its old value. Half of the array is missing
# from the result.
#
# Nothing is wrong with float32. `np.sum` adds the same numbers in another *order*: it
# adds up halves of halves of the array, and is right to seven digits. A GPU adds in a
# tree, which is an order of that kind. This lab is about making the tree fast.

# %% [markdown]
# ## Measure: how fast can memory be read?
#
# A sum of 2^28 float32 reads 1.07 GB and writes 4 bytes. Whatever a kernel does, it
# cannot be faster than reading the array. So first measure how fast reading is.
#
# There are three candidates for the ceiling. The first is `torch.sum`. The second is
# **CUB**, NVIDIA's library of parallel algorithms, called through CuPy where that is
# installed. The third is a kernel that reads everything and keeps nothing. Its threads
# add up what they read, because otherwise the compiler would leave the loads out, but
# they store the sum only in a case that does not occur. The H200's data sheet says 4.8
# TB/s. What share of that will each of the three reach?

# %%
measure = chapter.measure

reading = measure.reading()
reading

# %% [markdown]
# The fastest of the three is the ceiling for everything that follows. How many
# instructions can a kernel execute without becoming slower than that? An SM of an H200
# has four schedulers. Each can issue one instruction, for 32 lanes, per clock cycle, at
# 1.98 GHz.

# %% tags=["folded"]
ceiling = "reading alone"
if len(reading):
    ceiling = max(reading, key=lambda row: row.rate).name

    issued = reading[ceiling].ms / 1e3 * 132 * 4 * 1.98e9
    print(f"ceiling: {ceiling}")
    print(f"instructions for each 32 elements: {issued / (measure.N / 32):.0f}")

# %% tags=["solution"]
if len(reading):
    share = reading[ceiling].rate / 4.8e12
    print(f"share of the datasheet's 4.8 TB/s: {share:.0%}")
reading.expect("reading alone", at_least=1.0)

# %% [markdown] tags=["solution"]
# Reading alone reaches more than nine tenths of the data sheet's number, and no kernel
# of this lab adds up 2^28 elements faster. So on an H200 a warp that handles 32
# elements has about **thirty instructions** (42 on an H100, whose memory is slower) for
# everything: index, load, addition, and its share of the tree. Remember that number.

# %% [markdown]
# ## 1 · A tree
#
# Let a block of 256 threads add 256 numbers. Sums are built from pairs, so the block
# needs only eight steps. In the first, every second thread adds its right-hand
# neighbour's number to its own. Then the even elements hold sums of two numbers. In the
# next step, every fourth thread adds the element two places further on, then every
# eighth thread adds the element four places further on, and so on, until element 0
# holds the whole sum.
#
# The numbers are in **shared memory** (chapter 13), where each thread can read those of
# the others. Between one step and the next there is a **barrier**, which all threads of
# the block must reach, including those that have nothing left to add. This tree is
# called **interleaved**, because the threads that add are interleaved with threads that
# do not. The loads are given. Elements beyond the end count as 0, which changes no sum.
#
# Thread 0 could add everything by itself, in 255 steps. So the check counts how many
# times a thread reads the tile, and allows 24 reads, three per step. A thread may load
# only its one element of `x`. Stuck? Run `hint("sum_interleaved")`; there are three
# hints.
#
# ```python
# sum_interleaved(x, out)    # (n,) -> (blocks,)  float32; blocks of 256
# ```

# %% tags=["given"]
BLOCK = 256
FULL = 0xFFFFFFFF  # the mask of a whole warp
LOWEST = np.float32(-np.inf)

# %%
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    # about 8 lines
    # BEGIN SOLUTION
    step = 1
    while step < BLOCK:
        if t % (2 * step) == 0:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step *= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
    # END SOLUTION


# %%
check(
    sum_interleaved,
    spec=lambda x: np.add.reduceat(x, np.arange(0, x.size, BLOCK)),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 700],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 24},
    without=("cuda.atomic.add",),
)

# %% [markdown] tags=["solution"]
# The barrier is inside the loop because each step reads what the previous one has
# written. It is outside the `if` because every thread must reach it.
#
# The result is one sum per block. Adding these up is the same problem, 256 times
# smaller, so you can launch the kernel on its own results until one number is left.

# %% [markdown]
# ## 2 · Halves
#
# Most lanes are idle most of the time. In the first step, every second lane of every
# warp is idle. In the fifth step, one lane of each warp adds, and 31 are idle. A warp
# takes the same time whether one lane works or all 32 do. Over the eight steps, warps
# execute the addition 8 + 8 + 8 + 8 + 8 + 4 + 2 + 1 = 47 times, for 255 additions.
#
# So put the adding threads into the same warps, and let the other warps skip the
# addition. There are two ways to do that. The first keeps the tree and renumbers the
# threads. At a distance of `gap`, thread `t` takes element `left = 2 * gap * t` of the
# array `cells`, and adds to it the element `gap` further on. So the threads that add
# are the first ones of the block. Call this kernel `packed`.
#
# Now warps execute the addition only 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1 = 12 times. But
# which elements do neighbouring lanes read? Word `w` of shared memory is in bank
# `w % 32`, and a request takes as many **passes** as its busiest bank has different
# words to deliver (chapter 13). Count the passes of the first warp's load of
# `cells[left]`, step by step:

# %% tags=["folded"]
def passes(words):
    """Return how many passes a request for these words takes."""
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)


for level in range(8):
    gap = 1 << level
    lefts = [2 * gap * me for me in range(32) if 2 * gap * me < BLOCK]
    print(f"gap {gap:3}: {len(lefts):2} lanes, {passes(lefts):2} passes")

# %% [markdown]
# In `packed`, the lanes that add move together, but their elements move apart. The
# second way keeps both together. Change the *tree*: start with a distance of 128, so
# that thread `t` adds element `t + 128` to element `t`, for `t` below 128. Then the
# distance is 64, 32, and so on down to 1. The lanes are neighbours, and so are their
# elements. This is called **sequential addressing**.
#
# The inputs of this check make the order visible. Two elements that are 128 apart are
# large and nearly cancel. If these two are added first, the result is small and exact.
# In any other order, there are rounding errors. Stuck? `hint("sum_sequential")`.
#
# ```python
# sum_sequential(x, out)    # (n,) -> (blocks,)  float32; blocks of 256
# ```

# %%
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    # about 8 lines
    # BEGIN SOLUTION
    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
    # END SOLUTION


# %%
check(
    sum_sequential,
    spec=lambda x: np.add.reduceat(x, np.arange(0, x.size, BLOCK)),
    inputs=lambda rng, n: (checks.nearly_cancelling(rng, n),),
    sizes=[256, 768, 1, 700],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=1 << 20,
    limits={"loads": 1, "bank_conflicts": 0, "shared_loads": 24},
)

# %% [markdown] tags=["solution"]
# Warps execute the addition 12 times, their lanes use 32 different banks, and from the
# third step on only one warp adds.
#
# The check can tell the two trees apart by their results. Two kernels that are both
# right give different sums, because additions of floats round. Keep that in mind for
# exercise 5.

# %% [markdown]
# ## Look at the lanes
#
# `explore` launches a kernel in the simulator and shows which lanes take part in each
# request, and in which banks their words are. Begin with the first tree, and choose
# the line with the addition. How many requests does it make, and how many lanes take
# part in the later steps? Move the slider. Then guess the same for `sum_sequential`,
# change the name, and compare.

# %%
ones = np.ones(BLOCK, np.float32)
weft.explore(sum_interleaved)[1, BLOCK](ones, np.zeros(1, np.float32))

# %% [markdown]
# ## 3 · Finish with shuffles
#
# Once 32 numbers are left, the tree needs neither shared memory nor barriers: the lanes
# of a warp can read each other's registers. `warp_sum(value)` is the function of
# chapter 8: it returns the sum of a warp's values, in lane 0. With it, a block needs
# one barrier instead of nine:
#
# 1. each warp adds up its 32 values;
# 2. lane 0 of each warp stores the sum in `sums`, at the index of its warp;
# 3. every thread waits at a barrier;
# 4. warp 0 loads the sums, one per lane, and adds them up. A lane without a sum
#    contributes 0.
#
# Here the block may have any size that is a multiple of 32, up to 1024. Compute its
# number of warps from `cuda.blockDim.x`. The check counts loads: a thread may load one
# element of `x`, and only a few numbers from shared memory. Stuck?
# `hint("sum_shuffle")`.
#
# ```python
# sum_shuffle(x, out)    # (n,) -> (blocks,)  float32; any block
# ```

# %%
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    # about 9 lines
    # BEGIN SOLUTION
    value = warp_sum(value)
    if lane == 0:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        warps = cuda.blockDim.x // 32
        value = warp_sum(sums[lane] if lane < warps else float32(0))
        if lane == 0:
            out[cuda.blockIdx.x] = value
    # END SOLUTION


# %%
check(
    sum_shuffle,
    spec=lambda x: np.add.reduceat(
        x, np.arange(0, x.size, checks.width_for(x.size))
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[96, 1, 1500, 250],
    launch=lambda n: (-(-n // checks.width_for(n)), checks.width_for(n)),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 8, "barriers": 2},
    without=("cuda.atomic.add",),
)

# %% [markdown] tags=["solution"]
# A block has at most 32 warps, so one warp can always add up their sums. It uses all 32
# lanes because the mask of the shuffle names all of them, and every lane that a mask
# names must execute the shuffle.

# %% [markdown]
# ## 4 · A grid-stride reduction
#
# Write a **grid-stride loop**. The launch starts as many threads as the GPU holds, and
# each thread goes through the array in steps of the whole grid, adding into a register.
# This is **thread coarsening**. The tree runs only once, at the end of the kernel, so
# its cost is spread over a thousand elements per thread.
#
# Two more ideas come from chapter 13. The first is to read sixteen bytes at a time:
# `load4(x, i)` reads four float32 in one instruction, where `i` is a multiple of 4. The
# second is to make loads independent: the compiler unrolls the loop and issues several
# loads before it adds the result of the first. If the number of elements is not a
# multiple of 4, up to three are left over. The first threads of the grid add one each.
#
# `block_sum(value)` is exercise 3 as a function: its result is in thread 0 of the
# block. Each block adds that to `out[0]`, atomically: `cuda.atomic.add(out, 0, value)`.
# The check counts the atomic operations, and also the loads of each thread, because all
# threads have to share the work. Stuck? `hint("sum_grid")`.
#
# ```python
# sum_grid(x, out)    # (n,) -> (1,)  float32, starts at 0; any grid, any block
# ```

# %%
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    # about 9 lines
    # BEGIN SOLUTION
    fours = x.size // 4
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        value += x[i]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
    # END SOLUTION


# %%
check(
    sum_grid,
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    out=lambda x: np.zeros(1, np.float32),
    sizes=[1, 7, 4000, 3001],
    launch=lambda n: (2, 96) if n < 4000 else (5, 64),
    full=(1 << 24) + 3,
    limits={"sectors": 16, "load_bytes": 15, "atomics": 6, "loads": 8},
)

# %% [markdown] tags=["solution"]
# The sum is `(a + b) + (c + d)` rather than `value + a + b + c + d`, because then its
# three additions need not wait for the previous iteration.
#
# It does not matter whether the loop or the leftover elements come first. The leftovers
# have an ordinary guard, and `block_sum` is outside it, because all threads must reach
# its barrier.

# %% [markdown]
# ## Measure: every kernel so far
#
# Calculate first. 2^28 float32 are 1.07 GB, and the first table says how long reading
# them takes. Count the instructions of an iteration. How many of the thirty does it use
# for every 32 elements? `out` has to be set to 0 first. That takes another launch,
# which is included in the times below.
#
# How close does `grid` come to the ceiling? Three rows are for comparison: the same
# kernel with ordinary loads of 4 bytes; the same kernel in CUDA C++, compiled by NVRTC
# (chapter 5); and the kernel in C++ with one word changed, the type of `step`. How much
# does `load4` gain, and how much does C++?

# %%
guess = {"grid": None, "loads of 4 bytes": None, "CUDA C++": None}

ladder = measure.ladder(
    sum_interleaved, sum_sequential, sum_shuffle, sum_grid, ceiling, guess
)
ladder

# %% tags=["solution"]
ladder.expect("grid", at_least=3, times="shuffle")
ladder.expect("grid", at_least=1.05, times="loads of 4 bytes")
ladder.expect("grid", at_least=1.0, times="torch.sum")
ladder.expect("grid", at_least=0.97, times="CUDA C++")
ladder.expect("grid", ceiling=0.95)

# %% [markdown] tags=["solution"]
# Python and C++ are equally fast: the loop becomes the same few instructions, and both
# kernels wait for memory. An *unsigned* `step` makes C++ slower than Python. By the
# rules of the language, unsigned numbers wrap around, so the compiler may not derive
# the address of one iteration from that of the iteration before. `gridDim.x` is
# unsigned, so the usual `i += gridDim.x * blockDim.x` is the slow version.
#
# `load4` gains a lot less than chapter 13 may have led you to expect. The compiler
# unrolls the loop of 4-byte loads as well, so there too a thread has four loads in
# flight. But for that loop the profiler counts 19 instructions for every 32 elements
# instead of 3.4, and 19 is not far from the budget of thirty.
#
# ### Does the tree still matter?
#
# `sequential` is much faster than `interleaved`, and `shuffle` is much faster still
# (the table is in *Why all trees are slow*, further down). Now put the slowest tree
# into the fastest kernel: `grid, slow tree` is `sum_grid` with the interleaved tree,
# division and all, instead of `block_sum`. The first two rows show what the division
# alone costs.

# %% tags=["solution"]
trees = measure.trees(sum_interleaved, sum_grid, ceiling)
trees.expect("no division", at_least=1.2, times="interleaved")
trees.expect("grid, slow tree", at_least=0.93, times="grid")
trees

# %% [markdown] tags=["solution"]
# With one element per thread, the slowest kernel took more than eight times as long as
# `grid` on an H200, and six times as long on an H100. Put into `grid`, its tree costs
# about two per cent. A thread of `sum_grid` adds about a thousand elements into a
# register before it reaches the tree, and after so many additions the kind of tree
# hardly matters. Good trees matter in *small* sums, where the tree is a large part of
# the work.

# %% [markdown]
# ## Try it: the same sum, again and again

# %% [markdown]
# Launch `sum_grid` fifty times on the same array. How many different results does it
# give? How many does `torch.sum` give? Guess both, then run.

# %%
if weft.on_gpu("the simulator adds in the same order every time"):
    by_grid = measure.results_of(measure.grid_sum(sum_grid))
    print("sum_grid: ", sorted(by_grid))
    print("torch.sum:", sorted(measure.results_of(measure.torch_sum)))
    print("exact:    ", measure.total)

# %% tags=["solution"]
if weft.GPU:
    by_torch = measure.results_of(measure.torch_sum)
    run_grid = measure.grid_sum(sum_grid)
    bench.sometimes(
        "sum_grid varies", lambda: len(measure.results_of(run_grid)) > 1
    )
    bench.always("torch.sum gives one result", len(by_torch) == 1)

# %% [markdown] tags=["solution"]
# The sum of each block is the same every time: its threads take the same elements, in
# the same order, and its tree always has the same shape. What changes is the order in
# which the blocks reach `atomic.add`. The sum is just below 2^27, where neighbouring
# float32 numbers are 8 apart, so each of the last additions rounds.
#
# The result of `torch.sum` repeats. PyTorch does what you do next.

# %% [markdown]
# ## 5 · The last block
#
# This time, no block adds its sum to a common number. Instead, each block writes it to
# its own element, `parts[blockIdx.x]`, and when all sums have been written, *one* block
# adds up `parts`, in an order that is always the same.
#
# That block has to know when the last sum has been written. Within one launch, blocks
# cannot wait for one another, because some may not have begun. But they can *count*.
# Each block, once its part is written, adds 1 to `arrived[0]`, atomically:
#
# ```python
# before = cuda.atomic.inc(arrived, 0, top)    # 0, 1, ... top, and 0 again
# ```
#
# The call returns the value before the addition. Pass `gridDim.x - 1` as `top`. The
# block that gets `top` back knows that it is the last, and the counter is back at 0,
# ready for the next launch.
#
# Thread 0 of each block
#
# 1. writes the block's sum to `parts`;
# 2. calls `cuda.threadfence()`. Without this fence, the new count may become visible
#    before the part does;
# 3. counts, and stores in shared memory, in `last[0]`, whether the block is the last;
# 4. calls `cuda.threadfence()` once more. Without this fence, the last block may read
#    old parts from a cache.
#
# Then comes a barrier, after which all threads of the block know whether it is the
# last. In the last block, all threads add up `parts` together: a loop in steps of the
# block size, then `block_sum`, and thread 0 writes `out[0]`. `thread_sum(x)`, the loop
# of exercise 4, is given. Stuck? `hint("sum_repeatable")`.
#
# ```python
# sum_repeatable(x, parts, arrived, out)    # (n,) -> (blocks,), uint32 (1,), (1,)
# ```

# %%
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    # about 15 lines
    # BEGIN SOLUTION
    if t == 0:
        parts[cuda.blockIdx.x] = value
        cuda.threadfence()
        before = cuda.atomic.inc(arrived, 0, cuda.gridDim.x - 1)
        last[0] = before == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()

    if last[0]:
        whole = float32(0)
        for b in range(t, cuda.gridDim.x, cuda.blockDim.x):
            whole += parts[b]
        whole = block_sum(whole)
        if t == 0:
            out[0] = whole
    # END SOLUTION


# %%
check(
    sum_repeatable,
    spec=lambda x: (
        checks.sums_of_blocks(x),
        np.zeros(1),
        x.sum(keepdims=True),
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    out=lambda x: (
        np.full(checks.launch_for(x.size)[0], np.nan, np.float32),
        np.zeros(1, np.uint32),
        np.full(1, np.nan, np.float32),
    ),
    sizes=[1, 4000, 6151, 20_000],
    launch=checks.launch_for,
    full=(1 << 22) + 3,
    limits={"loads": 64},
)

# %% [markdown] tags=["solution"]
# The first fence orders the writes: the part comes before the counter. The second
# orders the reads: the counter comes before the parts. Together they make a chain from
# each block's store to the last block's load, which the barrier extends to the other
# threads of that block. PyTorch's reduction has both fences.
#
# The barrier has a second purpose. `block_sum` uses the same shared array in all of its
# calls, and the second call must not begin to fill it while the first is still reading.
#
# The launch fixes the order: which elements a thread takes, the shape of the trees, and
# the order of `parts`. None of that depends on which block comes last. But the order
# does depend on the numbers of blocks and threads. To get the same bits on *every* GPU,
# choose these two numbers independently of the number of SMs.

# %% [markdown]
# ## 6 · Argmax
#
# Find the column of the largest element in each row of a matrix. A language model does
# this to choose its most likely next token, with a row for each sequence and a column
# for each of, say, 100,000 tokens. The pattern is the same: load, combine in a
# register, shuffle, exchange through shared memory, and shuffle again. Three things
# change.
#
# - The kernel combines **pairs** of a value and its column. `better(top, place, other,
#   where)` returns the better of two pairs. Each step shuffles both parts.
# - The **neutral element**, which changes no result, is minus infinity, `LOWEST`, with
#   a column beyond the last.
# - If two values are equal, the one further left wins. So the operation is
#   **associative** and does not depend on the order, and any tree gives the same
#   result. (Sums of floats are not so lucky.)
#
# A block, of any number of warps, takes a row. The number of columns is a multiple of
# 4, and a thread takes four neighbours at a time: `load4(x, (row, col))`. Loops over a
# tuple, `for j in range(4)` with `four[j]`, are fine. Stuck? `hint("argmax_rows")`.
#
# ```python
# argmax_rows(x, out)    # float32 (m, n) -> int32 (m,); a block for each row
# ```

# %%
@cuda.jit
def argmax_rows(x, out):
    """Write the column of the largest element of each row of x into out."""
    tops = cuda.shared.array(32, float32)
    places = cuda.shared.array(32, int32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    top, place = LOWEST, int32(x.shape[1])

    # about 16 lines
    # BEGIN SOLUTION
    for col in range(4 * t, x.shape[1], 4 * cuda.blockDim.x):
        four = load4(x, (row, col))
        for j in range(4):
            if four[j] > top:
                top, place = four[j], int32(col + j)

    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(FULL, top, step)
        where = cuda.shfl_down_sync(FULL, place, step)
        top, place = better(top, place, other, where)
    if lane == 0:
        tops[warp], places[warp] = top, place
    cuda.syncthreads()

    if warp == 0:
        inside = lane < cuda.blockDim.x // 32
        top = tops[lane] if inside else LOWEST
        place = places[lane] if inside else int32(x.shape[1])
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(FULL, top, step)
            where = cuda.shfl_down_sync(FULL, place, step)
            top, place = better(top, place, other, where)
        if lane == 0:
            out[row] = place
    # END SOLUTION


# %%
check(
    argmax_rows,
    spec=lambda x: x.argmax(axis=1),
    inputs=lambda rng, m, n: (checks.tied(rng, m, n),),
    out=lambda x: np.full(len(x), -1, np.int32),
    sizes=[(1, 1), (3, 20), (2, 90), (2, 250)],
    launch=lambda m, n: (m, 64 if n < 99 else 96),
    full=(300, 5000),
    limits={"sectors": 16, "load_bytes": 16, "loads": 6}
    | {"shared_loads": 24},
)

# %% [markdown] tags=["solution"]
# The check's numbers are all negative, so it notices if you start from 0 instead of
# minus infinity. There are many ties, so it also notices a wrong rule for equal values.
# From row to row, the largest number moves to the right, so reading part of a row is
# not enough.
#
# Each step takes two shuffles where a sum takes one, and a comparison instead of an
# addition. But the shuffles run only once per row, so the kernel can still run at
# nearly the rate of reading.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious. The measurements
# are in `measure.py` and their kernels in `kernels.py`, both in
# `chapters/14_reduction`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Why all trees are slow
#
# This time, count instructions instead of bytes. A step of the tree takes a comparison,
# an addition, two loads, a store, a barrier, and the loop's own work. That makes about
# ten instructions, and there are eight steps. The budget is thirty instructions. What
# does that say about `interleaved` and `sequential`? What do the bank conflicts of
# `packed` add? What does `shuffle` still have to execute? Write down the speeds that
# you expect, relative to `torch.sum`.
#
# Each kernel is launched on x, then on the sums, and so on, so that 2^28 numbers become
# 2^20, 2^12, 2^4 and 1. Each later launch has at most 1/256 of the work of the first.

# %%
guess = {
    "interleaved": None,
    "packed": None,
    "sequential": None,
    "shuffle": None,
}

one_each = measure.one_each(
    sum_interleaved, sum_sequential, sum_shuffle, ceiling, guess
)
one_each

# %% tags=["solution"]
one_each.expect("packed", at_least=1.3, times="interleaved")
one_each.expect("sequential", at_least=1.4, times="interleaved")
one_each.expect("shuffle", at_least=1.2, times="sequential")
one_each.expect("torch.sum", at_least=2.5, times="shuffle")

# %% [markdown] tags=["solution"]
# NVIDIA's profiler counts the instructions that a warp really executes: 213 in
# `interleaved`, 94 in `packed`, 88 in `sequential`, and 65 in `shuffle`. The budget was
# thirty. At 1045 billion instructions per second, 213 × 8.4 million of them take 1.7
# ms, which is most of the time that `interleaved` takes. A good third of them compute
# `t % (2 * step)`, a division by a number that the compiler does not know. With
# `t & (2 * step - 1)` instead, the kernel is nearly one and a half times as fast (the
# table with the slow tree shows that). Most of the other instructions are executed by
# warps in which most lanes are idle.
#
# `packed` executes seven per cent more instructions than `sequential` and takes seven
# per cent longer, so its bank conflicts may cost nothing. There are many conflicts, but
# each step has half the lanes of the one before, and the warps of other blocks fill the
# gaps.
#
# The 65 instructions of `shuffle` would take 0.52 ms, but the kernel takes longer. So
# fewer instructions would no longer help.

# %% [markdown]
# ### A million blocks
#
# There is another suspect. With one element per thread, 2^28 elements take 2^20 blocks
# of 256 threads, and the GPU has to start and end each block. So launch the same number
# of blocks with less to do:
#
# - `nothing`: not even a load;
# - `a load`: each thread loads its element and does nothing with it;
# - `shuffle`: your kernel, without the later launches.
#
# Reading alone takes a quarter of a millisecond on an H200. How long will `nothing`
# take? Write down your guess. How fast will the other two be, relative to `nothing`?

# %%
guess = {"a load": None, "shuffle": None}

starts = measure.starts(sum_shuffle, guess)
starts

# %% tags=["solution"]
starts.expect("a load", at_least=0.9)
starts.expect("nothing", at_least=1.15, times="shuffle")
if len(starts):
    rate = measure.N // BLOCK / starts["nothing"].ms / 1e6
    print(f"blocks started in a nanosecond: {rate:.2f}")

# %% [markdown] tags=["solution"]
# Starting blocks is a limit in itself. An H200 starts about 1.65 blocks per nanosecond,
# so a million of them take more than twice as long as reading the array. That is about
# 70 % of the time of `shuffle`, and reading the array at the same time adds almost
# nothing. The SMs are not full either: each has room for 64 warps, but the profiler
# finds 46 on average. With at most 128 bytes each, 46 warps have at most 6 KB in
# flight, which is too little, as in chapter 13. Both problems have the same remedy:
# **let a thread load more than one element.**

# %% [markdown]
# ### What repeating costs
#
# There are three ways to finish the same sum: each block adds to one number,
# atomically; the last block adds up the parts; or a second launch, of a single block,
# adds up the parts.
#
# `shape_for(n)` chooses the launch from n alone: blocks of 1024 threads that make four
# iterations each, or, for fewer than 4 million elements, blocks of 256 threads that
# make one.
#
# Calculate first, for 2^28 elements: how many parts are there, and how many of them
# does each thread of the last block add? A kernel starts about a microsecond after the
# one before it has ended. What do the second and the third way cost, relative to the
# first?

# %%
guess = {"last block": None, "two launches": None}

finish, precise = measure.finish(sum_repeatable, ceiling, guess)
finish

# %% tags=["solution"]
finish.expect("last block", at_least=0.97)
finish.expect("two launches", at_least=0.95)
finish.expect("last block", at_least=1.0, times="torch.sum")
finish.expect("last block", ceiling=0.975)

# %% [markdown] tags=["solution"]
# There are 4096 parts, four for each thread of the last block, which is nothing
# compared with the 65,536 elements per block. The extra time is probably spent while
# the parts go to memory and come back, with a fence, and the rest of the GPU has
# nothing left to do. On the other hand, `out` need not be set to 0, which saves a
# launch. So a repeatable sum costs next to nothing here.
#
# You can also have more precision. Here is the same sum with **accumulators in
# float64**: the elements are float32, and are converted as they are added. An H200 adds
# half as many float64 per second as float32.

# %% tags=["solution"]
precise.expect("float64", at_least=0.95)
precise

# %% [markdown] tags=["solution"]
# Adding in float64 costs next to nothing either, because everything waits for memory.
# This holds for large sums on an H200. On a GPU that adds float64 at a 64th of the
# float32 rate, as many graphics cards do, measure again.

# %% [markdown]
# ### Does it repeat?
#
# Add up the same array fifty times again, with the launch that was timed, and then with
# two launches of 264 blocks. How many different results does each of the three give? Do
# they agree with one another?

# %%
if weft.on_gpu("the simulator adds in the same order every time"):
    for shape in (measure.shape_for(measure.N), (264, 1024), (264, 256)):
        seen = measure.results_of_last_block(sum_repeatable, shape)
        print(shape, sorted(seen))

# %% tags=["solution"]
if weft.GPU:
    for shape in (measure.shape_for(measure.N), (264, 1024)):
        seen = measure.results_of_last_block(sum_repeatable, shape)
        bench.always(f"a launch of {shape} gives one result", len(seen) == 1)

# %% [markdown] tags=["solution"]
# Each launch gives one result, however often it runs: the order of its additions
# depends on the numbers of blocks and threads alone. The launch with 4096 blocks adds
# in another order than the other two, and its result differs in the last bit. That
# the other two agree is chance, because they add in different orders, too. So if two
# GPUs have to give the same bits, do not choose the number of blocks by the number of
# SMs.

# %% [markdown]
# ### Rounding error of a sum
#
# The cell computes the rounding errors of several orders, relative to the sum in
# float64:
#
# - one by one: each addition rounds, and the sum gets ever larger;
# - in a tree: there are 28 additions between an element and the result;
# - `grid`: a thousand elements are added one by one in each thread, then there is a
#   tree in each block, and then the blocks are added one by one.
#
# Write down an order of magnitude for each (float32 rounds by 6e-8 at most), then run.

# %%
errors = {
    "one by one, 2^26": measure.error_of(np.cumsum(values)[-1], exact),
    "np.sum, 2^26": measure.error_of(values.sum(), exact),
}
if weft.GPU:
    errors |= measure.errors(sum_sequential, sum_grid, sum_repeatable)
for name, error in errors.items():
    print(f"{name:18} {error:.1e}")

# %% tags=["solution"]
if weft.GPU:
    assert errors["one by one, 2^26"] > 0.4
    in_float64 = measure.sum_in_float64()
    errors["float64"] = measure.error_of(in_float64, measure.total)
    print(f"{'float64':18} {errors['float64']:.1e}")
    assert max(errors[k] for k in errors if "one" not in k) < 1e-5
    from weft.bench import results

    results.record(
        "14_reduction",
        [
            {
                "case": "relative error of the sum",
                "name": name,
                "value": float(f"{error * 1e9:.3g}"),
                "unit": "× 10⁻⁹",
            }
            for name, error in errors.items()
        ],
    )

# %% [markdown] tags=["solution"]
# These are the same numbers in the same format, but in one order half of the sum is
# lost, whereas in another only the eighth digit is in doubt. With *u* = 6e-8, the error
# of adding one by one is at most (n - 1) *u*, and that of a tree at most log2(n) *u*,
# for positive numbers. Rounding goes up and down, so the actual error is usually far
# below the bound. Neighbouring float32 are 8 apart just below 2^27, which is 6e-8 of
# the sum. An error below that means that the result is one of the two neighbours of the
# exact sum.
#
# A GPU adds in trees because trees are parallel, and its sums are more accurate as a
# result.

# %% [markdown]
# ### All sizes
#
# The sizes go from 2^16 elements (262 KB) to 2^30 (4.3 GB). The small sums take a few
# microseconds, less than a launch from Python. So the tables time CUDA graphs of many
# launches, one after the other, each on another piece of a large array, which is not in
# the cache yet. (`bench.stream()` is the stream on which a graph is recorded.)
#
# What is the least time that a small sum can take? It needs a launch within a graph,
# two trips to memory (elements, then parts), two barriers and two fences. At what size
# does bandwidth become the limit? Guess the speeds for the smallest size, relative to
# `torch.sum`.

# %%
guess = {"last block": None, "two launches": None}

sizes = measure.sizes(sum_repeatable, guess)
sizes[16]

# %%
sizes[22]

# %%
if all(len(table) for table in sizes.values()):
    measure.plot(sizes)

# %% tags=["solution"]
sizes[16].expect("last block", at_least=1.2)
sizes[16].expect("two launches", at_least=0.8, times="last block")
sizes[20].expect("last block", at_least=1.2)
sizes[28].expect("last block", at_least=1.0)

# %% [markdown] tags=["solution"]
# From 65,536 elements to a million, the time of your kernels grows by only about a
# microsecond. That time consists of the launch, two trips to memory, and either fences
# and a counter or a second launch, which cost about the same. `torch.sum` takes two
# nodes of the graph if a sum has more than one block, since it sets its counter to 0
# each time, whereas your counter wraps around to 0 by itself. From 2^26 elements on,
# all rows are close to the same limit.

# %% [markdown] tags=["solution"]
# How much does the tree matter in a small sum? Here are 2^18 elements, in 64 blocks of
# 256 threads, read from the cache:

# %% tags=["solution"]
small = measure.small(sum_grid)
small.expect("grid", at_least=1.0, times="grid, slow tree")
small

# %% [markdown] tags=["solution"]
# Here the tree matters again. Each of the slow tree's eight steps takes a division, a
# barrier and accesses to shared memory, in a kernel that lasts only three microseconds.

# %% [markdown]
# ### The largest of each row
#
# Measure 4096 rows of 65,536 elements, then 32,768 rows of 8192: both matrices have
# 2^28 elements, or 1.07 GB. How fast is your kernel compared with `torch.argmax`, for
# long rows and for short ones?

# %%
guess = {"yours": None}

by_rows = measure.by_rows(argmax_rows, ceiling, guess)
by_rows[1 << 12]

# %%
by_rows[1 << 15]

# %% tags=["solution"]
by_rows[1 << 12].expect("yours", at_least=1.05)
by_rows[1 << 15].expect("yours", at_least=1.3)

# %% [markdown] tags=["solution"]
# Your kernel serves one operation and one layout, whereas PyTorch's serves all
# operations and layouts. The next step, several results from one pass over a row, is
# the softmax of chapter 16. There the pair is a maximum and a sum.

# %% [markdown]
# ### If you want more
#
# - Write a dot product: the same kernel with two loads. How many bytes does it read,
#   and how many instructions does it take? Compare with `torch.dot`.
# - Compute mean and variance in one pass. What does each partial result consist of, and
#   how do two of them combine? (Look for *Welford* and *Chan*.)
# - Use fixed-point numbers: convert each element to an int64, `int64(v * 2**32)`, and
#   add integers, atomically. The result is the same in *any* order. Measure it. Then
#   find data for which it goes wrong.
# - Use Kahan's compensated sum in each thread, which takes three more additions per
#   element. What does that cost on 2^28 elements, and on 2^20?
# - Use a cooperative launch (chapter 8), with `grid.sync()` instead of the last block.
#   Is it faster?
# - How many blocks are best? Measure `sum_repeatable` with 132, 264, 1056, 4096 and
#   16,384 blocks of 1024 threads, and explain the results at both ends.

# %% [markdown]
# ## What you learned
#
# 1. A large sum is little more than a read. Its limit is bandwidth, and its budget is
#    about thirty instructions for every 32 elements on an H200.
# 2. One element per thread is slow whatever the tree. Let each thread load many, and
#    the tree hardly matters.
# 3. In a tree, keep the adding threads together, and their elements too: no idle lanes
#    in busy warps, no bank conflicts. Once 32 numbers are left, use shuffles.
# 4. Blocks cannot wait for one another, but they can count. The last one finishes the
#    sum, with a fence before the counter and another after it.
# 5. Floating-point sums depend on the order. Atomics let the order vary; parts and a
#    last block fix it, at next to no cost. A tree is far more accurate than a loop.

# %%
quiz()
