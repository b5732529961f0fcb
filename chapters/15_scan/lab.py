# %% [markdown]
# # 15 · Scan
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/15_scan.ipynb)
#
# **When you have finished, you can**
#
# - compute running sums with shuffles, in shared memory, and over a whole array;
# - count the steps, the additions and the barriers of Hillis and Steele's scan and of
#   Blelloch's, and say which of these numbers matters on a GPU;
# - calculate from its bytes how fast a scan in several kernels can be at best;
# - scan 2^28 numbers in one pass, with blocks that look back at their predecessors;
# - keep some elements of an array, in order, and say what it takes to do that faster
#   than PyTorch.
#
# **You need** about 110 minutes. You do not need a GPU: without one, the exercises run
# in the simulator, and the measurements show the results of the reference GPU. If you
# have one, it needs compute capability 7.5 or higher and 6 GB of memory.

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

weft.lab("15_scan")

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
# programs depend on it. Wherever many threads each produce a few results, or none, an
# exclusive scan of the counts tells each thread where to write.
#
# By hand: reading and writing 2^28 float32 moves 2.15 GB. A copy moves just as many
# bytes. How close to the copy does PyTorch's `torch.cumsum` come? For a vector it calls
# **CUB**, NVIDIA's library of such algorithms. Write down how many times as fast as
# `torch.cumsum` the copy is, then run the cell.

# %%
guess = {"copy": None}

N = 1 << 28
if weft.GPU:
    import torch

    x = torch.rand(N, device="cuda") - 0.5
    out, same = torch.empty_like(x), torch.empty_like(x)
    d_x, d_out, d_same = map(cuda.as_cuda_array, (x, out, same))


def libraries():
    return {
        "copy": lambda: same.copy_(x),
        "torch.cumsum": lambda: torch.cumsum(x, 0, out=same),
    }


ceilings = bench.compare(
    "libraries, 2^28 float32",
    libraries,
    baseline="torch.cumsum",
    bytes=8 * N,
    ceiling="copy",
    guess=guess,
)
ceilings

# %% tags=["solution"]
ceilings.expect("copy", at_least=1.3)

# %% [markdown] tags=["solution"]
# There is room for improvement. A kernel at the end of this lab uses most of it.

# %% [markdown]
# ## 1 · Five steps
#
# Start with 32 numbers, in the registers of one warp. Let each lane add the value of
# its left neighbour. Now lane `k` holds the sum of two numbers, its own and the one
# before. Then let each lane add the value of the lane two to the left, which is also a
# sum of two numbers: now each lane holds a sum of four. Then add the value from four
# lanes to the left, then from eight, then from sixteen. After five steps, each lane has
# the sum of everything up to and including its own number.
#
# | lane | 0 | 1 | 2 | 3 | 4 | 5 |
# | --- | --- | --- | --- | --- | --- | --- |
# | x | 3 | 1 | 4 | 1 | 5 | 9 |
# | after delta 1 | 3 | 4 | 5 | 5 | 6 | 14 |
# | after delta 2 | 3 | 4 | 8 | 9 | 11 | 19 |
# | after delta 4 | 3 | 4 | 8 | 9 | 14 | 23 |
#
# The method is Hillis and Steele's. `cuda.shfl_up_sync(FULL, value, delta)` gives lane
# `k` the value of lane `k - delta`. A lane that has no lane `delta` to its left gets
# its own value back, and must not add it.
#
# ```python
# scan_warps(x, out)    # (n,) -> (n,)  float32; a scan for each 32 neighbours
# ```
#
# Stuck? `hint("scan_warps")`; there are three hints.

# %% tags=["given"]
FULL = 0xFFFFFFFF  # all 32 lanes


def running(x, length):
    """Compute slowly a scan of each `length` neighbours."""
    pieces = [x[k : k + length] for k in range(0, x.size, length)]
    return np.concatenate([np.cumsum(piece) for piece in pieces])


# %%
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each 32 neighbours of x into out."""
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
    spec=lambda x: running(x, 32),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 1, 50, 200],
    launch=lambda n: (-(-n // 64), 64),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 12, "float64": 0},
)

# %% [markdown] tags=["solution"]
# All lanes execute the shuffle, and only the addition has a condition. With the `if`
# around both, the lanes below `delta` would not reach the shuffle, although its mask
# names them.
#
# The lanes make 31 + 30 + 28 + 24 + 16 = 129 additions, whereas a loop makes 31. But
# this does not matter: an addition takes a warp just as long in one lane as in 32, so
# what counts is that there are only five steps.

# %% [markdown]
# ## 2 · Eight steps, two barriers each
#
# Now do the same for 256 numbers in shared memory, with `step` = 1, 2, 4, … 128. In
# each step, thread `t` adds `tile[t - step]` to `tile[t]`.
#
# A shuffle reads the values of all lanes before any lane goes on. Shared memory gives
# you no such guarantee. When thread 40 reads cell 39, thread 39 is about to change it,
# or has perhaps changed it already. So each step has two halves: all threads **read**,
# into a register; then all threads **write**. There must be a barrier between the two
# halves, and another between the second half of one step and the first half of the
# next. With the barrier that is given, that makes 17, and the check accepts no more.
# Each thread loads only its own element from `x`.
#
# ```python
# scan_steps(x, out)    # (n,) -> (n,)  float32; blocks of 256
# ```
#
# Stuck? `hint("scan_steps")`.

# %% tags=["given"]
BLOCK = 256


# %%
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each BLOCK neighbours of x into out."""
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
    spec=lambda x: running(x, BLOCK),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 300],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 40, "barriers": 17}
    | {"float64": 0},
)

# %% [markdown] tags=["solution"]
# That makes sixteen barriers, plus the one that is given. With two tiles, one barrier
# per step is enough: read from one tile, write to the other, and swap them. (This is
# **double buffering**; it takes two cells per thread.)

# %% [markdown]
# ## 3 · Fewer additions
#
# Hillis and Steele's scan of 256 numbers makes 8 × 256 - 255 = 1793 additions; a loop
# makes 255. On a machine with fewer processors than numbers, it does seven times the
# work. Blelloch's scan makes about twice 255, in a tree, up and down:
#
# - **up**: the tree of chapter 14. With a gap of 1, 2, 4, …, the right end of each pair
#   gets the pair's sum. In the end, the last cell holds the sum of all numbers;
# - the last cell is set to **0**;
# - **down**, with a gap of 128, 64, … 1: the right end of each pair holds the sum of
#   everything *before the whole pair*. The left end gets that sum. The right end gets
#   the same sum plus the old value of the left end, which is the left half's sum.
#
# | cell | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | x | 3 | 1 | 4 | 1 |
# | up, gap 1 | 3 | **4** | 4 | **5** |
# | up, gap 2 | 3 | 4 | 4 | **9** |
# | last to 0 | 3 | 4 | 4 | **0** |
# | down, gap 2 | 3 | **0** | 4 | **4** |
# | down, gap 1 | **0** | **3** | **4** | **8** |
#
# The result is the exclusive scan. The way up is given; write the rest. After the loop
# that is given, `gap` is BLOCK. The ways up and down take 255 additions each. The check
# counts additions, and rejects a kernel that makes more than 800 per block.
#
# ```python
# scan_tree(x, out)    # (n,) -> (n,)  float32, exclusive; blocks of 256
# ```
#
# Stuck? `hint("scan_tree")`.

