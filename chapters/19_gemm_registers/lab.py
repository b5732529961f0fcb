# %% [markdown]
# # 19 · GEMM in registers
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/19_gemm_registers.ipynb)
#
# **After this lab, you can**
#
# - keep a tile of results in the registers of each thread, in one dimension and in two,
#   and say what each saves;
# - load 128 bits at a time, and transpose a tile without bank conflicts;
# - calculate threads, shared memory, registers and busy SMs for any choice of tiles,
#   and choose parameters accordingly;
# - read a kernel with double buffering, asynchronous copies and software pipelining,
#   and find its inner loop in the machine code;
# - write a small autotuner, and compare SGEMM in Python with cuBLAS.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 8.0 or higher and 2 GB of free
# memory. (Colab's free T4 has compute capability 7.5.)

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import itertools
import re
import time

import numpy as np
from numba import cuda, float32, int32, int64

from weft import check, hint, quiz
from weft.intrinsics import load4, store4

chapter = weft.lab("19_gemm_registers")
checks = chapter.checks

# %% [markdown]
# ## Where chapter 18 ended
#
# The task is the same: `c = alpha * a @ b + beta * c`, row-major, float32, **any m, n
# and k**, and `c` is not read if beta is 0. The best kernel so far computes one element
# of `c` per thread, from tiles of 32 × 32 in shared memory. It reaches about a sixth of
# cuBLAS's speed.
#
# Its innermost line, `total += ta[ty, i] * tb[i, tx]`, shows why. For each
# multiply-add, a warp loads two operands from shared memory. An SM can multiply and add
# for four warps per cycle, but its shared memory serves only **one** request of a warp
# per cycle. So loading the operands of a multiply-add takes two cycles, but the
# multiply-add itself takes only a quarter of a cycle. Loading is eight times too slow,
# and no tile size changes that, because tiles save loads from global memory, not from
# shared memory.
#
# Only one memory can give each thread three operands in every cycle: its registers. So
# each value must be used more than once *after* it has been loaded from shared memory.
# The table shows how much this saves in each **k-step**, that is, in each iteration of
# the inner loop over a tile's columns:
#
# | results per thread | loads per k-step | multiply-adds | loads per multiply-add |
# | --- | ---: | ---: | ---: |
# | 1 | 2 | 1 | 2 |
# | a column of 8 | 9 | 8 | 1.125 |
# | 8 × 8 | 16 | 64 | 0.25 |
# | 8 × 8, four at a time | 4 | 64 | 0.0625 |
#
# You will write a kernel for each of the last three rows. The piece of `c` whose sums a
# thread keeps in registers is called its **register tile**.

# %% [markdown]
# ## 1 · A column for each thread
#
# A block computes a **BM × BN** tile of `c`, and walks along k in **iterations** of
# **BK**. Each thread keeps **TM** results, one below another in one column. So it uses
# each element of `tb` that it loads TM times.
#
# Here BM = BN = 32, BK = 8 and TM = 4, because small numbers keep the simulator quick.
# On a GPU the same kernel is compiled with larger numbers. Use the names, not the
# numbers: the check runs your kernel with other values too, here and in the next two
# exercises. If you need a value that follows from them, such as `BN // TN`, compute it
# inside the kernel, since a global variable would keep its old value. (The shape of an
# array takes only names: `(TM, TN)`, not their product.)
#
# A block has BM × BN / TM = 256 threads, and each of the two tiles in shared memory has
# 256 elements, one for each thread to load.
#
# - Thread `t` loads element `t` of `ta` and element `t` of `tb`, counted along the
#   rows. Elements outside the matrices are zeros.
# - Its results are in column `t % BN` of the block's tile, in the TM rows from
#   `t // BN * TM` on.
# - Each thread has its own array `sums`. If all of its indices are known when the
#   kernel is compiled, as in a loop `for j in range(TM)`, the array is kept in
#   registers.
#
# ```python
# gemm_1d(alpha, a, b, beta, c)   # (m, k), (k, n), in place (m, n); 256 threads
# ```
#
# `cuda.threadIdx.x` is converted to an `int32`, and so are the block's first row and
# column; the ladder below measures whether this helps. The check counts each thread's
# loads from shared memory, TM + 1 per k-step, and the block's barriers. Stuck?
# `hint("gemm_1d")`; there are three hints.

