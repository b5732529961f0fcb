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
# - write the descriptor by which `wgmma` finds its operand;
# - order tiles for the L2 cache, and count what the order saves;
# - read a GEMM that is as fast as cuBLAS, with a few lines for each of its ideas.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, which supports mbarriers and bulk copies, and the measurements then show
# times from the reference GPU, an H200. To run the measurements yourself, you need a
# GPU of compute capability 9.0 (H100, H200, GH200) and 3 GB of its memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint8, uint64

from weft import bench, check, hint, quiz
from weft.intrinsics import (
    bf16_pair,
    bulk_commit,
    bulk_copy,
    bulk_wait_read,
    cluster_rank,
    cluster_sync,
    descriptor,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    mbarrier_arrive,
    mbarrier_arrive_at,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x4,
    tma_load,
    tma_load_multicast,
    tma_store,
    wgmma_bf16,
    wgmma_commit,
    wgmma_e4m3,
    wgmma_fence,
    wgmma_wait,
)
from weft.launching import prepare
from weft.templates import large_shared, specialise
from weft.tensor_maps import tensor_map
from weft.timing import BurstStopwatch

weft.lab("22_hopper_gemm")

# %% [markdown]
# ## 1 · The ring
#
# Tiles 0, 1, 2, … go through a ring of `stages` buffers, one after the other. Each
# buffer, or **stage**, has two mbarriers. `full` says that the tile has arrived, and
# `empty` says that the tile has been used and the next tile may be loaded.
#
# An mbarrier goes through **phases**. In phase 0 it counts arrivals. When all expected
# arrivals have come, phase 0 is complete and phase 1 begins, and so on. A thread waits
# for a phase by its **parity**, 0 or 1. The wait ends as soon as the phase *of this
# parity* is complete. At a new mbarrier, a wait for parity 0 waits for phase 0, but a
# wait for parity 1 returns at once: the phase before phase 0 counts as complete.
#
# For tile number `k`, counting from 0, return three numbers: the stage, the parity that
# a consumer waits for at `full` before it reads the tile, and the parity that the
# producer waits for at `empty` before it starts the copy. For the first tile of each
# stage, the producer's wait must return at once. For the second tile, the producer must
# wait until the first tile of that stage has been used.
#
# ```python
# ring(0, 4)    # -> (0, 0, 1)
# ring(5, 4)    # -> (1, 1, 0)
# ```
#
# Stuck? `hint("ring")`.


# %%
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    # about 3 lines
    # BEGIN SOLUTION
    turn, stage = divmod(k, stages)
    parity = turn % 2
    return stage, parity, 1 - parity
    # END SOLUTION


# %% tags=["given"]
def rings(k, stages):
    """Go through the ring tile by tile, as the kernels do."""
    stage, parity = 0, 0
    for _ in range(k):
        stage += 1
        if stage == stages:
            stage, parity = 0, parity ^ 1
    return stage, parity, parity ^ 1


def wrong_ring(k, stages, answer):
    """Say what is wrong with a ring, if that is known."""
    wanted = rings(k, stages)
    if not isinstance(answer, tuple) or len(answer) != 3:
        return "Return three numbers: stage, parity at full, parity at empty."
    stage, full, empty = answer
    if stage != wanted[0]:
        return "The stages are used in turns: 0, 1, …, stages - 1, and 0 again."
    if full not in (0, 1) or empty not in (0, 1):
        return "A parity is 0 or 1."
    if full == empty:
        return (
            "The producer is one turn ahead: at `empty` it waits for the phase "
            "before the one in which the consumers will arrive there."
        )
    return (
        "In the first turn of the ring a consumer waits for phase 0 of `full`, "
        "which has parity 0. In the next turn it is phase 1."
    )


# %%
check(
    ring,
    spec=rings,
    inputs=[(k, s) for s in (1, 2, 3, 4, 7) for k in (*range(16), 100, 101)],
    because=wrong_ring,
    without=("rings",),
)

# %% [markdown] tags=["solution"]
# The kernels below do not divide. They keep `stage` and `parity` in registers and add 1
# to the stage. At the end of the ring, they set the stage to 0 and flip the parity.

# %% [markdown]
# ## 2 · A copy and its barrier
#
# `bulk_copy(tile, i, x, j, nbytes, bars, s)` starts a copy of `nbytes` bytes from
# `x[j]`, in global memory, to `tile[i]`, in shared memory. **One thread calls
# `bulk_copy`.** The TMA (Tensor Memory Accelerator) then copies the bytes without using
# registers. As they arrive, it counts them at the mbarrier `bars[s]`, an element of a
# shared array of uint64.
#
# 1. One thread calls `mbarrier_init(bars, s, count)`: each phase then needs `count`
#    arrivals. The same thread calls `fence_mbarrier_init()`, so that the TMA sees the
#    new mbarrier. Then all threads call `cuda.syncthreads()`, so that they see it too.
# 2. One thread calls `mbarrier_arrive_expect_tx(bars, s, nbytes)`. This call is one
#    arrival, and it also announces `nbytes` bytes: the phase is complete only when they
#    have arrived as well.
# 3. That thread starts the copy.
# 4. All threads call `mbarrier_wait(bars, s, parity)`, and then read the tile.
#
# Reverse `x` tile by tile. A block has 128 threads and one tile of 128 numbers, or
# fewer at the end of `x`. A tile begins at the same index in `out` as in `x`, but its
# numbers are in reverse order. Copy only the `count` numbers of the tile, 4 bytes for
# each.
#
# ```python
# reverse_tiles(x, out)   # float32 (n,) -> float32 (n,); 4 divides n
# ```
#
# Stuck? `hint("reverse_tiles")`.

# %% tags=["given"]
TILE = 128


def vector(rng, n):
    """Return n numbers."""
    return rng.standard_normal(n).astype(np.float32)


