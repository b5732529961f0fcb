# %% [markdown]
# # 15 · Scan
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/15_scan.ipynb)
#
# **After this lab, you can**
#
# - compute running sums with shuffles, in shared memory, and over a whole array;
# - count the steps, the additions and the barriers of Hillis and Steele's scan and of
#   Blelloch's, and say which of them matters on a GPU;
# - calculate how fast a scan in several kernels can be at best, from the bytes that it
#   moves;
# - scan 2^28 numbers in one pass, with blocks that look back at their predecessors;
# - keep some elements of an array, in order, and say what it takes to be faster at that
#   than PyTorch.
#
# **You need** about 110 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint32, uint64
from numba.cuda import libdevice

from weft import bench, check, hint, quiz
from weft.intrinsics import load4, peek, poke, store4

chapter = weft.lab("15_scan")
checks, kernels = chapter.checks, chapter.kernels
warp_scan, warp_total = kernels.warp_scan, kernels.warp_total
pack, flag_of, value_of = kernels.pack, kernels.flag_of, kernels.value_of
take_turn, load_tile = kernels.take_turn, kernels.load_tile
scan_fours, store_tile = kernels.scan_fours, kernels.store_tile

# %% [markdown]
# ## A loop that seems to have an order
#
# ```python
# total = 0
# for i in range(n):
#     total += x[i]
#     out[i] = total
# ```
#
# Each iteration needs the result of the one before. The output is called a **scan** of
# x, or its running sums: `out[i]` is the sum of `x[0]` to `x[i]`. That is the
# **inclusive** scan; the **exclusive** scan leaves `x[i]` itself out.
#
# The loop looks as if it could not be parallelised, and yet a great many parallel
# programs contain a scan. Wherever many threads each produce a few results, or none, an
# exclusive scan of the counts tells each thread where to write.

# %% [markdown]
# ## 1 · The Hillis–Steele scan
#
# Start with 32 numbers, in the registers of one warp. Let each lane add the value of
# its left neighbour. Now lane `k` holds the sum of two numbers, its own and the one
# before. Then let each lane add the value of the lane two to the left, which is also a
# sum of two numbers, to get a sum of four. Go on with the values from four, eight and
# sixteen lanes to the left. After five steps, each lane has the sum of everything up to
# and including its own number.
#
# | lane | 0 | 1 | 2 | 3 | 4 | 5 |
# | --- | --- | --- | --- | --- | --- | --- |
# | x | 3 | 1 | 4 | 1 | 5 | 9 |
# | after delta 1 | 3 | 4 | 5 | 5 | 6 | 14 |
# | after delta 2 | 3 | 4 | 8 | 9 | 11 | 19 |
# | after delta 4 | 3 | 4 | 8 | 9 | 14 | 23 |
#
# This is the method of Hillis and Steele. `cuda.shfl_up_sync(FULL, value, delta)` gives
# lane `k` the value of lane `k - delta`. A lane with no lane `delta` places to its left
# gets its own value back, and must not add it. Stuck? `hint("scan_warps")`; there are
# three hints.
#
# ```python
# scan_warps(x, out)    # (n,) -> (n,)  float32; a scan for each 32 neighbours
# ```

# %% tags=["given"]
FULL = 0xFFFFFFFF  # all 32 lanes

# %%
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    # about 7 lines
    # BEGIN SOLUTION
    for delta in (1, 2, 4, 8, 16):
        left = cuda.shfl_up_sync(FULL, value, delta)
        if cuda.laneid >= delta:
            value += left

    if i < x.size:
        out[i] = value
    # END SOLUTION


# %%
check(
    scan_warps,
    spec=lambda x: checks.running(x, 32),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 1, 50, 200],
    launch=lambda n: (-(-n // 64), 64),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 12, "float64": 0},
)

# %% [markdown] tags=["solution"]
# All lanes execute the shuffle, and only the addition has a condition. If the `if` were
# around both, the lanes below `delta` would not reach the shuffle, although its mask
# names them.
#
# The lanes make 31 + 30 + 28 + 24 + 16 = 129 additions, whereas a loop makes 31. That
# does not matter, because an addition takes a warp just as long in one lane as in 32.
# What counts is that there are only five steps.

# %% [markdown]
# ## 2 · Eight steps, two barriers each
#
# Now do the same for 256 numbers in shared memory, with `step` = 1, 2, 4, … 128. In
# each step, thread `t` adds `tile[t - step]` to `tile[t]`.
#
# A shuffle reads the values of all lanes before any lane goes on. Shared memory gives
# you no such guarantee. When thread 40 reads `tile[39]`, thread 39 is about to change
# it, or has perhaps changed it already. So each step has two halves: all threads
# **read**, into a register; then all threads **write**. There must be a barrier between
# the two halves, and another between the second half of one step and the first half of
# the next. With the barrier that is given, that makes 17 barriers, and the check
# accepts no more. Each thread loads only its own element from `x`. Stuck?
# `hint("scan_steps")`.
#
# ```python
# scan_steps(x, out)    # (n,) -> (n,)  float32; blocks of 256
# ```

# %% tags=["given"]
BLOCK = 256


# %%
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    # about 10 lines
    # BEGIN SOLUTION
    step = 1
    while step < BLOCK:
        left = tile[t - step] if t >= step else float32(0)
        cuda.syncthreads()
        tile[t] += left
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t]
    # END SOLUTION


