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

from weft import bench, check, hint, quiz
from weft.intrinsics import load4

weft.lab("08_warps")

# %% [markdown]
# ## 1 · Who is in my warp
#
# The hardware numbers the threads of a block consecutively, and cuts that sequence into
# warps of 32. `x` runs fastest, then `y`. In a block of 8 × 6 threads:
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
#
# ```python
# warp_of(tx, ty, width) -> (warp, lane)
# ```
#
# Stuck? `hint("warp_of")`; there are three hints.

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
# ## Measure: how many paths?
#
# A warp issues one instruction for its 32 lanes. If lanes take different branches, the
# warp runs the branches one after another, each with the other lanes switched off.
# That is **divergence**. What does it cost?
#
# To find out, you need kernels with 1, 2, 4, … 32 different branches of the same
# length. No one wants to type 32 branches, so Python writes the kernels.

# %% tags=["given"]
def source(paths, each=16):
    """Return the text of a kernel with that many branches of equal length.

    each: multiply-adds per iteration of a branch.
    """
    lines = [
        "def kernel(which, length, out):",
        "    i = cuda.grid(1)",
        "    path = which[i]",
        "    v = float32(i)",
        "",
    ]
    for p in range(paths):
        lines += [
            f"    {'elif' if p else 'if'} path == {p}:",
            "        for _ in range(length):",
            f"            for _ in range({each}):",
            f"                v = v * float32(0.{900 + p}) + float32({p}.5)",
        ]
    return "\n".join([*lines, "", "    out[i] = v", ""])


def compiled(text):
    """Return the kernel that `text` defines."""
    scope = {"cuda": cuda, "float32": float32}
    exec(text, scope)
    return cuda.jit(scope["kernel"])


print(source(2))

# %% [markdown]
# Every branch does 64 × 16 = 1024 multiply-adds, and every thread takes exactly one
# branch. (The inner loop has a fixed length, so the compiler unrolls it.) `which` holds
# the branch that each thread takes. In the rows named *paths*, it is the lane number
# modulo the number of paths, so the lanes of every warp spread over all paths. The last
# two rows use the kernels with 8 and with 32 branches again, but now `which` is the
# *warp* number modulo 8 or 32: all branches are taken, and each warp takes only one.
#
# By hand, without divergence: 2^22 threads × 1024 = 2^32 multiply-adds, which are 2^27
# warp instructions. An H200 has 132 SMs, each of which issues 4 such instructions per
# clock cycle: 132 × 4 × 1.98 GHz = 1045 billion per second, so 2^27 of them take **128
# µs**, plus what the loop itself needs.
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

threads = 1 << 22
launch = threads // 256, 256


def runner(each=16):
    """Return a function that makes a candidate of a kernel with branches."""
    import torch

    number = torch.arange(threads, dtype=torch.int32, device="cuda")
    d_out = cuda.as_cuda_array(torch.empty(threads, device="cuda"))
    rounds = 1024 // each

    def run(paths, which):
        kernel = compiled(source(paths, each))
        d_which = cuda.as_cuda_array(which.int())
        return lambda: kernel[launch](d_which, rounds, d_out)

    return run, number


