# %% [markdown]
# # 13 · Shared memory
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/13_shared_memory.ipynb)
#
# **After this lab, you can**
#
# - exchange data through shared memory, and say where the barrier belongs and why;
# - transpose a matrix of any shape with both its reads and its writes coalesced;
# - count bank conflicts by hand, and remove them by padding and by swizzling;
# - compute how many bytes must be in flight to keep the memory busy;
# - write, in Python, a transpose that runs at the speed of a copy.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 1 GB of memory.

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

chapter = weft.lab("13_shared_memory")

# %% [markdown]
# ## A copy that is not quite a copy
#
# A transpose computes nothing. It reads every element once and writes it once, exactly
# like a copy, so it could be as fast as one. The two obvious kernels are in the
# chapter's `kernels.py`. `naive_read` reads along rows, so it has to write along
# columns: `out[col, row] = x[row, col]`. `naive_write` does it the other way around:
# `out[row, col] = x[col, row]`.
#
# You need four terms. A **warp** is 32 threads with consecutive `threadIdx.x`, and a
# **lane** is a thread's position in its warp. One load or store by a warp is a
# **request**. Memory answers in **sectors** of 32 bytes, so 32 lanes that read 32
# neighbouring float32 values need four sectors; such a request is **coalesced**.
#
# The kernels work in two dimensions, as in chapter 6. They are launched with
# `kernel[(blocks_x, blocks_y), (32, 32)]`, and `cuda.grid(2)` returns x first. Because
# x grows from lane to lane, it should be the *column*, the last index of an array.
# Hence `col, row = cuda.grid(2)` and `x[row, col]`.

# %% [markdown]
# Calculate first. An 8192 × 8192 matrix of float32 takes up 268 MB. Reading it once and
# writing it once moves 537 MB, as a copy does. Now look at one warp:
#
# - **along a row**, 32 lanes touch 32 × 4 = 128 consecutive bytes: 4 sectors of 32
#   bytes, all of which are used;
# - **down a column**, neighbouring lanes access elements that are a whole row, or 32
#   KB, apart. They touch 32 sectors and use 4 bytes of each.
#
# Each kernel makes one request of each kind.

# %% [markdown]
# ## 1 · A tile and a barrier
#
# One of the two kernels is much faster than the other (the chapter's page explains
# why), but neither is close to the speed of a copy. The goal is to read along rows
# **and** write along rows. For that, data has to change hands: a thread must write a
# value that another thread has read.
#
# The threads of a block can exchange values in **shared memory**, a small, fast memory
# that each block has to itself. `cuda.shared.array(shape, dtype)` makes an array there,
# one for the whole block. It starts out full of garbage. (The simulator fills it with
# NaN, so a read of garbage shows.)
#
# A **barrier**, `cuda.syncthreads()`, is a line that no thread of the block passes
# until all of them have reached it.
#
# Try both on a small problem. Reverse each run of 64 elements with a block of 64
# threads. Every thread stores one element in the tile (that part is given) and then
# loads exactly one other, which another thread has stored. The check counts how many
# elements change hands this way. The last run may be shorter; `count` is its length.
# Stuck? Run `hint("reverse_blocks")`; there are three hints.
#
# ```python
# reverse_blocks(x, out)    # (n,) -> (n,)  float32
# ```

# %% tags=["given"]
BLOCK = 64

