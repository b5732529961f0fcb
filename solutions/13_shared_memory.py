# %% [markdown]
# # 13 · Shared memory
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/13_shared_memory.ipynb)
#
# **When you are through, you can**
#
# - stage data in shared memory, and say where the barrier stands and why;
# - transpose a matrix of any shape with both its reads and its writes coalesced;
# - count bank conflicts by hand, and remove them by padding and by swizzling;
# - compute how many bytes must be on their way to keep the memory busy;
# - write, in Python, a transpose that runs at the speed of a copy.
#
# **You need** about 90 minutes. No GPU: the exercises run in the simulator, and the
# measurements then show the rows of the reference GPU. With a GPU: compute
# capability 7.5 or higher and 1 GB of its memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32

from weft import bench, check, explore, hint, quiz
from weft.intrinsics import load4, store4

weft.lab("13_shared_memory")

# %% [markdown]
# ## A copy that is not quite a copy
#
# A transpose computes nothing. Every element is read once and written once, exactly
# as in a copy, so it could be as fast as one. Here are the two obvious kernels. The
# first reads along rows and so must write down columns; the second does the reverse.
#
# Five words this lab leans on. A **warp** is 32 threads with consecutive
# `threadIdx.x`, a **lane** a thread's place in it. One load or store of a warp is a
# **request**. Memory answers in **sectors** of 32 bytes, so 32 lanes on 32
# neighbouring float32 need four of them: the request is **coalesced**. A **rung** is
# one kernel of a series that ends, it is hoped, at the speed of the copy.
#
# And two dimensions (chapter 6 takes its time over them): these kernels are launched
# with `kernel[(blocks_x, blocks_y), (32, 32)]`. `cuda.grid(2)` gives x first. x is the
# one that grows from lane to lane, so it should be the *column*, the last index of an
# array: hence `col, row = cuda.grid(2)` and `x[row, col]`.

# %% tags=["given"]
@cuda.jit
def naive_read(x, out):
    """Neighbouring threads read neighbours, and write down a column."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = x[row, col]


@cuda.jit
def naive_write(x, out):
    """Neighbouring threads write neighbours, and read down a column."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[col, row]


# %% [markdown]
# By hand first. An 8192 × 8192 matrix of float32 has 268 MB; reading it and writing
# it once moves 537 MB. That is what a copy moves. Now look at one warp:
#
# - **along a row**, 32 lanes touch 32 × 4 = 128 bytes that lie together: 4 sectors
#   of 32 bytes, all of them used;
# - **down a column**, neighbouring lanes are a whole row apart, 32 KB: 32 sectors, of
#   each of which 4 bytes are used.
#
# Either kernel does one of each. How fast are they, beside PyTorch's
# `x.t().contiguous()` (1.0 is PyTorch's speed, 0.5 half of it)? Put your guesses in
# place of `None`, then run.

# %%
guess = {"naive_read": None, "naive_write": None}

m = n = 8192 if weft.GPU else 64
if weft.GPU:
    import torch

    x = torch.rand(m, n, device="cuda")
    same = torch.empty_like(x)
    out = torch.empty(n, m, device="cuda")
    d_x, d_same, d_out = (cuda.as_cuda_array(t) for t in (x, same, out))