# %%
@cuda.jit
def scan_tree(x, out):
    """Write the exclusive sums of each BLOCK neighbours of x into out."""
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
    spec=lambda x: running(x, BLOCK) - x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[256, 1, 300],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=(1 << 20) + 5,
    limits={"loads": 1, "shared_loads": 60, "flops": 800, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Blelloch's scan makes less than a third of the additions, but takes twice as many
# steps. The measurement after the next exercise shows which of the two matters.

# %% [markdown]
# ## 4 · Lanes, warps, blocks
#
# A large scan is made of small scans. Cut the array into pieces; scan each piece; scan
# the sums of the pieces; and add to each piece the sum of everything before it. In this
# way you get from a thread to a warp, from a warp to a block, and from a block to a
# whole array:
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
# So a thread adds to each of its four running sums the sum of the blocks before, of the
# warps before, and of the lanes before. A block processes `4 * blockDim.x` elements,
# and n is a multiple of that. `load4(x, i)` returns four elements, from `x[i]` on.
# `store4(out, i, a, b, c, d)` stores four.
#
# ```python
# scan_tiles(x, ends, out)    # (n,), (blocks,) -> (n,)  float32
# ```
#
# Stuck? `hint("scan_tiles")`.

# %% tags=["given"]
@cuda.jit(device=True)
def warp_scan(mine):
    """Return the sum of mine over this lane and all lanes below it."""
    for far in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(FULL, mine, far)
        mine = mine + other if cuda.laneid >= far else mine
    return mine


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
def tiles_on_top(x, ends):
    """Compute slowly what scan_tiles computes."""
    tile = x.size // ends.size
    before = np.append(np.zeros_like(ends[:1]), ends[:-1])
    return running(x, tile) + np.repeat(before, tile)


def threads(n):
    return 32 + 32 * (n % 5)  # blocks of different sizes


check(
    scan_tiles,
    spec=tiles_on_top,
    inputs=lambda rng, n: (
        rng.random(4 * threads(n) * n, np.float32),
        rng.random(n, np.float32) * 100,
    ),
    sizes=[1, 4, 2],
    launch=lambda n: (n, threads(n)),
    full=5000,
    limits={"sectors": 16, "load_bytes": 11, "store_bytes": 16}
    | {"loads": 4, "shared_loads": 40, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `upto - d` is the sum of the lanes before. With integers the subtraction is exact.
# With floats it rounds, which is harmless as long as the numbers are of similar size,
# as they are here. But where `d` is far larger than the sum before it, little is left
# of that sum. `shfl_up_sync(FULL, upto, 1)`, with a 0 for lane 0, does not have this
# weakness, and the fast kernel below uses it.

# %% [markdown]
# ## Measure: inside a block
#
# Here are four scans of 2^28 elements in which each block scans only its own elements,
# so that only the work inside a block is compared. All four move as many bytes as a
# copy. The first three have one element per thread and blocks of 256:
#
# - `steps`: eight steps. For 256 elements, the warps together execute 64 additions;
# - `tree`: sixteen steps and 24 additions, with cells that are 2, 4, 8, … apart;
# - `warps`: five shuffles, a barrier, five more shuffles in warp 0, and another
#   barrier;
# - `fours`: your `scan_tiles`, with four elements per thread.
#
# An SM of an H200 issues four instructions per cycle at 1.98 GHz, so in the copy's time
# it can issue about 63 instructions for every 32 elements. One step in shared memory
# takes ten or more, barriers included. Which of the four kernels will be the fastest?
# How many times as fast as `steps` will each of the others be?

# %%
guess = {"tree": None, "warps": None, "fours": None}


@cuda.jit
def copy_kernel(x, out):
    """Copy x into out, one element per thread."""
    k = cuda.grid(1)
    if k < x.size:
        out[k] = x[k]


@cuda.jit
def scan_shuffled(x, out):
    """Scan each BLOCK neighbours: lanes, then warps."""
    cells = cuda.shared.array(32, float32)
    k = cuda.grid(1)
    me, my_warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    mine = warp_scan(x[k] if k < x.size else float32(0))
    if me == 31:
        cells[my_warp] = mine
    cuda.syncthreads()
    if my_warp == 0:
        cells[me] = warp_scan(cells[me] if me < 8 else float32(0))
    cuda.syncthreads()
    if k < x.size:
        out[k] = mine + cells[my_warp - 1] if my_warp else mine


def inside():
    each = N // BLOCK, BLOCK
    four = N // (4 * BLOCK), BLOCK
    zeros = cuda.as_cuda_array(torch.zeros(four[0], device="cuda"))
    return {
        "copy": lambda: same.copy_(x),
        "steps": lambda: scan_steps[each](d_x, d_out),
        "tree": lambda: scan_tree[each](d_x, d_out),
        "warps": lambda: scan_shuffled[each](d_x, d_out),
        "fours": lambda: scan_tiles[four](d_x, zeros, d_out),
        "copy kernel": lambda: copy_kernel[each](d_x, d_out),
    }


blocks = bench.compare(
    "2^28 float32, each block its own",
    inside,
    baseline="steps",
    bytes=8 * N,
    ceiling="copy",
    guess=guess,
)
blocks

# %% tags=["solution"]
blocks.expect("warps", at_least=1.1)
blocks.expect("steps", at_least=1.4, times="tree")
blocks.expect("fours", at_least=1.4, times="warps")

# %% [markdown] tags=["solution"]
# Blelloch's scan, with the fewest additions, takes twice as long as Hillis and
# Steele's. It has twice as many steps, and each step computes indices by
# multiplication: a warp executes 227 instructions, against 148. The cells that it
# accesses are 2, 4, 8, … apart, and so in the same banks. How much time do these bank
# conflicts take? The classic cure is **padding** (chapter 13): one extra cell after
# every 32.

# %% tags=["solution"]
CELLS_PADDED = BLOCK + BLOCK // 32


@cuda.jit(device=True)
def padded(k):
    """Return where cell k is, with an extra cell after every 32."""
    return k + (k >> 5)


@cuda.jit
def scan_tree_padded(x, out):
    """scan_tree without most of its bank conflicts."""
    tile = cuda.shared.array(CELLS_PADDED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[padded(t)] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    gap = 1
    while gap < BLOCK:
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            tile[padded(end)] += tile[padded(end - gap)]
        cuda.syncthreads()
        gap *= 2

    if t == 0:
        tile[padded(BLOCK - 1)] = float32(0)
    cuda.syncthreads()

    while gap > 1:
        gap //= 2
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            left, right = padded(end - gap), padded(end)
            half = tile[left]
            tile[left] = tile[right]
            tile[right] += half
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[padded(t)]


def trees():
    each = N // BLOCK, BLOCK
    return {
        "steps": lambda: scan_steps[each](d_x, d_out),
        "tree": lambda: scan_tree[each](d_x, d_out),
        "tree, padded": lambda: scan_tree_padded[each](d_x, d_same),
    }


trees_padded = bench.compare(
    "2^28 float32, the tree padded", trees, baseline="tree", bytes=8 * N
)
trees_padded.expect("tree, padded", at_least=1.0)
trees_padded.expect("steps", at_least=1.4, times="tree, padded")
if weft.GPU:
    for name in "tree", "tree, padded":
        trees()[name]()
    assert torch.equal(out, same)  # the same additions in the same order
trees_padded

# %% [markdown] tags=["solution"]
# They take less than a tenth of the time, so the conflicts are not the problem.
# Shuffles are faster than both classic scans.
#
# And none of the kernels with one element per thread comes near the copy. Look at
# `copy kernel`, which scans nothing: a single element is too little work for a thread,
# as in chapters 13 and 14. `fours` gives each thread more work (**thread coarsening**)
# and comes close to the copy. So inside a block, the problem is solved. The remaining
# problem is that no block knows the sums of the others.

# %% [markdown]
# ## Measure: a whole array, in several launches
#
# In an ordinary kernel, blocks cannot wait for one another, but each launch waits for
# the one before. So one kernel adds up each tile, the sums are scanned, and
# `scan_tiles` does the rest. The sums of 2^28 elements in tiles of 2048 are 131,072
# numbers, too many for one block, so they are scanned in the same way, by tiles. That
# leaves 64 sums of sums, which one block can scan. There are five launches in total,
# and the three small ones take hardly any time.
#
# There is an older way: scan each tile first, and then add to each tile the sum of
# everything before it. (`add_ends` does the adding.)
#
# By hand: the first way reads x, reads x again and writes `out`, 12 bytes per element,
# whereas the copy moves 8. The second way reads and writes, and then reads and writes
# again: 16 bytes. What fraction of the copy's speed can they reach at best?
#
# The table counts in multiples of `torch.cumsum`. In the first table, the copy was a
# certain number of times as fast as `torch.cumsum`. Multiply your two fractions by that
# number, and enter the results as your guesses.

# %%
guess = {"scan, then add": None, "add up, then scan": None}
WIDE = 512  # threads
TILE = 4 * WIDE


@cuda.jit
def sum_tiles(x, out):
    """Write the sum of each TILE neighbours of x into out."""
    cells = cuda.shared.array(32, float32)
    me, my_warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    p, q, r, s = load4(x, 4 * cuda.grid(1))
    mine = warp_scan((p + q) + (r + s))
    if me == 31:
        cells[my_warp] = mine
    cuda.syncthreads()
    if my_warp == 0:
        mine = warp_scan(cells[me] if me < WIDE // 32 else float32(0))
        if me == 31:
            out[cuda.blockIdx.x] = mine


@cuda.jit
def last_of_tiles(x, out):
    """Write the last of each TILE neighbours of x into out."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = x[TILE * (k + 1) - 1]


@cuda.jit
def add_ends(ends, out):
    """Add to each TILE of out the sum of everything before it."""
    first = ends[cuda.blockIdx.x - 1] if cuda.blockIdx.x > 0 else float32(0)
    p, q, r, s = load4(out, 4 * cuda.grid(1))
    store4(out, 4 * cuda.grid(1), first + p, first + q, first + r, first + s)


def several():
    tiles = N // TILE
    few = tiles // TILE
    zeros, sums, ends, top, top_ends = (
        cuda.as_cuda_array(torch.zeros(size, device="cuda"))
        for size in (tiles, tiles, tiles, TILE, TILE)
    )

    def scan_sums():
        sum_tiles[few, WIDE](sums, top)
        scan_tiles[1, WIDE](top, zeros, top_ends)
        scan_tiles[few, WIDE](sums, top_ends, ends)

    def add_up_then_scan():
        sum_tiles[tiles, WIDE](d_x, sums)
        scan_sums()
        scan_tiles[tiles, WIDE](d_x, ends, d_out)

    def scan_then_add():
        scan_tiles[tiles, WIDE](d_x, zeros, d_out)
        last_of_tiles[tiles // 256, 256](d_out, sums)
        scan_sums()
        add_ends[tiles, WIDE](ends, d_out)

    return {
        "scan, then add": scan_then_add,
        "add up, then scan": add_up_then_scan,
    }


launches = bench.compare(
    "2^28 float32, several launches",
    lambda: libraries() | several(),
    baseline="torch.cumsum",
    bytes=8 * N,
    ceiling="copy",
    guess=guess,
)
launches

# %% tags=["solution"]
launches.expect("add up, then scan", at_least=1.1, times="scan, then add")
if weft.GPU:
    exact = torch.cumsum(x.double(), 0)

    def error(launch):
        """Return the largest error of a scan, relative to the largest sum."""
        out.fill_(float("nan"))
        launch()
        return float((out - exact).abs().max() / exact.abs().max())

    for name, launch in several().items():
        assert error(launch) < 1e-4, name

# %% [markdown] tags=["solution"]
# The bytes limit the first way to two thirds of the copy's speed, and the second to one
# half. Both come within 15 % of their limits on an H200, and within 5 % on an H100.
# `torch.cumsum`, which reads x once, is only 8 % faster than the better of the two
# (10 % on an H100). So reading x only once is not enough.

# %% [markdown]
# ## 5 · Keep some, in order
#
# **Stream compaction** copies the elements that are to be kept to the front of `out`,
# in order. Each thread has one element, and has to know how many are kept before it.
# That number is an exclusive scan of zeros and ones, in three parts that you know:
#
# - kept in the lanes before: `cuda.ballot_sync` and `popc`, as in chapter 8. Together
#   they scan 32 bits in a few instructions;
# - kept in the warps before: each warp's count goes into shared memory, and warp 0
#   scans the counts (`warp_scan` takes integers, too);
# - kept in the blocks before: `ends[b]` is how many elements are kept up to the end of
#   block `b`.
#
# Keep the elements that are greater than 0. The grid covers x; the last block may
# extend beyond the end.
#
# ```python
# keep_positive(x, ends, out)    # float32 (n,), int32 (blocks,) -> float32 (n,)
# ```
#
# Stuck? `hint("keep_positive")`.

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
def ends_of(x, width):
    """Return how many elements are kept up to the end of each block."""
    blocks = [x[k : k + width] for k in range(0, x.size, width)]
    return np.cumsum([np.count_nonzero(b > 0) for b in blocks], dtype=np.int32)


def width(n):
    return 160 if n % 2 else 96  # threads


def signs(rng, n):
    numbers = rng.standard_normal(n).astype(np.float32)
    return numbers, ends_of(numbers, width(n))


check(
    keep_positive,
    spec=lambda x, ends: np.pad(x[x > 0], (0, x.size - (x > 0).sum())),
    inputs=signs,
    out=lambda x, ends: np.zeros_like(x),
    sizes=[96, 1, 251, 400],
    launch=lambda n: (-(-n // width(n)), width(n)),
    full=(1 << 20) + 5,
    limits={"loads": 2, "shared_loads": 40, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The store is the only part that not all lanes execute. The lanes that do execute it
# write to neighbouring places, since kept elements are neighbours in `out`. So the
# request is coalesced, however few or many elements are kept.
#
# A sort by one bit runs the same kernel twice, once for the zeros and once for the
# ones. A sort by 32 bits consists of 32 such sorts: this is a radix sort, and it is
# made of scans.

# %% [markdown]
# ## Measure: how many times PyTorch?
#
# PyTorch has `x[mask]` and `torch.masked_select(x, mask)`. In the table, both get a
# ready-made mask, whereas `x[x > 0]` and your kernel have to compare each element
# with 0.
#
# Your compaction takes three launches: count in each block, scan the counts, and move
# the elements. `torch.cumsum` scans the 262,144 counts, of which there is only one for
# every thousand elements. By hand, that is about 4 + 4 + 2 bytes per element. `copy`
# here copies three quarters of x, which moves the 6 bytes per element that have to be
# moved if half of them are kept.

# %%
guess = {"torch, x[x > 0]": None, "three kernels": None}
WIDER = 1024


@cuda.jit
def count_positive(x, found):
    """Write how many elements of each block are positive into found."""
    k = cuda.grid(1)
    n = cuda.syncthreads_count(int32(k < x.size and x[k] > float32(0)))
    if cuda.threadIdx.x == 0:
        found[cuda.blockIdx.x] = n


def selections():
    mask = x > 0
    most = N // 4 * 3
    return {
        "copy": lambda: same[:most].copy_(x[:most]),
        "torch.masked_select": lambda: torch.masked_select(x, mask),
        "torch, x[mask]": lambda: x[mask],
        "torch, x[x > 0]": lambda: x[x > 0],
    }


def three_kernels(
    count=count_positive, keep=keep_positive, items=1, block=WIDER
):
    grid = N // (items * block), block
    found = torch.empty(grid[0], dtype=torch.int32, device="cuda")
    upto = torch.empty_like(found)
    d_found, d_upto = map(cuda.as_cuda_array, (found, upto))

    def run():
        count[grid](d_x, d_found)
        torch.cumsum(found, 0, dtype=torch.int32, out=upto)
        keep[grid](d_x, d_upto, d_out)

    return run


kept = bench.compare(
    "2^28 float32, keep half",
    lambda: selections() | {"three kernels": three_kernels()},
    baseline="torch.masked_select",
    bytes=6 * N,
    ceiling="copy",
    guess=guess,
)
kept

# %% tags=["solution"]
if weft.GPU:
    out.fill_(float("nan"))
    three_kernels()()
    right = x[x > 0]
    assert torch.equal(out[: right.numel()], right)

# %% [markdown] tags=["solution"]
# Your compaction is slower than PyTorch. The bytes are not to blame: with 10 per
# element, it could be 3.6 times as fast as it is on an H200, and 2.7 times as fast on
# an H100. The cause is probably waiting. A thread waits for its only element, then at a
# barrier, for the scan of the counts, at another barrier, and for `ends`, and all the
# while it has at most 4 bytes in flight. Chapters 13 and 14 had the cure: more elements
# per thread. You will see it at the end of this lab, together with a way to read x only
# once.
#
# PyTorch itself first counts what the mask keeps and waits for the number on the host,
# to allocate the result. Then it makes a list of indices, 8 bytes each, and gathers the
# elements at these indices.

# %% [markdown]
# ## 6 · Look back
#
# The first way reads x twice, and so does your compaction, because a block must know
# the sum of everything before it, and that sum is known only when everything has been
# read. One read would be enough if a block kept its elements in registers until it
# *learned* that sum from the blocks before it. Merrill and Garland's **decoupled
# look-back** is a fast way to learn it.
#
# Each tile has a word of 64 bits in `words`, with a flag in the upper half and a
# float32 in the lower:
#
# | flag | the number is |
# | --- | --- |
# | 0 | nothing yet |
# | `SUM` | the sum of this tile alone |
# | `ALL` | the sum of everything up to the end of this tile |
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
# The following is given:
#
# - `peek(words, k)` loads a word, and sees what other blocks have stored;
#   `poke(words, k, word)` stores a word so that other blocks can see it. A word is
#   stored as a whole, so flag and number arrive together.
# - `pack(flag, value)` makes a word, and `flag_of(word)` and `value_of(word)` take it
#   apart. `warp_total(value)` adds up a warp's values and gives the sum to all lanes.
# - The first 32 words belong to no tile, and hold `ALL` and 0. So tile `k` has word
#   `32 + k`, and even tile 0 has words to look back at.
# - A block chooses its tile by a **ticket**, drawn from an atomic counter, not by
#   `blockIdx`. So tiles are handed out in the order in which blocks *start*, and a
#   block waits only for blocks that are running. (Otherwise, all SMs might be full of
#   blocks that wait for one that has no room.)
# - `load_tile`, `scan_fours` and `store_tile` load, scan and store a tile. A *four* is
#   one 16-byte access. A thread has four fours that are 128 elements apart, so each
#   request is coalesced.
#
# So far, the kernel scans each tile separately. Write the look-back. In warp 0, `total`
# is the tile's sum. Find the sum of everything `before` the tile, in all lanes, and
# publish both words.
#
# ```python
# scan_once(x, out, words, ticket)    # (n,) -> (n,) float32, uint64, int32
# ```
#
# In the check, 40 tiles are finished or in progress when your blocks start. Three
# blocks take tiles 41, 42 and 40, in this order, or two blocks take 41 and 40, and each
# begins when the one before has published a word. So tile 42 has to make do with the
# `SUM` of tile 41, and if a block does not publish before it looks back, the others
# wait for it without end. The nearest `ALL` is that of tile 5, which a warp reaches in
# two iterations. The check lets no thread look at more than 8 different words: a single
# lane that looked back alone would look at 37. At the end, all words of your tiles have
# to be `ALL`. Stuck? `hint("scan_once")`.

# %% tags=["given"]
SUM, ALL = 1, 2
ITEMS = 16  # elements per thread


@cuda.jit(device=True)
def pack(flag, value):
    """Return a word with the flag in its upper half, the float in its lower."""
    low = uint64(uint32(libdevice.float_as_int(value)))
    return (uint64(flag) << uint64(32)) | low


@cuda.jit(device=True)
def flag_of(word):
    return int32(word >> uint64(32))


@cuda.jit(device=True)
def value_of(word):
    return libdevice.int_as_float(int32(uint32(word & uint64(0xFFFFFFFF))))


@cuda.jit(device=True)
def warp_total(mine):
    """Return the sum of a warp's values, in all lanes."""
    for bit in (1, 2, 4, 8, 16):
        mine += cuda.shfl_xor_sync(FULL, mine, bit)
    return mine


@cuda.jit(device=True)
def take(ticket):
    """Return the next tile."""
    return cuda.atomic.add(ticket, 0, 1)


@cuda.jit(device=True)
def take_turn(ticket, words):
    """Return the next tile, or in the check the next of a list of tiles.

    There a block also waits until the tile handed out before has a word.
    """
    number = take(ticket)
    if ticket.size == 1:
        return number
    while number > 0 and flag_of(peek(words, 32 + ticket[number])) == 0:
        pass
    return ticket[1 + number]


@cuda.jit(device=True)
def start_of(tile, fours):
    """Return this thread's first element of a tile."""
    me, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    return int32(4 * fours) * (tile * width + (me & ~31)) + int32(4) * (me & 31)


@cuda.jit(device=True)
def load_tile(x, tile, v):
    """Load this thread's fours of a tile, which are 128 elements apart."""
    fours = v.size // 4
    at = start_of(tile, fours)
    for j in range(fours):
        p, q, r, s = load4(x, at + int32(128 * j))
        v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3] = p, q, r, s


@cuda.jit(device=True)
def scan_fours(v, shift):
    """Scan each four; shift[j] becomes the sum before four j in the warp.

    Returns the sum of all elements of the warp.
    """
    for j in range(shift.size):
        for k in range(1, 4):
            v[4 * j + k] += v[4 * j + k - 1]
        shift[j] = v[4 * j + 3]

    me = int32(cuda.threadIdx.x) & int32(31)
    for k in range(5):  # all fours at once: none waits for another
        far = int32(1 << k)
        for j in range(shift.size):
            other = cuda.shfl_up_sync(FULL, shift[j], far)
            shift[j] += other if me >= far else float32(0)
    mine = float32(0)
    for j in range(shift.size):
        lower = cuda.shfl_up_sync(FULL, shift[j], 1)
        whole = cuda.shfl_sync(FULL, shift[j], 31)
        shift[j] = mine + (lower if me > 0 else float32(0))
        mine += whole
    return mine


@cuda.jit(device=True)
def store_tile(out, tile, v, shift, first):
    """Store this thread's fours, with first and shift added."""
    at = start_of(tile, shift.size)
    for j in range(shift.size):
        up = first + shift[j]
        p, q = v[4 * j] + up, v[4 * j + 1] + up
        r, s = v[4 * j + 2] + up, v[4 * j + 3] + up
        store4(out, at + int32(128 * j), p, q, r, s)


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
EARLIER = 40  # tiles that other blocks have taken; two of them have an ALL


def word_of(flag, value):
    bits = np.float32(value).view(np.uint32)
    return np.uint64(flag << 32) | np.uint64(bits)


def words_after(x, done):
    """Return the words when the tiles below `done` have their ALL."""
    tiles = x.reshape(-1, 64 * ITEMS).sum(axis=1)
    ends = np.cumsum(tiles)
    shown = [word_of(ALL, 0)] * 32
    for k in range(len(tiles)):
        if k < done or k in (2, 5):
            shown.append(word_of(ALL, ends[k]))
        else:
            shown.append(word_of(SUM if k < EARLIER else 0, tiles[k]))
    return np.array(shown, np.uint64)


def turns_of(x):
    """Return which tile is next, and next: 41, 42, 40, 44, 45, 43, ..."""
    tiles = np.arange(EARLIER, x.size // (64 * ITEMS))
    threes = np.split(tiles, range(3, tiles.size, 3))
    return np.concatenate([np.roll(three, -1) for three in threes])


def underway(x):
    """What is in memory when the blocks of the check start."""
    words = words_after(x, 0)
    words[32 + EARLIER :] = 0
    done = np.full_like(x, np.nan)
    done[: EARLIER * 64 * ITEMS] = np.cumsum(x)[: EARLIER * 64 * ITEMS]
    return done, words, np.array([0, *turns_of(x)], np.int32)


def finished(x):
    """What is there when they have ended."""
    words = words_after(x, 0)
    after = words_after(x, len(words))
    words[32 + EARLIER :] = after[32 + EARLIER :]
    turns = turns_of(x)
    return np.cumsum(x), words, np.array([len(turns), *turns], np.int32)


def about_word(number, got, wanted):
    """Say what is wrong with a word, in terms of flags and numbers."""

    def read(word):
        flag, bits = int(word) >> 32, np.uint32(int(word) & 0xFFFFFFFF)
        value = float(bits.view(np.float32))
        return f"({ {SUM: 'SUM', ALL: 'ALL'}.get(flag, flag)}, {value:g})"

    tile = number - 32
    what = f"words[{number}], the word of tile {tile}, is {read(got)}"
    should = f"{what} and should be {read(wanted)} in the end."
    if int(got) >> 32 == int(wanted) >> 32:
        return f"{should} Which words should have been added up for it?"
    return f"{should} Only the block that took tile {tile} can store that."


check(
    scan_once,
    spec=finished,
    inputs=lambda rng, n: (
        rng.integers(-9, 10, (EARLIER + n) * 64 * ITEMS).astype(np.float32),
    ),
    out=underway,
    sizes=[2, 3],
    launch=lambda n: (n, 64),
    full=2000,
    limits={"loads": 8, "peeks": 8, "float64": 0},
    describe={"words": about_word},
)

# %% [markdown] tags=["solution"]
# The loop is the whole look-back. In the inner loop, a lane waits for its own word, and
# at the vote the lanes of the warp come together again. `cuda.ffs` counts from 1, so
# `lane < ffs(votes)` means the lanes up to and including the nearest `ALL`.
#
# Flag and number are stored as one word, so no fence is needed: a reader sees both or
# neither. If the number had 64 bits, the flag would have to be stored separately, after
# a fence.
#
# The check hands the tiles out in another order (41, 42, 40, 44, 45, 43), so blocks
# really have to wait. In the simulator, a block that waits in such a loop lets the next
# block run.

# %% [markdown]
# ## Measure: one pass
#
# By hand, one pass moves 8 bytes per element, just as the copy does, so the copy's
# speed is the upper limit. What does waiting cost? From its first load to its last
# store, a block occupies its place on an SM, and holds 16 × 4 bytes per thread. By
# Little's law (chapter 13), rate = bytes held / time held. With three blocks of 512
# threads, an SM holds 96 KB. If loading takes 2 µs and the wait for all predecessors
# takes 4 µs more, at what rate does an SM read? And at what rate do 132 SMs read? Half
# of the copy's rate is reading; how does your result compare with that?
#
# Guess the speed of `one pass`, relative to `torch.cumsum`.

# %%
guess = {"one pass": None}


@cuda.jit
def reset(words, ticket):
    """Forget all tiles; 32 words before them hold ALL and 0."""
    k = cuda.grid(1)
    if k < words.size:
        words[k] = pack(ALL if k < 32 else 0, float32(0))
    if k == 0:
        ticket[0] = 0


def in_one_pass(kernel, items=ITEMS, block=512, blocks=None, args=()):
    """Return a function that scans x with kernel, from a fresh start."""
    tiles = N // (items * block)
    words = cuda.device_array(32 + tiles, np.uint64)
    ticket = cuda.device_array(1, np.int32)
    grid = blocks or tiles, block

    def run():
        reset[-(-words.size // 256), 256](words, ticket)
        kernel[grid](d_x, d_out, words, ticket, *args)

    return run


passes = bench.compare(
    "2^28 float32",
    lambda: libraries() | several() | {"one pass": in_one_pass(scan_once)},
    baseline="torch.cumsum",
    bytes=8 * N,
    ceiling="copy",
    guess=guess,
)
passes

# %% tags=["solution"]
if weft.GPU:
    assert error(in_one_pass(scan_once)) < 1e-4

# %% [markdown] tags=["solution"]
# `one pass` is about as fast as `torch.cumsum`, which is this algorithm in CUDA C++,
# but far from the copy. Solve the formula for the time: time held = bytes held / rate.
# On an H200 the table's rate, halved and divided by 132 SMs, is about 10 bytes per
# nanosecond, so the 96 KB of an SM are held for nearly 10 µs. A single load takes a
# third of a microsecond (chapter 12). The rest of the time goes to the ticket, to loads
# that compete with others, to a barrier, to the word on its way to L2, and to looks at
# other words. Each look takes a trip to L2, and the looks are repeated until the
# slowest of the blocks before has published its sum.

# %% [markdown] tags=["solution"]
# ## What each idea gains
#
# Here the ideas are removed, one at a time. Without the warp that looks back, one lane
# looks at one word at a time. Without the fours that are 128 elements apart, each
# thread has 16 neighbouring elements, in four requests that each touch 32 sectors and
# use half of their bytes. And one idea is added: with eight or sixteen fours per
# thread, an SM holds more bytes.

# %% tags=["solution"]
@cuda.jit(device=True)
def alone(words, here):
    """Return what comes before a tile; lane 0 looks, one word at a time."""
    before, k, found = float32(0), here, 0
    if cuda.laneid == 0:
        while found != ALL:
            k -= 1
            word = peek(words, k)
            while flag_of(word) == 0:
                word = peek(words, k)
            before += value_of(word)
            found = flag_of(word)
    return cuda.shfl_sync(FULL, before, 0)


def looking(value_of, total_of, nothing):
    """Return the look-back of exercise 6 as a device function."""

    @cuda.jit(device=True)
    def look_back(words, here):
        """Return what comes before a tile, and the tile's own sum."""
        k, votes = here - cuda.laneid, 0
        before = own = nothing(0)
        while votes == 0:
            word = peek(words, k)
            while flag_of(word) == 0:
                word = peek(words, k)
            votes = cuda.ballot_sync(FULL, flag_of(word) == ALL)
            value = value_of(word)
            if k == here:
                own = value
            elif votes == 0 or cuda.laneid < cuda.ffs(votes):
                before = nothing(before + value)
            k -= 32
        return total_of(before), cuda.shfl_sync(FULL, own, 0)

    return look_back


look_back = looking(value_of, warp_total, float32)


@cuda.jit(device=True)
def together(words, here):
    return look_back(words, here)[0]


@cuda.jit(device=True)
def load_neighbours(x, tile, v):
    """Load this thread's elements of a tile, which are next to each other."""
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    at = int32(v.size) * (tile * width + t)
    for j in range(v.size // 4):
        p, q, r, s = load4(x, at + int32(4 * j))
        v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3] = p, q, r, s


@cuda.jit(device=True)
def scan_neighbours(v, shift):
    """Scan the elements of the warp; return their sum."""
    for k in range(1, v.size):
        v[k] += v[k - 1]
    upto = warp_scan(v[v.size - 1])
    lower = cuda.shfl_up_sync(FULL, upto, 1)
    for j in range(shift.size):
        shift[j] = lower if cuda.laneid > 0 else float32(0)
    return cuda.shfl_sync(FULL, upto, 31)


@cuda.jit(device=True)
def store_neighbours(out, tile, v, shift, first):
    """Store this thread's elements of a tile, next to each other."""
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    at = int32(v.size) * (tile * width + t)
    for j in range(v.size // 4):
        up = first + shift[j]
        p, q = v[4 * j] + up, v[4 * j + 1] + up
        r, s = v[4 * j + 2] + up, v[4 * j + 3] + up
        store4(out, at + int32(4 * j), p, q, r, s)


def once_with(fours, find, parts=(load_tile, scan_fours, store_tile)):
    """Return scan_once with so many fours per thread, and other parts."""
    items = 4 * fours
    load, scan, store = parts

    @cuda.jit
    def kernel(x, out, words, ticket):
        sums = cuda.shared.array(32, float32)
        turn = cuda.shared.array(1, int32)
        v = cuda.local.array(items, float32)
        shift = cuda.local.array(fours, float32)
        t = int32(cuda.threadIdx.x)
        warp, lane = t >> int32(5), t & int32(31)

        if t == 0:
            turn[0] = take(ticket)
        cuda.syncthreads()
        tile = turn[0]

        load(x, tile, v)
        mine = scan(v, shift)
        if lane == 0:
            sums[warp] = mine
        cuda.syncthreads()

        if warp == 0:
            mine = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
            upto = warp_scan(mine)
            total = cuda.shfl_sync(FULL, upto, 31)
            if lane == 0:
                poke(words, 32 + tile, pack(SUM, total))
            before = find(words, 32 + tile)
            if lane == 0:
                poke(words, 32 + tile, pack(ALL, before + total))
            sums[lane] = before + upto - mine
        cuda.syncthreads()

        store(out, tile, v, shift, sums[warp])

    return kernel


neighbours = load_neighbours, scan_neighbours, store_neighbours
once_alone = once_with(4, alone)
once_near = once_with(4, together, neighbours)
once_eight = once_with(8, together)
once_sixteen = once_with(16, together)

without = bench.compare(
    "one pass, other ideas",
    lambda: {
        "copy": lambda: same.copy_(x),
        "one pass": in_one_pass(scan_once),
        "one lane looks": in_one_pass(once_alone),
        "neighbours": in_one_pass(once_near),
        "eight fours": in_one_pass(once_eight, items=32, block=256),
        "sixteen fours": in_one_pass(once_sixteen, items=64, block=128),
    },
    baseline="one pass",
    bytes=8 * N,
    ceiling="copy",
)
without.expect("one pass", at_least=1.1, times="neighbours")
without

# %% tags=["solution"]
bench.compiled(
    "scan in one pass",
    lambda: {
        "one pass": (scan_once, 512),
        "eight fours": (once_eight, 256),
        "sixteen fours": (once_sixteen, 128),
    },
)

# %% [markdown] tags=["solution"]
# Neighbouring elements in one thread cost the most time. A request then touches 32
# sectors and uses half of their bytes, and the other half has to be fetched again, from
# L1 if it is still there. A single lane that looks at one word after another makes a
# trip to L2 for each word.
#
# With more elements per thread, an SM holds more bytes, which hides more of the wait:
# three blocks of 32 KB with four fours, four blocks with eight fours, and five blocks
# with sixteen fours. But then the registers are used up. An SM has 256 KB of them, and
# each thread also needs registers for other values.
#
# ## Look back later
#
# The other way is not to wait. An SM has 228 KB of shared memory, which has hardly been
# used so far. Let a block scan a tile, publish its sum, put the scanned tile into
# shared memory and **go on**, to the next tile. When the block comes back to that tile,
# the sums that it needs have usually been published. Then it looks back, adds the sum
# of everything before the tile, and stores.
#
# So a block does not end after one tile. Such a kernel, each of whose blocks loops over
# tiles, is a **persistent kernel**. And the loop is **pipelined**. Each iteration, here
# called a *round*, does three things: request a new tile; while that is on its way,
# finish a tile that has waited; scan the new one and let it wait. In `scan_rounds`, a
# tile is stored either one round after it was read (`old` is then the tile of the round
# before) or two rounds after (`mid` is the tile in between).
#
# Which of the two will be faster, and by how much? One round takes thousands of
# nanoseconds.

# %% tags=["solution"]
CELLS = 4096  # of a tile: 256 threads with four fours


@cuda.jit(device=True)
def move_on(box, slot, out, tile, first):
    """Store a tile that has waited in the box, with first added."""
    here, there = start_of(slot, 4), start_of(tile, 4)
    for j in range(4):
        p, q, r, s = load4(box, here + int32(128 * j))
        p, q, r, s = p + first, q + first, r + first, s + first
        store4(out, there + int32(128 * j), p, q, r, s)


def scan_rounds(rounds):
    """Return a scan that stores a tile so many rounds after it was read."""
    cells = rounds * CELLS

    @cuda.jit
    def kernel(x, out, words, ticket, tiles):
        box = cuda.shared.array(cells, float32, alignment=16)
        sums = cuda.shared.array(32, float32)
        turn = cuda.shared.array(1, int32)
        first = cuda.shared.array(1, float32)
        v = cuda.local.array(16, float32)
        shift = cuda.local.array(4, float32)
        t = int32(cuda.threadIdx.x)
        warp, lane = t >> int32(5), t & int32(31)
        inside = lane < cuda.blockDim.x // 32

        if t == 0:
            turn[0] = take(ticket)
        cuda.syncthreads()
        new, slot, following = turn[0], int32(0), int32(0)
        old = mid = int32(-1)

        while new < tiles or mid >= 0 or old >= 0:
            if new < tiles:
                load_tile(x, new, v)
            if old >= 0 and warp == 0:
                before, own = look_back(words, 32 + old)
                if lane == 0:
                    poke(words, 32 + old, pack(ALL, before + own))
                    first[0] = before
            cuda.syncthreads()

            if old >= 0:
                move_on(box, slot, out, old, first[0])
            if new < tiles:
                mine = scan_fours(v, shift)
                if lane == 0:
                    sums[warp] = mine
            if t == 32:
                following = take(ticket)
            cuda.syncthreads()

            if new < tiles:
                if warp == 0:
                    total = warp_total(sums[lane] if inside else float32(0))
                    if lane == 0:
                        poke(words, 32 + new, pack(SUM, total))
                mine = warp_total(sums[lane] if lane < warp else float32(0))
                store_tile(box, slot, v, shift, mine)
            if t == 32:
                turn[0] = following
            cuda.syncthreads()

            done = new if new < tiles else int32(-1)
            if rounds == 1:
                old = done
            else:
                old, mid, slot = mid, done, int32(1 - slot)
            new = turn[0]

    return kernel


one_round = scan_rounds(1)
two_rounds = scan_rounds(2)


def in_rounds(kernel, more=()):
    """Return a function that runs kernel with more blocks than fit.

    Those that start when all tiles are taken end at once.
    """
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    args = N // CELLS, *more
    return in_one_pass(kernel, block=256, args=args, blocks=6 * sms)


# %% [markdown] tags=["solution"]
# Why is this safe? Each thread reads and writes its own cells of the box. A block draws
# the ticket for a tile just before it loads it, so tiles are still handed out in order.
# It publishes the sum of its new tile without knowing anything about other tiles, but
# only after it has finished an older tile. Consider the lowest tile without a sum. Its
# block waits only for lower tiles, whose sums have been published. So some block can
# always go on.

# %% tags=["solution"]
rounds = bench.compare(
    "2^28 float32, the ladder",
    lambda: libraries()
    | several()
    | {
        "one pass": in_one_pass(scan_once),
        "sixteen fours": in_one_pass(once_sixteen, items=64, block=128),
        "one round later": in_rounds(one_round),
        "two rounds later": in_rounds(two_rounds),
    },
    baseline="torch.cumsum",
    bytes=8 * N,
    ceiling="copy",
)
rounds.expect("two rounds later", at_least=1.2)
rounds.expect("two rounds later", at_least=1.1, times="one pass")
rounds.expect("two rounds later", at_least=1.3, times="one round later")
if weft.GPU:
    assert error(in_rounds(one_round)) < 1e-4
    assert error(in_rounds(two_rounds)) < 1e-4
rounds

# %% tags=["solution"]
bench.compiled(
    "scan in rounds",
    lambda: {
        "one round later": (one_round, 256),
        "two rounds later": (two_rounds, 256),
    },
)

# %% [markdown] tags=["solution"]
# Storing a tile one round later is slower than waiting with the tile in registers. Five
# blocks on each of 132 SMs hold 660 tiles, and all of these must have been read and
# added up before the last of their blocks may store anything. So probably every round
# takes as long as its slowest block. With a second tile in the box, a block that is
# late by less than a round delays no other block.
#
# Nothing else differs between these two rows. In the kernel that stores two rounds
# later, 80 KB of an SM's registers are being filled from memory, while tiles that fill
# 160 KB of its shared memory wait for their sums.

# %% [markdown] tags=["solution"]
# ## Compaction again
#
# First comes the simpler cure: still three kernels, but with four neighbouring elements
# per thread, and so with four votes. Within the warp, a thread's first place is the
# number of elements that the lanes below keep, in all four votes together; from there
# on, the thread counts for itself.

# %% tags=["solution"]
@cuda.jit(device=True)
def warp_count(mine):
    """Return the sum of a warp's integers, in all lanes."""
    for bit in (1, 2, 4, 8, 16):
        mine = int32(mine + cuda.shfl_xor_sync(FULL, mine, bit))
    return mine


@cuda.jit(device=True)
def four_votes(v):
    """Return how many are kept in the lanes below, and in the warp."""
    below, all_of_them = int32(0), int32(0)
    for k in range(4):
        votes = cuda.ballot_sync(FULL, v[k] > float32(0))
        below = int32(below + cuda.popc(votes & cuda.lanemask_lt()))
        all_of_them = int32(all_of_them + cuda.popc(votes))
    return below, all_of_them


@cuda.jit
def count_fours(x, found):
    """Write how many elements of each block are positive into found."""
    counts = cuda.shared.array(32, int32)
    v = cuda.local.array(4, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    v[0], v[1], v[2], v[3] = load4(x, 4 * cuda.grid(1))

    mine = four_votes(v)[1]
    if lane == 0:
        counts[warp] = mine
    cuda.syncthreads()
    if warp == 0:
        inside = lane < cuda.blockDim.x // 32
        mine = warp_count(counts[lane] if inside else int32(0))
        if lane == 0:
            found[cuda.blockIdx.x] = mine


@cuda.jit
def keep_fours(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    v = cuda.local.array(4, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    v[0], v[1], v[2], v[3] = load4(x, 4 * cuda.grid(1))
    before = ends[cuda.blockIdx.x - 1] if cuda.blockIdx.x > 0 else int32(0)

    below, mine = four_votes(v)
    if lane == 0:
        counts[warp] = mine
    cuda.syncthreads()

    mine = warp_count(counts[lane] if lane < warp else int32(0))
    place = int32(before + mine + below)
    for k in range(4):
        if v[k] > float32(0):
            out[place] = v[k]
            place = int32(place + 1)


# %% [markdown] tags=["solution"]
# Then come the rounds. The kept elements of a tile go into the box, each at its place
# within the tile. Two rounds later they go from there to `out` in one piece, so nearly
# every store fills all of its sectors.

# %% tags=["solution"]
@cuda.jit(device=True)
def pack_count(flag, count):
    return (uint64(flag) << uint64(32)) | uint64(uint32(count))


@cuda.jit(device=True)
def count_of(word):
    return int32(uint32(word & uint64(0xFFFFFFFF)))


look_back_count = looking(count_of, warp_count, int32)


@cuda.jit(device=True)
def scan_counts(v, place):
    """Let place[j] be how many come before four j in the warp; return all.

    A four keeps 4 at most, a warp's fours j 128: four counts fit into a word.
    """
    mine = int32(0)
    for j in range(4):
        for k in range(4):
            kept = int32(v[4 * j + k] > float32(0))
            mine = int32(mine + (kept << int32(8 * j)))

    upto, lane = mine, int32(cuda.threadIdx.x) & int32(31)
    for k in range(5):
        other = cuda.shfl_up_sync(FULL, upto, 1 << k)
        upto = int32(upto + (other if lane >= 1 << k else int32(0)))
    whole = cuda.shfl_sync(FULL, upto, 31)

    lower, found = int32(upto - mine), int32(0)
    for j in range(4):
        place[j] = int32(found + ((lower >> int32(8 * j)) & int32(255)))
        found = int32(found + ((whole >> int32(8 * j)) & int32(255)))
    return found


@cuda.jit
def keep_rounds(x, out, words, ticket, tiles, count):
    """Move the positive elements of x to the front of out, in order."""
    box = cuda.shared.array(8192, float32)
    counts = cuda.shared.array(32, int32)
    turn = cuda.shared.array(1, int32)
    first = cuda.shared.array(2, int32)
    v = cuda.local.array(16, float32)
    place = cuda.local.array(4, int32)
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    warp, lane = t >> int32(5), t & int32(31)
    inside = lane < cuda.blockDim.x // 32

    if t == 0:
        turn[0] = take(ticket)
    cuda.syncthreads()
    new, slot, following = turn[0], int32(0), int32(0)
    old = mid = int32(-1)

    while new < tiles or mid >= 0 or old >= 0:
        if new < tiles:
            load_tile(x, new, v)
        if old >= 0 and warp == 0:
            before, own = look_back_count(words, 32 + old)
            if lane == 0:
                poke(words, 32 + old, pack_count(ALL, before + own))
                first[0], first[1] = before, own
                if old == tiles - 1:
                    count[0] = before + own
        cuda.syncthreads()

        if old >= 0:
            for k in range(t, first[1], width):
                out[uint32(first[0] + k)] = box[uint32(slot * CELLS + k)]
        if new < tiles:
            mine = scan_counts(v, place)
            if lane == 0:
                counts[warp] = mine
        if t == 32:
            following = take(ticket)
        cuda.syncthreads()

        if new < tiles:
            if warp == 0:
                total = warp_count(counts[lane] if inside else int32(0))
                if lane == 0:
                    poke(words, 32 + new, pack_count(SUM, total))
            lower = warp_count(counts[lane] if lane < warp else int32(0))
            for j in range(4):
                to = uint32(slot * CELLS + lower + place[j])
                for k in range(4):
                    if v[4 * j + k] > float32(0):
                        box[to] = v[4 * j + k]
                        to = uint32(to + 1)
        if t == 32:
            turn[0] = following
        cuda.syncthreads()

        old, mid, slot = mid, new if new < tiles else int32(-1), int32(1 - slot)
        new = turn[0]


def keeping():
    """Return a function that keeps what is positive, and where it counts."""
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    return in_rounds(keep_rounds, (cuda.as_cuda_array(count),)), count


# %% tags=["solution"]
kept_again = bench.compare(
    "2^28 float32, keep half, the ladder",
    lambda: selections()
    | {
        "three kernels": three_kernels(),
        "the same, fours": three_kernels(count_fours, keep_fours, 4, 256),
        "two rounds later": keeping()[0],
    },
    baseline="torch.masked_select",
    bytes=6 * N,
    ceiling="copy",
)
kept_again.expect("the same, fours", at_least=1.3)
kept_again.expect("two rounds later", at_least=1.5)
if weft.GPU:
    launch, count = keeping()
    for run in three_kernels(count_fours, keep_fours, 4, 256), launch:
        out.fill_(float("nan"))
        run()
        assert torch.equal(out[: right.numel()], right)
    assert int(count) == right.numel()
kept_again

# %% [markdown] tags=["solution"]
# Here, four elements per thread gain more than reading x only once. The counts have to
# be integers, because they may exceed 2^24 (chapter 14). And packing four counts into
# one word saves three quarters of the shuffles.

# %% [markdown]
# ## Look: does it repeat?
#
# Scan the same array twenty times with `torch.cumsum`, with each of the two ways in
# several launches, and with one pass. How many different results does each give? What
# can differ between two runs of the same kernel on the same data?

# %%
def different(launch, times=20):
    """Return how many different results a scan into out has."""
    seen = set()
    for _ in range(times):
        launch()
        seen.add(int(out.view(torch.int32).sum(dtype=torch.int64)))
    return len(seen)


if weft.on_gpu("the simulator runs blocks in the same order every time"):
    ways = several() | {
        "one pass": in_one_pass(scan_once),
        "torch.cumsum": lambda: torch.cumsum(x, 0, out=out),
    }
    for name, launch in ways.items():
        print(f"{name:18} {different(launch):3} of 20 different")

# %% tags=["solution"]
if weft.GPU:
    found = different(several()["add up, then scan"])
    bench.always("several launches give one result", found == 1)
    one_pass = in_one_pass(scan_once)
    bench.sometimes("one pass varies", lambda: different(one_pass) > 1)

# %% [markdown] tags=["solution"]
# Which words show `ALL` when a block looks depends on timing. So does the way in which
# the sum before a tile is put together: from one `ALL`, or from the `ALL` of an earlier
# tile and several `SUM`s. A different order of additions rounds differently. The
# several launches always add in the same order. CUB's documentation says that the
# results of its scan may also vary from run to run, and PyTorch lists `cumsum` of
# floats on a GPU among the operations that may differ from run to run.
#
# With integers every order gives the same result.

# %% [markdown]
# ## If you want more
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
#
# ## What you learned
#
# 1. A scan of n numbers takes log2(n) steps. It can tell each thread where to write in
#    a common result.
# 2. Inside a block, steps and barriers matter, not additions: use shuffles first, then
#    a scan of the warps' sums.
# 3. Across blocks, bytes matter: 16, 12 or 8 for each float32.
# 4. Look-back lets a block learn the sum of everything before it while it holds its
#    elements. The price is that a block holds its elements while it waits, so an SM has
#    to hold enough elements to keep memory busy.
# 5. Compaction is a scan of zeros and ones. Within a warp, a ballot and `popc` are
#    enough.

# %%
quiz()