def ways():
    run, number = runner()
    rows = {"1 path": run(1, number * 0)}
    for paths in (2, 4, 8, 16, 32):
        rows[f"{paths} paths"] = run(paths, number % 32 % paths)
    for paths in (8, 32):
        rows[f"{paths}, a warp each"] = run(paths, number // 32 % paths)
    return rows


paths = bench.compare("paths in a warp", ways, baseline="1 path", guess=guess)
paths

# %% tags=["solution"]
paths.expect("1 path", at_least=1.8, times="2 paths")
paths.expect("1 path", at_least=28, times="32 paths")
paths.expect("8, a warp each", at_least=0.8, times="1 path")
paths.expect("8, a warp each", at_least=6, times="8 paths")

# %% [markdown] tags=["solution"]
# The cost is the number of *different* paths that the lanes of one warp take, provided
# that the paths are long. It does not matter which lanes take which path, nor how many.
# Across warps a branch is free: the same kernel with the same 8 branches, assigned warp
# by warp, takes hardly longer than the kernel with a single path.
#
# With 32 branches it is not free, although no lane diverges. What else is there 32
# times? The code. The compiler has unrolled each branch to about 130 instructions of 16
# bytes each, 2 KB. That makes 66 KB for 32 branches, and the warps of an SM are spread
# over all of it. Perhaps the code no longer fits in the instruction cache. Test that
# with the same 32 branches and one multiply-add per iteration, which take 24 KB.

# %% tags=["solution"]
def small_code():
    run, number = runner(each=1)
    return {
        "1 path": run(1, number * 0),
        "32, a warp each": run(32, number // 32 % 32),
        "32 paths": run(32, number % 32),
    }


small = bench.compare(
    "paths in a warp, short code", small_code, baseline="1 path"
)
small.expect("32, a warp each", at_least=0.9, times="1 path")
small.expect("1 path", at_least=28, times="32 paths")
small

# %% [markdown] tags=["solution"]
# Now the branch is free. (Every row takes longer, since an iteration needs as many loop
# instructions for one multiply-add as before for sixteen. Those instructions could also
# hide a slow fetch, so the table supports the suspicion but does not prove it.)

# %% [markdown]
# ## Measure: one lane is enough
#
# The next kernel has only one branch, to take or to skip. The branch is taken by every
# lane; by lane 0 of every warp; by every lane of one warp in 32; or by no lane. In the
# second and the third case, 1/32 of the threads take the branch. How fast are these two
# cases, compared with the first?

# %%
guess = {"a lane of each warp": None, "a warp of 32": None}


def long_ways():
    run, number = runner(each=1)
    warp = number // 32

    def taken_by(who):  # branch 0 is the long one; 1 is none at all
        return run(1, ~who)

    return {
        "every lane": taken_by(number >= 0),
        "a lane of each warp": taken_by(number % 32 == 0),
        "a warp of 32": taken_by(warp % 32 == warp // 32 % 32),
        "nobody": taken_by(number < 0),
    }


one = bench.compare(
    "who takes the long way", long_ways, baseline="every lane", guess=guess
)
one

# %% tags=["solution"]
one.expect("every lane", at_least=0.9, times="a lane of each warp")
one.expect("a warp of 32", at_least=10, times="a lane of each warp")

# %% [markdown] tags=["solution"]
# A warp with one lane on the long path takes as long as a warp with 32 lanes there. So
# watch the rare, expensive case. If it occurs at random for one element in 32, most
# warps meet it, and you pay nearly as if every element were rare. Collect the rare
# elements first, so they fill whole warps: the filter of exercise 5 does that.

# %% [markdown]
# ## Measure: short branches
#
# Not every `if` becomes a branch. The two sides below are `count` multiply-adds long,
# and each thread executes the `if` 256 times. A bit of its `key` decides which side it
# takes in each iteration. Either all lanes of a warp have the same key (*together*), or
# each lane has its own (*apart*).

# %% tags=["given"]
def two_sides(count):
    """Return the text of a kernel with an if whose sides are `count` long."""
    lines = [
        "def kernel(keys, out):",
        "    i = cuda.grid(1)",
        "    key = keys[i]",
        "    v = float32(i)",
        "",
        "    for r in range(256):",
        "        if (key >> (r & 31)) & 1:",
    ]
    for k in range(count):
        lines += [f"            v = v * float32(0.5) + float32({k}.5)"]
    lines += ["        else:"]
    for k in range(count):
        lines += [f"            v = float32({k}.25) - v * float32(0.75)"]
    return "\n".join([*lines, "", "    out[i] = v", ""])


print(two_sides(2))

# %% [markdown]
# If every branch cost what the long ones above cost, *apart* would take twice as long
# as *together*, whatever the length. Guess, with *1 together* as 1.0.

# %%
guess = {"4 apart": None, "64 together": None, "64 apart": None}


def sides():
    import torch

    lanes = torch.randint(-(2**31), 2**31, (threads,), device="cuda").int()
    warps = lanes[::32].repeat_interleave(32)
    result = torch.empty(threads, device="cuda")
    d_out = cuda.as_cuda_array(result)

    def run(count, keys):
        kernel = compiled(two_sides(count))
        d_keys = cuda.as_cuda_array(keys)
        return lambda: kernel[launch](d_keys, d_out)

    rows = {}
    for count in (1, 4, 8, 16, 64):
        rows[f"{count} together"] = run(count, warps)
        rows[f"{count} apart"] = run(count, lanes)
    return rows


short = bench.compare(
    "sides of an if", sides, baseline="1 together", guess=guess
)
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
# skipped; if they are *apart*, it costs both sides, and the branching.
#
# So do not fear `if x[i] > 0: y = a else: y = b`. Fear long branches, and loops whose
# number of iterations differs between lanes: a loop is a branch too, and a warp leaves
# it with its last lane.

# %% [markdown]
# ## 2 · A branch without divergence
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
# Nothing says that thread `i` must process element `i`. Assign the elements
# differently: let all lanes of a warp take elements of the same parity, so the branch
# has the same outcome for a whole warp. Each element is still processed by exactly one
# thread, and goes through its own formula only. (To compute both formulas and choose
# one result would avoid the branch, but do twice the work.) The launch has at least as
# many threads as elements, in blocks of 128.
#
# ```python
# even_odd(x, table, out)    # (n,), (k,) -> (n,)  float32
# ```
#
# The check counts how many lanes of a warp take part when it reads the table: it
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
def both(x, table):
    """Compute with whole arrays what even_odd does."""
    risen, folded = np.zeros_like(x), x
    for t in table:
        risen, folded = risen * x + t, t - folded * folded
    return np.where(np.arange(x.size) % 2 == 0, risen, folded)


check(
    even_odd,
    spec=both,
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
# about the same time, so what the first has fetched the second probably finds in the L1
# cache.
#
# Other solutions are as good. A thread may take a pair, one element of each kind, and
# there is no branch at all. Or the first half of the grid may take the even elements
# and the second half the odd ones, with at most one warp that has both. All these
# solutions have one thing in common: hardly any warp takes both sides of the branch.

# %%
guess = {"even_odd": None}


def parities():
    import torch

    n = 1 << 24
    x = torch.rand(n, device="cuda")
    table = torch.rand(64, device="cuda") / 2
    out = torch.empty_like(x)
    d_x, d_table, d_out = (cuda.as_cuda_array(t) for t in (x, table, out))
    grid = n // 128, 128
    return {
        "obvious": lambda: obvious[grid](d_x, d_table, d_out),
        "even_odd": lambda: even_odd[grid](d_x, d_table, d_out),
    }


parity = bench.compare(
    "even and odd samples", parities, baseline="obvious", guess=guess
)
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
# their own. Then the sum of 32 values is the sum of 16. How many such steps does it
# take until one value is left?
#
# ```python
# warp_sum(x, out)    # (n,) -> (n / 32,)  float32; n a multiple of 64
# ```
#
# There is one element of `out` for every 32 elements of `x`, and one thread for each
# element of `x`, which loads it once. Do not use atomics (chapter 9): they add in
# memory, and this exercise is about doing without. A kernel reads its lane from
# `cuda.laneid`, which is a number and not a call. Stuck? `hint("warp_sum")`.

# %% tags=["given"]
FULL = 0xFFFFFFFF  # all 32 lanes


# %%
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each 32 neighbours of x into out."""
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
# ## Measure: sums of 32
#
# Add up rows of 32 elements, 2^21 of them: 268 MB are read and 8 MB written. Compare
# PyTorch's `x.sum(1)` with three kernels: one thread per row, which reads its 32
# elements one after another; a block that exchanges values in shared memory, with a
# barrier after each step; and your `warp_sum`. (Shared memory is a small memory that
# the threads of a block have in common; at a barrier, `cuda.syncthreads()`, they wait
# for one another.) Guess, with PyTorch as 1.0.

# %% tags=["given"]
@cuda.jit
def row_sum(x, out):
    """One thread per row of 32."""
    row = cuda.grid(1)

    value = float32(0)
    for k in range(32):
        value += x[32 * row + k]
    out[row] = value


@cuda.jit
def shared_sum(x, out):
    """One thread per element; they exchange values in shared memory."""
    tile = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x

    tile[t] = x[i]
    cuda.syncthreads()
    delta = 16
    while delta > 0:
        if t % 32 < delta:
            tile[t] += tile[t + delta]
        cuda.syncthreads()
        delta //= 2
    if t % 32 == 0:
        out[i // 32] = tile[t]


# %%
guess = {"row_sum": None, "shared_sum": None, "warp_sum": None}


def sums():
    import torch

    n = 1 << 26
    x = torch.rand(n, device="cuda")
    out = torch.empty(n // 32, device="cuda")
    half = torch.empty(n // 2 + n // 64, device="cuda")
    same = torch.empty_like(half)
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    rows = x.view(-1, 32)
    return {
        "copy": lambda: same.copy_(half),
        "torch": lambda: torch.sum(rows, 1, out=out),
        "row_sum": lambda: row_sum[n // 32 // 256, 256](d_x, d_out),
        "shared_sum": lambda: shared_sum[n // 256, 256](d_x, d_out),
        "warp_sum": lambda: warp_sum[n // 256, 256](d_x, d_out),
    }


summed = bench.compare(
    "2^21 rows of 32 float32",
    sums,
    baseline="torch",
    bytes=4 * (2**26 + 2**21),
    ceiling="copy",
    guess=guess,
)
summed

# %% tags=["solution"]
summed.expect("warp_sum", at_least=1.4, times="shared_sum")
summed.expect("warp_sum", at_least=1.5, times="torch")

# %% [markdown] tags=["solution"]
# Five shuffles are five instructions. In shared memory, each step is two loads, an
# addition, a store, and a barrier at which 256 threads wait for the slowest of them.
# PyTorch's kernel is made for all shapes, and rows this short probably do not suit it.

# %% [markdown] tags=["solution"]
# The copy is still much faster. Count instructions. 2^26 threads are 2^21 warps. Each
# warp computes an index, loads, shuffles five times, adds five times, and stores for
# one lane: about 50 instructions, which at 1045 billion per second take 100 µs in all.
# So give each lane more. With `load4` of chapter 12, a lane takes four elements of a
# row, eight lanes share a row, and a warp takes four rows. Three shuffles serve all
# four rows.

# %% tags=["solution"]
@cuda.jit
def four_sum(x, out):
    """One thread per four elements, eight lanes per row of 32."""
    i = cuda.grid(1)

    a, b, c, d = load4(x, 4 * i)
    value = (a + b) + (c + d)
    for delta in (4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if i % 8 == 0:
        out[i // 8] = value


def four_sums():
    import torch

    rows = sums()
    x = torch.rand(1 << 26, device="cuda")
    out = torch.empty(1 << 21, device="cuda")
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    grid = (1 << 24) // 256, 256
    four_sum[grid](d_x, d_out)
    torch.testing.assert_close(out, x.view(-1, 32).sum(1))
    return {
        "copy": rows["copy"],
        "warp_sum": rows["warp_sum"],
        "four_sum": lambda: four_sum[grid](d_x, d_out),
    }


fours = bench.compare(
    "four elements a lane",
    four_sums,
    baseline="warp_sum",
    bytes=4 * (2**26 + 2**21),
    ceiling="copy",
)
fours

# %% tags=["solution"]
fours.expect("four_sum", at_least=1.8, times="warp_sum")
fours.expect("four_sum", ceiling=0.8)

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
# last group, take the maximum of the elements that exist. `cuda.shfl_xor_sync(mask,
# value, k)` gives each lane the value of lane `laneid ^ k`: with `k` = 16, 8, 4, 2, 1,
# all lanes end up with the same value. Each lane loads only its own element; the check
# counts the loads. Some of the numbers are below -1e30.
#
# ```python
# warp_max(x, out)    # (n,) -> (n,)  float32
# ```
#
# Stuck? `hint("warp_max")`.

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
def far_below_zero(rng, n):
    """n numbers, each group of 32 below the last; n sets their scale."""
    numbers = rng.random(n) - 2 - np.arange(n) // 32
    return (numbers * 10.0 ** (n % 13 * 3)).astype(np.float32)


check(
    warp_max,
    spec=lambda x: np.repeat(
        np.maximum.reduceat(x, range(0, x.size, 32)), 32
    )[: x.size],
    inputs=lambda rng, n: (far_below_zero(rng, n),),
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
# - `cuda.lanemask_lt()` has the bits of the lanes *below* mine set. So
#   `popc(votes & lanemask_lt())` counts the kept elements before mine: my place.
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
# are, so the check allows no atomics here.
#
# ```python
# warp_filter(x, out, counts)    # (n,) -> (n,), (groups,)  float32, int32
# ```
#
# Stuck? `hint("warp_filter")`.

# %%
@cuda.jit
def warp_filter(x, out, counts):
    """Move the positive elements of each 32 to the front; count them."""
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
def kept(x):
    """Compute slowly what warp_filter does."""
    out, counts = np.zeros_like(x), []
    for i in range(0, x.size, 32):
        group = x[i : i + 32]
        counts.append(np.count_nonzero(group > 0))
        out[i : i + counts[-1]] = group[group > 0]
    return out, np.array(counts, np.int32)


check(
    warp_filter,
    spec=kept,
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
# ## 6 · Warps together
#
# A shuffle cannot reach beyond its warp. To add up a whole block, warps have to meet,
# and they meet in shared memory. `sums = cuda.shared.array(WARPS, float32)` is such
# memory, with one number per warp.
#
# 1. Each warp adds up its 32 values, with shuffles.
# 2. Lane 0 of each warp stores the sum in `sums`, at the index of its warp.
# 3. Every thread waits, `cuda.syncthreads()`. What was stored before can be read after.
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
    """Write the sum of each 256 neighbours of x into out."""
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
# The barrier is the block's. `cuda.syncwarp()` would not be enough, because eight warps
# write `sums` and one reads it.
#
# ### What each scope saves
#
# Add up 2^26 elements into one cell with atomic additions: one per thread, one per warp
# after shuffles, or one per block after shared memory.

# %% tags=["solution"]
@cuda.jit
def sum_by_threads(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


@cuda.jit
def sum_by_warps(x, out):
    value = x[cuda.grid(1)]
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def sum_by_blocks(x, out):
    sums = cuda.shared.array(WARPS, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    value = x[cuda.grid(1)]
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
            cuda.atomic.add(out, 0, value)


def totals():
    import torch

    n = 1 << 26
    x = torch.rand(n, device="cuda")
    out = torch.zeros(1, device="cuda")
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    grid = n // 256, 256

    def run(kernel):
        out.zero_()
        kernel[grid](d_x, d_out)

    for kernel in (sum_by_warps, sum_by_blocks):
        run(kernel)
        assert abs(out.item() / x.double().sum().item() - 1) < 1e-3

    return {
        "torch.sum": lambda: x.sum(),
        "an atomic a thread": lambda: run(sum_by_threads),
        "an atomic a warp": lambda: run(sum_by_warps),
        "an atomic a block": lambda: run(sum_by_blocks),
    }


total = bench.compare(
    "the sum of 2^26 float32", totals, baseline="torch.sum", bytes=4 * 2**26
)
total

# %% tags=["solution"]
total.expect("an atomic a warp", at_least=20, times="an atomic a thread")
total.expect("an atomic a block", at_least=4, times="an atomic a warp")

additions = {"thread": 2**26, "warp": 2**21, "block": 2**18}
for row in total:
    who = row.name.split()[-1]
    if who in additions:
        each = row.ms * 1e6 / additions[who]
        print(f"{row.name:18}  {each:.2f} ns each")

# %% [markdown] tags=["solution"]
# Divide the times by the numbers of additions, and the quotients are almost the same.
# Additions to one cell queue up, wherever they come from, and hardly anything else
# counts here. Adding up within a warp first saves 31 of 32 atomic additions, at the
# price of five shuffles, and adding up within a block saves 7 of 8 of the remaining
# additions, at the price of a barrier. Chapter 14 goes on from here.

# %% [markdown] tags=["solution"]
# ### A filter for a whole array, if order does not matter
#
# If the order does not matter, it is enough that each place in `out` is used once. In
# the plain way, each thread that keeps an element gets a place from a counter, with an
# atomic addition. With a vote, one lane can get the places for its whole warp, and with
# shared memory, one thread can get them for its whole block.

# %% tags=["solution"]
@cuda.jit
def filter_by_threads(x, out, count):
    """Each lane that keeps its element asks for a place."""
    i = cuda.grid(1)

    if i < x.size and x[i] > float32(0):
        out[cuda.atomic.add(count, 0, 1)] = x[i]


@cuda.jit
def filter_by_warps(x, out, count):
    """Lane 0 asks for places for the whole warp."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)
    votes = cuda.ballot_sync(FULL, keep)

    first = int32(0)
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(FULL, first, 0)

    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@cuda.jit
def filter_by_blocks(x, out, count):
    """Thread 0 asks for places for the whole block."""
    first = cuda.shared.array(WARPS, int32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    keep = i < x.size and x[i] > float32(0)
    votes = cuda.ballot_sync(FULL, keep)

    if lane == 0:
        first[warp] = cuda.popc(votes)
    cuda.syncthreads()

    if cuda.threadIdx.x == 0:
        total = int32(0)
        for w in range(WARPS):
            total += first[w]
        place = cuda.atomic.add(count, 0, total)
        for w in range(WARPS):
            place, first[w] = place + first[w], place
    cuda.syncthreads()

    if keep:
        out[first[warp] + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


def filters():
    import torch

    n = 1 << 26
    x = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    half = torch.empty(3 * n // 4, device="cuda")
    same = torch.empty_like(half)
    d_x, d_out, d_count = (cuda.as_cuda_array(t) for t in (x, out, count))
    grid = n // 256, 256

    def run(kernel):
        count.zero_()
        kernel[grid](d_x, d_out, d_count)

    wanted = x[x > 0].sort().values
    for kernel in (filter_by_threads, filter_by_warps, filter_by_blocks):
        run(kernel)
        assert count.item() == wanted.numel()
        assert torch.equal(out[: wanted.numel()].sort().values, wanted)

    return {
        "copy": lambda: same.copy_(half),
        "torch": lambda: x[x > 0],
        "an atomic a thread": lambda: run(filter_by_threads),
        "an atomic a warp": lambda: run(filter_by_warps),
        "an atomic a block": lambda: run(filter_by_blocks),
    }


filtered = bench.compare(
    "the positive of 2^26 float32",
    filters,
    baseline="torch",
    bytes=6 * 2**26,
    ceiling="copy",
)
filtered

# %% tags=["solution"]
filtered.expect("an atomic a warp", at_least=0.8, times="an atomic a thread")
filtered.expect("an atomic a thread", at_least=0.8, times="an atomic a warp")
filtered.expect("an atomic a block", at_least=3, times="an atomic a warp")
filtered.expect("an atomic a block", at_least=1.2, times="torch")

# %% [markdown] tags=["solution"]
# The vote has gained nothing over the plain kernel. Votes are not slow: the compiler
# recognises this pattern, and has put the vote, the `popc` and a single atomic addition
# per warp into `filter_by_threads` as well. Both kernels wait for the same thing, 2^21
# additions to one cell, one after another. It helps to add less often.
# `filter_by_blocks` makes one addition for 256 elements, and overtakes PyTorch, which
# has more to do: it keeps the order.

# %% [markdown]
# ## Beyond the block: the grid
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
# ## Clusters
#
# GPUs from compute capability 9.0 on have one more level between block and grid: a
# **cluster** of up to 8 blocks that run at the same time, near one another, can wait
# for one another, and can read and write each other's shared memory. Numba has no name
# for clusters, so the next cell is CUDA C++. Each block puts its number into its shared
# memory, and reads the number of the next block in its cluster.

# %%
CLUSTER_CPP = """
extern "C" __global__ void next_block(float* out)
{
    __shared__ float mine;
    unsigned rank = __clusterRelativeBlockRank();
    unsigned size = __clusterSizeInBlocks();

    if (threadIdx.x == 0)
        mine = blockIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();

    void* theirs = __cluster_map_shared_rank(&mine, (rank + 1) % size);
    if (threadIdx.x == 0)
        out[blockIdx.x] = *(float*)theirs;
    __cluster_barrier_arrive();  // nobody ends while a neighbour reads
    __cluster_barrier_wait();
}

extern "C" __global__ void wait_often(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
}
"""
has_clusters = weft.device.find().capability >= (9, 0)

if weft.on_gpu("clusters are made of hardware") and has_clusters:
    import cuda.core as core
    import torch

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(CLUSTER_CPP, code_type="c++", options=options)
    module = program.compile("cubin")
    next_block = module.get_kernel("next_block")
    wait_often = module.get_kernel("wait_often")

    neighbours = torch.full((128,), -1.0, device="cuda")
    clustered = core.LaunchConfig(grid=16, cluster=8, block=256)
    core.launch(stream, clustered, next_block, neighbours.data_ptr())
    print("what blocks 0 to 15 read:", neighbours[:16].int().tolist())

# %% [markdown]
# ## Measure: what waiting costs
#
# Here are four barriers, by scope: a warp, a block of 256 threads, a cluster of 8 such
# blocks, and a grid of 128 such blocks. Each kernel does nothing but wait, 1000 times,
# so milliseconds in the table are microseconds per barrier. How many times as fast as
# the grid's barrier are the block's and the cluster's?

# %%
guess = {"syncthreads": None, "cluster": None}


@cuda.jit
def wait_warp():
    for _ in range(1000):
        cuda.syncwarp()


@cuda.jit
def wait_block():
    for _ in range(1000):
        cuda.syncthreads()


@cuda.jit
def wait_grid():
    grid = cuda.cg.this_grid()
    for _ in range(1000):
        grid.sync()


def waits():
    rows = {
        "syncwarp": lambda: wait_warp[128, 256](),
        "syncthreads": lambda: wait_block[128, 256](),
        "grid.sync": lambda: wait_grid[128, 256](),
    }
    if has_clusters:
        often = np.int32(1000)
        rows["cluster"] = lambda: core.launch(
            stream, clustered, wait_often, often
        )
    return rows


scopes = bench.compare(
    "1000 barriers", waits, baseline="grid.sync", guess=guess
)
scopes

# %% tags=["solution"]
scopes.expect("syncthreads", at_least=20, times="grid.sync")
if has_clusters:
    scopes.expect("cluster", at_least=3, times="grid.sync")
    scopes.expect("syncthreads", at_least=3, times="cluster")

# %% [markdown] tags=["solution"]
# The wider the scope, the longer the wait. A warp's barrier is next to nothing: in this
# kernel the compiler sees that the lanes are together, and you measure the loop. A
# block's is handled within the SM. A cluster's goes between SMs that are near one
# another; on the H100 that we measured it took three times as long as on the H200. The
# grid's goes through memory: each block adds to a counter, and reads it again and again
# until all blocks have arrived.

# %% [markdown]
# ## If you want more
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
# - On a GPU, look at the machine code of `two_sides(4)` and `two_sides(8)`:
#   `inspect_sass()` of a compiled kernel. Find the predicates (`@P0`), and the branch.
#
# ## What you learned
#
# 1. A warp is 32 threads with consecutive numbers in the block, `x` fastest.
# 2. Divergence costs the number of different paths within a warp; between warps a
#    branch is free, and a short `if` is not a branch.
# 3. Every lane that a mask names must reach the operation: let lanes without an element
#    contribute the neutral one; guard loads and stores, never a shuffle.
# 4. Shuffles add up a warp in five steps; a ballot, `popc` and `lanemask_lt` filter it.
# 5. Warps meet in shared memory after a barrier; the wider the scope, the more a wait
#    costs.

# %%
quiz()