def reversed_tiles(x):
    """Return x with the numbers of each tile reversed."""
    parts = [x[i : i + TILE][::-1] for i in range(0, len(x), TILE)]
    return np.concatenate(parts)


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
    spec=reversed_tiles,
    inputs=vector,
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
# ## 3 · Producer and consumers
#
# Now build a pipeline. Warp 0 of the block is the **producer**: its lane 0 starts all
# copies. The other 64 threads are **consumers**. After the beginning, there is no
# `syncthreads`: only the mbarriers of the ring synchronise the producer and the
# consumers.
#
# `x` and `y` are k × n. Compute `out[j] = sum of x[i, j] * y[i, j] over i`. A block
# computes 64 columns, and consumer `c` computes column `c` of these 64. Tile number `i`
# of the ring is row `i`: 64 numbers of `x` and 64 of `y`. Two copies load these
# numbers, and the bytes of both are counted at the same mbarrier.
#
# - The producer waits until the stage is **empty**, announces the bytes of *both*
#   copies at `full`, and starts them.
# - A consumer waits until the stage is **full**, uses its numbers, and arrives at
#   `empty`. Its arrival says that *this thread* has read what it needs. So all 64
#   consumers must arrive.
#
# `turned(stage, parity)` returns the stage and the parity for the next tile.
#
# ```python
# dot_columns(x, y, out)   # float32 (k, n), (k, n) -> float32 (n,); 64 divides n
# ```
#
# Stuck? `hint("dot_columns")`.

# %% tags=["given"]
WIDTH, STAGES = 64, 3


def two_matrices(rng, k, n):
    """Return two matrices of k rows."""
    return tuple(rng.standard_normal((k, n)).astype(np.float32) for _ in "xy")