# %%
check(
    scan_steps,
    spec=lambda x: checks.running(x, BLOCK),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 300],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 40, "barriers": 17}
    | {"float64": 0},
)

# %% [markdown] tags=["solution"]
# With two tiles, one barrier per step is enough: read from one tile, write to the
# other, and swap them. This is **double buffering**, and it takes twice as much shared
# memory.

# %% [markdown]
# ## 3 · Fewer additions
#
# Hillis and Steele's scan of 256 numbers makes 8 × 256 - 255 = 1793 additions; a loop
# makes 255. On a machine with fewer processors than numbers, all of these additions
# count. Blelloch's scan makes about twice 255, in a tree, up and down:
#
# - **up**: the tree of chapter 14. With a gap of 1, 2, 4, …, the last element of each
#   pair gets the pair's sum. In the end, the last element of the block holds the sum of
#   all numbers;
# - the last element is set to **0**;
# - **down**, with a gap of 128, 64, … 1: the last element of each pair holds the sum of
#   everything *before the whole pair*. The last element of the left half gets that sum.
#   The pair's last element gets the same sum plus the old value of the left half's last
#   element, which is the left half's sum.
#
# | element | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | x | 3 | 1 | 4 | 1 |
# | up, gap 1 | 3 | **4** | 4 | **5** |
# | up, gap 2 | 3 | 4 | 4 | **9** |
# | last to 0 | 3 | 4 | 4 | **0** |
# | down, gap 2 | 3 | **0** | 4 | **4** |
# | down, gap 1 | **0** | **3** | **4** | **8** |
#
# The result is the exclusive scan. The way up is given. Write the rest. After the loop
# that is given, `gap` is BLOCK. The way up and the way down take 255 additions each.
# The check counts additions, and rejects a kernel that makes more than 800 per block.
# Stuck? `hint("scan_tree")`.
#
# ```python
# scan_tree(x, out)    # (n,) -> (n,)  float32, exclusive; blocks of 256
# ```

# %%
@cuda.jit
def scan_tree(x, out):
    """Write the exclusive sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    gap = 1
    while gap < BLOCK:
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            tile[end] += tile[end - gap]
        cuda.syncthreads()
        gap *= 2

    # about 14 lines
    # BEGIN SOLUTION
    if t == 0:
        tile[BLOCK - 1] = float32(0)
    cuda.syncthreads()

    while gap > 1:
        gap //= 2
        right = 2 * gap * (t + 1) - 1
        if right < BLOCK:
            half = tile[right - gap]
            tile[right - gap] = tile[right]
            tile[right] += half
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t]
    # END SOLUTION


# %%
check(
    scan_tree,
    spec=lambda x: checks.running(x, BLOCK) - x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 300],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 60, "flops": 800, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Blelloch's scan makes less than a third of the additions of Hillis and Steele's, but
# takes twice as many steps. The measurement *Inside a block*, further down, shows
# whether additions or steps matter.

# %% [markdown]
# ## 4 · Lanes, warps, blocks
#
# A large scan is made of small scans. You cut the array into pieces, scan each piece,
# scan the sums of the pieces, and add to each piece the sum of everything before it.
# The same steps lead from a thread to a warp, from a warp to a block, and from a block
# to the whole array:
#
# 1. each thread has four neighbouring elements, `a, b, c, d`, and scans them in
#    registers;
# 2. each warp scans its threads' sums with `warp_scan`, which is exercise 1 as a
#    function (its result includes the lane's own sum);
# 3. the last lane of each warp writes the warp's sum to `sums`, and warp 0 scans
#    `sums`;
# 4. the sums over *blocks* are given: for each `b`, `ends[b]` is the sum of everything
#    up to the end of block `b`.
#
# So a thread adds to each of its four running sums the sums of the blocks, the warps
# and the lanes before it. A block processes `4 * blockDim.x` elements, and n is a
# multiple of that. `load4(x, i)` returns four elements, from `x[i]` on.
# `store4(out, i, a, b, c, d)` stores four. Stuck? `hint("scan_tiles")`.
#
# ```python
# scan_tiles(x, ends, out)    # (n,), (blocks,) -> (n,)  float32
# ```

# %%
@cuda.jit
def scan_tiles(x, ends, out):
    """Write the running sums of x; ends has those at the ends of blocks."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    a, b, c, d = load4(x, 4 * cuda.grid(1))

    # about 16 lines
    # BEGIN SOLUTION
    b += a
    c += b
    d += c
    upto = warp_scan(d)
    if lane == 31:
        sums[warp] = upto
    cuda.syncthreads()

    if warp == 0:
        sums[lane] = warp_scan(sums[lane] if lane < warps else float32(0))
    cuda.syncthreads()

    before = upto - d
    if warp > 0:
        before += sums[warp - 1]
    if cuda.blockIdx.x > 0:
        before += ends[cuda.blockIdx.x - 1]
    at = 4 * cuda.grid(1)
    store4(out, at, before + a, before + b, before + c, before + d)
    # END SOLUTION