# %%
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each run of BLOCK elements of x through shared memory."""
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
    limits={"shared_loads": 1, "handed_over": 32},
)

# %% [markdown] tags=["solution"]
# Thread 0 needs the element that thread 63 loads. Thread 63 is in another warp, which
# may not even have started when thread 0 is ready to read it. The barrier guarantees
# that the element has been stored before thread 0 reads it.
#
# The barrier is **outside** the `if`. Every thread of the block that still has work to
# do must reach it, including those that had nothing to load. If some do not, the
# behaviour is undefined, and both "the GPU hangs" and "it works on this one" are
# common. Only a thread that has ended is exempt. Here the threads with `t >= count`
# have nothing left to do, so a barrier inside the `if` would pass the check, with a
# note. In the next exercise, such a barrier would be rejected. So write two guards, one
# before the barrier and one after it.

# %% [markdown]
# ## 2 · Transpose through a tile
#
# Now do the same in two dimensions. A block of 32 × 32 threads takes a tile of 32 × 32
# elements:
#
# 1. thread (`tx`, `ty`) reads one element of the block's tile of `x`, along rows, and
#    stores it in the shared tile;
# 2. all threads wait at the barrier;
# 3. the thread takes **another** element out of the shared tile, the mirrored one, and
#    writes it to `out`, again along rows.
#
# `tx` is the fast index: the threads of a warp have the same `ty`, and their `tx` runs
# from 0 to 31. So `tx` must be part of the *column* of `x` when you read, and part of
# the *column* of `out` when you write. The tile in block-row `blockIdx.y` and
# block-column `blockIdx.x` of `x` belongs, as a whole, in block-row `blockIdx.x` and
# block-column `blockIdx.y` of `out`.
#
# ```python
# transpose_tiled(x, out)    # (m, n) -> (n, m)  float32
# ```
#
# Some of the shapes are ragged: their sides are not multiples of 32. The check requires
# every request to be coalesced. It allows two loads of `x` per thread; one is enough.
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
# A transpose is two moves in one: the tile as a whole moves to its mirrored position,
# because the components of `blockIdx` are swapped, and the tile itself is transposed,
# by reading `tile[tx, ty]`. `threadIdx` is *not* swapped in the second half, so the
# lanes of a warp still run along a row of `out`.
#
# The guards differ. The first is about the shape of `x`, the second about that of
# `out`. Where the matrix ends in the middle of a tile, a thread may have nothing to
# read but something to write.
#
# The check counts sectors on a matrix of 64 × 96, whose rows begin at multiples of 128
# bytes. In a matrix of odd width, most requests straddle a boundary and touch a fifth
# sector.

# %% [markdown]
# ## 3 · Bank conflicts
#
# Both accesses to global memory are coalesced now. But there is still an access down a
# column. It is now in the tile, where `tile[tx, ty]` reads a column.
#
# Shared memory has 32 **banks**. Word `w` (4 bytes) is in bank `w % 32`, and in one
# **pass** each bank delivers one word. If 32 lanes request words in 32 different banks,
# they are served in one pass. If *k* of the words are in the same bank, the request
# takes *k* passes: a **bank conflict**. (Lanes that request the very same word share
# it.)
#
# In a tile of width 32, element (`row`, `col`) is word `32 * row + col`. Which banks
# are the elements of a column in? Count the passes, then try other widths.

# %%
def passes(words):
    """Return how many passes a request for these words takes."""
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)


for width in (32, 34, 36, 40):
    along = passes([5 * width + lane for lane in range(32)])
    down = passes([lane * width + 5 for lane in range(32)])
    print(f"width {width}: a row takes {along} pass, a column {down}")

# %% [markdown]
# Find a width for which a column, too, takes only one pass. Then write the transpose
# again with such a tile. The columns beyond 32 stay empty; they only shift the rows
# that follow. The check counts your kernel's conflicts, that is, its passes beyond the
# first, and allows none.
#
# The compiler has to know the shape of a shared array. Write its width as a number or
# as the name of a constant; a sum such as `TILE + 2` does not compile on a GPU.
#
# ```python
# transpose_padded(x, out)    # (m, n) -> (n, m)  float32
# ```
#
# Start from a copy of your kernel from exercise 2. Stuck? `hint("transpose_padded")`.

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
# In a tile of width 33, element (`row`, `col`) is word `33 * row + col`, in bank `(row
# + col) % 32`. Along a row, `col` runs through 32 values, and down a column, `row`
# does. In both cases, the 32 banks are all different. Any odd width works. An even
# width leaves conflicts: with 34, pairs of lanes share every second bank.
#
# The price is 32 words per tile, 3 % of its memory.

# %% [markdown]
# ## Look at it
#
# `explore` launches a kernel in the simulator and shows, line by line, what its warps
# request. Here is the kernel from exercise 2, which passed its check. The most
# expensive access comes first, and the picture shows where its 32 words are. Predict
# which banks the column will fall into with `transpose_padded`, then change the
# kernel's name in the cell and run it again.

# %%
small = np.ones((TILE, TILE), np.float32)
explore(transpose_tiled)[1, (TILE, TILE)](small, np.zeros_like(small))

# %% [markdown] tags=["solution"]
# With padding, the column becomes a diagonal across the banks:

# %% tags=["solution"]
explore(transpose_padded)[1, (TILE, TILE)](small, np.zeros_like(small))

# %% [markdown]
# ## 4 · Four loads per thread
#
# Both accesses are coalesced now, and no bank has a conflict. But one element per
# thread is not enough: even a kernel that only copies, one element per thread, is far
# slower than PyTorch's copy. The chapter's page explains why, and *More measurements*
# below has the numbers.
#
# The tile is 32 × 32 again, but now there are only 32 × 8 threads. Each thread handles
# four elements, 8 rows apart: rows `ty`, `ty + 8`, `ty + 16` and `ty + 24` of the tile.
# It loads all four, waits at the barrier once, and stores all four.
#
# For the four loads to be in flight together, the compiler must be able to put them one
# after the other, with nothing in between. Two things help:
#
# - a loop whose length the compiler knows: `for j in range(0, TILE, ROWS)`;
# - no `if` around the load. At the edge, **clamp** the index instead: a thread that has
#   nothing to read reads the last row, or the last column, once more, into an element
#   of the tile that is never used. The check looks at a ragged edge, and rejects a
#   load that some threads skip. (The store keeps its guard: one load too many does no
#   harm, but one store too many could.)
#
# ```python
# transpose_rows(x, out)    # (m, n) -> (n, m)  float32; block (32, 8)
# ```
#
# `min(i, m - 1)` works in a kernel. Stuck? `hint("transpose_rows")`.

# %% tags=["given"]
ROWS = 8
PADDED = TILE + 1  # a kernel takes a name for a shape, but no sum of names

# %%
@cuda.jit
def transpose_rows(x, out):
    """Transpose x (m, n) into out (n, m), four elements per thread."""
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
    sizes=[(32, 32), (5, 40), (33, 66), (40, 72)],
    launch=lambda m, n: ((-(-n // TILE), -(-m // TILE)), (TILE, ROWS)),
    full=(4100, 2050),
    limits={"sectors": 4, "bank_conflicts": 0, "barriers": 1, "loads": 4}
    | {"unguarded_loads": 1},
)

# %% [markdown] tags=["solution"]
# There is one barrier for the whole tile, not one per row: all four loads come before
# it, and all four stores after it. Eight blocks of 256 threads fit on an SM. That is
# 2048 threads as before, but each can now have four loads in flight, which makes up to
# 32 KB. Whatever a thread computes once (`left`, `top`, the clamped column, most of the
# addresses) now serves four elements.
#
# With an `if` around the load, the kernel is still correct, but slower. In its machine
# code, each load is followed by its store to the tile. The store has to wait for the
# load, and the next load comes only after the store. Without the `if`, there are four
# loads and then four stores.

# %% [markdown]
# ## 5 · Swizzle
#
# Padding has a drawback. With a width of 33, rows begin at words 0, 33, 66, …, so only
# every fourth row begins at a multiple of 16 bytes. The 16-byte accesses of the next
# exercise require such addresses.
#
# The alternative is to keep the width at 32 and **permute each row by its own number**:
# element (`row`, `col`) is kept in column `col ^ row`, where `^` is the bitwise
# exclusive or. A tile of 4 × 4 then looks like this:
#
# | row | column 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | 0 | a0 | a1 | a2 | a3 |
# | 1 | b1 | b0 | b3 | b2 |
# | 2 | c2 | c3 | c0 | c1 |
# | 3 | d3 | d2 | d1 | d0 |
#
# Every row has its own elements, but in another order. The elements of column 0, `a0 b0
# c0 d0`, are now in four different columns, and so are those of column 1. This is
# called a **swizzle**. Because `(col ^ row) ^ row == col`, the same rule finds every
# element again.
#
# Write the transpose of exercise 2 once more, with a swizzled tile of width 32. The
# check allows no padding: 32 × 32 elements, 4096 bytes, are enough. Stuck?
# `hint("transpose_swizzled")`.
#
# ```python
# transpose_swizzled(x, out)    # (m, n) -> (n, m)  float32; block (32, 32)
# ```

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
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 2}
    | {"shared_bytes": 4 * TILE * TILE},
)

# %% [markdown] tags=["solution"]
# On the way in, the row `ty` is the same for a whole warp, and `tx ^ ty` runs through
# all 32 columns, though in another order than `tx`. On the way out, element (`tx`,
# `ty`) is kept in column `ty ^ tx`, which also takes each value once for a fixed `ty`.
# In both cases the width is a multiple of 32, so the column is the bank.
#
# A swizzle takes no extra memory. Swizzling is built into NVIDIA's library CuTe, and
# into the unit with which Hopper GPUs (H100, H200) copy tiles. You will meet it again
# in chapters 20 and 22.

# %% [markdown]
# ## 6 · Stretch: the fastest kernel
#
# The last kernel handles sixteen elements per thread, with 128-bit accesses throughout.
# Think of the matrix as made of small squares of 4 × 4. A block of 16 × 16 threads
# takes a tile of 16 × 16 squares, that is, 64 × 64 elements, and each thread takes one
# square:
#
# 1. It calls `load4` four times, once for each row of its square (given).
#    `load4(x, (row, col))` reads four floats in one instruction and returns them as a
#    tuple.
# 2. It transposes the square, which takes no instruction. *Column* `i` of the square is
#    `a[i], b[i], c[i], d[i]`, so you only have to name the values in this order when
#    you store them.
# 3. It puts the square into the tile **already transposed**, at square-row `tx` and
#    square-column `ty`, with four calls to `store4(tile, (row, col), a, b, c, d)`.
# 4. After the barrier, it takes out the square at square-row `ty` and square-column
#    `tx` with four calls to `load4`, and writes it to `out` with four calls to
#    `store4`.
#
# The tile is 64 wide, so squares above one another are in the same banks. Padding by
# one word would not help, because then rows would no longer begin at multiples of 16
# bytes. So swizzle the squares: keep the square in square-row `r` and square-column `c`
# in square-column `c ^ r`. In both step 3 and step 4 that is `tx ^ ty`, and the
# variable `swizzled` below is the first element column of that square.
#
# Here `m` and `n` are multiples of 64, and all indices are `int32`, which saves
# registers. `top` uses `blockIdx.x` and `left` uses `blockIdx.y`, so consecutive blocks
# go down `x` and *write* next to one another. The check allows 16 sectors per request,
# because 32 lanes × 16 bytes are 512 bytes. Stuck? `hint("transpose_fast")`.
#
# ```python
# transpose_fast(x, out)    # (m, n) -> (n, m)  float32; block (16, 16)
# ```

# %% tags=["given"]
WIDE = 64

# %%
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 per thread."""
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
# The four loads are independent and come first, so each thread has 64 bytes in flight.
# In each of them, 16 threads with the same `ty` read 16 × 16 = 256 consecutive bytes. A
# warp has two such groups, so a request touches 16 sectors and uses all of them.
#
# Each `store4` into the tile writes column `i` of the square as a row. Shared memory
# delivers 128 bytes per pass, so a request of 16 bytes per lane is served a quarter of
# a warp at a time: 8 lanes, with `tx` = 0…7 or 8…15. Their rows are 4 × 64 words apart,
# so without the swizzle all eight would access the same four banks. `tx ^ ty` is
# different for each of the eight, even modulo 8, so between them they use all 32 banks.
# The loads after the barrier run along `tx`, and have no conflicts either.
#
# Indexing a tuple in a loop, `a[i]`, is fine in a kernel as long as the compiler can
# unroll the loop. It then costs no instruction.
#
# Padding by 4 words would keep the rows at multiples of 16 bytes, but not avoid the
# conflicts. Rows would be 68 words apart and squares 4 × 68 = 272, and 272 % 32 is 16.
# The eight lanes would share two groups of four banks, which takes four passes instead
# of one. No padding by a multiple of 4 does better, because squares are four rows
# apart.

