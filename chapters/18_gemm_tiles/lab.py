# %% [markdown]
# # 18 · GEMM in tiles
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/18_gemm_tiles.ipynb)
#
# **After this lab, you can**
#
# - write SGEMM for any m, n and k, with alpha and beta, as BLAS defines it;
# - calculate by hand, for each kernel of a ladder, how many passes and instructions a
#   step takes and how many bytes move, and say which of these sets the time;
# - stage tiles in shared memory, with two barriers, and say why one is not enough;
# - let tiles extend beyond the edges of a matrix without wrong numbers or missed
#   barriers;
# - load a transposed operand with coalesced requests.
#
# **You need** about 100 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 1 GB of memory.
# One comparison needs a C compiler, and is left out if you have none.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import itertools
import types

import numpy as np
from numba import cuda, float32, uint32

from weft import bench, check, explore, hint, quiz
from weft.c import folder, terminal

chapter = weft.lab("18_gemm_tiles")
checks, show_bound = chapter.checks, chapter.bounds.show_bound

# %% [markdown]
# ## The task
#
# **GEMM** is the *general matrix-matrix* product of BLAS, a standard that every library
# of linear algebra offers. GEMM has been part of BLAS since 1990. SGEMM is GEMM in
# *single* precision, float32:
#
#     c = alpha * a @ b + beta * c
#
# `a` is (m, k), `b` is (k, n) and `c` is (m, n). The two scalars are `alpha`, which
# scales the product, and `beta`, which says what happens to the old contents of `c`:
# with 1 the product is added to them, and with 0 it replaces them. With 0, `c` is never
# read: it may be fresh memory that contains NaN, and 0 times NaN is NaN. All matrices
# here are **row-major**: element (`row`, `col`) of `c` is at `row * n + col`.
#
# Each of the m × n elements is a sum of k products: **2 m n k** operations, counting a
# multiplication and an addition as two.

# %% [markdown]
# ## By hand: what could a GPU do?
#
# From here on, the product is 4096 × 4096 × 4096, in float32. For an H200:
#
# - **work**: 2 × 4096³ = 137 GFLOP, which takes 2.05 ms at the arithmetic peak of 67
#   TFLOP/s;
# - **bytes**: three matrices of 67 MB, each moved once, are 201 MB, which takes 0.04 ms
#   at 4.8 TB/s.
#
# There is time to move everything fifty times, so a product of this size ought to run
# at the peak. How close to the peak does the library come, and how close do you?
#
# Count in steps. A **step** is one iteration of the innermost loop for one warp: 32
# multiply-adds, or 64 operations. The product has 4096³ / 32 = 2.1 billion steps. Three
# things happen in a step, and an SM has a rate for each:
#
# - arithmetic: the SM does up to 128 multiply-adds per cycle, enough for four warps;
# - instructions of any kind: it issues up to four per cycle, each for one warp;
# - loads: its L1 cache and its shared memory are one unit, which makes one **pass** per
#   cycle. A warp's request takes one pass if all its words are in one line of 128
#   bytes, or, in shared memory, in different banks. Otherwise it takes more.
#
# Whichever of the three takes longest sets the time of a step.
#
# The function `show_bound(name, passes, instructions)` is given. It prints what the
# numbers of a step mean for the whole product on an H200.

# %%
show_bound("the ideal", 0, 1)

# %% [markdown]
# ## 1 · GEMM in BLAS
#
# Use one thread for each element of `c`. The thread runs along a row of `a` and down a
# column of `b`, adds up the products, and writes `alpha` times the sum plus `beta`
# times the old element. The first line of the kernel takes `row` from x and `col` from
# y, just as *row* comes before *column* in an index.
#
# ```python
# gemm_naive(alpha, a, b, beta, c)    # (m, k), (k, n), in place (m, n)  float32
# ```
#
# Add up in a local variable that starts as `float32(0)`. Where `beta` is 0, do not read
# `c`. The scalars are float32 as well. To Numba, a Python `1.0` would be a float64, and
# so would every result computed with it, which is why the launches below pass
# `np.float32(1)`.
#
# In `sizes` below, each entry is m, n, k and beta; a 2 for beta stands for -2. Stuck?
# `hint("gemm_naive")`; there are three hints.

# %%
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    # about 8 lines
    # BEGIN SOLUTION
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION

# %%
check(
    gemm_naive,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sized=checks.sized,
    sizes=[(32, 8, 4, 1), (1, 1, 1, 0), (37, 5, 11, 2), (9, 21, 6, 0)],
    launch=lambda m, n, k, beta: ((-(-m // 32), -(-n // 8)), (32, 8)),
    full=(1000, 129, 127, 2),
    limits={"loads": 13, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The branch on `beta` is not for speed. `0 * c` would be NaN wherever `c` is NaN, and
# memory to which nothing has been written may contain anything. The BLAS standard says
# that `c` need not be set on entry when `beta` is 0, and cuBLAS's documentation says so
# too.

# %% [markdown]
# ## 2 · Which index along x?
#
# In blocks of 32 × 8 threads, a warp of `gemm_naive` has 32 values of `row` and one
# value of `col`. Look at its requests, for a small product; the most expensive access
# comes first.

# %%
rng = np.random.default_rng(0)
small = checks.operands(rng, 32, 8, 32, 1)
explore(gemm_naive)[1, (32, 8)](*small, checks.before(*small))

# %% [markdown]
# So in each step the load of `a` touches 32 rows in 32 different lines, which takes 32
# passes. The load of `b` reads one element for all lanes, in 1 pass. A step takes these
# 33 passes even if everything is in the cache. In the machine code, the loop has 36.5
# instructions per step (one iteration does four steps).

# %%
show_bound("naive", 32 + 1, 36.5)

# %% [markdown]
# Now do it the other way around: give neighbouring lanes neighbouring *columns*. You
# could exchange `row` and `col` in one line. But the next two chapters need another
# way: launch one-dimensional blocks, and decide yourself what a thread's number means.
# A block has 256 threads and covers **8 rows and 32 columns** of `c`. `blockIdx.y`
# counts these pieces downwards, and `blockIdx.x` counts them to the right. The check
# allows four sectors per request.
#
# ```python
# gemm_coalesced(alpha, a, b, beta, c)    # blocks of 256 threads in x
# ```
#
# Stuck? `hint("gemm_coalesced")`.

# %%
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, in blocks of 8 x 32."""
    t = cuda.threadIdx.x  # 0 to 255

    # about 10 lines, most of them from exercise 1
    # BEGIN SOLUTION
    row = cuda.blockIdx.y * 8 + t // 32
    col = cuda.blockIdx.x * 32 + t % 32

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION

# %%
check(
    gemm_coalesced,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sized=checks.sized,
    sizes=[(8, 32, 4, 1), (1, 1, 1, 0), (5, 37, 11, 2), (12, 64, 8, 1)],
    launch=lambda m, n, k, beta: ((-(-n // 32), -(-m // 8)), 256),
    full=(129, 1000, 127, 0),
    limits={"sectors": 4, "loads": 17, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `t % 32` is the lane, so each lane has its own column: a warp reads 32 neighbours of
# `b` and of `c`, and one element of `a` for all lanes. `t // 32` is the warp's number,
# so each warp has its own row.

# %% [markdown]
# A step now takes 1 + 1 passes, so by passes alone the kernel would be 16 times as
# fast. But it executes the same 36.5 instructions. Before you measure, consider a
# kernel that you need not write, `gemm_unsigned` in the chapter's `kernels.py`, whose
# indices have 32 bits and cannot be negative. In Numba, as in Python, a negative index
# counts from the end, so Numba tests every index that might be negative, and it
# computes addresses in 64 bits. If all three indices are `uint32`, including the
# loop's, the tests disappear, and most of the address arithmetic moves out of the loop:
# 7.75 instructions per step remain.

# %%
show_bound("naive", 32 + 1, 36.5)
show_bound("coalesced", 1 + 1, 36.5)
show_bound("unsigned", 1 + 1, 7.75)

# %% [markdown]
# ## 3 · Bytes, by hand
#
# Two loads for each multiply-add are 8 bytes for 2 operations: **0.25 FLOP per byte**,
# and 550 GB in total. From an H200's memory, at 4.2 TB/s, loading them would take 131
# ms. `unsigned` is several times as fast as that, so most of these bytes come from the
# L1 cache: the warps of a block read the same rows of `b`, and neighbouring elements in
# the rows of `a`.
#
# A cache is a guess about what will be needed again. You need not guess. Give a block a
# square of `tile` × `tile` elements of `c`. It needs `tile` whole rows of `a` and
# `tile` whole columns of `b`. If each block loads these rows and columns once, how many
# **bytes** do all blocks load together? `tile` need not divide m or n. The blocks at
# the edge load only the rows and columns that exist.
#
# Write the formula as a plain Python function, without a loop. `-(-m // tile)` rounds
# up. Stuck? `hint("traffic")`.
#
# ```python
# traffic(m, n, k, tile)    # four integers -> bytes of a and b loaded
# ```

# %%
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    # about 3 lines
    # BEGIN SOLUTION
    down, across = -(-m // tile), -(-n // tile)  # blocks
    return 4 * (across * m * k + down * k * n)
    # END SOLUTION

# %%
check(
    traffic,
    spec=checks.counted,
    inputs=[
        (64, 32, 10, 16),
        (100, 40, 7, 16),
        (33, 65, 3, 32),
        (5, 9, 2, 1),
    ],
    because=checks.why,
)

# %% [markdown] tags=["solution"]
# Each row of `a` is loaded once for each block across, and each column of `b` once for
# each block down. With `tile` = 1, the formula counts what the direct kernels request:
# two elements for each multiply-add. In general, away from the edges, 2 m n k
# operations need 4 (2 m n k / tile) bytes, which is **tile / 4 FLOP per byte**.

# %%
N = 4096

for tile in (1, 16, 32, 64, 128):
    moved = traffic(N, N, N, tile)
    if moved is None:
        print("Write `traffic` first.")
        break
    print(
        f"tile {tile:3}: {moved / 1e9:7.2f} GB, "
        f"{2 * N**3 / moved:5.2f} FLOP per byte, "
        f"{moved / 4.2e12 * 1e3:7.2f} ms at the 4.2 TB/s of a copy"
    )

# %% [markdown] tags=["solution"]
# With tiles of 16, an H200's memory would take 8 ms, which is less than any kernel so
# far has taken. With tiles of 128, it would take half as long as the arithmetic. So
# bytes need not be the limit. (These are the bytes that the blocks request. The L2
# cache answers a good part of the requests.)

# %% [markdown]
# ## 4 · Tiles in shared memory
#
# A block of 16 × 16 threads computes a tile of `c`, one element per thread. It walks
# along k in **stages** of 16. In each stage
#
# 1. every thread loads one element of `a` and one of `b` into shared memory, which
#    gives the block a tile of each matrix;
# 2. all threads wait;
# 3. every thread runs along a row of the tile of `a` and down a column of the tile of
#    `b`, and adds 16 products to its sum;
# 4. all threads wait again: none may load the next tiles while another is still reading
#    these.
#
# In this exercise 16 divides m, n and k. The check counts a thread's loads from global
# memory, two per stage, and a block's barriers, also two per stage. It allows neither
# scattered requests nor bank conflicts.
#
# ```python
# gemm_tiled(alpha, a, b, beta, c)    # blocks of TILE x TILE threads
# ```
#
# Given: `TILE`, and the launch of a kernel that computes tiles. Stuck?
# `hint("gemm_tiled")`.

# %% tags=["given"]
TILE = 16


def launch_tiles(m, n, k, beta):
    """Return the grid and the block for a c of (m, n)."""
    return (-(-n // TILE), -(-m // TILE)), (TILE, TILE)

# %%
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c; TILE divides all sizes."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    # about 14 lines
    # BEGIN SOLUTION
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        ta[ty, tx] = a[row, start + tx]
        tb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
    # END SOLUTION

# %%
check(
    gemm_tiled,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sized=checks.sized,
    sizes=[(16, 16, 16, 1), (32, 16, 32, 0), (16, 32, 32, 2)],
    launch=launch_tiles,
    full=(1024, 512, 768, 0),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
)

# %% [markdown] tags=["solution"]
# Both tiles are loaded along rows: `tx` is part of the last index in both loads. In the
# inner loop, `ta[ty, i]` is one word for all lanes with the same `ty`, and `tb[i, tx]`
# reads 16 neighbours.
#
# The first barrier keeps a thread from reading elements that have not been stored yet.
# The second keeps it from overwriting elements that another thread still needs.
# Remember that the loop repeats: *after* the products comes the next load.

# %% [markdown]
# ## 5 · Any m, n and k
#
# A tile size of 16 rarely divides m, n and k at once. A tile can extend beyond an edge
# in three ways: past the rows of `c`, past its columns, and past the end of k in the
# last stage. A thread beyond the edge of `c` has nothing to write. But it has to help
# to load the tiles, and it has to reach the barriers. If it returned at the top, the
# other threads would wait for it, or would read elements that it should have loaded.
#
# What should a thread store in a tile where the matrix has no element, so that no sum
# changes?
#
# ```python
# gemm_ragged(alpha, a, b, beta, c)    # any m, n, k; TILE x TILE threads
# ```
#
# Begin with a copy of `gemm_tiled`. Write `TILE`, not 16, wherever you mean the tile
# size: the measurement below compiles the kernel again with 32, and the check runs it
# with 8 and 32 as well. Compute values that follow from it, such as `TILE * TILE`,
# inside the kernel: a global variable would keep its old value. Stuck?
# `hint("gemm_ragged")`.

# %%
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, of any sizes, in tiles."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    # about 16 lines
    # BEGIN SOLUTION
    total = float32(0)
    for start in range(0, k, TILE):
        i, j = start + tx, start + ty  # column of a, row of b
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[ty, tx] = b[j, col] if j < k and col < n else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION

# %%
check(
    gemm_ragged,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sized=checks.sized,
    sizes=[(16, 16, 16, 1), (1, 1, 1, 0), (17, 20, 18, 2), (5, 24, 24, 1)],
    launch=launch_tiles,
    full=(1000, 129, 127, 2),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
    constants=[{"TILE": 8}, {"TILE": 32}],
    because=checks.beyond,
)

# %% [markdown] tags=["solution"]
# There are three guards, one for each matrix: does this element of `a`, of `b`, of `c`
# exist? `row < m` and `col < n` alone would let a thread read beyond the end of a row
# of `a`, which in memory is the start of the next row. The result would be wrong
# numbers rather than an error.
#
# A zero in `ta` would be enough to cancel what is in `tb`, if that element could not be
# NaN or infinite: 0 times either is NaN. So both tiles are filled with zeros.

# %% [markdown]
# ## Measure: the ladder so far
#
# Again, count by hand the passes of the unit that serves as both L1 cache and shared
# memory. With tiles of 16, a stage is 16 steps, in which a warp makes
#
# - two loads from global memory, each of two rows of 16: 4 passes;
# - two stores into the tiles: 2 passes;
# - 16 loads from `tb`, one pass each: 16 passes;
# - 16 loads of neighbouring words from a row of `ta`, which the compiler turns into 4
#   loads of 16 bytes per lane. Each of these takes two passes: 8 passes.
#
# That makes 30 passes for 16 steps. With tiles of 32, a warp makes 2 + 2 + 32 + 16 = 52
# passes for 32 steps. The machine code has 5.8 instructions per step with tiles of 16,
# 4.0 with tiles of 32, and 3.0 with tiles of 32 in C++.

# %%
show_bound("unsigned", 1 + 1, 7.75)
show_bound("tiles of 16", 30 / 16, 5.8)
show_bound("tiles of 32", 52 / 32, 4.0)
show_bound("C++, of 32", 52 / 32, 3.0)

# %% [markdown]
# Compared with `unsigned`, tiles of 16 load a sixteenth of the bytes, but make only 6 %
# fewer passes. The table also has both kinds of kernels in CUDA C++, and cuBLAS, the
# library that PyTorch calls. TF32 is off, so cuBLAS computes in true float32. (With
# TF32, it would round the inputs to 10 bits of mantissa, in order to use tensor cores.)
# Write down how fast tiles of 16 and of 32 will be, relative to cuBLAS. For tiles of
# 32, your `gemm_ragged` is compiled again with another `TILE`.

# %%
guess = {"tiles of 16": None, "tiles of 32": None, "C++, tiles of 32": None}

ladder = chapter.measure.ladder(
    gemm_naive, gemm_coalesced, gemm_ragged, guess
)
ladder

# %% tags=["solution"]
ladder.expect("tiles of 16", at_least=1.1, times="unsigned")
ladder.expect("tiles of 32", at_least=1.1, times="unsigned")
ladder.expect("tiles of 16", at_least=4, times="coalesced")
ladder.expect("cuBLAS", at_least=3.5, times="tiles of 32")

# %% [markdown] tags=["solution"]
# If you expected 16 or 32 times the speed of `unsigned`, you counted bytes. The tiles
# removed traffic that was not the bottleneck, because caches already answered most of
# the direct kernel's requests. The gain of the tiles probably comes from loads that no
# longer wait for L2, from fewer passes, and from fewer instructions.
#
# The count shows what still limits the kernel. A multiply-add needs two operands, and
# both come from shared memory: three passes for two steps. At that rate, the
# multipliers can be busy for no more than a sixth of the time, however large the tile.
# The remedy is to use an operand more than once after it has been read. For that, a
# thread has to compute several elements of `c`, with their sums in registers, which is
# the subject of chapter 19.

# %% [markdown] tags=["solution"]
# Is `gemm_ragged` right for every shape on the GPU? Here it computes 125 products, with
# each of 1, 31, 127, 129 and 1000 for m, for n and for k, and their errors are measured
# against float64:

# %% tags=["solution"]
chapter.measure.show_errors(gemm_ragged)

# %% [markdown]
# ## 6 · A transposed operand
#
# A BLAS call has two more arguments, one letter each for `a` and `b`: with N the matrix
# is used as it is, and with T it is transposed. Layers of a network store their weights
# as (outputs, inputs) and multiply by the transpose, `x @ w.T`. So let **`b` be (n,
# k)** and compute `alpha * a @ b.T + beta * c`.
#
# You could use the view `b.T`, whose element (`i`, `col`) is `b[col, i]`. But then a
# warp that loads a tile would go down a column of `b`. The columns of `c` that a block
# computes belong to the rows of `b` from `blockIdx.x * TILE` on. So let thread (`tx`,
# `ty`) load from row `blockIdx.x * TILE + ty`, along that row, and transpose the tile
# **in shared memory**: either when you store it, or when you read it.
#
# Then either the store or the read goes down a column of the tile, and chapter 13 has
# the cure: rows that are wider than the tile. Blocks are 16 wide here, so a warp has
# *two* of their rows, `ty` and `ty + 1`, and the right width is not obvious. The next
# cell counts the passes of both ways:

# %%
passes = chapter.bounds.passes  # of one request, given its words
warp = [(tx, ty) for ty in (0, 1) for tx in range(16)]

for width in (16, 17, 20, 24):
    along = passes([width * ty + tx for tx, ty in warp])  # tb[ty, tx]
    down = passes([width * tx + 5 for tx, ty in warp])  # tb[tx, 5]
    turned = passes([width * tx + ty for tx, ty in warp])  # tb[tx, ty]
    print(f"width {width}: store tb[ty, tx] {along}, read tb[tx, i] {down};")
    print(f"          store tb[tx, ty] {turned}, read tb[i, tx] 1")

# %% [markdown]
# Try other widths until, in one of the two ways, both the store and the read take a
# single pass. The check allows no bank conflicts. The shape of a shared array has to be
# written in numbers or names of constants: an expression with a name in it, such as
# `TILE + 1`, does not compile for a GPU. This time you write the whole kernel: only its
# signature is given.
#
# ```python
# gemm_transposed(alpha, a, b, beta, c)    # b is (n, k); TILE x TILE threads
# ```
#
# Stuck? `hint("gemm_transposed")`.

# %%
@cuda.jit
def gemm_transposed(alpha, a, b, beta, c):
    """Write alpha * a @ b.T + beta * c into c; b is (n, k)."""
    # about 21 lines, most of them from exercise 5
    # BEGIN SOLUTION
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]
    total = float32(0)
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, 18), float32)
    other = cuda.blockIdx.x * TILE + ty  # row of b

    for start in range(0, k, TILE):
        i = start + tx
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[tx, ty] = b[other, i] if other < n and i < k else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION

# %%
check(
    gemm_transposed,
    spec=lambda alpha, a, b, beta: checks.gemm(alpha, a, b.T, beta),
    inputs=checks.with_turned,
    out=lambda alpha, a, b, beta: checks.before(
        alpha, a, b.T, beta
    ),
    sized=checks.sized,
    because=checks.not_turned,
    sizes=[(16, 16, 16, 1), (1, 1, 1, 0), (17, 20, 18, 2), (5, 24, 24, 1)],
    launch=launch_tiles,
    full=(129, 1000, 127, 0),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
)

# %% [markdown] tags=["solution"]
# `other` is a row of `b`, which becomes a column of `c`: it is computed from
# `blockIdx.x` and `ty`, whereas `col` is computed from `blockIdx.x` and `tx`. Once the
# tile has been transposed, nothing differs from exercise 5.
#
# When the tile is stored transposed in rows of 18 words, lane (`tx`, `ty`) uses bank
# (18 `tx` + `ty`) mod 32. In the warp's first row of threads, each `tx` has its own
# even bank, and in the second row it has the odd bank after that. With rows of 17
# words, the usual padding, two lanes use the same bank. For tiles of 32, where a warp
# is one row of threads, rows of 33 words are right.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: the direct
# kernels, three ways to a transpose, and the product on one core of the CPU. The code
# is in the modules of `chapters/18_gemm_tiles`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### The direct kernels
#
# Write down how fast each of the direct kernels will be, relative to cuBLAS (1.0). The
# bounds above help, and so does the peak of 67 TFLOP/s.

# %%
guess = {"naive": None, "coalesced": None, "unsigned": None, "C++": None}

direct = chapter.measure.direct(gemm_naive, gemm_coalesced, guess)
direct

# %% tags=["solution"]
direct.expect("coalesced", at_least=1.8, times="naive")
direct.expect("unsigned", at_least=2.3, times="coalesced")
direct.expect("cuBLAS", at_least=5, times="unsigned")

# %% [markdown] tags=["solution"]
# `naive` reaches its bound almost exactly, so only its passes limit it. It waits for a
# unit that serves its lanes one by one, from a cache that contains nearly all they
# need. `coalesced` no longer has this problem, but now its 36.5 instructions set the
# time. Most of them are integer instructions, of which an SM executes only half as many
# per cycle as float32 additions, so the kernel does not reach its bound either.
# `unsigned` computes the same sums with a fifth of the instructions. C++ is a little
# faster: its indices are `int`, and need not be tested.
#
# Neither `unsigned` nor C++ reaches its bound. Where a request misses the L1 cache, a
# warp waits, and how far it gets before it has to wait depends on the order of its
# instructions. `gemm_two_rounds` in `kernels.py` differs from `unsigned` only in its
# last lines, which have `beta * c` in one expression:

# %% tags=["solution"]
rounds = chapter.measure.rounds()
rounds

# %% [markdown] tags=["solution"]
# Nearly all of the time is spent in the loop, and in Python the two loops are the same.
# In machine code, one iteration of the loop does four steps. In `unsigned`, all eight
# loads come first, and then four multiply-adds: one wait per iteration. With the other
# last lines, the compiler allocates registers differently, and puts the first
# multiply-add before the last three loads. That makes two waits per iteration. This is
# what we found in the machine code for an H200; another version of the compiler may
# choose otherwise. In any case, the kernel waits for its loads, and its speed depends
# on how many of them are in flight.

# %% [markdown]
# ### Three ways to a transpose
#
# The table compares ways to compute `a @ b.T`, where `b` is (4096, 4096). Both the
# direct kernel and `gemm_ragged` run on the view `b.T`, and your `gemm_transposed` runs
# on `b`. For comparison, `gemm_ragged` also runs on a matrix that needs no transposing.
# Count first: how many passes does each request for an element of the view take, and
# how many such requests does a warp make in 16 steps? How fast will the kernels be,
# relative to cuBLAS?

# %%
guess = {"direct, on the view": None, "tiles, on the view": None, "yours": None}

turned = chapter.measure.turned(gemm_ragged, gemm_transposed, guess)
turned

# %% tags=["solution"]
turned.expect("yours", at_least=5, times="direct, on the view")
turned.expect("yours", at_least=1.1, times="tiles, on the view")
turned.expect("yours", at_least=0.75, times="tiles, not transposed")

# %% [markdown] tags=["solution"]
# On the view, the load of `b` in the direct kernel touches 32 lines in each step, like
# the load of `a` in the naive kernel. The tiled kernel makes such a load only once in
# 16 steps, and the load takes 16 passes instead of 2. That is 44 passes per stage
# instead of 30, so the kernel is somewhat slower, but by no means sixteen times. If a
# transposed operand is read along its rows and transposed in shared memory, it takes no
# extra time.

# %% [markdown]
# ### On one core
#
# Written as a program, the definition is three nested loops: `python_gemm` in
# `on_cpu.py`. Here is the same product in C, twice. In `dot` the innermost loop runs
# over `i`, as in Python: it multiplies a row of `a` by a column of `b`. In `rows` the
# two inner loops are exchanged. The products are the same, and for each element they
# are added in the same order. What differs is where in memory the next element of `b`
# is.

# %% language="c" magic_args="sgemm" tags=["given"]
# void dot(int m, int n, int k, const float *a, const float *b, float *c)
# {
#     for (int row = 0; row < m; row++)
#         for (int col = 0; col < n; col++) {
#             float total = 0;
#             for (int i = 0; i < k; i++)
#                 total += a[row * k + i] * b[i * n + col];
#             c[row * n + col] = total;
#         }
# }
#
# void rows(int m, int n, int k, const float *a, const float *b, float *c)
# {
#     for (int row = 0; row < m; row++) {
#         for (int col = 0; col < n; col++)
#             c[row * n + col] = 0;
#         for (int i = 0; i < k; i++)
#             for (int col = 0; col < n; col++)
#                 c[row * n + col] += a[row * k + i] * b[i * n + col];
#     }
# }

# %%
terminal("gcc -Wall -O3 -march=native -fPIC -shared sgemm.c -o libsgemm.so")

# %% [markdown]
# How many operations per second does each program reach on one core? Python multiplies
# matrices of 96 × 96, and C multiplies matrices of 512 × 512, so compare their rates,
# not their times. The last row is PyTorch's product on the CPU, computed by a BLAS. A
# core runs at about 3 billion cycles per second. Guess first: how many times as fast as
# Python is `dot`, and how many times as fast is `rows`?

# %%
slow = chapter.on_cpu.slow()
slow

# %%
cpu = chapter.on_cpu.cpu()
cpu

# %% [markdown] tags=["solution"]
# `dot` walks down a column of `b`. The next element is always 2 KB further on, so each
# iteration touches another cache line and uses 4 bytes of it. Also, its additions form
# a chain, in which each waits for the one before. `rows` walks along rows of `b` and
# `c`. The elements are neighbours in memory, there is no chain, and the compiler
# handles 8 or 16 of them at a time. **The arithmetic is the same, in another order**:
# remember this. On the same core, the library is faster still, because it works in
# tiles, as this chapter and the next do.

# %% [markdown]
# ### If you want more
#
# - Transpose the other operand: store `a` as (k, m), and compute `a.T @ b`. In which
#   direction do the lanes read now, and is any padding needed?
# - Remove the padding from `gemm_transposed`. Count the passes of a stage, predict the
#   kernel's time from them, then measure.
# - One barrier per stage is enough if there are two pairs of tiles, used in turns. Say
#   why, write this kernel, and measure it. What does the second pair of tiles cost?
# - With tiles of 16 along k, half of the threads in a block of 32 × 32 would have
#   nothing to load for `a`, and half nothing for `b`. Let the first 512 threads load
#   `a` and the others `b`. Is this faster?
# - What happens to these kernels at 64 × 64 × 65,536? How many blocks are there, and
#   how many SMs? Let several blocks share one tile of `c` and split k between them.
# - Operands in float16, 2 bytes each, halve the traffic. Which of a step's three
#   numbers (passes, instructions, bytes) would change for `gemm_ragged`, and by how
#   much?

# %% [markdown]
# ## What you learned
#
# 1. SGEMM is `c = alpha * a @ b + beta * c`, and with beta = 0 `c` is never read.
# 2. A step costs passes, instructions and bytes. Count all three: whichever takes
#    longest sets the time.
# 3. If neighbouring lanes have neighbouring columns, a step takes 2 passes instead of
#    33. With indices that cannot be negative, the kernel executes only a fifth of the
#    instructions.
# 4. Tiles of T × T divide the bytes by T, but each multiply-add still takes both
#    operands from the unit that makes one pass per cycle.
# 5. Any size works with a guard at each access, zeros in the tiles, and all threads at
#    all barriers.

# %%
quiz()