on_x = (n // 32, m // 8), (32, 8)  # a thread for each element of x
on_out = (m // 32, n // 8), (32, 8)  # a thread for each element of out

naive = bench.compare(
    "two naive kernels",
    {
        "copy": lambda: same.copy_(x),
        "torch": lambda: x.t().contiguous(),
        "naive_read": lambda: naive_read[on_x](d_x, d_out),
        "naive_write": lambda: naive_write[on_out](d_x, d_out),
    },
    baseline="torch",
    bytes=2 * 4 * m * n,
    ceiling="copy",
    guess=guess,
)
naive

# %% tags=["solution"]
naive.expect("naive_write", at_least=2, times="naive_read")
naive.expect("copy", at_least=3, times="torch")

# %% [markdown] tags=["solution"]
# The two move the same bytes, and one is a few times as fast as the other. A scattered
# read fetches a sector of which 4 bytes are wanted now, but the other 28 stay in the
# L1 cache for a moment, and the block's next warps find them there. A scattered write
# goes to L2 in pieces of 4 bytes, each with an address of its own.
#
# PyTorch is no faster: for a transposed view it uses its general kernel for strided
# copies, which reads down columns like `naive_write` and computes its addresses by
# division besides. There is a lot of room up to the copy.

# %% [markdown]
# ## 1 · A tile and a barrier
#
# What we want: read along rows **and** write along rows. Somewhere in between, the
# data has to change hands: a thread must write a value that another thread has read.
#
# Threads of a block can hand values over in **shared memory**, a small and fast memory
# that each block has to itself. `cuda.shared.array(shape, dtype)` makes an array in
# it, one for the whole block. It starts out with garbage. (The simulator fills it with
# NaN, so that garbage is noticed.)
#
# A **barrier**, `cuda.syncthreads()`, is a line that no thread of the block passes
# before all of them have reached it.
#
# Try the two on something small. Turn each stretch of 64 elements round, by a block
# of 64 threads: every thread puts one element into the tile (that part is there) and
# takes another one out, no more. The last stretch may be shorter; `count` is its
# length.
#
# ```python
# reverse_blocks(x, out)    # (n,) -> (n,)  float32
# ```
#
# Stuck? `hint("reverse_blocks")`; there are three hints.

# %% tags=["given"]
BLOCK = 64


# %%
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each BLOCK elements of x, handing them over in shared memory."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        tile[t] = x[start + t]

    # about 3 lines
    # BEGIN SOLUTION
    cuda.syncthreads()

    if t < count:
        out[start + t] = tile[count - 1 - t]
    # END SOLUTION


# %%
check(
    reverse_blocks,
    spec=lambda x: np.concatenate(
        [x[i : i + BLOCK][::-1] for i in range(0, x.size, BLOCK)]
    ),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 1, 100, 250],
    launch=lambda n: (-(-n // BLOCK), BLOCK),
    full=1 << 24,
    limits={"shared_loads": 1},
)

# %% [markdown] tags=["solution"]
# Thread 0 needs what thread 63 has loaded. Nothing says that thread 63 has done so by
# then: it is in another warp, which may not have begun. The barrier makes it certain.
#
# The barrier stands **outside** the `if`. Every thread of the block has to come to it,
# those without an element too; what happens otherwise is undefined, and "the GPU hangs"
# and "it works on this one" are both common. So the kernel has two guards, one before
# the barrier and one after it.

# %% [markdown]
# ## 2 · Transpose through a tile
#
# The same handing over, in two dimensions. A block of 32 × 32 threads takes a tile of
# 32 × 32 elements:
#
# 1. thread (`tx`, `ty`) reads `x` at the block's place, along rows, into the tile;
# 2. barrier;
# 3. the thread takes **another** element out of the tile, the mirrored one, and writes
#    it to `out`, again along rows.
#
# `tx` is the fast index: threads of a warp have the same `ty` and `tx` from 0 to 31.
# So `tx` must be the *column* in `x` when you read, and the *column* in `out` when you
# write. The tile that was in block-row `blockIdx.y` and block-column `blockIdx.x` of
# `x` belongs, as a whole, in block-row `blockIdx.x` and block-column `blockIdx.y` of
# `out`.
#
# ```python
# transpose_tiled(x, out)    # (m, n) -> (n, m)  float32
# ```
#
# Shapes are ragged; the check sees to it that each request of a warp is coalesced, and
# that no thread loads more than 2 elements of `x` (one will do).
#
# Stuck? `hint("transpose_tiled")`.

# %% tags=["given"]
TILE = 32


# %%
@cuda.jit
def transpose_tiled(x, out):
    """Transpose x (m, n) into out (n, m) through a tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    # about 7 lines
    # BEGIN SOLUTION
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty  # of out
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]
    # END SOLUTION


# %%
check(
    transpose_tiled,
    spec=lambda x: x.T,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(32, 32), (5, 40), (33, 66), (64, 96)],
    launch=lambda m, n: ((-(-n // TILE), -(-m // TILE)), (TILE, TILE)),
    full=(4100, 2050),
    limits={"sectors": 4, "loads": 2},
)

# %% [markdown] tags=["solution"]
# Two moves make a transpose: the tile as a whole goes to its mirrored place (`blockIdx`
# swapped), and the tile itself is turned over (`tile[tx, ty]`). `threadIdx` is *not*
# swapped in the second half; that is the point, the lanes of a warp still run along a
# row of `out`.
#
# The guards differ: the first asks `x`, the second `out`. Where the matrix ends in the
# middle of a tile, a thread may have nothing to read but something to write.
#
# The check counts sectors on a matrix of 64 × 96, whose rows begin on boundaries of 128
# bytes. In one of odd width most requests straddle a boundary and take a fifth sector.

# %% [markdown]
# ## 3 · Banks
#
# Both accesses to global memory are coalesced now. The column has not gone away,
# though. It has moved into the tile: `tile[tx, ty]` goes down it.
#
# Shared memory has 32 **banks**. Word `w` (4 bytes) lies in bank `w % 32`, and in one
# pass each bank serves one word. 32 lanes that ask for words in 32 different banks are
# served in one pass; if *k* of the words lie in one bank, it takes *k* passes. (Lanes
# that ask for the very same word share it.)
#
# In a tile of width 32, element (`row`, `col`) is word `32 * row + col`. Which banks
# does a column fall into? Count the passes; then change `width`.

# %%
def passes(words):
    """Return how many passes serve these words of one request."""
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)


for width in (32, 34, 36, 40):
    along = passes([5 * width + lane for lane in range(32)])
    down = passes([lane * width + 5 for lane in range(32)])
    print(f"width {width}: a row takes {along} pass, a column {down}")

# %% [markdown]
# Find a width with which a column takes one pass as well. Then write the transpose
# again with such a tile: the columns beyond 32 stay empty, they only move the rows
# that follow. The check counts the conflicts of your kernel, that is, passes
# beyond the first, and allows none.
#
# The compiler has to know the shape of a shared array. Write its width as a number, or
# as the name of a constant; a sum such as `TILE + 2` does not compile on a GPU.
#
# ```python
# transpose_padded(x, out)    # (m, n) -> (n, m)  float32
# ```
#
# Begin with a copy of your kernel from exercise 2. Stuck? `hint("transpose_padded")`.

# %%
@cuda.jit
def transpose_padded(x, out):
    """Transpose x (m, n) into out (n, m) without bank conflicts."""
    # about 10 lines, all but one of them from exercise 2
    # BEGIN SOLUTION
    tile = cuda.shared.array((TILE, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]
    # END SOLUTION


# %%
check(
    transpose_padded,
    spec=lambda x: x.T,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(32, 32), (5, 40), (33, 66), (64, 96)],
    launch=lambda m, n: ((-(-n // TILE), -(-m // TILE)), (TILE, TILE)),
    full=(4100, 2050),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 2},
)

# %% [markdown] tags=["solution"]
# In a tile of width 33, element (`row`, `col`) is word `33 * row + col`, in bank
# `(row + col) % 32`. Along a row, `col` runs through 32 values, so the banks are all
# different; down a column, `row` does. Any odd width would do. An even one leaves
# conflicts: 34 gives two lanes to every second bank.
#
# The price is 32 words a tile, 3 per cent, and nothing in instructions.

# %% [markdown]
# ## Look at it
#
# `explore` launches a kernel in the simulator and shows, line by line, what its warps
# ask for. Here is the one of exercise 2, which passed its check: the access that costs
# most comes first, and the picture shows where its 32 words lie. Put
# `transpose_padded` in its place, say where the column will go, and run the cell again.

# %%
small = np.ones((TILE, TILE), np.float32)
explore(transpose_tiled)[1, (TILE, TILE)](small, np.zeros_like(small))

# %% [markdown] tags=["solution"]
# Padded, the column is a diagonal across the banks:

# %% tags=["solution"]
explore(transpose_padded)[1, (TILE, TILE)](small, np.zeros_like(small))

# %% [markdown]
# ## Measure: what did the conflicts cost?
#
# By hand: 2^26 elements are 2^21 = 2.1 million requests to write into tiles, and as
# many to read from them. With conflicts a request that reads takes 32 passes, so
# together (1 + 32) × 2.1 million = 69 million passes. An H200 has 132 SMs, each of
# which can do one pass in a clock cycle, at up to 1.98 GHz:
#
# 69 million / 132 / 1.98 GHz = **265 µs**
#
# Without conflicts it is 2 × 2.1 million passes: 16 µs. Compare that with what a copy
# of the same bytes takes (the first table). How fast is either kernel, then, beside
# PyTorch? One more: a kernel that merely **copies**, in the same style, one element
# a thread, without a tile. How close to `copy_` does it get?

# %%
guess = {
    "naive_write": None,
    "tiled": None,
    "padded": None,
    "copy kernel": None,
}


@cuda.jit
def copy_kernel(x, out):
    """Copy x into out, one element a thread."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[row, col]


square = (n // TILE, m // TILE), (TILE, TILE)
one_tile = bench.compare(
    "one element a thread",
    {
        "copy": lambda: same.copy_(x),
        "torch": lambda: x.t().contiguous(),
        "naive_write": lambda: naive_write[on_out](d_x, d_out),
        "tiled": lambda: transpose_tiled[square](d_x, d_out),
        "padded": lambda: transpose_padded[square](d_x, d_out),
        "copy kernel": lambda: copy_kernel[on_x](d_x, d_same),
    },
    baseline="torch",
    bytes=2 * 4 * m * n,
    ceiling="copy",
    guess=guess,
)
one_tile

# %% tags=["solution"]
one_tile.expect("padded", at_least=1.3, times="tiled")
one_tile.expect("copy kernel", at_least=1.3, times="padded")
one_tile.expect("copy", at_least=1.3, times="copy kernel")

# %% [markdown] tags=["solution"]
# Padding pays, as the arithmetic said it must: with conflicts, shared memory alone
# needs twice the time of the whole copy. Yet even without them the transpose is far
# from the copy, and behind the naive kernel that writes along rows. Both accesses are
# coalesced, no bank has a conflict; what is wrong?
#
# The last row tells. A kernel with nothing to transpose, one element a thread, is also
# far from `copy_`. Patterns are not the trouble any more. The trouble is one element
# a thread.

# %% [markdown]
# ## Measure: how long does a load take?
#
# One thread, 1000 loads, each of which needs the result of the one before it for its
# address. They cannot overlap, so a thousandth of the time is the **latency** of one
# load from memory. In nanoseconds, what do you think? (An instruction takes a few.)

# %%
@cuda.jit
def chase(link, end):
    """Follow 1000 links, one after the other."""
    i = int32(0)
    for _ in range(1000):
        i = link[i]
    end[0] = i


if weft.GPU:
    places = torch.arange(1 << 26, dtype=torch.int32, device="cuda")
    link = (places + 65600) % (1 << 26)  # on to the next place, 262 KB away
    end = torch.zeros(1, dtype=torch.int32, device="cuda")
    d_link, d_end = cuda.as_cuda_array(link), cuda.as_cuda_array(end)

latency = bench.compare(
    "1000 loads, one after the other",
    {"one thread": lambda: chase[1, 1](d_link, d_end)},
)
latency

# %% [markdown]
# Now **Little's law**: what is on its way = rate × time on the way. To read at a
# certain rate, that many bytes must have been asked for and not have arrived yet.
#
# How many bytes can a kernel have on their way? An SM of an H200 holds 2048 threads.
# If each waits for one float32, that is 8 KB, and only while all of them wait: a
# thread that computes an address, stands at a barrier, or writes asks for nothing.

# %%
seconds = latency["one thread"].ms / 1000 / 1000
rate = naive["copy"].rate / 2  # half of a copy's bytes are read
sms = weft.device.find().sms or 132

print(f"one load takes       {seconds * 1e9:6.0f} ns")
print(f"a copy reads         {rate / 1e12:6.2f} TB/s")
print(f"so on their way are  {seconds * rate / sms / 1e3:6.1f} KB to each SM")
print("one float32 a thread    8.2 KB, if all 2048 threads wait at once")

# %% tags=["solution"]
kept = one_tile["padded"].rate / 2 * seconds / sms
print(f"padded keeps         {kept / 1e3:6.1f} KB on their way to each SM")

# %% [markdown] tags=["solution"]
# 8 KB would do, if all 2048 threads were waiting for a load all of the time. From the
# rate of `padded`, Little's law tells how many bytes really were on their way: a
# fraction. A thread spends most of its life otherwise. It is started, computes a row
# and a column in 64 bits, loads, stands at the barrier until the last of 1024 threads
# is there, computes again, stores. Only two such blocks fit on an SM, so while one
# stores there is a single other one that could load.
#
# Two cures, and they go together. Let a thread ask for more before it waits; and let it
# be worth its overhead by doing several elements.

# %% [markdown]
# ## 4 · Four loads a thread
#
# A tile of 32 × 32 again, but only 32 × 8 threads. Each looks after four elements, 8
# rows apart: rows `ty`, `ty + 8`, `ty + 16` and `ty + 24` of the tile. It loads four,
# waits at the barrier once, and stores four.
#
# For the four loads to be on their way together, the compiler has to be able to put
# them one behind the other, with nothing between them. Two things help:
#
# - a loop whose length it knows: `for j in range(0, TILE, ROWS)`;
# - no `if` round the load. At the edge, **clamp** the index instead: a thread that has
#   nothing to read reads the last row, or the last column, once more, and that cell of
#   the tile is never asked for. (The store keeps its guard: a load too many does no
#   harm, a store too many might.)
#
# ```python
# transpose_rows(x, out)    # (m, n) -> (n, m)  float32; block (32, 8)
# ```
#
# `min(i, m - 1)` works in a kernel. Stuck? `hint("transpose_rows")`.

# %% tags=["given"]
ROWS = 8
PADDED = TILE + 1  # a name, since a shape in a kernel cannot be a sum


# %%
@cuda.jit
def transpose_rows(x, out):
    """Transpose x (m, n) into out (n, m), four elements a thread."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * TILE  # first row in x, first column in out
    left = cuda.blockIdx.x * TILE  # first column in x, first row in out
    m, n = x.shape

    # about 8 lines
    # BEGIN SOLUTION
    col = min(left + tx, n - 1)
    for j in range(0, TILE, ROWS):
        row = min(top + ty + j, m - 1)
        tile[ty + j, tx] = x[row, col]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]
    # END SOLUTION


# %%
check(
    transpose_rows,
    spec=lambda x: x.T,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(32, 32), (5, 40), (33, 66), (64, 96)],
    launch=lambda m, n: ((-(-n // TILE), -(-m // TILE)), (TILE, ROWS)),
    full=(4100, 2050),
    limits={"sectors": 4, "bank_conflicts": 0, "barriers": 1, "loads": 4},
)

# %% [markdown] tags=["solution"]
# One barrier for the whole tile, not one per row: all four loads come before it, all
# four stores after it. Eight blocks of 256 threads fit on an SM, 2048 threads as
# before, but each has four loads on their way: 32 KB. And what a thread computes once
# (`left`, `top`, the clamped column, most of the addresses) serves four elements.
#
# With `if` round the load the kernel is right too, and slower. Machine code shows why:
# each load is then followed by its store to the tile, which waits for it, before the
# next load begins. Without the `if` there are four loads, and then four stores.

# %% [markdown]
# ## 5 · Swizzle
#
# Padding has a weakness. With a width of 33, rows begin at words 0, 33, 66, …, and a
# row's address is a multiple of 16 bytes only in every fourth of them. Accesses of 16
# bytes, which you will want in the next exercise, need addresses that are.
#
# The alternative is to leave the width at 32, and to **permute each row by its own
# number**: element (`row`, `col`) is kept in column `col ^ row`, where `^` is the
# bitwise exclusive or. For a tile of 4 × 4:
#
# | row | column 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | 0 | a0 | a1 | a2 | a3 |
# | 1 | b1 | b0 | b3 | b2 |
# | 2 | c2 | c3 | c0 | c1 |
# | 3 | d3 | d2 | d1 | d0 |
#
# Every row holds its own elements in another order. The elements 0, `a0 b0 c0 d0`, are
# in four different columns now, and so are the elements 1. This is called a
# **swizzle**. Since `(col ^ row) ^ row == col`, whoever knows the rule finds everything
# again.
#
# Write the transpose of exercise 2 once more, with a swizzled tile of width 32.
#
# ```python
# transpose_swizzled(x, out)    # (m, n) -> (n, m)  float32; block (32, 32)
# ```
#
# Stuck? `hint("transpose_swizzled")`.

# %%
@cuda.jit
def transpose_swizzled(x, out):
    """Transpose x (m, n) into out (n, m) through a swizzled tile."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)  # of x

    # about 7 lines
    # BEGIN SOLUTION
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx ^ ty] = x[row, col]
    cuda.syncthreads()

    row = cuda.blockIdx.x * TILE + ty  # of out
    col = cuda.blockIdx.y * TILE + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty ^ tx]
    # END SOLUTION


# %%
check(
    transpose_swizzled,
    spec=lambda x: x.T,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(32, 32), (5, 40), (33, 66), (64, 96)],
    launch=lambda m, n: ((-(-n // TILE), -(-m // TILE)), (TILE, TILE)),
    full=(4100, 2050),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 2},
)

# %% [markdown] tags=["solution"]
# Writing: the row `ty` is the same for a whole warp, and `tx ^ ty` runs through all 32
# columns as `tx` does, in another order. Reading element (`tx`, `ty`): it is kept in
# column `ty ^ tx`, which for a fixed `ty` takes each value once as well. Either way
# the width is a multiple of 32, so the column is the bank.
#
# It costs one instruction, and no memory. It is the same idea that CuTe's layouts and
# Hopper's copy engine offer ready-made; you will meet it there again, in chapters 20
# and 22.

# %% [markdown]
# ## 6 · Stretch: the fastest rung
#
# Sixteen elements a thread, and nothing but 128-bit accesses. Think of the matrix as
# made of small squares of 4 × 4. A block of 16 × 16 threads takes a tile of 16 × 16
# squares, 64 × 64 elements, and each thread one square:
#
# 1. four `load4`, one for each row of its square. `load4(x, (row, col))` reads four
#    floats in one instruction and returns them as a tuple;
# 2. turn the square over. That needs no instruction: *column* `i` of the square is
#    `a[i], b[i], c[i], d[i]`, and you name it so when you store it;
# 3. put the square into the tile **already turned over**, at square-row `tx` and
#    square-column `ty`, with four `store4(tile, (row, col), a, b, c, d)`;
# 4. barrier; then take out square (`ty`, `tx`), four `load4`, and write it to `out`,
#    four `store4`.
#
# The tile is 64 wide, so squares above one another fall into the same banks, and
# padding by one would break the 16-byte boundaries. Swizzle the squares: the square in
# square-row `r`, square-column `c` is kept in square-column `c ^ r`. For both steps
# that is `tx ^ ty`, so the column is `swizzled` below.
#
# Here `m` and `n` are multiples of 64, and all indices are `int32`, which saves
# registers. Note which of `blockIdx.x` and `.y` is `top`: blocks that follow one
# another go down `x`, so they *write* next to one another.
#
# ```python
# transpose_fast(x, out)    # (m, n) -> (n, m)  float32; block (16, 16)
# ```
#
# Stuck? `hint("transpose_fast")`.

# %% tags=["given"]
WIDE = 64


# %%
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 a thread."""
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    a = load4(x, (top + 4 * ty, left + 4 * tx))
    b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
    c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
    d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

    # about 6 lines
    # BEGIN SOLUTION
    for i in range(4):
        store4(tile, (4 * tx + i, swizzled), a[i], b[i], c[i], d[i])
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, swizzled))
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
    # END SOLUTION


# %%
check(
    transpose_fast,
    spec=lambda x: x.T,
    inputs=lambda rng, m, n: (rng.random((m, n), np.float32),),
    sizes=[(64, 64), (64, 192), (128, 64)],
    launch=lambda m, n: ((m // WIDE, n // WIDE), (16, 16)),
    full=(4096, 2048),
    limits={
        "sectors": 16,
        "bank_conflicts": 0,
        "load_bytes": 16,
        "store_bytes": 16,
        "loads": 4,
    },
)

# %% [markdown] tags=["solution"]
# Line by line. The four loads are independent and come first, 64 bytes a thread. In one
# of them, 16 threads with the same `ty` read 16 × 16 = 256 bytes in a row, and a warp
# holds two such groups: 16 sectors, all used.
#
# The `store4` into the tile writes column `i` of the square as a row. Shared memory
# delivers 128 bytes in a pass, so a request of 16 bytes a lane goes by quarters of a
# warp: 8 lanes, `tx` = 0…7 or 8…15. Their rows are 4 × 64 words apart, so without the
# swizzle all eight would want the same four banks. `tx ^ ty` is different for each of
# the eight, even modulo 8, so between them they use all 32 banks. The loads after the
# barrier run along `tx` and are as good.
#
# A loop over the elements of a tuple, `a[i]`, is fine in a kernel as long as the
# compiler can unroll it: no trace of it is left in the machine code.
#
# Why not pad by 4, which keeps the boundaries? Then rows are 68 words apart, squares
# 4 × 68 = 272, and 272 % 32 = 16: eight lanes fall on two groups of four banks, and it
# takes four passes in place of one. No padding by a multiple of 4 does better, since
# squares are four rows apart.

# %% [markdown]
# ## Measure: the ladder
#
# All rungs in one table. How close to the copy does the last one come? Write your
# guesses as multiples of PyTorch's speed. A kernel that you have not written yet does
# nothing, quickly: leave it out of your conclusions.

# %%
guess = {"padded": None, "swizzled": None, "rows": None, "fast": None}

flat = (n // TILE, m // TILE), (TILE, ROWS)
wide = (m // WIDE, n // WIDE), (16, 16)
ladder = bench.compare(
    "8192 x 8192 float32",
    {
        "copy": lambda: same.copy_(x),
        "torch": lambda: x.t().contiguous(),
        "naive_read": lambda: naive_read[on_x](d_x, d_out),
        "naive_write": lambda: naive_write[on_out](d_x, d_out),
        "tiled": lambda: transpose_tiled[square](d_x, d_out),
        "padded": lambda: transpose_padded[square](d_x, d_out),
        "swizzled": lambda: transpose_swizzled[square](d_x, d_out),
        "rows": lambda: transpose_rows[flat](d_x, d_out),
        "fast": lambda: transpose_fast[wide](d_x, d_out),
    },
    baseline="torch",
    bytes=2 * 4 * m * n,
    ceiling="copy",
    guess=guess,
)
ladder

# %% tags=["solution"]
ladder.expect("padded", at_least=1.3, times="tiled")
ladder.expect("swizzled", at_least=0.9, times="padded")
ladder.expect("rows", at_least=1.7, times="padded")
ladder.expect("fast", at_least=3, times="torch")
ladder.expect("fast", ceiling=0.92)

# %% [markdown] tags=["solution"]
# Swizzled and padded are the same speed: both have no conflicts, and both have one
# element a thread. What brings the transpose up to the copy is more bytes on their way
# for each thread and fewer instructions for each byte, once the patterns are right.

# %% [markdown]
# ## Measure: the shape that does not divide
#
# 8191 × 8193: no tile is whole at the edges, and hardly a row begins on a boundary of
# 128 bytes, or even of 16. `transpose_fast` cannot run. What a library does is to
# choose: the fast kernel where the shape allows it, a general one elsewhere.

# %%
def transpose(x, out):
    """Transpose x (m, n) into out (n, m), as fast as the shape allows."""
    m, n = x.shape
    if m % WIDE == 0 and n % WIDE == 0:
        transpose_fast[(m // WIDE, n // WIDE), (16, 16)](x, out)
    else:
        grid = -(-n // TILE), -(-m // TILE)
        transpose_rows[grid, (TILE, ROWS)](x, out)


guess = {"ours": None}

odd_m, odd_n = 8191, 8193
if weft.GPU:
    odd_x = torch.rand(odd_m, odd_n, device="cuda")
    odd_same = torch.empty_like(odd_x)
    odd_out = torch.empty(odd_n, odd_m, device="cuda")
    d_odd_x, d_odd_out = cuda.as_cuda_array(odd_x), cuda.as_cuda_array(odd_out)

odd = bench.compare(
    "8191 x 8193 float32",
    {
        "copy": lambda: odd_same.copy_(odd_x),
        "torch": lambda: odd_x.t().contiguous(),
        "ours": lambda: transpose(d_odd_x, d_odd_out),
    },
    baseline="torch",
    bytes=2 * 4 * odd_m * odd_n,
    ceiling="copy",
    guess=guess,
)
odd

# %% tags=["solution"]
odd.expect("ours", at_least=1.5, times="torch")

# %% [markdown] tags=["solution"]
# ## What each idea is worth
#
# Take one idea at a time out of a good kernel, and measure. First out of `rows`: the
# padding, the clamped loads.

# %% tags=["solution"]
@cuda.jit
def rows_guarded(x, out):
    """transpose_rows with a guard round each load."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    m, n = x.shape

    for j in range(0, TILE, ROWS):
        if top + ty + j < m and left + tx < n:
            tile[ty + j, tx] = x[top + ty + j, left + tx]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]


@cuda.jit
def rows_unpadded(x, out):
    """transpose_rows with bank conflicts."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    m, n = x.shape

    col = min(left + tx, n - 1)
    for j in range(0, TILE, ROWS):
        row = min(top + ty + j, m - 1)
        tile[ty + j, tx] = x[row, col]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]


# %% tags=["solution"]
without = bench.compare(
    "rows, without one idea",
    {
        "copy": lambda: same.copy_(x),
        "rows": lambda: transpose_rows[flat](d_x, d_out),
        "guarded loads": lambda: rows_guarded[flat](d_x, d_out),
        "no padding": lambda: rows_unpadded[flat](d_x, d_out),
    },
    baseline="rows",
    bytes=2 * 4 * m * n,
    ceiling="copy",
)
without.expect("rows", at_least=1.1, times="guarded loads")
without.expect("rows", at_least=1.4, times="no padding")
without

# %% [markdown] tags=["solution"]
# As a factor, padding is worth more here than it was between `tiled` and `padded`; in
# microseconds it is worth less. It removes the same passes both times, and less else is
# left here that takes time. The same repair is worth different amounts in different
# kernels, so measure again after each.
#
# Now out of `fast`: the swizzle, and the order of the blocks.

# %% tags=["solution"]
def fast_without(swizzle, down):
    """Return transpose_fast with an idea left out."""

    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array((WIDE, WIDE), float32)
        tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
        if down:
            top = int32(cuda.blockIdx.x * WIDE)
            left = int32(cuda.blockIdx.y * WIDE)
        else:
            top = int32(cuda.blockIdx.y * WIDE)
            left = int32(cuda.blockIdx.x * WIDE)
        put, get = 4 * ty, 4 * tx
        if swizzle:
            put = get = 4 * (tx ^ ty)

        a = load4(x, (top + 4 * ty, left + 4 * tx))
        b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
        c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
        d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

        for i in range(4):
            store4(tile, (4 * tx + i, put), a[i], b[i], c[i], d[i])
        cuda.syncthreads()

        for i in range(4):
            e = load4(tile, (4 * ty + i, get))
            at = left + 4 * ty + i, top + 4 * tx
            store4(out, at, e[0], e[1], e[2], e[3])

    return kernel


fast_conflicts = fast_without(swizzle=False, down=True)
fast_across = fast_without(swizzle=True, down=False)
across = (n // WIDE, m // WIDE), (16, 16)

fast_less = bench.compare(
    "fast, without one idea",
    {
        "copy": lambda: same.copy_(x),
        "fast": lambda: transpose_fast[wide](d_x, d_out),
        "no swizzle": lambda: fast_conflicts[wide](d_x, d_out),
        "blocks across": lambda: fast_across[across](d_x, d_out),
    },
    baseline="fast",
    bytes=2 * 4 * m * n,
    ceiling="copy",
)
fast_less.expect("fast", at_least=1.0, times="blocks across")
fast_less

# %% [markdown] tags=["solution"]
# The order of the blocks is worth a few per cent. The swizzle is worth next to nothing,
# and arithmetic says why. Without it, each of 2^19 `store4` requests takes 32 passes in
# place of 4; with the loads that makes 36 × 2^19 = 19 million passes, at 132 a cycle
# 72 µs. That is less than the copy takes. Shared memory works while global memory is
# being waited for, and a conflict costs time only where shared memory is what
# everything waits for, as in `rows` without its padding: 265 µs of passes, twice what
# the copy takes.
#
# We keep the swizzle: it is free, and on a GPU with more bandwidth per SM, or in a
# kernel that uses its tile more than once, the 72 µs would show.

# %% [markdown]
# ## If you want more
#
# - No shared memory at all: launch `naive_read` with blocks of 8 × 32 threads and
#   measure. A warp then covers 4 rows and 8 columns. Why is it so much better than
#   32 × 8? What has a sector to do with it?
# - Turn squares of 4 × 4 over in registers and write them straight to `out`, with no
#   tile. Predict the sectors per request first.
# - Let `transpose_fast` take all shapes whose rows begin on 16-byte boundaries.
# - Transpose in place, for a square matrix: a block takes two mirrored tiles.
# - `float64`: which bank does element (`row`, `col`) fall into, how wide must the tile
#   be, and what does `transpose_rows` reach?
#
# ## What you learned
#
# 1. Shared memory lets threads of a block hand values over, so that both sides of a
#    permutation can be coalesced.
# 2. Between a write and another thread's read stands a barrier, and every thread of
#    the block comes to it.
# 3. 32 banks: a request takes as many passes as one bank has different words to serve.
#    Pad the rows, or swizzle them where alignment matters.
# 4. Bytes on their way = rate × latency. One float32 a thread is too little; give a
#    thread several independent loads, without `if`, and wide ones.
# 5. A conflict, like any cost, counts only if it is what everything waits for. Do the
#    sum, measure, and measure again after each repair.

# %%
quiz()