# %% [markdown]
# ## Measure: every kernel so far
#
# This table has all your kernels, the two naive ones, and three others to compare with:
# `torch` copies a transposed view, `torch.compile` generates and tunes a kernel, and
# `cublasSgeam` is the transpose of NVIDIA's cuBLAS. How close does your last kernel
# come to the copy? Write your guesses as multiples of PyTorch's speed. A kernel that
# you have not written yet does nothing, and does it very quickly, so ignore its row.

# %%
guess = {"padded": None, "swizzled": None, "rows": None, "fast": None}

ladder = chapter.measure.ladder(
    transpose_tiled,
    transpose_padded,
    transpose_swizzled,
    transpose_rows,
    transpose_fast,
    guess,
)
ladder

# %% tags=["solution"]
ladder.expect("padded", at_least=1.3, times="tiled")
ladder.expect("swizzled", at_least=0.9, times="padded")
ladder.expect("rows", at_least=1.7, times="padded")
ladder.expect("fast", at_least=3, times="torch")
ladder.expect("fast", ceiling=0.92)

# %% [markdown] tags=["solution"]
# `swizzled` and `padded` are about equally fast: neither has conflicts, and both handle
# one element per thread. Once the access patterns are right, more bytes in flight per
# thread and fewer instructions per byte bring the transpose up to the speed of the
# copy. `rows` and `fast` change both at once, so the table does not separate them.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: measurements that
# show what each idea is worth. Their code is in `measure.py` and their kernels in
# `kernels.py`, both in `chapters/13_shared_memory`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Two naive kernels
#
# Each of the two naive kernels makes one request along a row and one down a column. How
# fast are they, compared with PyTorch's `x.t().contiguous()` (1.0 is PyTorch's speed,
# 0.5 half of it)? Replace `None` with your guesses, then run the cell.

