# %% [markdown]
# # 22 · GEMM on Hopper
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/22_hopper_gemm.ipynb)
#
# **After this lab, you can**
#
# - say which stage each tile of a ring uses, and which phases of its mbarriers;
# - start a copy by the TMA, Hopper's unit for copies, and wait for its bytes;
# - synchronise a producer and its consumers with full and empty mbarriers;
# - say where the TMA puts every element of a box, even at the edge of a matrix;
# - write the loops of a GEMM that multiplies with `wgmma`;
# - order tiles for the L2 cache, and count what the order saves;
# - read a GEMM that is as fast as cuBLAS, with a few lines for each of its ideas.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, which supports mbarriers, the TMA and `wgmma`, and the measurements then
# show times from the reference GPU, an H200. To run the measurements yourself, you need
# a GPU of compute capability 9.0 (H100, H200, GH200) and 3 GB of its memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint8, uint64

from weft import check, hint, quiz
from weft.intrinsics import (
    bulk_copy,
    descriptor,
    fence_mbarrier_init,
    hold,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    setmaxnreg_dec,
    setmaxnreg_inc,
    tma_load,
    wgmma_bf16,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)

chapter = weft.lab("22_hopper_gemm")
checks = chapter.checks

# %% [markdown]
# ## 1 · The ring
#
# Tiles 0, 1, 2, … go through a ring of `stages` buffers, one after the other. One pass
# through all buffers is a **turn** of the ring, and turns are counted from 0. Each
# buffer, or **stage**, has two mbarriers. `full` signals that the tile has arrived.
# `empty` signals that the tile has been used, and that the next tile may be loaded.
#
# An mbarrier goes through **phases**. In phase 0 it counts arrivals. When all expected
# arrivals have come, phase 0 is complete and phase 1 begins, and so on. A thread waits
# for a phase by its **parity**, 0 or 1. The wait ends as soon as the phase *of this
# parity* is complete. At a new mbarrier, a wait for parity 0 waits for phase 0, but a
# wait for parity 1 returns at once, because the phase before phase 0 counts as
# complete.
#
# For tile number `k`, counting from 0, return three numbers: the stage, the parity that
# a consumer waits for at `full` before it reads the tile, and the parity that the
# producer waits for at `empty` before it starts the copy. For the first tile of each
# stage, the producer's wait must return at once. For the second tile, the producer must
# wait until the first tile of that stage has been used. Stuck? `hint("ring")`.
#
# ```python
# ring(0, 4)    # -> (0, 0, 1)
# ring(5, 4)    # -> (1, 1, 0)
# ```

# %%
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    # about 3 lines
    # BEGIN SOLUTION
    turn, stage = divmod(k, stages)
    parity = turn % 2
    return stage, parity, 1 - parity
    # END SOLUTION

# %%
check(
    ring,
    spec=checks.rings,
    inputs=[(k, s) for s in (3, 1, 2, 4, 7) for k in (*range(16), 100, 101)],
    because=checks.wrong_ring,
    without=("checks",),
)

# %% [markdown] tags=["solution"]
# The kernels in `kernels.py` need no division. They keep `stage` and `parity` in
# registers and add 1 to `stage` for each tile. At the end of the ring, they set `stage`
# to 0 and flip `parity`.

# %% [markdown]
# ## 2 · A copy and its barrier
#
# `bulk_copy(tile, i, x, j, nbytes, bars, s)` starts a copy of `nbytes` bytes from
# `x[j]`, in global memory, to `tile[i]`, in shared memory. **One thread calls
# `bulk_copy`.** The TMA (Tensor Memory Accelerator) then copies the bytes without using
# registers. As they arrive, it counts them at the mbarrier `bars[s]`, an element of a
# shared array of uint64.
#
# 1. One thread calls `mbarrier_init(bars, s, count)`, after which each phase needs
#    `count` arrivals. The same thread calls `fence_mbarrier_init()`, so that the TMA
#    sees the new mbarrier. Then all threads call `cuda.syncthreads()`, so that they see
#    it too.
# 2. One thread calls `mbarrier_arrive_expect_tx(bars, s, nbytes)`. This call is one
#    arrival, and it also announces `nbytes` bytes. The phase is not complete until they
#    have arrived too.
# 3. That thread starts the copy.
# 4. All threads call `mbarrier_wait(bars, s, parity)`, and then read the tile.
#
# Reverse `x` tile by tile. A block has 128 threads and one tile of 128 numbers, or
# fewer at the end of `x`. A tile begins at the same index in `out` as in `x`, but its
# numbers are in reverse order. Copy only the `count` numbers of the tile, each of which
# has 4 bytes. Stuck? `hint("reverse_tiles")`.
#
# ```python
# reverse_tiles(x, out)   # float32 (n,) -> float32 (n,); 4 divides n
# ```