def column_products(x, y):
    """Return the product of each column of x with that of y."""
    return (x.astype(np.float64) * y).sum(0).astype(np.float32)


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
    spec=column_products,
    inputs=two_matrices,
    sizes=[(2, 64), (8, 128)],
    launch=lambda k, n: (n // WIDTH, 32 + WIDTH),
    tolerance=1e-5,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# This is the skeleton of every fast GEMM on Hopper. There, too, the producer is one
# thread, but the stages hold tiles of matrices, and the consumers multiply with
# `wgmma`.

# %% [markdown]
# ## 4 · What TMA delivers
#
# `bulk_copy` copies consecutive bytes. `tma_load` copies a **box** of a matrix, which a
# tensor map describes, and it can permute what it writes. Here each row of a box has 64
# numbers of 16 bits, which are 128 bytes or eight pieces of 16 bytes. With the
# **128-byte swizzle**, row r of the box is at bytes 128 r to 128 r + 127 of the tile,
# and its piece p is at place p XOR (r mod 8) within these bytes.
#
# A box may extend beyond the matrix on any side. For elements outside the matrix, the
# TMA delivers zeros. It always delivers the whole box, and counts all of its bytes.
#
# Return the contents of shared memory after a box of `rows` rows has been loaded, as a
# vector of `64 * rows` numbers. `x` is a matrix of int16, and the first element of the
# box is `x[row, col]`. `row` and `col` may be negative, or beyond the end of the
# matrix. `col` need not be a multiple of 64.
#
# ```python
# delivered(x, row, col, rows)   # int16 (m, n), int, int, int -> int16 (64 * rows,)
# ```
#
# Stuck? `hint("delivered")`.

# %%
BOX = 64  # numbers in a row of the box
PIECE = 8  # numbers in 16 bytes


def delivered(x, row, col, rows):
    """Return the shared memory after TMA has loaded a box of x."""
    # about 9 lines
    # BEGIN SOLUTION
    tile = np.zeros((rows, BOX // PIECE, PIECE), x.dtype)
    m, n = x.shape
    for r in range(rows):
        for q in range(BOX):
            i, j = row + r, col + q
            if 0 <= i < m and 0 <= j < n:
                tile[r, q // PIECE ^ r % 8, q % PIECE] = x[i, j]
    return tile.reshape(-1)
    # END SOLUTION


# %% tags=["given"]
def boxes(x, row, col, rows):
    """Do the same with arrays of indices."""
    m, n = x.shape
    r, q = np.divmod(np.arange(64 * rows), 64)
    q = (q // 8 ^ r % 8) * 8 + q % 8
    down, across = r + row, q + col
    inside = (down >= 0) & (down < m) & (across >= 0) & (across < n)
    found = x[down.clip(0, m - 1), across.clip(0, n - 1)]
    return np.where(inside, found, 0).astype(x.dtype)


def wrong_box(x, row, col, rows, answer):
    """Say what explains a wrong box, if that is known."""
    wanted = boxes(x, row, col, rows)
    got = np.asarray(answer)
    if got.shape != wanted.shape:
        return f"A box of {rows} rows is {64 * rows} numbers, in one vector."
    r, q = np.divmod(np.arange(64 * rows), 64)
    m, n = x.shape
    plain = np.zeros((rows, 64), x.dtype)
    for a in range(rows):
        for b in range(64):
            if 0 <= row + a < m and 0 <= col + b < n:
                plain[a, b] = x[row + a, col + b]
    if np.array_equal(got, plain.reshape(-1)):
        return "These are the right numbers, and they are not swizzled."
    if np.array_equal(np.sort(got), np.sort(wanted)):
        wrapped = plain[r, q ^ r % 8]
        if np.array_equal(got, wrapped):
            return "Whole pieces of 16 bytes move; these are single numbers."
        return (
            "These are the right numbers, in another order. Row r of the box "
            "counts from its own first row, and each row has places of its own."
        )
    outside = (row + r < 0) | (row + r >= m) | (col + q < 0) | (col + q >= n)
    if outside.any():
        return (
            "This box reaches beyond the matrix. Every element outside is 0, "
            "and the elements inside keep their places in the box."
        )
    return ""


def box_cases(rng):
    """Return boxes inside and at every edge."""
    x = rng.integers(1, 30000, (21, 150)).astype(np.int16)
    corners = [(0, 0), (5, 64), (3, 24), (14, 128), (-3, 0), (2, -8), (30, 0)]
    return [(x, row, col, rows) for row, col in corners for rows in (8, 12)]


# %%
check(
    delivered,
    spec=boxes,
    inputs=box_cases,
    because=wrong_box,
    without=("boxes",),
)

# %% [markdown] tags=["solution"]
# So a kernel needs no code for ragged shapes. Beyond the end of k, both operands are
# filled with zeros, which add nothing to a sum. Beyond the last row or column, all
# products are zero, and `tma_store` does not write outside the matrix.

# %% [markdown]
# ## 5 · A descriptor
#
# `wgmma` reads its operands from shared memory. A **descriptor**, an integer of 64
# bits, says where each operand is:
#
# | bits | contents |
# | --- | --- |
# | 0–13 | the start of the operand: the lowest 18 bits of its address, divided by 16 |
# | 16–29 | the leading offset; 1 with a swizzle and rows of at most 128 bytes |
# | 32–45 | the bytes from one group of eight rows to the next, divided by 16 |
# | 62–63 | the swizzle: 1 for 128 bytes, 2 for 64, 3 for 32 |
#
# All other bits are 0. The swizzle does not change the address in the descriptor: the
# hardware computes the address of an element as if there were no swizzle, and then
# applies the XOR.
#
# A tile begins at the byte address `start`, a multiple of 1024. Its rows have 128
# bytes, with the 128-byte swizzle. Return the descriptor of the operand whose first
# element is number `k` of row `row`, counting both from 0. 8 divides `row`. A number
# has `size` bytes: 2 for bfloat16, 1 for float8.
#
# ```python
# operand(start, row, k, size)   # -> int
# hex(operand(0x2400, 0, 0, 2))  # -> '0x4000004000010240'
# ```
#
# Stuck? `hint("operand")`.


# %%
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    # about 3 lines
    # BEGIN SOLUTION
    address = start + 128 * row + size * k
    fields = (address & 0x3FFFF) // 16 | 1 << 16 | 1024 // 16 << 32
    return fields | 1 << 62
    # END SOLUTION


# %% tags=["given"]
PLACES = {"address": (0, 14), "leading": (16, 14), "stride": (32, 14)}
PLACES |= {"swizzle": (62, 2)}


def described(start, row, k, size):
    """Put the fields together, one by one."""
    held = {
        "address": (start + 128 * row + size * k) % (1 << 18) >> 4,
        "leading": 1,
        "stride": 64,
        "swizzle": 1,
    }
    return sum(held[name] << PLACES[name][0] for name in held)


def wrong_operand(start, row, k, size, answer):
    """Name the first field that is wrong."""
    wanted = described(start, row, k, size)
    try:
        got = int(answer)
    except (TypeError, ValueError):
        return "The descriptor is one integer."
    for name, (first, bits) in PLACES.items():
        a, b = (x >> first & (1 << bits) - 1 for x in (got, wanted))
        if a != b:
            return (
                f"In bits {first} to {first + bits - 1}, for the {name}, "
                f"there is {a}."
            )
    return "There is something in bits that should be 0."


# %%
check(
    operand,
    spec=described,
    inputs=[
        (start, row, k, size)
        for start, row in ((0x2400, 0), (0, 64), (0x8000, 128), (0x3FC00, 8))
        for k, size in ((0, 2), (16, 2), (48, 2), (32, 1), (96, 1))
    ],
    because=wrong_operand,
    without=("described",),
)

# %% [markdown] tags=["solution"]
# One `wgmma` takes 32 bytes along k, which are 16 bfloat16 or 32 float8. So in the
# kernel, the descriptor for the next step along k is the current descriptor plus 2, in
# both formats. This works because the hardware applies the swizzle to the final
# address.

# %% [markdown]
# ## 6 · The order of tiles
#
# A persistent kernel has one block per SM. Block b computes tiles number b, b + 132,
# b + 264, … So 132 tiles with consecutive numbers are computed at about the same time.
# They should use the same rows of `a` and of `w`, so that these stay in the L2 cache.
#
# `grouped` below is the order of chapter 21: it goes through `group` rows of tiles
# together, column by column. At the end of such a group, it jumps back to the leftmost
# column. So the data loaded for the last columns are not reused. Write the
# **serpentine** order: groups 0, 2, 4, … go from left to right, and groups 1, 3, 5, …
# from right to left. Within a column, the rows always go down. The last group may have
# fewer rows.
#
# ```python
# tile_at(number, rows, cols, group)   # -> (row, col)
# [tile_at(n, 4, 2, 2) for n in range(8)]
# # -> [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (3, 1), (2, 0), (3, 0)]
# ```
#
# Stuck? `hint("tile_at")`.


# %% tags=["given"]
def grouped(number, rows, cols, group):
    """Return the row and the column of a tile, groups from left to right."""
    first = number // (group * cols) * group  # row of the group
    high = min(rows - first, group)
    left = number - first * cols
    return first + left % high, left // high


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


# %% tags=["given"]
def walk(number, rows, cols, group):
    """Go through all tiles, and return the one with this number."""
    order = []
    for first in range(0, rows, group):
        columns = range(cols)
        if first // group % 2:
            columns = reversed(columns)
        for col in columns:
            order += [(r, col) for r in range(first, min(first + group, rows))]
    return order[number]


def wrong_tile(number, rows, cols, group, answer):
    """Say what explains a wrong tile, if that is known."""
    wanted = walk(number, rows, cols, group)
    if tuple(answer) == grouped(number, rows, cols, group):
        return "That is right for groups that go from left to right."
    if tuple(answer) == wanted[::-1]:
        return "Row and column are exchanged."
    which = number // (group * cols)
    if (which + 1) * group > rows:
        return f"This is in the last group, which has {rows % group} rows."
    return ""


# %%
check(
    tile_at,
    spec=walk,
    inputs=[
        (number, rows, cols, group)
        for rows, cols, group in ((4, 2, 2), (7, 3, 3), (5, 4, 16), (6, 5, 1))
        for number in range(rows * cols)
    ],
    because=wrong_tile,
    without=("walk",),
)

# %% [markdown]
# How many bytes does each order load from memory? The cells below count them for
# 8192 × 8192 × 8192: 64 × 32 tiles of 128 × 256, in waves of 132 tiles. The tiles of a
# wave move along k together, 512 numbers at a time. The count looks up their operands
# in a model of a cache of 50 MB, which evicts the data that was used least recently.
# Operands that are not in this cache are loaded from memory.
#
# Guess first: what fraction of the bytes that `row by row` loads do the other orders
# load?

# %%
guess = {"groups of 16": None, "groups of 16, serpentine": None}


# %% tags=["given"]
def fetched(order, k, cache=50e6, sms=132):
    """Return the MB of a and w, k numbers long, that come from memory."""
    total, held, kept = 0, 0, {}
    for start in range(0, len(order), sms):
        wave = order[start : start + sms]
        needed = dict.fromkeys([("a", row) for row, _ in wave])
        needed |= dict.fromkeys([("w", col) for _, col in wave])
        for step in range(0, k, 512):
            for which in needed:
                size = (128 if which[0] == "a" else 256) * 512 * 2
                if kept.pop((which, step), 0) == 0:
                    total, held = total + size, held + size
                kept[which, step] = size  # now the youngest
                while held > cache:
                    held -= kept.pop(next(iter(kept)))
    return total / 1e6


# %%
KINDS = {
    "row by row": (grouped, 1),
    "groups of 8": (grouped, 8),
    "groups of 16": (grouped, 16),
    "groups of 16, serpentine": (walk, 16),
}
counted = {}
for name, (kind, group) in KINDS.items():
    order = [kind(number, 64, 32, group) for number in range(2048)]
    counted[name] = fetched(order, 8192)
    share = counted[name] / counted["row by row"]
    said = f", guessed {guess[name]}" if guess.get(name) else ""
    print(f"{name:26}{counted[name]:8,.0f} MB   {share:.2f}{said}")

# %% tags=["solution"]
assert counted["groups of 16"] < 0.6 * counted["row by row"]
assert counted["groups of 16, serpentine"] < counted["groups of 16"]

# %% [markdown] tags=["solution"]
# Each number of `a` is used by 32 tiles and each number of `w` by 64, and these tiles
# are computed at different times. Groups of 16 about halve the traffic from memory. The
# serpentine saves only a little more, since the cache is full long before a group ends.
# In the ladder below, `row by row` and `grouped` differ only in the order of tiles.

# %% [markdown]
# ## The kernel
#
# The code of this section is given: read it and run it. It computes `c = a @ w.T` for
# bfloat16 `a` (m × k) and `w` (n × k). All sizes of tiles and buffers are constants
# that `specialise` fills in.
#
# `multiply` multiplies one stage, which covers 128 bytes along k, with four `wgmma`. A
# warpgroup of 128 threads multiplies its 64 rows of `a` with BN rows of `w`. Each
# thread keeps BN / 2 sums in registers.

# %% tags=["given"]
BM, BN, DEPTH = 128, 256, 4  # a tile of c; stages
GROUP, CLUSTER, CONSUMERS = 16, 1, 2
A_BYTES, W_BYTES = 128 * BM, 128 * BN  # of a stage
STAGE_BYTES = A_BYTES + W_BYTES
LINE = 64  # numbers in 128 bytes
SUMS = BN // 2  # registers
BUFFERS, PENDING = 4, 3  # of results on their way out
FEWER, MORE = 40, 232  # registers of a thread: producer, consumer
STORE_BY_TMA = 1
wgmma = wgmma_bf16


@cuda.jit(device=True)
def place_of(number, rows, cols):
    """Return the row and the column of a tile, as `grouped` does."""
    size = int32(int32(GROUP) * cols)
    which = int32(number // size)
    first = int32(which * int32(GROUP))
    height = min(int32(rows - first), int32(GROUP))
    inside = int32(number - which * size)
    col = int32(inside // height)
    return int32(first + inside - col * height), col


@cuda.jit(device=True)
def multiply(acc, memory, at, own, add):
    """Start acc += a @ w.T for the stage at `at`; without `add`, acc = ..."""
    a = descriptor(memory, at + own)
    w = descriptor(memory, at + int32(A_BYTES))
    wgmma_fence()
    wgmma(acc, BN, a, w, add)
    wgmma(acc, BN, a + 2, w + 2, int32(1))
    wgmma(acc, BN, a + 4, w + 4, int32(1))
    wgmma(acc, BN, a + 6, w + 6, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def following(slot, parity):
    """Return the stage and the parity of the next tile in the ring."""
    slot += int32(1)
    if slot == int32(DEPTH):
        return int32(0), int32(parity ^ int32(1))
    return int32(slot), int32(parity)


@cuda.jit(device=True)
def put(c, acc, row, col, t, m, n):
    """Store the sums of a warpgroup from registers, two bfloat16 at a time."""
    lane = t & int32(31)
    r = row + (t >> int32(5)) * int32(16) + (lane >> int32(2))
    q = (col >> int32(1)) + (lane & int32(3))
    for j in range(BN // 8):
        if q + int32(4 * j) < n >> int32(1):
            if r < m:
                c[r, q + int32(4 * j)] = bf16_pair(acc[4 * j], acc[4 * j + 1])
            if r + int32(8) < m:
                pair = bf16_pair(acc[4 * j + 2], acc[4 * j + 3])
                c[r + int32(8), q + int32(4 * j)] = pair


# %% [markdown]
# **One pipeline.** A block computes one tile of `c`. All of its threads multiply, and
# thread 0 also starts the copies. Before thread 0 may start a copy into a stage, all
# threads must have finished with that stage, which requires a `syncthreads` in every
# step.

# %% tags=["given"]
@cuda.jit
def one_pipeline(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute a tile of c = a @ w.T."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    t = int32(cuda.threadIdx.x)
    rows = int32((m + int32(BM - 1)) // int32(BM))
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    i, j = place_of(int32(cuda.blockIdx.x), rows, cols)
    row, col = i * int32(BM), j * int32(BN)

    if t == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
        for q in range(DEPTH):
            mbarrier_init(full, q, 1)
        fence_mbarrier_init()
        for q in range(min(int32(DEPTH), steps)):
            at, x = int32(q) * int32(STAGE_BYTES), int32(q) * int32(LINE)
            mbarrier_arrive_expect_tx(full, q, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, q)
            tma_load(memory, at + int32(A_BYTES), map_w, x, col, full, q)
    cuda.syncthreads()

    own = (t >> int32(7)) * int32(8192)  # 64 rows of 128 bytes
    slot, parity = int32(0), int32(0)
    for step in range(steps):
        at = slot * int32(STAGE_BYTES)
        mbarrier_wait(full, slot, parity)
        multiply(acc, memory, at, own, int32(step > 0))
        wgmma_wait(0)
        cuda.syncthreads()
        x = (int32(step) + int32(DEPTH)) * int32(LINE)
        if t == 0 and step + DEPTH < steps:
            mbarrier_arrive_expect_tx(full, slot, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, slot)
            tma_load(memory, at + int32(A_BYTES), map_w, x, col, full, slot)
        slot, parity = following(slot, parity)

    hold(acc, SUMS)
    put(c, acc, row + own // int32(128), col, t & int32(127), m, n)


# %% [markdown]
# **Producer and consumers.** Warpgroup 0 only copies, and gives most of its registers
# to the other two warpgroups (`setmaxnreg`). A block is persistent: it computes one
# tile after the other, and while the consumers store a tile, the producer already loads
# the next. The kernel has two options. With `STORE_BY_TMA`, the consumers write their
# sums to shared memory (`stmatrix`), and the TMA stores them from there, 64 columns at
# a time. With `CLUSTER=2`, two blocks compute two tiles, one below the other, so they
# need the same rows of `w`. Each block loads half of these rows for both.

# %% tags=["given"]
@cuda.jit(device=True)
def put_by_tma(map_c, acc, memory, at, row, col, t, group, scale):
    """Arrange the sums in shared memory, from where TMA stores them."""
    lane = t & int32(31)
    line = (t >> int32(5)) * int32(16) + (lane & int32(15))
    start = line * int32(128)
    for p in range(BN // 64):
        here = int32(at + int32(p % BUFFERS * 8192))
        if t == 0:
            bulk_wait_read(PENDING)  # this buffer has been read
        named_barrier(group, 128)
        for j in range(4):
            o = p * 32 + j * 8
            piece = ((lane >> int32(4)) + int32(2 * j)) ^ (line & int32(7))
            stmatrix_x4(
                memory,
                here + start + piece * int32(16),
                bf16_pair(acc[o] * scale, acc[o + 1] * scale),
                bf16_pair(acc[o + 2] * scale, acc[o + 3] * scale),
                bf16_pair(acc[o + 4] * scale, acc[o + 5] * scale),
                bf16_pair(acc[o + 6] * scale, acc[o + 7] * scale),
            )
        fence_async()
        named_barrier(group, 128)
        if t == 0:
            tma_store(map_c, col + int32(64 * p), row, memory, here)
            bulk_commit()


@cuda.jit(device=True)
def release(empty, slot, t):
    """Tell the producers that this warpgroup has read a stage."""
    if CLUSTER > 1:
        if t < int32(CLUSTER):
            mbarrier_arrive_at(empty, slot, t)
    else:
        if t == 0:
            mbarrier_arrive(empty, slot)


@cuda.jit(device=True)
def produce(map_a, map_w, memory, full, empty, tiles, sizes):
    """Load the stages of all tiles of this block."""
    (begin, stride, rank), (rows, cols, steps) = tiles, sizes
    slot, parity = int32(0), int32(1)
    for tile in range(begin, rows * cols, stride):
        i, j = place_of(int32(tile), rows, cols)
        row = (i * int32(CLUSTER) + rank) * int32(BM)
        part = rank * int32(BN // CLUSTER)
        col = j * int32(BN) + part
        for step in range(steps):
            at, x = slot * int32(STAGE_BYTES), int32(step) * int32(LINE)
            of_w = at + int32(A_BYTES) + part * int32(128)
            mbarrier_wait(empty, slot, parity)
            mbarrier_arrive_expect_tx(full, slot, STAGE_BYTES)
            tma_load(memory, at, map_a, x, row, full, slot)
            if CLUSTER > 1:
                every = int32(2**CLUSTER - 1)
                tma_load_multicast(
                    memory, of_w, map_w, x, col, full, slot, every
                )
            else:
                tma_load(memory, of_w, map_w, x, col, full, slot)
            slot, parity = following(slot, parity)


@cuda.jit
def warp_specialised(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute c = scale * a @ w.T by persistent blocks."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    empty = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)
    rows = int32((m + int32(BM * CLUSTER - 1)) // int32(BM * CLUSTER))
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    begin = int32(cuda.blockIdx.x) // int32(CLUSTER)
    stride = int32(cuda.gridDim.x) // int32(CLUSTER)
    rank = cluster_rank()

    if t == 0 and group == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
    if t == 0 and group == 1:
        for q in range(DEPTH):
            mbarrier_init(full, q, 1)
            mbarrier_init(empty, q, CONSUMERS * CLUSTER)
        fence_mbarrier_init()
    if CLUSTER > 1:
        cluster_sync()
    else:
        cuda.syncthreads()

    if group == 0:
        setmaxnreg_dec(FEWER)
        if t == 0:
            tiles, sizes = (begin, stride, rank), (rows, cols, steps)
            produce(map_a, map_w, memory, full, empty, tiles, sizes)
    else:
        setmaxnreg_inc(MORE)
        mine = group - int32(1)
        out = int32(DEPTH * STAGE_BYTES) + mine * int32(BUFFERS * 8192)
        slot, parity = int32(0), int32(0)
        for tile in range(begin, rows * cols, stride):
            i, j = place_of(int32(tile), rows, cols)
            row = (i * int32(CLUSTER) + rank) * int32(BM) + mine * int32(64)
            col = j * int32(BN)
            before = int32(0)
            for step in range(steps):
                at = slot * int32(STAGE_BYTES)
                mbarrier_wait(full, slot, parity)
                add = int32(step > 0)
                multiply(acc, memory, at, mine * int32(8192), add)
                wgmma_wait(1)  # the stage before has been read
                if step > 0:
                    release(empty, before, t)
                before = slot
                slot, parity = following(slot, parity)
            wgmma_wait(0)
            release(empty, before, t)
            hold(acc, SUMS)
            if STORE_BY_TMA:
                put_by_tma(map_c, acc, memory, out, row, col, t, group, scale)
            else:
                put(c, acc, row, col, t, m, n)
        if STORE_BY_TMA and t == 0:
            bulk_wait_read(0)
    if CLUSTER > 1:
        cluster_sync()


# %% [markdown]
# The host compiles a kernel with these constants, encodes the tensor maps and launches
# the kernel. A tensor map contains the address of its matrix and the size of a box.
# `prepare` returns a launch function that skips Numba's checks and supports clusters.

# %% tags=["given"]
TYPES = (
    "void(uint8[::1], uint8[::1], uint8[::1], int32[:, ::1], "
    "int32, int32, int32, float32)"
)
ROOM = 227 * 1024 - 1024  # bytes of shared memory for stages and results
made = {}


def sized(kernel, bm, bn, fp8=False, buffers=4, depth=8, **more):
    """Return every constant that follows from these, and the shared memory."""
    consumers, stage = bm // 64, 128 * (bm + bn)
    buffers = min(buffers, bn // 64)
    out = 0 if kernel is one_pipeline else consumers * buffers * 8192
    depth = min(depth, (ROOM - out) // stage)
    named = {
        "BM": bm,
        "BN": bn,
        "DEPTH": depth,
        "A_BYTES": 128 * bm,
        "STAGE_BYTES": stage,
        "LINE": 128 if fp8 else 64,
        "SUMS": bn // 2,
        "wgmma": wgmma_e4m3 if fp8 else wgmma_bf16,
    }
    if kernel is not one_pipeline:
        few = consumers < 3
        named |= {
            "CONSUMERS": consumers,
            "BUFFERS": buffers,
            "PENDING": buffers - 1,
            "FEWER": 40 if few else 32,
            "MORE": 232 if few else 160,
        }
    return named | more, depth * stage + out


def compiled(kernel, *sizes, **more):
    """Return the launch function of a kernel, and what it is launched with."""
    key = kernel.py_func.__name__, sizes, tuple(sorted(more.items()))
    if key not in made:
        named, shared = sized(kernel, *sizes, **more)
        groups = sizes[0] // 64 + (kernel is not one_pipeline)
        large = specialise(
            kernel,
            signature=TYPES,
            launch_bounds=(128 * groups, 1),
            **named,
        )
        large_shared(large, shared)
        launch = prepare(large, named.get("CLUSTER", 1))
        made[key] = launch, 128 * groups, shared, named
    return made[key]


def gemm(a, w, c, bm=128, bn=256, kernel=None, scale=1.0, **more):
    """Return a function that computes c = scale * a @ w.T."""
    kernel = kernel or warp_specialised
    launch, block, shared, named = compiled(kernel, bm, bn, **more)
    (m, k), n = a.shape, w.shape[0]
    cluster, line = named.get("CLUSTER", 1), named["LINE"]
    maps = (
        tensor_map(a, (bm, line)),
        tensor_map(w, (bn // cluster, line)),
        tensor_map(c, (64, 64)),
    )
    grid = -(-m // (bm * cluster)) * -(-n // bn) * cluster
    if kernel is not one_pipeline:
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        grid = min(grid, sms // cluster * cluster)
    on = *maps, c.view(torch.int32), m, n, k, scale

    def run():
        launch(grid, block, *on, shared=shared)

    run.held = a, w  # the tensor maps have no more than their addresses
    return run


# %% [markdown]
# ## Measure: the ladder
#
# From `row by row` on, each row changes one thing in the row above.
#
# - `one pipeline`: the TMA and `wgmma`, with tiles of 128 × 256 and four stages.
# - `row by row`: persistent blocks with a producer and consumers, which compute the
#   tiles row by row.
# - `grouped`: the same kernel, with tiles in groups of 16 rows.
# - `TMA store`: the same kernel, but its results go through shared memory and the TMA.
# - `clusters`: the same kernel in clusters of two blocks, with multicast.
#
# The baseline `cuBLAS` is the fastest of several library calls: `torch.mm` with either
# operand transposed, and every algorithm that cuBLASLt's heuristic suggests (chapter
# 25). `torch.mm` is PyTorch's ordinary call. The table also has two kernels in
# **Triton**: one with pointers, as in chapter 29, and one with tensor descriptors,
# which Triton compiles to TMA copies.
#
# What fraction of the speed of cuBLAS do you expect in each row?

# %% tags=["given"]
if weft.on_gpu("wgmma is not simulated"):
    import torch
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    from weft.libraries.ready import Linear

    torch.manual_seed(22)
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False

    @triton.jit
    def triton_pointers(
        a, w, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
    ):
        """One tile per program; the sizes divide."""
        across, down = n // BN, tl.num_programs(0) // (n // BN)
        i, j = tl.swizzle2d(
            tl.program_id(0) // across,
            tl.program_id(0) % across,
            *(down, across, 8),
        )
        rows, cols = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
        depth = tl.arange(0, BK)
        on_a = a + rows[:, None] * k + depth[None, :]
        on_w = w + cols[None, :] * k + depth[:, None]
        acc = tl.zeros((BM, BN), tl.float32)
        for _ in range(0, k, BK):
            acc = tl.dot(tl.load(on_a), tl.load(on_w), acc)
            on_a, on_w = on_a + BK, on_w + BK
        out = c + rows[:, None] * n + cols[None, :]
        tl.store(out, acc.to(tl.bfloat16))

    @triton.jit
    def triton_descriptors(
        a, w, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
    ):
        """Persistent programs; tiles in groups of 16."""
        down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
        for tile in tl.range(
            tl.program_id(0), down * across, tl.num_programs(0), flatten=True
        ):
            which = tile // (16 * across)
            height = min(down - which * 16, 16)
            i = which * 16 + tile % (16 * across) % height
            j = tile % (16 * across) // height
            acc = tl.zeros((BM, BN), tl.float32)
            for step in range(tl.cdiv(k, BK)):
                x = a.load([i * BM, step * BK])
                y = w.load([j * BN, step * BK])
                acc = tl.dot(x, y.T, acc)
            c.store([i * BM, j * BN], acc.to(tl.bfloat16))


def triton_gemms(a, w, c):
    """Return functions that compute c = a @ w.T by the two programs."""
    (m, k), n = a.shape, w.shape[0]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    on = (
        TensorDescriptor.from_tensor(a, [128, 64]),
        TensorDescriptor.from_tensor(w, [256, 64]),
        TensorDescriptor.from_tensor(c, [128, 256]),
    )
    tiles = m // 128 * (n // 256)
    few = {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8, "num_stages": 3}
    return {
        "Triton, pointers": lambda: triton_pointers[(tiles,)](
            a, w, c, n, k, **few
        ),
        "Triton, descriptors": lambda: triton_descriptors[(min(sms, tiles),)](
            *on, m, n, k, **few
        ),
    }


def fastest(functions):
    """Return the fastest of some functions, by four bursts of each."""
    watch = BurstStopwatch()
    times = {f: [] for f in functions}
    for _ in range(4):
        for f in functions:
            times[f].append(watch.once(f, 0.0).ms)
    return min(times, key=lambda f: sorted(times[f])[1])


def library(a, w, c, fast=False):
    """Return every way in which cuBLAS computes c = a @ w.T."""
    light = Linear(a, w, None, c, fast=fast)
    ways = [lambda i=i: light(i) for i in range(len(light.found))]
    if a.dtype == torch.bfloat16:
        b = w.t().contiguous()
        ways.append(lambda: torch.mm(a, w.t(), out=c))
        ways.append(lambda: torch.mm(a, b, out=c))
    return ways


def matrices(m, n, k):
    """Return a, w and the place for c."""
    a = torch.randn(m, k, device="cuda").bfloat16()
    w = torch.randn(n, k, device="cuda").bfloat16()
    return a, w, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


# %%
guess = {
    "one pipeline": None,
    "row by row": None,
    "grouped": None,
    "TMA store": None,
    "clusters": None,
    "Triton, pointers": None,
    "Triton, descriptors": None,
}


def rungs(n):
    """Return the rows of the ladder, for n x n matrices."""
    a, w, c = on = matrices(n, n, n)
    plain = {"STORE_BY_TMA": 0, "buffers": 2}
    return {
        "cuBLAS": fastest(library(*on)),
        "torch.mm": lambda: torch.mm(a, w.t(), out=c),
        "one pipeline": gemm(*on, kernel=one_pipeline),
        "row by row": gemm(*on, GROUP=1, **plain),
        "grouped": gemm(*on, **plain),
        "TMA store": gemm(*on),
        "clusters": gemm(*on, CLUSTER=2, buffers=2),
        **triton_gemms(*on),
    }


def ladder_of(n):
    """Time the ladder in bursts, each after a pause."""
    return bench.compare(
        f"{n} x {n} x {n} bfloat16",
        lambda: rungs(n),
        baseline="cuBLAS",
        flops=2 * n**3,
        guess=guess,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


ladder = ladder_of(8192)
ladder

# %%
smaller = ladder_of(4096)
smaller

# %% tags=["solution"]
smaller.expect("row by row", at_least=1.08, times="one pipeline")
ladder.expect("grouped", at_least=1.05, times="row by row")
ladder.expect("TMA store", at_least=1.04, times="grouped")
ladder.expect("TMA store", at_least=0.98)
smaller.expect("TMA store", at_least=0.985)

# %% [markdown]
# ## Look: is it right?
#
# This cell runs the kernels of the ladder and of the shapes below, mostly on matrices
# whose sizes no tile divides. Before each run, it fills the output with NaN, and also
# 64 more rows below, which must keep their NaN. It compares every element with a
# product in float32, and 30 runs bit by bit.

# %%
if weft.on_gpu("wgmma is not simulated"):
    torch.set_float32_matmul_precision("highest")
    VARIANTS = {
        "one pipeline": {"kernel": one_pipeline},
        "grouped": {"STORE_BY_TMA": 0, "buffers": 2},
        "128 x 256": {},
        "128 x 256, cluster": {"CLUSTER": 2, "buffers": 2},
        "128 x 256, deep": {"buffers": 2, "GROUP": 4},
        "192 x 192, cluster": {
            "bm": 192,
            "bn": 192,
            "CLUSTER": 2,
            "buffers": 1,
        },
        "128 x 128": {"bn": 128},
        "64 x 128": {"bm": 64, "bn": 128, "GROUP": 4},
    }
    for m, n, k in ((1000, 1032, 1000), (333, 264, 200), (128, 256, 64)):
        a, w, _ = matrices(m, n, k)
        right = a.float() @ w.float().t()
        for name, sizes in VARIANTS.items():
            below = torch.empty(m + 64, n, device="cuda", dtype=torch.bfloat16)
            c = below[:m]
            run = gemm(a, w, c, **sizes)
            same, first = True, None
            for _ in range(30):
                below.fill_(float("nan"))
                run()
                first = c.clone() if first is None else first
                same = same and torch.equal(c, first)
            far = (c.float() - right).abs() - 0.01 * right.abs()
            assert (far <= 2e-3 * k**0.5).all(), (name, m, n, k)
            assert torch.isnan(below[m:]).all(), (name, m, n, k)
            assert same, (name, m, n, k)
        print(f"{m} x {n} x {k}: {len(VARIANTS)} kernels right, 30 runs alike")

# %% [markdown]
# ## Measure: other shapes
#
# Now run the same kernel with other tiles. With large tiles, fewer bytes have to be
# read for each result. But 1024 × 1024 results make only 32 tiles of 128 × 256, for 132
# SMs. A library chooses a kernel for each shape by a heuristic. Here six kernels are
# timed for each shape, and the fastest is `ours`. `deep` has four stages rather than
# three, and fewer buffers for results.
#
# Predict: for which shapes is 128 × 256 still the best tile?

# %%
SHAPES = {
    "1024³": (1024, 1024, 1024),
    "2048³": (2048, 2048, 2048),
    "tall": (16384, 1024, 4096),
    "wide": (1024, 16384, 4096),
    "ragged": (4000, 5000, 3000),
    "ragged, small": (3333, 2504, 1992),
}
TILES = {
    "128 x 256": {},
    "128 x 256, cluster": {"CLUSTER": 2, "buffers": 2},
    "128 x 256, deep": {"buffers": 2, "GROUP": 4},
    "192 x 192, cluster": {
        "bm": 192,
        "bn": 192,
        "CLUSTER": 2,
        "buffers": 1,
    },
    "128 x 128": {"bn": 128},
    "64 x 128": {"bm": 64, "bn": 128, "GROUP": 4},
}


def shape_table(name):
    """Time the best tile for a shape beside cuBLAS."""
    m, n, k = SHAPES[name]

    def candidates():
        on = matrices(m, n, k)
        ours = {tile: gemm(*on, **sizes) for tile, sizes in TILES.items()}
        best = fastest(list(ours.values()))
        print(name, "->", next(t for t, f in ours.items() if f is best))
        return {
            "cuBLAS": fastest(library(*on)),
            "ours": best,
            "128 x 256": ours["128 x 256"],
        }

    return bench.compare(
        f"{name}: {m} x {n} x {k} bfloat16",
        candidates,
        baseline="cuBLAS",
        flops=2 * m * n * k,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


shapes = {name: shape_table(name) for name in SHAPES}
shapes["1024³"]

# %%
for name in SHAPES:
    if name != "1024³":
        display(shapes[name])  # noqa: F821

# %% tags=["solution"]
for name in SHAPES:
    shapes[name].expect("ours", at_least=0.88)
shapes["ragged"].expect("ours", at_least=1.2, times="128 x 256")

# %% [markdown]
# ## Measure: float8
#
# `wgmma` takes float8 as well. A row of 128 bytes then contains 128 numbers, and one
# instruction takes 32 of them along k. Nothing else in the kernel changes. Since float8
# values are stored divided by a scale, the kernel multiplies the sums by `scale` at the
# end.
#
# The baseline is `torch._scaled_mm`, which calls cuBLASLt. It has two modes. In the
# **fast** mode, the tensor cores add up all products along k. In the **exact** mode,
# their sums are added to ordinary float32 sums at regular intervals. Predict: is the
# difference visible in the result? And which of these two modes does our kernel use?

# %%
def float8(n):
    """Return the candidates for n x n matrices, and the errors of each."""
    a, w = (torch.randn(n, n, device="cuda") for _ in "aw")
    a, w = a.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    c = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    one = torch.ones((), device="cuda")

    def scaled(fast):
        return lambda: torch._scaled_mm(
            a,
            w.t(),
            scale_a=one,
            scale_b=one,
            out_dtype=torch.bfloat16,
            use_fast_accum=fast,
            out=c,
        )

    found = {
        "_scaled_mm, fast": scaled(True),
        "_scaled_mm, exact": scaled(False),
        "cuBLASLt, fast": fastest(library(a, w, c, fast=True)),
        "ours": gemm(a, w, c, fp8=True),
    }
    right = a.float() @ w.float().t()
    for name, run in found.items():
        c.fill_(float("nan"))
        run()
        error = ((c.float() - right).norm() / right.norm()).item()
        print(f"{name:18} relative error {error:.1e}")
    return found


eight = bench.compare(
    "8192 x 8192 x 8192 float8",
    lambda: float8(8192),
    baseline="_scaled_mm, fast",
    flops=2 * 8192**3,
    stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
)
eight

# %% tags=["solution"]
eight.expect("ours", at_least=0.98)

# %% [markdown]
# ## Measure: without a pause
#
# All measurements above are bursts of 2 ms, each after a pause. Under such a load for
# seconds, the GPU lowers its clock to stay within its power limit. So this cell times
# three rows of the ladder again, without a pause.

# %%
sustained = bench.compare(
    "8192 x 8192 x 8192 bfloat16, without a pause",
    lambda: {
        name: function
        for name, function in rungs(8192).items()
        if name in ("cuBLAS", "TMA store", "Triton, descriptors")
    },
    baseline="cuBLAS",
    flops=2 * 8192**3,
    graph=True,
)
sustained

# %% tags=["solution"]
sustained.expect("TMA store", at_least=0.95)

# %% [markdown]
# ## If you want more
#
# - Let the kernel use the serpentine order. First use your count to predict the gain.
# - For the small ragged shape, tiles of 128 × 192 fill three waves exactly as well as
#   tiles of 192 × 192 fill two. Add them to `TILES`. Why are they slower all the same?
#   Count the rows that a block loads for its tile in each step along k. (Each of these
#   rows lies in two lines of the L2 cache.)
# - Add a bias and a ReLU in `put_by_tma`. How much time do they take?
# - Write the exact mode for float8: give each thread a second array of sums, and add
#   the first array to it after every stage. 128 + 128 sums do not fit in 232 registers,
#   so the tile has to become smaller. How much slower is the kernel?
# - Write the producer's loop of `dot_columns` with two producer lanes, one for each
#   matrix. How many arrivals does `full` need then?
#
# ## What you learned
#
# 1. An mbarrier counts arrivals and bytes. A ring has two mbarriers for each stage, and
#    a wait needs only the parity of a phase.
# 2. The TMA copies boxes: one thread starts a copy, elements outside the matrix arrive
#    as zeros, and the swizzle is part of the copy.
# 3. `wgmma` finds its operands in shared memory by descriptors. Its sums are in
#    registers.
# 4. The producer and the consumers run different code in one block, and even have
#    different numbers of registers.
# 5. In the end, the order of tiles and the stores of the results decide whether a
#    kernel is as fast as the library.

# %%
quiz()