# %%
guess = {"naive_read": None, "naive_write": None}

naive = chapter.measure.naive(guess)
naive

# %% tags=["solution"]
naive.expect("naive_write", at_least=2, times="naive_read")
naive.expect("copy", at_least=3, times="torch")

# %% [markdown] tags=["solution"]
# Both kernels copy the same bytes, and yet `naive_write` is about three times as fast
# as `naive_read`. The likely reason is the cache. A scattered read fetches a sector of
# which the warp needs only 4 bytes, but the other 28 stay in the L1 cache for a moment,
# and the block's next warps find them there. A scattered write goes to L2 in pieces of
# 4 bytes, each with its own address.
#
# PyTorch is slower than `naive_write`. For a transposed view it uses its general kernel
# for strided copies, which reads down columns like `naive_write` and also computes its
# addresses with divisions. The row `copy` shows how fast a transpose could be.

# %% [markdown]
# ### What did the conflicts cost?
#
# Calculate first. Storing 2^26 elements in tiles takes 2^21 = 2.1 million requests, and
# loading them again takes just as many. With conflicts, a store takes 1 pass and a load
# takes 32, so the total is 33 × 2.1 million = 69 million passes. An H200 has 132 SMs,
# each of which can do one pass per clock cycle, at up to 1.98 GHz:
#
# 69 million / 132 / 1.98 GHz = **265 µs**
#
# Without conflicts there are 2 × 2.1 million passes, which take 16 µs. Compare both
# times with the time of a copy in the first table. How fast will `tiled` and `padded`
# be, compared with PyTorch? The table also has a kernel that only **copies**, again one
# element per thread, without a tile. How close will it get to PyTorch's `copy_`, the
# row `copy`?