# %% tags=["given"]
TILE = 128

# %%
@cuda.jit
def reverse_tiles(x, out):
    """Write the numbers of this block's tile into out, in reverse order."""
    tile = cuda.shared.array(TILE, float32, alignment=16)
    bars = cuda.shared.array(1, uint64)
    t = int32(cuda.threadIdx.x)
    start = int32(cuda.blockIdx.x) * int32(TILE)
    count = min(int32(x.shape[0]) - start, int32(TILE))  # numbers of this tile

    # about 10 lines
    # BEGIN SOLUTION
    if t == 0:
        mbarrier_init(bars, 0, 1)
        fence_mbarrier_init()
    cuda.syncthreads()

    if t == 0:
        nbytes = int32(4) * count
        mbarrier_arrive_expect_tx(bars, 0, nbytes)
        bulk_copy(tile, 0, x, start, nbytes, bars, 0)
    mbarrier_wait(bars, 0, 0)

    if t < count:
        out[start + t] = tile[count - int32(1) - t]
    # END SOLUTION

# %%
check(
    reverse_tiles,
    spec=lambda x: checks.reversed_tiles(x, TILE),
    inputs=checks.vector,
    sizes=[128, 300],
    launch=lambda n: (-(-n // TILE), TILE),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# No thread has loaded anything from global memory: thread 0 has announced and started
# the copy, and the other 127 threads have only waited. With `cp.async` (chapter 19), by
# contrast, every thread computes addresses and issues copies for its own part of the
# tile.

# %% [markdown]
# ## 3 · Warp specialisation
#
# Now build a pipeline. Warp 0 of the block is the **producer**: its lane 0 starts all
# copies. The other 64 threads are **consumers**. After the setup, there is no
# `syncthreads`: only the mbarriers of the ring synchronise the producer and the
# consumers.
#
# `x` and `y` are k × n. Compute `out[j] = sum of x[i, j] * y[i, j] over i`. A block
# computes 64 columns, and consumer `c` computes column `c` of these 64. Tile number `i`
# of the ring is row `i`: 64 numbers of `x` and 64 of `y`. Two copies load these
# numbers, and the bytes of both are counted at the same mbarrier. The arrays have two
# axes, so `bulk_copy` takes a tuple as each of its indices: `(stage, 0)`, for example.
#
# - The producer waits until the stage is **empty**, announces the bytes of *both*
#   copies at `full`, and starts them.
# - A consumer waits until the stage is **full**, uses its numbers, and arrives at
#   `empty`. Its arrival signals that *this thread* has read what it needs, so all 64
#   consumers must arrive.
#
# `turned(stage, parity)` returns the stage and the parity for the next tile. Stuck?
# `hint("dot_columns")`.
#
# ```python
# dot_columns(x, y, out)   # float32 (k, n), (k, n) -> float32 (n,); 64 divides n
# ```

# %% tags=["given"]
WIDTH, STAGES = 64, 2


@cuda.jit(device=True)
def turned(stage, parity):
    """Return the stage and the parity of the next tile in the ring."""
    if stage + int32(1) == int32(STAGES):
        return int32(0), parity ^ int32(1)
    return stage + int32(1), parity

# %%
@cuda.jit
def dot_columns(x, y, out):
    """Write the products of 64 columns into out, through a ring of stages."""
    tx = cuda.shared.array((STAGES, WIDTH), float32, alignment=16)
    ty = cuda.shared.array((STAGES, WIDTH), float32, alignment=16)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    t = int32(cuda.threadIdx.x)
    left = int32(cuda.blockIdx.x) * int32(WIDTH)
    rows = int32(x.shape[0])
    stage, parity = int32(0), int32(0)

    # about 24 lines: the mbarriers, the producer, the consumers
    # BEGIN SOLUTION
    if t == 0:
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, WIDTH)
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < 32:
        if t == 0:
            for i in range(rows):
                mbarrier_wait(empty, stage, parity ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, 8 * WIDTH)
                bulk_copy(
                    tx, (stage, 0), x, (i, left), 4 * WIDTH, full, stage
                )
                bulk_copy(
                    ty, (stage, 0), y, (i, left), 4 * WIDTH, full, stage
                )
                stage, parity = turned(stage, parity)
    else:
        c = t - int32(32)
        total = float32(0)
        for _ in range(rows):
            mbarrier_wait(full, stage, parity)
            total += tx[stage, c] * ty[stage, c]
            mbarrier_arrive(empty, stage)
            stage, parity = turned(stage, parity)
        out[left + c] = total
    # END SOLUTION

# %%
check(
    dot_columns,
    spec=checks.column_products,
    because=checks.COLUMNS,
    inputs=checks.two_matrices,
    sizes=[(2, 64), (8, 128)],
    launch=lambda k, n: (n // WIDTH, 32 + WIDTH),
    tolerance=1e-5,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# This is the skeleton of every fast GEMM on Hopper. In a GEMM, too, the producer is one
# thread, but the stages contain tiles of matrices, and the consumers multiply with
# `wgmma`.

# %% [markdown]
# ## 4 · What TMA delivers
#
# `bulk_copy` copies consecutive bytes. `tma_load` copies a **box** of a matrix, which a
# tensor map describes, and it can permute what it writes. Here each row of a box has 64
# numbers of 16 bits, which are 128 bytes or eight pieces of 16 bytes. With the
# **128-byte swizzle**, row r of the box is at bytes 128 r to 128 r + 127 of the tile,
# and its piece p is at place p XOR (r mod 8) within these bytes. This is Swizzle<3, 4,
# 3> of chapter 20: `swizzle(byte)` returns where a byte goes.
#
# A box may extend beyond the matrix on any side. For elements outside the matrix, the
# TMA delivers zeros. It always delivers the whole box, and counts all of its bytes.
#
# Return the contents of shared memory after a box of `rows` rows has been loaded, as a
# vector of `64 * rows` numbers. `x` is a matrix of int16, and the first element of the
# box is `x[row, col]`. `row` and `col` may be negative, or beyond the end of the
# matrix. `col` need not be a multiple of 64. Stuck? `hint("delivered")`.
#
# ```python
# delivered(x, row, col, rows)   # int16 (m, n), int, int, int -> int16 (64 * rows,)
# ```

# %% tags=["given"]
swizzle = checks.SWIZZLE  # a byte of a box -> its byte in shared memory

# %%
BOX = 64  # numbers in a row of the box


def delivered(x, row, col, rows):
    """Return the contents of shared memory after the TMA has loaded a box."""
    # about 9 lines
    # BEGIN SOLUTION
    tile = np.zeros(BOX * rows, x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[swizzle(2 * (BOX * r + q)) // 2] = x[i, j]
    return tile
    # END SOLUTION

# %%
check(
    delivered,
    spec=checks.boxes,
    inputs=checks.box_cases,
    because=checks.wrong_box,
    without=("checks",),
)

# %% [markdown] tags=["solution"]
# So a kernel needs no code for ragged shapes. Beyond the end of k, both operands are
# filled with zeros, which add nothing to a sum. Beyond the last row or column, all
# products are zero, and `tma_store` does not write outside the matrix.

# %% [markdown]
# ## 5 · The loops of a fast GEMM
#
# `wgmma` multiplies matrices that are in shared memory. The 128 threads of a
# **warpgroup** execute it together, and the multiplication goes on while they do other
# things:
#
# 1. `wgmma_fence()` orders the thread's accesses to its registers before the products.
# 2. `wgmma_bf16(acc, TN, a, w, add)` starts the product of 64 rows at `a` and TN rows
#    at `w`, for 16 numbers along k. The sums are in `acc`, in registers. If `add` is 0,
#    the product replaces them; otherwise, it is added to them.
# 3. `wgmma_commit()` makes a group of the products that were started.
# 4. `wgmma_wait(0)` waits for all groups. Until it returns, do not use the sums, and do
#    not overwrite the operands, which the products may still be reading.
#
# `a` and `w` are **descriptors**, integers of 64 bits that say where an operand is and
# how it is swizzled. `descriptor(memory, at)` makes one for the tile at byte `at`. The
# hardware swizzles the final address, so the descriptor ignores the swizzle: adding 2
# to it moves the operand by 2 · 16 bytes along k.
#
# Write the loops of a persistent kernel that computes `c = a @ w.T`. A stage has STAGE
# bytes, and begins at byte `stage * STAGE` of `memory`. It contains 128 rows of `a`
# and, from its byte W_AT on, TN rows of `w`, each with 64 numbers along k.
#
# - The producer loads a stage with two calls such as
#   `tma_load(memory, at, map_a, x, row, full, stage)`, which loads the box that begins
#   at number `x` of row `row`.
# - Two warpgroups of consumers start four products for each stage. The first uses the
#   first 64 rows of `a`, which are 8192 bytes, and the second the other 64. `empty`
#   expects **one arrival from each warpgroup**, namely from its thread 0 (`t == 0`).
# - After the last stage of a tile, the consumers call
#   `put_sums(c, acc, row, col, t, m, n)`, which stores the sums of a warpgroup from
#   `c[row, col]` on.
#
# The next tile of `c` begins with new sums, but the ring is not reset. Stuck?
# `hint("gemm_ring")`.
#
# ```python
# gemm_ring(map_a, map_w, m, n, k, c)   # bfloat16 (m, k), (n, k) -> float32 (m, n)
# ```

# %% tags=["given"]
TM, TN, TK = 128, 32, 64  # a tile of c; numbers along k of a stage
W_AT, STAGE = 128 * TM, 128 * (TM + TN)  # where w begins in a stage; its bytes
PER_THREAD = TN // 2  # sums
FEW, MANY = 40, 232  # registers of a thread: producer, consumers
begin_ring, place_of = chapter.kernels.begin_ring, chapter.kernels.tile_of


@cuda.jit(device=True)
def put_sums(c, acc, row, col, t, m, n):
    """Store the sums of a warpgroup, from c[row, col] on."""
    hold(acc, PER_THREAD)
    row += (t >> int32(5)) * int32(16) + (t & int32(31)) // int32(4)
    col += int32(2) * (t & int32(3))
    for i in range(PER_THREAD):
        r = row + int32(i // 2 % 2 * 8)
        q = col + int32(i // 4 * 8 + i % 2)
        if r < m and q < n:
            c[r, q] = acc[i]

# %%
@cuda.jit
def gemm_ring(map_a, map_w, m, n, k, c):
    """Write a @ w.T into c, tile by tile, through a ring of stages."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(PER_THREAD, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)  # in the warpgroup
    rows = int32((m + int32(TM - 1)) // int32(TM))  # of tiles
    cols = int32((n + int32(TN - 1)) // int32(TN))
    steps = int32((k + int32(TK - 1)) // int32(TK))
    first, apart = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    stage, parity = int32(0), int32(0)
    begin_ring(full, empty, 2)  # arrivals that free a stage

    if group == 0:
        setmaxnreg_dec(FEW)
        last = rows * cols if t == 0 else int32(0)
        for tile in range(first, last, apart):
            i, j = place_of(int32(tile), rows, cols)
            row, col = i * int32(TM), j * int32(TN)
            # about 8 lines: the producer loads the stages of this tile
            # BEGIN SOLUTION
            for step in range(steps):
                at, x = stage * int32(STAGE), int32(step) * int32(TK)
                mbarrier_wait(empty, stage, parity ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, STAGE)
                tma_load(memory, at, map_a, x, row, full, stage)
                at += int32(W_AT)
                tma_load(memory, at, map_w, x, col, full, stage)
                stage, parity = turned(stage, parity)
            # END SOLUTION
    else:
        setmaxnreg_inc(MANY)
        half = group - int32(1)  # of the rows of a tile
        for tile in range(first, rows * cols, apart):
            i, j = place_of(int32(tile), rows, cols)
            row, col = i * int32(TM), j * int32(TN)
            # about 15 lines: the consumers multiply, and store the sums
            # BEGIN SOLUTION
            for step in range(steps):
                at = stage * int32(STAGE)
                a = descriptor(memory, at + half * int32(8192))
                w = descriptor(memory, at + int32(W_AT))
                mbarrier_wait(full, stage, parity)
                wgmma_fence()
                wgmma_bf16(acc, TN, a, w, int32(step > 0))
                wgmma_bf16(acc, TN, a + 2, w + 2, int32(1))
                wgmma_bf16(acc, TN, a + 4, w + 4, int32(1))
                wgmma_bf16(acc, TN, a + 6, w + 6, int32(1))
                wgmma_commit()
                wgmma_wait(0)
                if t == 0:
                    mbarrier_arrive(empty, stage)
                stage, parity = turned(stage, parity)
            put_sums(c, acc, row + half * int32(64), col, t, m, n)
            # END SOLUTION

# %%
check(
    gemm_ring,
    spec=checks.product,
    because=checks.PRODUCT,
    inputs=checks.two_maps,
    sizes=[(128, 32, 64), (136, 40, 192)],
    launch=lambda m, n, k: (2, 384, 0, STAGES * STAGE),
    tolerance=1e-5,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# The winning kernel has the same loops, with one difference: it waits with
# `wgmma_wait(1)`, and then releases the stage *before* the one it has just started to
# multiply. So while the tensor cores work on one group, the threads already issue the
# next.

# %% [markdown]
# ## 6 · The order of tiles
#
# A persistent kernel has one block per SM. Block b computes tiles number b, b + 132, b
# + 264, … So 132 tiles with consecutive numbers are computed at about the same time.
# They should have as many rows of `a` and of `w` as possible in common, so that these
# rows stay in the L2 cache.
#
# The order of chapter 21 goes through `group` rows of tiles together, column by column.
# At the end of such a group, it jumps back to the leftmost column, so the data loaded
# for the last columns are not reused. Write the **serpentine** order: groups 0, 2, 4, …
# go from left to right, and groups 1, 3, 5, … from right to left. Within a column, the
# order is always from top to bottom. The last group may have fewer rows. Stuck?
# `hint("tile_at")`.
#
# ```python
# tile_at(number, rows, cols, group)   # -> (row, col)
# [tile_at(n, 4, 2, 2) for n in range(8)]
# # -> [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (3, 1), (2, 0), (3, 0)]
# ```

# %%
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    # about 6 lines
    # BEGIN SOLUTION
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside // height
    if which % 2:
        col = cols - 1 - col
    return which * group + inside % height, col
    # END SOLUTION

# %%
check(
    tile_at,
    spec=checks.walk,
    inputs=checks.tiles(),
    because=checks.wrong_tile,
    without=("checks",),
)

# %% [markdown]
# How many bytes does each order load from memory? The next cell counts them for 8192 ×
# 8192 × 8192: 64 × 32 tiles of 128 × 256, in waves of 132 tiles. The tiles of a wave
# move along k together, 512 numbers at a time. The count looks up their operands in a
# model of a 50 MB cache that evicts the least recently used data. Operands that are not
# in this cache are loaded from memory.
#
# Guess first: compared with `row by row`, what fraction of the bytes do the other
# orders load?

# %%
guess = {"groups of 16": None, "groups of 16, serpentine": None}

counted = chapter.measure.traffic()
chapter.measure.show_traffic(counted, tile_at, guess)

# %% tags=["solution"]
assert counted["groups of 16"] < 0.6 * counted["row by row"]
assert counted["groups of 16, serpentine"] < counted["groups of 16"]

# %% [markdown] tags=["solution"]
# Each number of `a` is used by 32 tiles and each number of `w` by 64, and these tiles
# are computed at different times. Groups of 16 about halve the traffic from memory. The
# serpentine order saves only a little more, since the cache is full long before a group
# ends. In the ladder below, `row by row` and `grouped` differ only in the order of
# tiles.

# %% [markdown]
# ## The kernel
#
# The kernels in the tables below have the loops that you have written. They are in
# `kernels.py`, in `chapters/22_hopper_gemm`, and compute `c = a @ w.T` for bfloat16 `a`
# (m × k) and `w` (n × k). Look for
#
# - your loops, in `produce` and `warp_specialised`, which waits with `wgmma_wait(1)`;
# - the swizzle of exercise 4, in `put_by_tma`;
# - the order of tiles, in `tile_of`.

# %% [markdown]
# ## Measure: the ladder
#
# - `one pipeline`: the TMA and `wgmma`, with tiles of 128 × 256 in groups of 16 rows
#   and four stages.
# - `row by row`: persistent blocks with a producer and consumers, which compute the
#   tiles row by row and keep one group of products in flight.
# - `grouped`: the same kernel, with tiles in groups of 16 rows.
# - `yours`: your `gemm_ring`, with the tiles, the stages and the order of `grouped`.
# - `TMA store`: the same kernel, but its results go through shared memory and the TMA.
#   The buffers for the results leave room for only three stages.
# - `two buffers`: the same kernel with half as many buffers and four stages again.
# - `clusters`: the same kernel in clusters of two blocks, with multicast. A group of 8
#   rows of clusters is 16 tiles high, as before.
#
# The baseline `cuBLAS` is the fastest of several library calls: `torch.mm` with `w`
# stored as n × k or as k × n, and every algorithm that cuBLASLt's heuristic suggests
# (chapter 25). `torch.mm` is PyTorch's ordinary call. The table also has two kernels in
# **Triton**: one with pointers, as in chapter 29, and one with tensor descriptors,
# which Triton compiles to TMA copies.
#
# What fraction of the speed of cuBLAS do you expect in each row?

# %%
guess = {
    "one pipeline": None,
    "row by row": None,
    "grouped": None,
    "yours": None,
    "TMA store": None,
    "two buffers": None,
    "clusters": None,
    "Triton, pointers": None,
    "Triton, descriptors": None,
}

ladder = chapter.measure.ladder_of(8192, guess, gemm_ring)
ladder

# %% tags=["solution"]
ladder.expect("grouped", at_least=1.05, times="row by row")
ladder.expect("TMA store", at_least=1.04, times="grouped")
ladder.expect("TMA store", at_least=0.98)

# %% [markdown]
# ## More measurements
#
# The rest of the lab measures the ladder for smaller matrices, tests all results, and
# goes on to other shapes, float8, and a load without pauses. The code is in
# `measure.py`, in `chapters/22_hopper_gemm`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### The ladder, 4096 × 4096 × 4096

# %%
smaller = chapter.measure.ladder_of(4096)
smaller

# %% tags=["solution"]
smaller.expect("row by row", at_least=1.08, times="one pipeline")
smaller.expect("TMA store", at_least=0.985)

# %% [markdown]
# ### Is it right?
#
# This cell runs the kernels of the ladder and of the shapes below, mostly on matrices
# whose sizes no tile divides. Before each run, it fills the output and the 64 rows
# below it with NaN. These 64 rows must still be NaN after the run. It compares every
# element with a product in float32, and 30 runs with each other, bit by bit.

# %%
same = chapter.measure.verified()

# %% [markdown]
# ### Other shapes: wave quantisation
#
# Now run the same kernel with other tiles. With large tiles, fewer bytes have to be
# read for each result, but 1024 × 1024 results make only 32 tiles of 128 × 256, for 132
# SMs. A library chooses a kernel for each shape by a heuristic. Here nine kernels are
# timed for each shape, and the fastest is `ours`. `deep` has four stages rather than
# three, and fewer buffers for results. The row `128 x 256, two buffers` has the same
# stages, buffers and order of tiles as the row below it, but no clusters.
#
# In `ours, early`, each launch of the same kernel may begin while the previous one is
# still running. The chapter's page explains the last rows of the ragged shapes. The
# kernel with pairs and turned tiles is in `paired.py`.
#
# Predict: for which shapes is 128 × 256 still the best tile?

# %%
SHAPES = chapter.measure.SHAPES
shapes = {name: chapter.measure.shape_table(name) for name in SHAPES}
shapes["1024³"]

# %%
for name in SHAPES:
    if name != "1024³":
        display(shapes[name])  # noqa: F821

# %% tags=["solution"]
for name in SHAPES:
    shapes[name].expect("ours", at_least=0.88)
    shapes[name].expect("ours, early", at_least=0.95)
shapes["ragged"].expect("ours", at_least=1.2, times="128 x 256")

# %% [markdown]
# ### Float8
#
# `wgmma` also multiplies float8. A row of 128 bytes then contains 128 numbers, and one
# instruction covers 32 of them along k. Nothing else in the kernel changes. Since
# float8 values are stored divided by a scale, the kernel multiplies the sums by `scale`
# at the end.
#
# The baseline is the fastest algorithm of cuBLASLt, which `torch._scaled_mm` calls too.
# It has two modes. In the **fast** mode, the tensor cores add up all products along k.
# In the **exact** mode, their sums are added to ordinary float32 sums at regular
# intervals. Predict whether the difference is visible in the result, and which of the
# two modes our kernel uses.

# %%
eight = chapter.measure.eights()
eight

# %% tags=["solution"]
eight.expect("ours", at_least=0.98)

# %% [markdown]
# ### Without a pause
#
# All measurements above are bursts of 2 ms, each after a pause. If such a load lasts
# for seconds, the GPU lowers its clock to stay within its power limit. So this cell
# times three rows of the ladder again, without a pause.

# %%
sustained = chapter.measure.without_pause()
sustained

# %% tags=["solution"]
sustained.expect("TMA store", at_least=0.95)

# %% [markdown]
# ### If you want more
#
# - Keep one group of products in flight in `gemm_ring`: wait with `wgmma_wait(1)`.
#   Which stage may you release then? What comes after the loop?
# - Let the kernel use the serpentine order. First use your count to predict the gain.
# - For the small ragged shape, tiles of 128 × 192 fill three waves exactly as well as
#   tiles of 192 × 192 fill two. Add them to `TILES`. Why are they slower nevertheless?
#   Count the rows that a block loads for its tile in each step along k. (Each of these
#   rows takes up two lines of the L2 cache.)
# - Add a bias and a ReLU in `put_by_tma`. How much time do they take?
# - Write the exact mode for float8: give each thread a second array of sums, and add
#   the first array to it after every stage. 128 + 128 sums do not fit in 232 registers,
#   so the tile has to become smaller. How much slower is the kernel?
# - Write the producer's loop of `dot_columns` with two producer lanes, one for each
#   matrix. How many arrivals does `full` need then?

# %% [markdown]
# ## What you learned
#
# 1. An mbarrier counts arrivals and bytes. A ring has two mbarriers for each stage, and
#    a wait needs only the parity of a phase.
# 2. The TMA copies boxes: one thread starts a copy, elements outside the matrix arrive
#    as zeros, and the swizzle is part of the copy.
# 3. `wgmma` finds its operands in shared memory by descriptors. Its sums are in
#    registers. You may use them, and reuse the stage, only after `wgmma_wait`.
# 4. The producer and the consumers run different code in one block, and even have
#    different numbers of registers.
# 5. In the end, the order of tiles and the stores of the results decide whether a
#    kernel is as fast as the library.

# %%
quiz()