# %%
check(
    scan_tiles,
    spec=checks.tiles_on_top,
    inputs=lambda rng, n: (
        rng.random(4 * checks.threads(n) * n, np.float32),
        rng.random(n, np.float32) * 100,
    ),
    sizes=[1, 4, 2],
    launch=lambda n: (n, checks.threads(n)),
    full=5000,
    limits={"sectors": 16, "load_bytes": 11, "store_bytes": 16}
    | {"loads": 4, "shared_loads": 40, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `upto - d` is the sum of the lanes before. With integers the subtraction is exact.
# With floats it rounds, which is harmless as long as the numbers are of similar size,
# as they are here. But where `d` is far larger than the sum before it, little is left
# of that sum. `shfl_up_sync(FULL, upto, 1)`, with a 0 for lane 0, avoids the
# subtraction, and the fast kernel of exercise 6 uses it.

# %% [markdown]
# ## 5 · Keep some, in order
#
# **Stream compaction** copies the elements that are to be kept to the front of `out`,
# in order. Each thread has one element, and has to know how many are kept before it.
# That number is an exclusive scan of zeros and ones, and consists of three parts:
#
# - kept in the lanes before: `cuda.ballot_sync` and `popc`, as in chapter 8. Together
#   they scan 32 bits in a few instructions;
# - kept in the warps before: each warp's count goes into shared memory, and warp 0
#   scans the counts (`warp_scan` takes integers, too);
# - kept in the blocks before: `ends[b]` is how many elements are kept up to the end of
#   block `b`.
#
# Keep the elements that are greater than 0. The grid covers x, and the last block may
# extend beyond the end. Stuck? `hint("keep_positive")`.
#
# ```python
# keep_positive(x, ends, out)    # float32 (n,), int32 (blocks,) -> float32 (n,)
# ```

# %%
@cuda.jit
def keep_positive(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    warps = cuda.blockDim.x // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    keep = value > float32(0)

    # about 16 lines
    # BEGIN SOLUTION
    votes = cuda.ballot_sync(FULL, keep)
    if lane == 0:
        counts[warp] = cuda.popc(votes)
    cuda.syncthreads()

    if warp == 0:
        counts[lane] = warp_scan(counts[lane] if lane < warps else int32(0))
    cuda.syncthreads()

    place = cuda.popc(votes & cuda.lanemask_lt())
    if warp > 0:
        place += counts[warp - 1]
    if cuda.blockIdx.x > 0:
        place += ends[cuda.blockIdx.x - 1]
    if keep:
        out[place] = value
    # END SOLUTION


# %%
check(
    keep_positive,
    spec=lambda x, ends: np.pad(x[x > 0], (0, x.size - (x > 0).sum())),
    inputs=checks.signs,
    out=lambda x, ends: np.zeros_like(x),
    sizes=[96, 1, 251, 400],
    launch=lambda n: (-(-n // checks.width(n)), checks.width(n)),
    full=(1 << 20) + 5,
    limits={"loads": 2, "shared_loads": 40, "float64": 0},
)

# %% [markdown]
# ## Look at the stores
#
# `explore` launches your kernel in the simulator and shows what its warps request.
# Here are two blocks of three warps, and about half of the elements are kept. Before
# you look at the store, guess how many lanes of a warp take part in it, how many
# sectors their request touches, and whether there are gaps between the places.

# %%
some, ends = checks.signs(np.random.default_rng(15), 192)
weft.explore(keep_positive)[2, 96](some, ends, np.zeros_like(some))

# %% [markdown] tags=["solution"]
# The store is the only part that not all lanes execute. The lanes that execute it write
# to neighbouring places, since kept elements are neighbours in `out`. So the request is
# coalesced, whether few or many elements are kept.
#
# A sort by one bit runs the same kernel twice, once for the zeros and once for the
# ones. A sort by 32 bits consists of 32 such sorts. This is a radix sort, and it is
# made of scans.

# %% [markdown]
# ## Decoupled look-back
#
# Adding up each tile, scanning the sums and running `scan_tiles` reads x twice, and so
# does your compaction. A block needs the sum of everything before it, which is known
# only when all of that has been read. One read would be enough if a block kept its
# elements in registers until it *learned* that sum from the blocks before it. Merrill
# and Garland's **decoupled look-back** is a fast way to get that sum.
#
# Each tile has a word of 64 bits in `words`, with a flag in the upper half and a
# float32 in the lower. With the flag `SUM`, the number is the sum of this tile alone;
# with `ALL`, it is the sum of everything up to the end of this tile. As long as the
# flag is 0, there is no number yet.
#
# When a block has added up its tile, it publishes the sum at once, as `SUM`. Then it
# looks back: it adds up the numbers of the tiles before, nearest first, up to and
# including the first `ALL`. That `ALL` ends the search, because it already includes
# everything before it. Then the block publishes its own `ALL`. No block has to wait for
# its predecessor's `ALL`: the nearest `ALL` may be far away, as long as the words in
# between are `SUM`.
#
# One warp looks back, **32 words at a time**: lane 0 looks at the word of the tile just
# before, lane 1 at the word of the tile before that, and so on. A lane whose word still
# has flag 0 looks again. When all 32 lanes have found a number, `ballot_sync` says
# which of them have an `ALL`; the nearest is the lowest bit, lane
# `cuda.ffs(votes) - 1`. The numbers of the lanes up to and including that one are added
# up. If no lane has an `ALL`, all 32 numbers are added up, and the warp looks again, 32
# tiles further back.
#
# ## 6 · Look back
#
# So far, the kernel below scans each tile separately. Write the look-back. In warp 0,
# `total` is the tile's sum. Find the sum of everything `before` the tile, in all lanes,
# and publish both words. The following is given:
#
# - `peek(words, k)` loads a word, and sees what other blocks have stored;
#   `poke(words, k, word)` stores a word so that other blocks can see it.
# - `pack(flag, value)` makes a word, and `flag_of(word)` and `value_of(word)` take it
#   apart. `warp_total(value)` adds up a warp's values and gives the sum to all lanes.
# - The first 32 words belong to no tile, and hold `ALL` and 0. So tile `k` has word
#   `32 + k`, and even tile 0 has words to look back at.
# - A block chooses its tile by a **ticket**, drawn from an atomic counter, not by
#   `blockIdx`. So tiles are handed out in the order in which blocks *start*, and a
#   block waits only for blocks that are running.
# - `load_tile`, `scan_fours` and `store_tile` load, scan and store a tile.
#
# ```python
# scan_once(x, out, words, ticket)    # (n,) -> (n,) float32, uint64, int32
# ```
#
# In the check, 40 tiles are finished or in progress when your blocks start. Your blocks
# take tiles 41, 42 and 40, in this order, or only 41 and 40. If a block does not
# publish before it looks back, the others wait for it for ever. The nearest `ALL` is
# that of tile 5, which a warp reaches in two iterations. The check lets no thread look
# at more than 8 different words. At the end, all words of your tiles have to be `ALL`.
# Stuck? `hint("scan_once")`.

# %% tags=["given"]
SUM, ALL = 1, 2

# %%
@cuda.jit
def scan_once(x, out, words, ticket):
    """Write the running sums of x, reading it once."""
    sums = cuda.shared.array(32, float32)
    turn = cuda.shared.array(1, int32)
    v = cuda.local.array(16, float32)
    shift = cuda.local.array(4, float32)
    t = int32(cuda.threadIdx.x)
    warp, lane = t >> int32(5), t & int32(31)

    if t == 0:
        turn[0] = take_turn(ticket, words)
    cuda.syncthreads()
    tile = turn[0]

    load_tile(x, tile, v)
    mine = scan_fours(v, shift)
    if lane == 0:
        sums[warp] = mine
    cuda.syncthreads()

    if warp == 0:
        mine = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        upto = warp_scan(mine)
        total = cuda.shfl_sync(FULL, upto, 31)
        before = float32(0)

        # about 15 lines
        # BEGIN SOLUTION
        here = 32 + tile
        if lane == 0:
            poke(words, here, pack(SUM, total))

        back = here - 1 - lane
        votes = 0
        while votes == 0:
            word = peek(words, back)
            while flag_of(word) == 0:
                word = peek(words, back)
            votes = cuda.ballot_sync(FULL, flag_of(word) == ALL)
            counts = votes == 0 or lane < cuda.ffs(votes)
            before += warp_total(value_of(word) if counts else float32(0))
            back -= 32

        if lane == 0:
            poke(words, here, pack(ALL, before + total))
        # END SOLUTION

        sums[lane] = before + upto - mine
    cuda.syncthreads()

    store_tile(out, tile, v, shift, sums[warp])


# %%
check(
    scan_once,
    spec=checks.finished,
    inputs=lambda rng, n: (
        rng.integers(
            -9, 10, (checks.EARLIER + n) * 64 * kernels.ITEMS
        ).astype(np.float32),
    ),
    out=checks.underway,
    sizes=[2, 3],
    launch=lambda n: (n, 64),
    full=2000,
    limits={"loads": 8, "peeks": 8, "float64": 0},
    describe={"words": checks.about_word},
)

# %% [markdown] tags=["solution"]
# In the inner loop, each lane waits for its own word, and at the vote the lanes of the
# warp come together again. `cuda.ffs` counts from 1, so `lane < ffs(votes)` means the
# lanes up to and including the nearest `ALL`.
#
# Flag and number are stored as one word, so no fence is needed: a reader sees both or
# neither. If the number had 64 bits, the flag would have to be stored separately, after
# a fence.
#
# The check hands out the tiles in the order 41, 42, 40, 44, 45, 43, so that some blocks
# do have to wait. In the simulator, a block that waits in such a loop lets the next
# block run.

# %% [markdown]
# ## Measure: one pass
#
# Calculate first. One pass moves 8 bytes per element, just as the copy does, so the
# copy's speed is the upper limit. Now for the cost of waiting. From its first load to
# its last store, a block occupies a part of an SM, and holds 16 × 4 bytes per thread.
# By Little's law (chapter 13), rate = bytes held / time held. With three blocks of 512
# threads, an SM holds 96 KB. If loading takes 2 µs and the wait for all predecessors
# takes 4 µs more, at what rate does an SM read, and at what rate do 132 SMs read?
# Compare the result with half of the copy's rate, since half of what a copy moves is
# read.
#
# Two other rows scan in several launches, with your `scan_tiles`. `add up, then scan`
# adds up each tile, scans the sums, and then scans the tiles. `scan, then add` scans
# each tile first, and then adds to it the sum of everything before it.
#
# Guess the speed of `one pass`, relative to `torch.cumsum`.

# %%
chapter.learner.use(scan_tiles=scan_tiles, keep_positive=keep_positive)
measure = chapter.measure
guess = {"one pass": None}

passes = measure.passes(scan_once, guess)
passes

# %% tags=["solution"]
if weft.GPU:
    assert measure.error(measure.in_one_pass(scan_once)) < 1e-4

# %% [markdown] tags=["solution"]
# `one pass` is about as fast as `torch.cumsum`, which is this algorithm in CUDA C++,
# but far from the copy. Solve the formula for the time: time held = bytes held / rate.
# On an H200 the table's rate, halved and divided by 132 SMs, is about 10 bytes per
# nanosecond, so the 96 KB of an SM are held for nearly 10 µs. A single load takes a
# third of a microsecond (chapter 12). The rest of the time goes to the ticket, to loads
# that compete with others, to a barrier, to publishing, and to looking at other words.
# Each look takes a trip to L2, and a block keeps looking until the slowest of the
# blocks before it has published its sum.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious. The measurements
# are in `measure.py` in `chapters/15_scan`; the kernels are in `kernels.py`, those of
# the fastest scans in `rounds.py` and `compaction.py`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### PyTorch's scan
#
# Calculate first. Reading and writing 2^28 float32 moves 2.15 GB, and a copy moves just
# as many bytes. How close to the copy does PyTorch's `torch.cumsum` come? For a vector
# it calls **CUB**, NVIDIA's library of parallel algorithms. Write down how many times
# as fast as `torch.cumsum` the copy is, then run the cell.

# %%
guess = {"copy": None}

ceilings = measure.ceilings(guess)
ceilings

# %% tags=["solution"]
ceilings.expect("copy", at_least=1.3)

# %% [markdown] tags=["solution"]
# There is room for improvement: a kernel at the end of this lab comes much closer to
# the copy.

# %% [markdown]
# ### Inside a block
#
# Here are four scans of 2^28 elements in which each block scans only its own elements,
# so that only the work inside a block is compared. All four move as many bytes as a
# copy. The first three have one element per thread and blocks of 256:
#
# - `steps`: eight steps. For 256 elements, the warps together execute 64 additions;
# - `tree`: sixteen steps and 24 additions, with elements that are 2, 4, 8, … apart;
# - `warps`: five shuffles, a barrier, five more shuffles in warp 0, and another
#   barrier;
# - `fours`: your `scan_tiles`, with four elements per thread.
#
# An SM of an H200 issues four instructions per cycle at 1.98 GHz, so in the copy's time
# it can issue about 63 instructions for every 32 elements. One step in shared memory
# takes ten instructions or more, barriers included. Which of the four kernels will be
# the fastest? How many times as fast as `steps` will each of the others be?

# %%
guess = {"tree": None, "warps": None, "fours": None}

blocks = measure.blocks(scan_steps, scan_tree, scan_tiles, guess)
blocks

# %% tags=["solution"]
blocks.expect("warps", at_least=1.1)
blocks.expect("steps", at_least=1.4, times="tree")
blocks.expect("fours", at_least=1.4, times="warps")

# %% [markdown] tags=["solution"]
# Blelloch's scan, with the fewest additions, takes twice as long as Hillis and
# Steele's. It has twice as many steps, and each step computes indices by
# multiplication: a warp executes 227 instructions, against 148. The elements that it
# accesses are 2, 4, 8, … apart, so many of them are in the same bank. To see how much
# time these bank conflicts take, remove them by **padding** (chapter 13): one extra
# element after every 32.

# %% tags=["solution"]
trees_padded = measure.trees_padded(scan_steps, scan_tree)
trees_padded.expect("tree, padded", at_least=1.0)
trees_padded.expect("steps", at_least=1.4, times="tree, padded")
if weft.GPU:  # the same additions in the same order
    assert not measure.padding_changes_sums(scan_tree)
trees_padded

# %% [markdown] tags=["solution"]
# With padding, the kernel is less than a tenth faster, so the conflicts are not the
# problem. Shuffles are faster than both classic scans.
#
# But none of the kernels with one element per thread comes near the copy. Look at
# `copy kernel`, which scans nothing: a single element is too little work for a thread,
# as in chapters 13 and 14. `fours` gives each thread more work (**thread coarsening**)
# and comes close to the copy. So within a block, the problem is solved. What remains is
# that no block knows the sums of the others.

# %% [markdown]
# ### A whole array, in several launches
#
# In an ordinary kernel, blocks cannot wait for one another, but each launch waits for
# the one before. So one kernel adds up each tile, the sums are scanned, and
# `scan_tiles` does the rest. The sums of 2^28 elements in tiles of 2048 are 131,072
# numbers, too many for one block, so they are scanned in the same way, by tiles. That
# leaves 64 sums of sums, which one block can scan. In total, there are five launches,
# and the three small ones take hardly any time.
#
# There is an older way: scan each tile first, and then add to each tile the sum of
# everything before it. (`add_ends` does the adding.)
#
# Calculate first. The first way reads x, reads x again and writes `out`, which moves 12
# bytes per element, whereas the copy moves 8. The second way reads and writes, and then
# reads and writes again, which makes 16 bytes. What fraction of the copy's speed can
# each way reach at best?
#
# The table gives speeds relative to `torch.cumsum`. So multiply your two fractions by
# the copy's speed in the first table, and enter the results as your guesses.

# %%
guess = {"scan, then add": None, "add up, then scan": None}

launches = measure.launches(guess)
launches

# %% tags=["solution"]
launches.expect("add up, then scan", at_least=1.1, times="scan, then add")
if weft.GPU:
    for name, launch in measure.several().items():
        assert measure.error(launch) < 1e-4, name

# %% [markdown] tags=["solution"]
# The bytes limit the first way to two thirds of the copy's speed, and the second to one
# half. Both ways come within 16 % of their limits on an H200, and within 5 % on an
# H100. `torch.cumsum`, which reads x once, is only 7 % faster than the better of the
# two (10 % on an H100). So reading x only once is not enough.

# %% [markdown]
# ### How many times PyTorch?
#
# PyTorch has `x[mask]` and `torch.masked_select(x, mask)`. In the table, both get a
# ready-made mask, whereas `x[x > 0]` and your kernel have to compare each element
# with 0.
#
# Your compaction takes three launches: count in each block, scan the counts, and move
# the elements. `torch.cumsum` scans the 262,144 counts, of which there is only one for
# every thousand elements. That moves about 4 + 4 + 2 bytes per element. `copy` here
# copies three quarters of x, which moves the 6 bytes per element that have to be moved
# if half of x is kept.

# %%
guess = {"torch, x[x > 0]": None, "three kernels": None}

kept = measure.kept(guess)
kept

# %% tags=["solution"]
if weft.GPU:
    measure.out.fill_(float("nan"))
    measure.three_kernels()()
    assert measure.kept_is_right()

# %% [markdown] tags=["solution"]
# Your compaction is slower than PyTorch. That is not because of the bytes: with 10 per
# element, it could be 3.7 times as fast as it is on an H200, and 2.7 times as fast on
# an H100. The cause is probably waiting. A thread waits for its only element, at
# barriers, for the scan of the counts, and for `ends`, and all the while it has at most
# 4 bytes in flight. The remedy is that of chapters 13 and 14, more elements per thread.
# The end of this lab tries it, together with a way to read x only once.
#
# PyTorch itself first counts what the mask keeps and waits for the number on the host,
# to allocate the result. Then it makes a list of indices, 8 bytes each, and gathers the
# elements at these indices.

# %% [markdown] tags=["solution"]
# ### What each idea gains
#
# Here two ideas are removed, one at a time. In `one lane looks`, one lane instead of a
# warp looks back, at one word at a time. In `neighbours`, each thread has 16
# neighbouring elements instead of vectors that are 128 elements apart, in four requests
# that each touch 32 sectors and use half of their bytes. One idea is added instead:
# with eight or sixteen vectors per thread, an SM holds more bytes.

# %% tags=["solution"]
without = measure.without(scan_once)
without.expect("one pass", at_least=1.1, times="neighbours")
without

# %% tags=["solution"]
bench.compiled(
    "scan in one pass",
    lambda: {
        "one pass": (scan_once, 512),
        "eight fours": (measure.once_eight, 256),
        "sixteen fours": (measure.once_sixteen, 128),
    },
)

# %% [markdown] tags=["solution"]
# Neighbouring elements in one thread cost the most time. The half of the sectors that a
# request does not use has to be fetched again, from L1 if it is still there. A single
# lane that looks at one word after another makes a trip to L2 for each word.
#
# With more elements per thread, an SM holds more bytes, which hides more of the wait:
# three blocks of 32 KB with four vectors per thread, four blocks with eight, and five
# blocks with sixteen. But then the registers are used up. An SM has 256 KB of them, and
# each thread also needs registers for other values.
#
# ### Pipelined look-back
#
# A block can also avoid waiting. An SM has 228 KB of shared memory, which has hardly
# been used so far. Let a block scan a tile, publish its sum, put the scanned tile into
# shared memory and **go on**, to the next tile. When the block comes back to that tile,
# the sums that it needs have usually been published. Then it looks back, adds the sum
# of everything before the tile, and stores the tile.
#
# So a block does not end after one tile. A kernel whose blocks each loop over tiles is
# a **persistent kernel**, and this loop is also **pipelined**. Each iteration, here
# called a *round*, does three things. It requests a new tile; while that is on its way,
# it finishes a tile that has waited; then it scans the new tile and lets it wait. In
# `scan_rounds`, a tile is stored either one round after it was read, or two rounds
# after. `old` is the tile to be stored, and `mid`, with two rounds, the tile in
# between.
#
# Which of the two will be faster, and by how much? A round takes several microseconds.

# %% [markdown] tags=["solution"]
# No block can wait for ever, for the following reason. Each thread reads and writes
# only its own elements of the box. A block draws the ticket for a tile just before it
# loads it, so tiles are still handed out in order. It publishes the sum of its new tile
# without knowing anything about other tiles, but only after it has finished an older
# tile. Consider the lowest tile without a sum. Its block waits only for lower tiles,
# whose sums have been published. So some block can always go on.

# %% tags=["solution"]
rounds = measure.rounds(scan_once)
rounds.expect("two rounds later", at_least=1.2)
rounds.expect("two rounds later", at_least=1.1, times="one pass")
rounds.expect("two rounds later", at_least=1.3, times="one round later")
if weft.GPU:
    assert measure.error(measure.in_rounds(measure.one_round)) < 1e-4
    assert measure.error(measure.in_rounds(measure.two_rounds)) < 1e-4
rounds

# %% tags=["solution"]
bench.compiled(
    "scan in rounds",
    lambda: {
        "one round later": (measure.one_round, 256),
        "two rounds later": (measure.two_rounds, 256),
    },
)

# %% [markdown] tags=["solution"]
# Storing a tile one round later is slower than waiting with the tile in registers. With
# five blocks on each of 132 SMs, a round has 660 tiles. All of them must have been read
# and added up before the block with the last tile may store anything. So every round
# probably takes as long as its slowest block. With a second tile in the box, a block
# that is late by less than a round delays no other block.
#
# Nothing else differs between these two rows. In the kernel that stores two rounds
# later, 80 KB of an SM's registers are being filled from memory, while tiles that fill
# 160 KB of its shared memory wait for their sums.

# %% [markdown] tags=["solution"]
# ### Compaction in one kernel
#
# First comes the simpler remedy: still three kernels, but with four neighbouring
# elements per thread, and so with four votes. Within the warp, a thread's first place
# is the number of elements that the lanes below keep, in all four votes together. From
# there on, the thread counts its own elements.
#
# Then come the rounds. The kept elements of a tile go into the box, each at its place
# within the tile. Two rounds later they go from there to `out` in one piece, so nearly
# every store fills all of its sectors.

# %% tags=["solution"]
kept_again = measure.kept_again()
kept_again.expect("the same, fours", at_least=1.3)
kept_again.expect("two rounds later", at_least=1.5)
if weft.GPU:
    launch, count = measure.keeping()
    for run in (
        measure.three_kernels(measure.count_fours, measure.keep_fours, 4, 256),
        launch,
    ):
        measure.out.fill_(float("nan"))
        run()
        assert measure.kept_is_right()
    assert int(count) == int((measure.x > 0).sum())
kept_again

# %% [markdown] tags=["solution"]
# Here, four elements per thread gain more than reading x only once. The counts have to
# be integers, because they may exceed 2^24 (chapter 14). Packing four counts into one
# word saves three quarters of the shuffles.

# %% [markdown]
# ### Does it repeat?
#
# Scan the same array twenty times with `torch.cumsum`, with each of the two ways in
# several launches, and with one pass. How many different results does each give? What
# can differ between two runs of the same kernel on the same data?

# %%
if weft.on_gpu("the simulator runs blocks in the same order every time"):
    ways = measure.several() | {
        "one pass": measure.in_one_pass(scan_once),
        "torch.cumsum": measure.torch_sums,
    }
    for name, launch in ways.items():
        print(f"{name:18} {measure.different(launch):3} of 20 different")

# %% tags=["solution"]
if weft.GPU:
    found = measure.different(measure.several()["add up, then scan"])
    bench.always("several launches give one result", found == 1)
    one_pass = measure.in_one_pass(scan_once)
    bench.sometimes(
        "one pass varies", lambda: measure.different(one_pass) > 1
    )

# %% [markdown] tags=["solution"]
# Which words show `ALL` when a block looks depends on timing. So does the way in which
# the sum before a tile is put together: from one `ALL`, or from the `ALL` of an earlier
# tile and several `SUM`s. A different order of additions rounds differently. The
# several launches always add in the same order. CUB's documentation says that the
# results of its scan may also vary from run to run, and PyTorch lists `cumsum` of
# floats on a GPU among the operations that may differ from run to run.
#
# With integers, every order gives the same result.

# %% [markdown]
# ### If you want more
#
# - Write an exclusive scan in one pass. What changes in `store_tile`?
# - Scan integers in one pass (`load4` also takes int32). Is the result the same every
#   time now?
# - Sort by one bit, in order: elements with a 0 go to the front, followed by those with
#   a 1. Then sort by 32 bits, one bit after another, and compare the time with that of
#   `torch.sort`.
# - Write a segmented scan, in which a second array marks where the sums start again. It
#   is a scan of pairs: which pairs, and how do two of them combine?
# - A linear recurrence, `y[i] = a[i] * y[i - 1] + b[i]`, is a scan of pairs as well.
#   Which operation on `(a, b)` and `(c, d)` is it? (State-space models are built on
#   this.)
# - `unique` of a sorted array is a compaction. Which elements does it keep?

# %% [markdown]
# ## What you learned
#
# 1. A scan of n numbers takes log2(n) steps. It can tell each thread where to write in
#    a common result.
# 2. Inside a block, steps and barriers matter, not additions: use shuffles first, then
#    a scan of the warps' sums.
# 3. Across blocks, bytes matter: 16, 12 or 8 for each float32.
# 4. Look-back lets a block learn the sum of everything before it while it holds its
#    elements. The price is that an SM has to hold enough elements to keep memory busy
#    while blocks wait.
# 5. Compaction is a scan of zeros and ones. Within a warp, a ballot and `popc` are
#    enough.

# %%
quiz()