# %%
guess = {
    "naive_write": None,
    "tiled": None,
    "padded": None,
    "copy kernel": None,
}

one_tile = chapter.measure.one_tile(transpose_tiled, transpose_padded, guess)
one_tile

# %% tags=["solution"]
one_tile.expect("padded", at_least=1.3, times="tiled")
one_tile.expect("copy kernel", at_least=1.3, times="padded")
one_tile.expect("copy", at_least=1.3, times="copy kernel")

# %% [markdown] tags=["solution"]
# Padding helps, as the calculation predicted: with conflicts, the passes alone take
# twice as long as the whole copy on an H200, and one and a half times as long on an
# H100. But even without conflicts, the transpose is far slower than the copy, and
# slower than the naive kernel that writes along rows. So coalescing and conflicts
# cannot explain the rest.
#
# The last row explains it. A kernel that has nothing to transpose, but also handles one
# element per thread, is far slower than `copy_` too. So the problem is no longer the
# access pattern, but that each thread handles one element.

# %% [markdown]
# ### How long does a load take?
#
# On the reference GPU, `padded` is still slower than `naive_write`, and even `copy
# kernel`, which has nothing to transpose, is far slower than `copy`. So access patterns
# are not the only problem. The next measurement leads to the other one.
#
# One thread makes 1000 loads, each of which needs the result of the one before it for
# its address. The loads cannot overlap, so a thousandth of the time is the **latency**
# of one load from memory. How many nanoseconds do you expect? (An addition takes a few
# nanoseconds.)