# %% tags=["given"]
BM, BN, BK = 32, 32, 8  # the block's tile of c, and one iteration along k
TM, TN = 4, 4  # the thread's
kept = {"float64": 0, "local": 0}  # in registers, and in float32


def tiles(m, n, k, beta):
    """Return the grid for a c of (m, n)."""
    return -(-n // BN), -(-m // BM)

# %%
@cuda.jit
def gemm_1d(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, TM rows of a column per thread."""
    ta = cuda.shared.array((BM, BK), float32)
    tb = cuda.shared.array((BK, BN), float32)
    sums = cuda.local.array(TM, float32)
    m, n, k = int32(c.shape[0]), int32(c.shape[1]), int32(a.shape[1])
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    # about 25 lines
    # BEGIN SOLUTION
    row, col = t // int32(BN) * int32(TM), t % int32(BN)
    ra, ka = t // int32(BK), t % int32(BK)  # what this thread loads
    rb, cb = t // int32(BN), t % int32(BN)

    for j in range(TM):
        sums[j] = float32(0)

    for start in range(int32(0), k, int32(BK)):
        ta[ra, ka] = float32(0)
        if row0 + ra < m and start + ka < k:
            ta[ra, ka] = a[row0 + ra, start + ka]
        tb[rb, cb] = float32(0)
        if start + rb < k and col0 + cb < n:
            tb[rb, cb] = b[start + rb, col0 + cb]
        cuda.syncthreads()

        for i in range(int32(BK)):
            value = tb[i, col]
            for j in range(TM):
                sums[j] += ta[row + int32(j), i] * value
        cuda.syncthreads()

    for j in range(TM):
        r, s = row0 + row + int32(j), col0 + col
        if r < m and s < n:
            total = alpha * sums[j]
            if beta != 0:
                total += beta * c[r, s]
            c[r, s] = total
    # END SOLUTION

# %%
check(
    gemm_1d,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sizes=[(32, 32, 16, 1), (1, 1, 1, 0), (37, 20, 11, 2)],
    launch=lambda *size: (tiles(*size), BM * BN // TM),
    full=(1000, 129, 127, 2),
    limits={"bank_conflicts": 0, "loads": 9, "barriers": 5}
    | {"shared_loads": 96}
    | kept,
    constants=[{"BM": 64, "BN": 64, "BK": 4, "TM": 16}],
)

# %% [markdown] tags=["solution"]
# `value` is loaded once and used TM times. The other operand, `ta[row + j, i]`, is the
# same word for all lanes of a warp, so a load takes a single pass, but every
# multiply-add needs such a load. That makes TM + 1 loads for TM multiply-adds, whereas
# chapter 18's kernel made 2 TM. So nearly half of the loads are saved, but never more
# than half, however large TM is.

# %% [markdown]
# ## 2 · A square for each thread
#
# Now each thread keeps TM × TN results. In each k-step it loads TM elements of a column
# of `ta` and TN elements of a row of `tb`, its **fragments** `fa` and `fb`, and
# multiplies each of the TM elements by each of the TN: **an outer product in
# registers**. Loads grow with TM + TN, but multiply-adds grow with TM × TN.
#
# A block has BM × BN / (TM × TN) = 64 threads, called `THREADS`. Its tiles still have
# 256 elements each, so each thread loads several. Which results does a thread compute?
# They are not a compact square: if thread `x` had the columns from `4 * x` on,
# neighbouring lanes would read words that are 4 apart. With a **stride** between a
# thread's columns, neighbouring lanes read neighbouring words. Let `x` be
# `t % (BN // TN)`, and `y` be `t // (BN // TN)`. The thread's columns are `x`,
# `x + BN // TN`, `x + 2 * (BN // TN)` and so on, TN in total. Its rows are `y`,
# `y + BM // TM` and so on. The check allows no bank conflicts, and it tries other
# values of the constants too.
#
# Two helpers take care of the guards: `load(x, row, col)` returns the element, or 0
# outside the matrix, and `put(c, row, col, total, alpha, beta)` does what the end of
# exercise 1 did, guard included. Stuck? `hint("gemm_2d")`.
#
# ```python
# gemm_2d(alpha, a, b, beta, c)   # 64 threads
# ```

# %% tags=["given"]
THREADS = BM * BN // (TM * TN)
load, put = chapter.kernels.load, chapter.kernels.put

# %%
@cuda.jit
def gemm_2d(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, TM x TN elements per thread."""
    ta = cuda.shared.array((BM, BK), float32)
    tb = cuda.shared.array((BK, BN), float32)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    # about 27 lines
    # BEGIN SOLUTION
    x, y = t % int32(BN // TN), t // int32(BN // TN)
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)

    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        for cell in range(t, int32(BM * BK), int32(THREADS)):
            r, s = cell // int32(BK), cell % int32(BK)
            ta[r, s] = load(a, row0 + r, start + s)
        for cell in range(t, int32(BK * BN), int32(THREADS)):
            r, s = cell // int32(BN), cell % int32(BN)
            tb[r, s] = load(b, start + r, col0 + s)
        cuda.syncthreads()

        for p in range(int32(BK)):
            for i in range(TM):
                fa[i] = ta[y + int32(i * (BM // TM)), p]
            for j in range(TN):
                fb[j] = tb[p, x + int32(j * (BN // TN))]
            for i in range(TM):
                for j in range(TN):
                    sums[i, j] += fa[i] * fb[j]
        cuda.syncthreads()

    for i in range(TM):
        for j in range(TN):
            r = row0 + y + int32(i * (BM // TM))
            s = col0 + x + int32(j * (BN // TN))
            put(c, r, s, sums[i, j], alpha, beta)
    # END SOLUTION

# %%
check(
    gemm_2d,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sizes=[(32, 32, 16, 1), (1, 1, 1, 0), (37, 20, 11, 2)],
    launch=lambda *size: (tiles(*size), THREADS),
    full=(1000, 129, 127, 2),
    limits={"bank_conflicts": 0, "loads": 40, "barriers": 5}
    | {"shared_loads": 144, "otherwise": {"bank_conflicts": 0}}
    | kept,
    constants=[
        {"BM": 16, "BN": 64, "BK": 16, "TM": 8, "TN": 16, "THREADS": 8}
    ],
)

# %% [markdown] tags=["solution"]
# Each element of the fragment `fa` is loaded once and used TN times, and each element
# of `fb` TM times. With 8 × 8 results, a thread needs 64 registers for the sums and 16
# for the fragments. With addresses and other values, the kernel compiled for the ladder
# below needs 177. An SM has 65,536 registers, so it holds only one block of 256
# threads, or 8 warps. But the 64 multiply-adds of a k-step do not depend on each other,
# and independent instructions also hide latency, at least that of the multiply-adds
# themselves.

# %% [markdown]
# ## 3 · 128-bit loads
#
# Sixteen 32-bit loads for 64 multiply-adds are still many instructions. `load4` loads
# 128 bits, or four neighbouring numbers, with one instruction.
#
# In **global memory**, `four(x, row, col)` loads four neighbours of a row. If the width
# of `x` is not a multiple of 4, most rows do not begin on a 16-byte boundary, so `four`
# then makes four loads of one element each.
#
# In **shared memory**, `fb` is a part of a row of `tb`, and needs no change. But `fa`
# is a part of a *column* of `ta`. So transpose the tile of `a` while storing it: `ta`
# is now (BK, BM), and its rows are the former columns. A thread that has loaded four
# neighbours from a row of `a` stores them one below another.
#
# - 64 threads load the 256 elements. Thread `t` loads four elements of row
#   `t // (BK // 4)` of the tile of `a`, which is `t // 2` with BK = 8, from column
#   `4 * (t % 2)` on.
# - In the first of its four stores, it writes row `4 * (t % 2)`, column `t // 2` of
#   `ta`: word `4 * (t % 2) * WIDTH + t // 2`.
# - With `WIDTH` = 32, even and odd lanes use the same banks.
#
# **Choose WIDTH** so that they use different banks. Rows must still begin on a 16-byte
# boundary. The check allows no bank conflicts, and it tries other values of the
# constants too.
#
# A thread's rows and columns now come in groups of four. With `x` and `y` as before,
# its columns are `4 * x` to `4 * x + 3`, then the four columns that are
# `4 * (BN // TN)` further on, and so on, TN columns in total. Its rows are chosen in
# the same way, from `4 * y` on. `put4` writes four neighbours of a row of `c`.
#
# ```python
# gemm_wide(alpha, a, b, beta, c)   # 64 threads; BM * BK == BK * BN == 4 * THREADS
# ```
#
# `alignment=16` makes an array begin on a 16-byte boundary. Stuck?
# `hint("gemm_wide")`.

# %% tags=["given"]
four, put4 = chapter.kernels.four, chapter.kernels.put4

# %%
# BEGIN SOLUTION
# was: WIDTH = 32  # choose: 36? 40? 33?
WIDTH = 36
# END SOLUTION


@cuda.jit
def gemm_wide(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, loading four at a time."""
    ta = cuda.shared.array((BK, WIDTH), float32, alignment=16)  # transposed
    tb = cuda.shared.array((BK, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)

    # about 33 lines
    # BEGIN SOLUTION
    x, y = t % int32(BN // TN), t // int32(BN // TN)
    ra, ka = t // int32(BK // 4), t % int32(BK // 4) * int32(4)
    kb, cb = t // int32(BN // 4), t % int32(BN // 4) * int32(4)
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)

    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        p = four(a, row0 + ra, start + ka)
        q = four(b, start + kb, col0 + cb)
        for i in range(4):
            ta[ka + int32(i), ra] = p[i]
        store4(tb, (kb, cb), q[0], q[1], q[2], q[3])
        cuda.syncthreads()

        for p in range(int32(BK)):
            for i in range(0, TM, 4):
                v = load4(ta, (p, int32(4) * y + int32(i * (BM // TM))))
                for e in range(4):
                    fa[i + e] = v[e]
            for j in range(0, TN, 4):
                v = load4(tb, (p, int32(4) * x + int32(j * (BN // TN))))
                for e in range(4):
                    fb[j + e] = v[e]
            for i in range(TM):
                for j in range(TN):
                    sums[i, j] += fa[i] * fb[j]
        cuda.syncthreads()

    for u in range(TM):
        r = row0 + int32(4) * y + int32(u // 4 * 4 * (BM // TM) + u % 4)
        for j in range(0, TN, 4):
            s = col0 + int32(4) * x + int32(j * (BN // TN))
            d, e = sums[u, j], sums[u, j + 1]
            f, g = sums[u, j + 2], sums[u, j + 3]
            put4(c, r, s, d, e, f, g, alpha, beta)
    # END SOLUTION

# %%
check(
    gemm_wide,
    spec=checks.gemm,
    inputs=checks.operands,
    out=checks.before,
    sizes=[(1, 1, 1, 0), (37, 22, 11, 2), (35, 36, 12, 1)],
    launch=lambda *size: (tiles(*size), THREADS),
    full=(1000, 132, 127, 2),
    limits={"bank_conflicts": 0, "load_bytes": 16, "store_bytes": 16}
    | {"shared_loads": 40, "barriers": 5, "otherwise": {"bank_conflicts": 0}}
    | kept,
    constants=[
        {"BM": 64, "BN": 64, "BK": 4, "TM": 8, "TN": 8, "WIDTH": 68}
    ],
)

# %% [markdown] tags=["solution"]
# What counts is `4 * WIDTH` modulo 32. With a WIDTH of 36 it is 16: the banks of the
# sixteen odd lanes begin 16 banks after those of the sixteen even lanes, and no bank is
# used twice. With a WIDTH of 33 the stores would also be free of conflicts, but only
# every fourth row would begin on a 16-byte boundary. (With BK = 16, four lanes load
# from the same row of `a`, and their stores would have to be 8 banks apart, which no
# WIDTH that is a multiple of 4 achieves. You would then swizzle, as in chapter 13, or
# stay with BK = 8.)

# %% [markdown]
# ## Measure: the ladder
#
# In each iteration, `gemm_wide` loads, waits, multiplies and waits. The loads do not
# begin until the multiplication has ended. `gemm_pipeline`, in `kernels.py`, does the
# same work, but it starts slow operations long before it needs their results, which is
# called **latency hiding**. The book's page explains its techniques; later you will
# choose its parameters.
#
# The product is 4096 × 4096 × 4096, or 137 GFLOP. Some rows change several things at
# once, as the list says; the chapter's page separates those of `pipelined`.
#
# - `tiles of 32`: where chapter 18 ended.
# - `a column of 8`: your `gemm_1d`, compiled for 64 × 64 results per block.
# - `8 x 8, int64`: your `gemm_2d` for 128 × 128, with `int64` instead of every `int32`.
#   How much do 32-bit indices save?
# - `8 x 8`: the same kernel with `int32`.
# - `by fours, no padding`, `by fours`: your `gemm_wide`, with WIDTH = 128 and 132.
# - `pipelined`: `gemm_pipeline`, still with 8 × 8 results per thread and 128 × 128 per
#   block. A warp's lanes are arranged 2 × 16, so its tile is 16 × 128.
# - `warp tiles`: the same with warp tiles of 64 × 32, that is, with 8 × 4 lanes.
# - `pairs`: the lanes of a warp numbered in pairs, one lane below the other.
# - `8 x 16`: blocks of 128 × 256 results, threads of 8 × 16, and so a quarter fewer
#   loads per multiply-add.
# - `serpentine`: `multiply` goes down one column and up the next.
#
# Write down the speeds that you expect, relative to cuBLAS with TF32 off. First, by
# hand: how many loads from shared memory does each row save? With 8 × 8 results, a
# k-step has 64 multiply-adds per thread, and those of one warp keep the arithmetic
# units of an SM busy for 16 cycles.

# %%
guess = {
    "tiles of 32": None,
    "a column of 8": None,
    "8 x 8": None,
    "by fours": None,
    "pipelined": None,
    "serpentine": None,
}

ladder = chapter.measure.ladder(gemm_1d, gemm_2d, gemm_wide, guess)
ladder

# %% [markdown] tags=["solution"]
# Some of these predictions go wrong, and each time something was missing from the
# estimate. The counts below are the profiler's. A *step* is one multiply-add of a warp,
# as in chapter 18.
#
# **A column** saves nearly half of the loads and a quarter of their passes, but is only
# a ninth faster. Each multiply-add now takes 6.6 instructions instead of 4.1, because
# the address of each operand `ta[row + j, i]` has to be computed. So now instructions
# are the limit: 86 % of the issue slots are used.
#
# **A square** needs only a quarter of a load per multiply-add, but is slower. The
# estimate counted passes and instructions, but no time spent *waiting*. In each
# iteration, a thread loads four elements of `a` and four of `b`, each after a guard,
# which is a branch, and stores each element before it loads the next. The compiler
# keeps the loads and stores in this order, so the thread waits for the eight loads one
# after the other. On an H200 a load takes about 0.35 µs (chapter 13), so eight
# loads take 2.8 µs. The 1024 blocks run in 8 waves of 132, with 512 iterations each, so
# waiting takes 8 × 512 × 2.8 µs = 11 ms, of 18 ms. This estimate is a little too high:
# according to the profiler, a warp spends 2.6 of its 5.8 cycles per instruction waiting
# for global memory, which is 8.2 ms. A thread also has so many registers that only one
# block fits on an SM, so there is no other work meanwhile. The book's page separates
# the two effects: with all loads before the first store, the kernel is 2.1 times as
# fast, and with a second block on each SM it is 1.5 times as fast. **32-bit indices**
# save 40 registers and 2 % of the instructions, which makes no difference to a kernel
# that waits.
#
# **By fours** is more than four times as fast. It waits twice per iteration instead of
# eight times, two blocks fit on an SM, and it executes only half the instructions and
# makes three quarters of the load passes. Each of these contributes (the book's page
# has the rows). The width of the loads from global memory contributes least. A warp of
# the square waits 7.7 cycles per step for global memory, and a warp of this kernel only
# 1.0. **Without padding** the kernel is as fast, to within one or two per cent: the
# conflicting stores take 4 extra passes per warp and iteration, whereas the loads of
# fragments take 96. So the padding on which the check insists gains next to nothing
# here.
#
# **Pipelined** is about a third faster. Warps hardly wait for global memory any more:
# less than 0.1 of their 4.5 cycles per instruction.
#
# **Warp tiles** and **pairs** gain next to nothing. Count passes: a 128-bit request
# takes 4 passes, or 2 where neighbouring lanes need the same words (the book's page has
# the rule). With 2 × 16 lanes, `ta` takes 2 × 2 passes per k-step and `tb` takes 2 × 4,
# together 12. 8 × 4 lanes numbered row by row also take 12 passes, although they need
# fewer distinct numbers; lanes in pairs take 8. The profiler counts the same numbers.
# But the multiply-adds of a k-step take 16 cycles, so passes were not the limit before,
# and they are even less so now. The share of issue slots used stays at 81 %.
#
# **8 × 16** is the last large gain. In an iteration, the loop's overhead is now shared
# by 1024 multiply-adds per thread instead of 512. So each multiply-add takes 1.13
# instructions instead of 1.22, and 85 % of the issue slots are used instead of 81 %.
#
# **Serpentine** is slightly slower, at least with this compiler. The machine code at
# the end of the lab may show why.

# %% [markdown]
# ## 4 · What a choice costs
#
# `gemm_pipeline` has a dozen parameters. Most combinations are impossible, and most of
# the possible ones are slow. You can see both without a GPU, from four numbers:
#
# - **threads** of a block: they share BM × BN results, and each computes TM × TN;
# - **bytes** of shared memory: `stages` pairs of tiles, with BK rows of BM + 4 floats
#   in `ta` and BK rows of BN floats in `tb`; a block may declare 49,152 bytes;
# - **registers** of a thread that hold floats: the sums and two pairs of fragments.
#   (Addresses take about 60 more, which your function does not count; the limit is
#   255.)
# - **loads**: 128-bit loads from shared memory per multiply-add.
#
# ```python
# needs(BM, BN, TM, TN, BK, stages)   # -> threads, bytes, registers, loads
# ```
#
# Stuck? `hint("needs")`.

# %%
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    # about 5 lines
    # BEGIN SOLUTION
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN)
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
    # END SOLUTION

# %%
check(
    needs,
    spec=checks.needed,
    inputs=[
        (128, 128, 8, 8, 8, 3),
        (128, 256, 8, 16, 8, 3),
        (64, 128, 8, 8, 16, 2),
        (64, 32, 4, 8, 8, 4),
    ],
)

# %% [markdown]
# ## 5 · Do the tiles fill the machine?
#
# 4096 × 4096 results in tiles of 128 × 256 take 512 blocks. An H200 runs 132 of them at
# a time, one per SM, in 3 full waves and a fourth with 116 blocks. But 4095 × 4097
# results take 32 rows and 17 columns of blocks, and the last column of blocks has a
# single column of results.
#
# Write a function that returns the share of the machine's time that is spent on results
# inside the matrix. Assume that every wave takes as long as a full wave, and every
# block as long as a full block. `slots` is how many blocks run at a time. Stuck?
# `hint("busy")`.
#
# ```python
# busy(m, n, BM, BN, slots)   # five integers -> a share, 0 to 1
# ```

# %%
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    # about 4 lines
    # BEGIN SOLUTION
    blocks = -(-m // BM) * -(-n // BN)
    waves = -(-blocks // slots)
    return m * n / (waves * slots * BM * BN)
    # END SOLUTION

# %%
check(
    busy,
    spec=checks.shared_out,
    inputs=[
        (4096, 4096, 128, 256, 132),
        (1000, 129, 64, 128, 8),
        (4095, 4097, 128, 256, 132),
        (256, 256, 64, 64, 16),
        (64, 128, 64, 128, 4),
    ],
    because=checks.why_not,
)

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: the tuner, the
# tuned kernel compared with cuBLAS, two tests of its results, and its machine code. The
# code is in `measure.py` and the kernels are in `kernels.py` and `even.py`, all in
# `chapters/19_gemm_registers`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Tune
#
# A tuner is a loop: leave out choices that cannot work, compile the others, time each
# of them on each shape, and keep the fastest. It need not be clever if the list is
# short, and your functions shorten the list. In the list that the next cell prints, two
# choices are impossible, and `needs` shows why.
#
# The kernel that is tuned is `gemm_even`, in `even.py`, whose inner loop is the
# serpentine's, with cheaper indices. For each shape, the table has two lines of speeds
# in TFLOP/s, with a column for each possible choice, and the name of the fastest. The
# first line is for whole tiles. In the second, the last wave is *even*: its tiles are
# cut along k, so that all SMs finish together. The next section shows what the cheaper
# indices and the even last wave are worth.
#
# Which of the choices will win at 1024 × 1024, and which at 8192 × 8192?

# %%
searched = chapter.measure.tune(needs, busy)

# %% tags=["solution"]
if weft.GPU:
    from weft.bench import results

    case = {"case": "the search", "name": "all shapes", "unit": "s"}
    results.record("19_gemm_registers", [case | {"value": round(searched)}])

# %% [markdown] tags=["solution"]
# At 1024 × 1024, `busy` decides: on an H200, whole tiles of the largest size leave most
# SMs without a block, and are slower by a factor of three. At 8192, all SMs are busy
# whatever the tile, and a large tile wins, probably because it makes few loads. At
# sizes in between, the choices are closer to each other. At ragged shapes, the edges
# decide: at 4095 × 4097, whole tiles of 128 × 256 need a fifth wave, as you computed.
#
# The search takes less than a minute for six choices and eight shapes, compilation
# included.

# %% [markdown]
# ### Cheaper indices, and no last wave
#
# Here is what makes `gemm_even` faster than `gemm_pipeline`, one change added to the
# other, with tiles of 128 × 256:
#
# - `serpentine`: `gemm_pipeline`, as in the ladder;
# - `running indices`: a thread has one index into each matrix, which runs along, in 32
#   bits. In `gemm_pipeline`, each iteration computes all addresses anew, from rows and
#   columns. (The order of the tiles is also different: eight rows of tiles at a time.)
# - `even`: the last wave of tiles is cut into 132 equal parts, one for each SM. (Read
#   `plan_of` in `even.py`.)
#
# Estimate first, with `busy`: how much can *even* gain at 4096, and how much at 8192,
# where 2048 tiles take 15 waves and a half?

# %%
last_wave = {n: chapter.measure.last_wave(n) for n in (4096, 8192)}
last_wave[4096]

# %%
last_wave[8192]

# %% [markdown] tags=["solution"]
# At 4096, the tiles fill 512 of 4 × 132 places, and at 8192, they fill 2048 of
# 16 × 132. Both are 97 %, so *even* could gain about 3 % at both sizes. The parts of
# tiles go through memory once more, which takes part of the gain.

# %% tags=["solution"]
for table in last_wave.values():
    table.expect("even", at_least=0.97)

# %% [markdown]
# ### Compared with cuBLAS
#
# Here is the tuned kernel on all eight shapes. Where n is not a multiple of 4, as in
# most of the ragged shapes, the time includes copying `b` into a wider matrix.

# %%
squares, ragged = chapter.measure.squares, chapter.measure.ragged
beside = chapter.measure.beside

results_by_shape = {shape: beside(shape) for shape in squares + ragged}
for shape, table in results_by_shape.items():
    if len(table) and table["tuned"].measured:
        rates = [table[name].rate / 1e12 for name in ("cuBLAS", "tuned")]
        share = table["tuned"].ratio
        text = "cuBLAS {:5.1f}, tuned {:5.1f} TFLOP/s".format(*rates)
        print(f"{'x'.join(map(str, shape)):15} {text}: {share:.1%}")

# %%
results_by_shape[4096, 4096, 4096]

# %%
results_by_shape[1024, 1024, 1024]

# %% tags=["solution"]
for shape in squares:
    least = 0.9 if shape[0] >= 4096 else 0.85
    results_by_shape[shape].expect("tuned", at_least=least)

# %% [markdown] tags=["solution"]
# The kernel is faster than the library on large squares and where there are few tiles,
# and never below nine tenths of its speed. (For both kernels, the small shapes are
# timed with a cold cache.) At 3333 × 777 × 5555, seven columns of tiles cover 896
# columns, although only 777 are needed.

# %% [markdown]
# ### Is it right?
#
# In the simulator a copy arrives only when a thread waits for it, and its destination
# is emptied as soon as the copy starts. So a small run shows whether `gemm_pipeline`
# and `gemm_even` wait where they have to. The sizes are ragged in all directions:

# %%
chapter.measure.tried()

# %% [markdown]
# The next cell tests every combination of 1, 31, 127, 129 and 1000 for m, n and k, with
# beta 0 and 2, for a wide and a narrow tile, and then the eight shapes above. It
# computes the relative error, in the norm, against float64, for numbers between 0
# and 1. (With both signs, a sum can nearly vanish, and then no float32 sum is close to
# it in relative terms.)

# %%
worst, greatest = chapter.measure.verified()

# %% tags=["solution"]
if weft.GPU:
    from weft.bench import results

    case = {"case": "relative error", "unit": "× 10⁻⁷"}
    rows = [
        case | {"name": name, "value": float(f"{error * 1e7:.3g}")}
        for name, error in {"ragged": worst, "tuned": greatest}.items()
    ]
    results.record("19_gemm_registers", rows)

# %% [markdown]
# ### The inner loop
#
# What does the GPU execute? If NVIDIA's `nvdisasm` is installed, Numba can show the
# machine code (SASS) of a compiled kernel. The inner loop is the longest stretch of
# code between a label and a branch back to it. Of its instructions, only the
# multiply-adds, FFMA, are the work itself. How large is their share? Is anything in
# local memory? How many multiply-adds are marked `.reuse`? The mark keeps an operand
# for the next instruction, which then need not read it from the registers again.

# %%
loops = chapter.measure.inner_loops()

# %% tags=["solution"]
if loops.get("serpentine"):
    from weft.bench import results

    case = {"case": "the inner loop", "unit": ""}
    rows = [
        case | {"name": f"{name}: {what}", "value": value}
        for name, loop in loops.items()
        for what, value in loop.items()
    ]
    results.record("19_gemm_registers", rows)

# %% [markdown] tags=["solution"]
# In the larger kernels, nearly nine tenths of the loop's instructions are
# multiply-adds, and nothing is in local memory. The 8 × 8 kernel spills a few words,
# because it is limited to 128 registers, so that two blocks fit on an SM.
#
# A multiply-add reads three registers. On Volta, registers were found to be in two
# banks, and reading three from the same bank is slow. In the serpentine, only one
# operand changes from each product to the next, so its code has more `.reuse` marks. It
# is nevertheless slower, so the marks alone do not decide. The profiler's counts are
# nearly the same for both, with 83 % of the issue slots used instead of 85 %. With each
# change of the source, the assembler decides anew which registers hold the sums, and so
# which operands collide. So treat the serpentine as one more parameter: let a tuner
# decide.
#
# You can also compute the ceiling. If an instruction were issued in every slot, the
# share of multiply-adds, times 97 % for the waves of blocks, would give 57 of 67
# TFLOP/s. The profiler counts 85 % of the slots used, and 1.132 instructions per
# multiply-add: 0.85 / 1.132 × 66.9 = 50.2 TFLOP/s, which is within one per cent of the
# measured speed. cuBLAS uses 87 % of the slots, with 1.131 instructions. So its
# schedulers issue nothing in 13 % of the cycles, compared with 15 % in our kernel. Its
# warps are held at dispatch for 0.1 of 2.2 cycles per instruction, and those of our
# kernel for 0.2 of 2.3.

# %% [markdown]
# ### If you want more
#
# - Add choices to the tuner. How do `SNAKE=0` and `STAGES=2` change the speed of each
#   choice? Are there better warp tiles than 64 × 64?
# - A small result and a large k: 256 × 256 × 65,536 has eight tiles of 64 × 128 for 132
#   SMs. Split k between blocks, let each block write its part, and let the last block
#   add up the parts (**split-K**; chapter 14), as `gemm_even` does in its last wave.
#   What does `busy` return without splitting and with it?
# - The operand `a` is copied element by element, since its tile is transposed. Load it
#   with `four` instead, keep it in registers for an iteration, and store it with the
#   padding of exercise 3. Is this faster, and how many registers does it take?
# - Blocks start from left to right. Let groups of eight rows of blocks go from left to
#   right together, so that blocks that run at the same time share more of `a` and `b`
#   in the L2 cache. Predict how much memory traffic this saves, and measure whether it
#   saves time as well.
# - Generate the tuner's list: all powers of 2 that `needs` allows. How many are there,
#   and how long would the search take?

# %% [markdown]
# ## What you learned
#
# 1. Tiles in shared memory save loads from global memory; tiles in registers save loads
#    from shared memory. TM + TN loads serve TM × TN multiply-adds.
# 2. Many registers mean few warps, and few warps hide little latency. So start all
#    loads before the first store, 128 bits at a time.
# 3. Better still, do not wait: use copies that bypass the registers, load fragments one
#    k-step ahead, and have only one barrier per iteration. Unroll the loops, because
#    registers have no addresses.
# 4. Count before you build: some famous techniques gained nothing on an H200 and an
#    H100, and a count predicted it. At the end, issue slots are the limit: on an H200
#    your kernel uses 85 % of them, and the library 87 %.
# 5. No tile is best for all shapes: count waves and edges, then let a tuner decide.

# %%
quiz()