# %%
latency = chapter.measure.latency()
latency

# %% [markdown]
# Now apply **Little's law**: bytes in flight = rate × latency. To read at a certain
# rate, a kernel must always have that many bytes requested but not yet delivered.
#
# How many bytes can a kernel have in flight? An SM of an H200 holds 2048 threads. If
# each of them waits for one float32, 8 KB are in flight, but only while all of them
# wait. A thread that is starting, computing an address, waiting at a barrier or storing
# has no load in flight. So compare the last two numbers below with care: one float32
# per thread is enough only if most of the threads are waiting for memory at any moment.

# %%
seconds = latency["one thread"].ms / 1000 / 1000
rate = naive["copy"].rate / 2  # half of a copy's bytes are read
sms = weft.device.find().sms or 132

print(f"one load takes        {seconds * 1e9:6.0f} ns")
print(f"a copy reads          {rate / 1e12:6.2f} TB/s")
print(f"so each SM must have  {seconds * rate / sms / 1e3:6.1f} KB in flight")
print("one float32 per thread   8.2 KB, if all 2048 threads wait at once")

# %% tags=["solution"]
kept = one_tile["padded"].rate / 2 * seconds / sms
print(f"padded keeps          {kept / 1e3:6.1f} KB in flight per SM")

# %% [markdown] tags=["solution"]
# 8 KB would be enough if all 2048 threads were waiting for a load all the time. From
# the rate of `padded`, Little's law gives the number of bytes that really were in
# flight: a fraction of that. Most of the time, a thread is not waiting for a load. It
# starts, computes a row and a column in 64 bits, waits at the barrier for the last of
# 1024 threads, computes again, and stores. Only two such blocks fit on an SM, so while
# one of them is storing, only the other is there to load.
#
# There are two remedies, and they work together. The first is to let each thread
# request more data before it waits. The second is **thread coarsening**: give each
# thread several elements, so that its overhead is spread over more work.

# %% [markdown]
# ### A shape that does not divide
#
# In a matrix of 8191 × 8193, no tile at the edge is whole, and hardly any row begins at
# a multiple of 128 bytes. Three rows in four do not even begin at a multiple of 16
# bytes, so `transpose_fast` cannot run. Do what libraries do: use the fast kernel where
# the shape allows it, and a general kernel otherwise. So `ours` is `transpose_rows`
# here. The rows `blocks down` and `tall tiles` are two more kernels, from `kernels.py`.
# The first starts the blocks in another order. What does that change for the stores?

# %%
guess = {"ours": None}

odd = chapter.measure.odd(transpose_rows, transpose_fast, guess)
odd

# %% tags=["solution"]
odd.expect("ours", at_least=1.5, times="torch")
odd.expect("blocks down", at_least=1.1, times="ours")
odd.expect("tall tiles", at_least=0.85, times="copy")

# %% [markdown] tags=["solution"]
# ### What each idea is worth
#
# Take one idea at a time out of a good kernel, and measure. Begin with `rows`: take out
# the padding or the clamped loads.

# %% tags=["solution"]
without = chapter.measure.without(transpose_rows)
without.expect("rows", at_least=1.1, times="guarded loads")
without.expect("rows", at_least=1.4, times="no padding")
without

# %% [markdown] tags=["solution"]
# As a factor, padding gains more here than it did in `padded`. In milliseconds it gains
# less, probably because more of the conflicts overlap with waiting for global memory.
# The same fix gains different amounts in different kernels, so measure again after each
# fix.
#
# Now do the same with `fast`: take out the swizzle, or change the order of the blocks.

# %% tags=["solution"]
fast_less = chapter.measure.fast_less(transpose_fast)
fast_less.expect("fast", at_least=1.0, times="blocks across")
fast_less

# %% [markdown] tags=["solution"]
# The order of the blocks gains about three per cent on an H200, and less than one per
# cent on an H100. The swizzle gains about one per cent on an H200, and a calculation
# shows why. Without it, each of 2^19 `store4` requests takes 32 passes instead of 4.
# Together with the 4 passes of each load, that makes 36 × 2^19 = 19 million passes,
# which at 132 per cycle take 72 µs. That is less than the copy takes, and shared memory
# can work while the kernel waits for global memory. Conflicts cost time only if the
# rest of the kernel has to wait for shared memory, as in `rows` without padding, where
# the passes take 265 µs.
#
# Keep the swizzle anyway. It costs next to nothing, and the 72 µs would show on a GPU
# with more bandwidth per SM, or in a kernel that uses its tile more than once.

# %% [markdown]
# ### If you want more
#
# - Use no shared memory at all: launch `naive_read` with blocks of 8 × 32 threads and
#   measure. A warp then covers 4 rows and 8 columns. How does the speed compare with
#   that of 32 × 8 blocks, and what do sectors have to do with it?
# - Transpose squares of 4 × 4 in registers and write them straight to `out`, with no
#   tile. Predict the sectors per request first.
# - Let `transpose_fast` accept every shape whose rows begin at multiples of 16 bytes.
# - Transpose a square matrix in place: a block takes two mirrored tiles.
# - Use `float64`. Which bank does element (`row`, `col`) fall into, how wide must the
#   tile be, and how fast is `transpose_rows`?

# %% [markdown]
# ## What you learned
#
# 1. Shared memory lets the threads of a block exchange values, so both the reads and
#    the writes of a permutation can be coalesced.
# 2. Between a write and another thread's read there must be a barrier, and every thread
#    of the block must reach it.
# 3. There are 32 banks, and a request takes as many passes as its busiest bank has
#    different words to deliver. Pad the rows, or swizzle them where alignment matters.
# 4. Bytes in flight = rate × latency. One float32 per thread is too little unless
#    nearly all threads are waiting. Give each thread several independent loads, make
#    them wide, and leave no `if` between them.
# 5. A conflict, like any other cost, matters only if the rest of the kernel waits for
#    it. Calculate, measure, and measure again after each fix.

# %%
quiz()
