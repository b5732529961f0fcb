# %% [markdown]
# # 21 · Tensor cores
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/21_tensor_cores.ipynb)
#
# **After this lab, you can**
#
# - say which lane of a warp holds which element of each matrix of an `mma.sync`;
# - multiply matrices with one warp and one instruction;
# - load fragments with `ldmatrix`, transposed or not, without bank conflicts;
# - write a GEMM for tensor cores, with ragged edges and with copies in flight;
# - say how much accuracy float16, bfloat16, tf32 and float8 lose, in the inputs and in
#   the sum.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show times from the reference GPU, an H200. If
# you use a GPU, it needs compute capability 8.0 or higher, although exercises 1 to 5
# also run on 7.5, such as a T4. The measurements need 2 GB of GPU memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import itertools

import numpy as np
from numba import cuda, float32, int32

from weft import check, hint, quiz
from weft.intrinsics import (
    as_matrix,
    commit_group,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mma_f16,
    mma_f16_acc16,
    store4,
    wait_group,
)

chapter = weft.lab("21_tensor_cores")
checks = chapter.checks
put_fragment = chapter.kernels.put_fragment

# %% [markdown]
# ## Words
#
# A tensor core multiplies small matrices of 16-bit numbers, and a register has 32 bits.
# So the unit of this lab is a **word**: two neighbouring float16 in one int32, with the
# left number in the lower half. A matrix of 16 × 16 float16 is an array of 16 × 8
# words. `checks.words` turns a float16 matrix into words, and `checks.numbers` turns
# words back into float16. Both only reinterpret the same bytes. The kernels take words
# and write float32.
#
# The data are multiples of 1/8 between −2 and 2. Their products, and the sums of a few
# hundred such products, are exact in float32, so a correct kernel has no rounding error
# at all.

# %% [markdown]
# ## 1 · Which lane holds what?
#
# `mma.sync.m16n8k16` computes `c += a @ b` for a whole warp: `a` is 16 × 16, `b` is
# 16 × 8, and `c` is 16 × 8. No lane has a whole matrix. Each lane holds a **fragment**
# of each matrix: 8 elements of `a`, 4 of `b` and 4 of `c`. Write the lane as
# `4 * g + t`, so that `g` is 0 to 7 and `t` is 0 to 3. Then lane `4 * g + t` holds
# these elements, numbered from 0 in each fragment:
#
# | numbers | `a[row, k]` | `b[k, col]` | `c[row, col]` |
# | --- | --- | --- | --- |
# | 0, 1 | row g, k = 2t, 2t + 1 | col g, k = 2t, 2t + 1 | row g, col = 2t, 2t + 1 |
# | 2, 3 | row g + 8, same k as 0, 1 | col g, k = 2t + 8, 2t + 9 | row g + 8, same col |
# | 4, 5 | row g, k = 2t + 8, 2t + 9 | | |
# | 6, 7 | row g + 8, same k as 4, 5 | | |
#
# Take `a[10, 5]` as an example. Its row is 8 + 2, so g = 2; its k is 2 · 2 + 1, so
# t = 2. Lane 4 · 2 + 2 = 10 therefore holds it, as number 3 of its fragment of `a`.
#
# Write the mapping in the other direction: for an element, return the lane that holds
# it and its number in that lane's fragment. `matrix` is "a", "b" or "c". `row` and
# `col` are the element's indices in that matrix. For `a`, `col` is k; for `b`, `row` is
# k. Stuck? `hint("owner")`.
#
# ```python
# owner("a", 10, 5)    # -> (10, 3)
# ```

# %%
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    # about 8 lines
    # BEGIN SOLUTION
    if matrix == "b":
        return 4 * col + row % 8 // 2, row // 8 * 2 + row % 2
    lane = 4 * (row % 8) + col % 8 // 2
    number = row // 8 * 2 + col % 2
    if matrix == "a":
        number += col // 8 * 4
    return lane, number
    # END SOLUTION

# %%
check(
    owner,
    spec=checks.owned,
    because=checks.not_its_owner,
    inputs=[
        (matrix, row, col)
        for matrix, (rows, cols) in checks.LAYOUT.items()
        for row in range(rows)
        for col in range(cols)
    ],
    without=("checks",),
)

# %% [markdown] tags=["solution"]
# The two elements of a pair along k are always in one lane, and in one register. That
# is why the word is the unit. Counted in words, the table becomes shorter: lane
# `4 * g + t` holds the words (g, t), (g + 8, t), (g, t + 4) and (g + 8, t + 4) of `a`.
# Of `b`, whose words run along k, it holds the words (t, g) and (t + 4, g).
#
# In chapter 20's notation, the whole table for `a` is one layout from (lane, number) to
# the element of a column-major matrix: `((4,8),(2,2,2)):((32,1),(16,8,128))`. The first
# modes are t and g. So t steps by two columns, which are 32 elements, and g by a row.

# %% [markdown]
# ## 2 · One warp
#
# In a kernel you write this instruction as `mma_f16(c, a, b)`. Each of the 32 lanes
# passes its own fragments: `a` is an array of 4 words, `b` is an array of 2 words, and
# `c` is an array of 4 float32, to which the results are added. **All 32 lanes have to
# call `mma_f16`**, on the same line: it is one instruction of the warp.
#
# Multiply `a` (m × k) by `b` (k × n), where `b` is stored transposed: `bt` has n rows
# of k numbers, like the weights of a linear layer. Then two neighbours along k share a
# word in `bt` too: k = 2t and 2t + 1 are in word t. Word w of column j of `b` is
# `bt[j, w]`. A block is one warp and computes one 16 × 8 tile of `c`: the tile in tile
# row `blockIdx.y` and tile column `blockIdx.x`. The warp moves along k in steps of 16
# numbers, or 8 words. m and k are multiples of 16, and n is a multiple of 8. Stuck?
# `hint("gemm_warp")`.
#
# ```python
# gemm_warp(a, bt, c)   # int32 (m, k / 2), int32 (n, k / 2) -> float32 (m, n)
# ```

# %%
@cuda.jit
def gemm_warp(a, bt, c):
    """Write a @ b into c, a tile of 16 x 8 per warp, from global memory."""
    fa = cuda.local.array(4, int32)
    fb = cuda.local.array(2, int32)
    fc = cuda.local.array(4, float32)
    lane = int32(cuda.threadIdx.x)
    g, t = lane // int32(4), lane % int32(4)
    row = int32(cuda.blockIdx.y) * int32(16)
    col = int32(cuda.blockIdx.x) * int32(8)

    # about 16 lines
    # BEGIN SOLUTION
    for i in range(4):
        fc[i] = float32(0)

    for w in range(int32(0), int32(a.shape[1]), int32(8)):
        fa[0] = a[row + g, w + t]
        fa[1] = a[row + g + int32(8), w + t]
        fa[2] = a[row + g, w + t + int32(4)]
        fa[3] = a[row + g + int32(8), w + t + int32(4)]
        fb[0] = bt[col + g, w + t]
        fb[1] = bt[col + g, w + t + int32(4)]
        mma_f16(fc, fa, fb)

    left = col + int32(2) * t
    c[row + g, left] = fc[0]
    c[row + g, left + int32(1)] = fc[1]
    c[row + g + int32(8), left] = fc[2]
    c[row + g + int32(8), left + int32(1)] = fc[3]
    # END SOLUTION

# %%
check(
    gemm_warp,
    spec=checks.product_bt,
    inputs=checks.transposed_operands,
    sizes=[(16, 8, 32), (32, 24, 48)],
    launch=lambda m, n, k: ((n // 8, m // 16), 32),
    full=(512, 512, 512),
    limits={"float64": 0, "local": 0},
    because=checks.mixed_up,
)

# %% [markdown] tags=["solution"]
# (If *both* operands take words 2t and 2t + 1 instead of t and t + 4, the result is the
# same, because this changes only the order of the products along k. The registers are
# then not the fragments of the table, though.)
#
# One `mma` does 16 × 8 × 16 = 2048 multiply-adds, whereas an ordinary multiply-add of a
# warp does 32. The loads are the weak point: for each `mma`, a lane loads six words
# from global memory, one by one, and uses each of them only once.

# %% [markdown]
# ## 3 · ldmatrix
#
# One instruction can load a whole fragment from shared memory.
# `ldmatrix_x4(tile, (row, word))` loads four small matrices of 8 rows, each row 16
# bytes long: four words or eight float16. **Lane l does not receive the word at the
# index it passes.** That index is where a row begins: lanes 0 to 7 pass the beginnings
# of the eight rows of matrix 0, lanes 8 to 15 those of matrix 1, and so on. From each
# matrix, lane `4 * g + t` receives word t of row g, exactly as an `mma` fragment
# requires. The result is a tuple of four words, one for each matrix, which can be
# passed to `mma_f16` unchanged.
#
# `ldmatrix_x4_trans` transposes each of the four matrices, number by number: lane
# `4 * g + t` receives the numbers in rows 2t and 2t + 1 of *column* g. Use it for
# operands that are stored the other way around, where two neighbours along k are in the
# same column, but in different rows and words.
#
# In this exercise *both* operands are stored that way. Compute `c = x.T @ y`, the
# gradient of a linear layer's weights: `x` is k × 16, `y` is k × 16, and `c` is 16 ×
# 16. So `a` is `x.T` and `b` is `y`, and each step along k needs one fragment of `a`
# and two of `b`, for columns 0 to 7 and 8 to 15. The given code copies `x` and `y` into
# the tiles `tx` and `ty`. Write the two `ldmatrix` calls, in which each lane has to
# pass the right row, and the two `mma_f16` calls. A barrier has to follow, because the
# next step fills the tiles again. After the loop, store both fragments of `c`:
# `put_fragment(c, row, col, lane, left)` stores the fragment `left`.
#
# Which four matrices does `mma` require? The registers of `a` contain, in order: rows
# 0–7 and k 0–7; rows 8–15 and k 0–7; rows 0–7 and k 8–15; rows 8–15 and k 8–15. The
# registers of one fragment of `b` contain k 0–7 and k 8–15. When one
# `ldmatrix_x4_trans` loads two fragments of `b`, columns 0–7 come first, then columns
# 8–15. A tuple can be sliced: `f[:2]` is its first two words. Stuck?
# `hint("weight_gradient")`.
#
# ```python
# weight_gradient(x, y, c)   # int32 (k, 8), int32 (k, 8) -> float32 (16, 16)
# ```

# %%
@cuda.jit
def weight_gradient(x, y, c):
    """Write x.T @ y into c, 16 x 16, by one warp."""
    tx = cuda.shared.array((16, 8), int32, alignment=16)
    ty = cuda.shared.array((16, 8), int32, alignment=16)
    left = cuda.local.array(4, float32)
    right = cuda.local.array(4, float32)
    lane = int32(cuda.threadIdx.x)
    for v in range(4):
        left[v] = float32(0)
        right[v] = float32(0)

    for start in range(int32(0), int32(x.shape[0]), int32(16)):
        r, w = lane // int32(2), lane % int32(2) * int32(4)
        p, q, s, u = load4(x, (start + r, w))
        store4(tx, (r, w), p, q, s, u)
        p, q, s, u = load4(y, (start + r, w))
        store4(ty, (r, w), p, q, s, u)
        cuda.syncthreads()

        # about 7 lines: two ldmatrix, two mma_f16, a barrier
        # BEGIN SOLUTION
        r = lane % int32(8) + lane // int32(16) * int32(8)
        w = lane // int32(8) % int32(2) * int32(4)
        fa = ldmatrix_x4_trans(tx, (r, w))
        fb = ldmatrix_x4_trans(
            ty, (lane % int32(16), lane // int32(16) * int32(4))
        )
        mma_f16(left, fa, fb[:2])
        mma_f16(right, fa, fb[2:])
        cuda.syncthreads()
        # END SOLUTION

    # two lines: the stores
    # BEGIN SOLUTION
    put_fragment(c, int32(0), int32(0), lane, left)
    put_fragment(c, int32(0), int32(8), lane, right)
    # END SOLUTION

# %%
check(
    weight_gradient,
    spec=checks.gradient,
    inputs=checks.two_tall,
    sizes=[(16,), (48,)],
    launch=lambda k: (1, 32),
    full=(1024,),
    tolerance=1e-5,
    limits={"float64": 0, "shared_loads": 16},
    because=checks.misloaded,
)

# %% [markdown] tags=["solution"]
# `.trans` transposes each 8 × 8 matrix internally, but does not change the order of the
# four. So the place where matrix i is *stored* decides which lanes pass its rows.
# Register 1 of `a` contains rows 8–15 of `x.T`: in `x` these are columns 8–15, four
# words to the right. Register 2 contains k 8–15: in `x` these are eight rows further
# down.

# %% [markdown]
# ## 4 · A tile without conflicts
#
# At best, `ldmatrix` delivers one matrix per pass: 8 rows × 16 bytes are 128 bytes, the
# most that shared memory can deliver at once. It reaches this rate only if the eight
# rows are in different banks. In a tile whose rows are 128 bytes long, all rows begin
# in the *same* bank, and one matrix takes eight passes instead of one.
#
# Padding would prevent these conflicts. A **swizzle** prevents them without extra
# memory. Divide a row into **pieces** of 16 bytes, and store piece p of row r at place
# `p ^ f(r)` of that row, with a function f that makes the place depend on r. For rows
# of eight pieces (128 bytes), the usual choice is `f(r) = r % 8`: in any eight
# consecutive rows, piece p is then at eight different places.
#
# In this exercise, a row has only *four* pieces, or 64 bytes, and two rows fill all 32
# banks. Find an f for which neither the 16-byte stores nor `ldmatrix` have conflicts,
# and use it in both the stores and the loads.
#
# The kernel copies a matrix of 32 × 32 float16 into shared memory and loads it again as
# fragments of `a`. Its 64 threads are two warps. Thread `t` copies two pieces: numbers
# `t` and `t + 64`, counted row by row. Then warp 0 loads rows 0 to 15, and warp 1 loads
# rows 16 to 31, each in two steps of 16 along k. The four matrices of each `ldmatrix`
# are in the same order as in exercise 3, but without `.trans`: rows 0–7 and k 0–7; rows
# 8–15 and k 0–7; rows 0–7 and k 8–15; rows 8–15 and k 8–15. The check counts bank
# conflicts in both loads and stores. It allows 2048 bytes of shared memory, so there is
# no room for padding. Stuck? `hint("fragments")`.
#
# ```python
# fragments(x, out)   # int32 (32, 16) -> int32 (2 warps, 2 steps, 32 lanes, 4)
# ```

# %%
@cuda.jit
def fragments(x, out):
    """Copy a tile of 32 x 32 float16 and load it as fragments of a."""
    tile = cuda.shared.array((32, 16), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)

    # about 14 lines
    # BEGIN SOLUTION
    for i in range(2):
        cell = t + int32(64 * i)
        r, piece = cell // int32(4), cell % int32(4)
        p, q, s, u = load4(x, (r, int32(4) * piece))
        place = piece ^ (r // int32(2) % int32(4))
        store4(tile, (r, int32(4) * place), p, q, s, u)
    cuda.syncthreads()

    r = int32(16) * warp + lane % int32(16)
    for step in range(2):
        piece = int32(2 * step) + lane // int32(16)
        place = piece ^ (r // int32(2) % int32(4))
        f = ldmatrix_x4(tile, (r, int32(4) * place))
        for i in range(4):
            out[warp, step, lane, i] = f[i]
    # END SOLUTION

# %%
check(
    fragments,
    spec=checks.as_fragments,
    because=checks.pieces_turned,
    inputs=checks.any_words,
    sizes=[()],
    launch=lambda: (1, 64),
    full=(),
    limits={"bank_conflicts": 0, "shared_bytes": 2048, "loads": 2}
    | {"load_bytes": 16, "shared_loads": 2, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `f(r) = r % 4` is not enough. Rows 0 and 1 are in different banks anyway, because
# together they fill the 128 bytes of all banks. Rows 0 and 4 collide and have to be
# moved apart, but they have the same `r % 4`. With `r // 2 % 4`, the same piece of rows
# 0, 2, 4 and 6 is at four different places. The same is true of rows 1, 3, 5 and 7, in
# the other half of the banks.

# %% [markdown]
# ## 5 · GEMM
#
# Now write the whole product, `c = a @ b`, with all three matrices row-major. A block
# computes a tile of **BM × BN**. Each iteration of its loop covers **BK** = 64 numbers
# along k. Each warp of the block computes a **warp tile** of **WM × WN** in fragments
# of 16 × 8: `MF = WM // 16` rows and `NF = WN // 8` columns of fragments. `sums[i, j]`
# is the fragment in row i and column j, an array of four float32 for `mma_f16`.
#
# The tiles in shared memory are `ta`, with BM rows of KW = BK / 2 words, and `tb`, with
# BK rows of NW = BN / 2 words. A warp tile begins at row `wm` and column `wn` of the
# block's tile. `place(row, piece)` returns the word at which a piece begins in a
# swizzled row. In each iteration:
#
# - Copy both tiles piece by piece: each thread copies every THREADS-th piece.
#   `four(x, row, word)` loads a piece as four words, and returns zeros outside `x`.
#   `store4(tile, (row, word), p, q, s, u)` stores the four words.
# - For each of the BK // 16 steps of 16 along k, load the NF fragments of `b` with
#   `ldmatrix_x4_trans`, two fragments at a time. The rows of `tb` run along k: lane l
#   passes row `l % 16` of the step, and piece `l // 16` of the two pieces that contain
#   the 16 columns.
# - In the same step, for each of the MF rows of fragments, load the fragment of `a`
#   with `ldmatrix_x4`, as in exercise 4, and multiply it by all NF fragments of `b`.
#
# m can be any number. n and k are multiples of 8, so each piece is either entirely
# inside the matrix or entirely outside. At the end, call
# `put(c, sums, row, col, lane)`, which stores a warp's sums and contains the guard.
# `row` and `col` are the top left corner of the warp tile in `c`. Write the sizes by
# name, not as numbers, because the check and the measurements also use other sizes.
# Stuck? `hint("gemm_tiled")`.
#
# ```python
# gemm_tiled(a, b, c)   # int32 (m, k / 2), int32 (k, n / 2) -> float32 (m, n)
# ```

# %% tags=["given"]
BM, BN, BK = 16, 64, 64  # the block's tile, and its stride along k
WM, WN = 16, 32  # the warp's piece of it
KW, NW = BK // 2, BN // 2  # words in a row of ta, of tb
MF, NF = WM // 16, WN // 8  # fragments of a warp
THREADS = 32 * (BM // WM) * (BN // WN)
place, four = chapter.kernels.place, chapter.kernels.four
put, clear = chapter.kernels.put, chapter.kernels.clear

# %%
@cuda.jit
def gemm_tiled(a, b, c):
    """Write a @ b into c, with tiles in shared memory."""
    ta = cuda.shared.array((BM, KW), int32, alignment=16)
    tb = cuda.shared.array((BK, NW), int32, alignment=16)
    sums = cuda.local.array((MF, NF, 4), float32)
    fb = cuda.local.array((NF, 2), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    wm = warp // int32(BN // WN) * int32(WM)  # the warp's corner in the tile
    wn = warp % int32(BN // WN) * int32(WN)
    clear(sums)

    # about 28 lines
    # BEGIN SOLUTION
    near, far = lane % int32(16), lane // int32(16)
    for start in range(int32(0), int32(a.shape[1]), int32(KW)):  # words
        for i in range(BM * KW // 4 // THREADS):
            cell = t + int32(i * THREADS)
            r, piece = cell // int32(KW // 4), cell % int32(KW // 4)
            p, q, s, u = four(a, row0 + r, start + int32(4) * piece)
            store4(ta, (r, place(r, piece)), p, q, s, u)
        for i in range(BK * NW // 4 // THREADS):
            cell = t + int32(i * THREADS)
            r, piece = cell // int32(NW // 4), cell % int32(NW // 4)
            word = col0 // int32(2) + int32(4) * piece
            p, q, s, u = four(b, int32(2) * start + r, word)
            store4(tb, (r, place(r, piece)), p, q, s, u)
        cuda.syncthreads()

        for step in range(BK // 16):
            r = int32(16 * step) + near
            for j in range(0, NF, 2):
                at = place(r, wn // int32(8) + int32(j) + far)
                f = ldmatrix_x4_trans(tb, (r, at))
                fb[j, 0], fb[j, 1] = f[0], f[1]
                fb[j + 1, 0], fb[j + 1, 1] = f[2], f[3]
            for m in range(MF):
                r = wm + int32(16 * m) + near
                fa = ldmatrix_x4(ta, (r, place(r, int32(2 * step) + far)))
                for n in range(NF):
                    mma_f16(sums[m, n], fa, fb[n])
        cuda.syncthreads()

    put(c, sums, row0 + wm, col0 + wn, lane)
    # END SOLUTION

# %%
check(
    gemm_tiled,
    spec=checks.product,
    because=checks.TILES,
    inputs=checks.operands,
    sizes=[(16, 64, 64), (8, 8, 72), (20, 64, 64)],
    launch=lambda m, n, k: ((-(-n // BN), -(-m // BM)), THREADS),
    full=(1000, 1032, 520),
    limits={"bank_conflicts": 0, "barriers": 4, "float64": 0}
    | {"otherwise": {"bank_conflicts": 0}},
    constants=[
        {"BM": 32, "WN": 64, "NF": 8},
        {"BM": 32, "WM": 32, "MF": 2, "BN": 128, "WN": 64, "NF": 8, "NW": 64},
    ],
)

# %% [markdown] tags=["solution"]
# In each step along k, a warp with WM × WN = 64 × 32 loads 4 fragments of `a` and 4 of
# `b` with six `ldmatrix_x4`, and then executes 16 `mma`. This is chapter 19's outer
# product, with fragments instead of numbers.

# %% [markdown]
# ## 6 · Copies in flight
#
# While a block of `gemm_tiled` copies, it issues no `mma`. The last kernel has
# **STAGES** pairs of tiles and copies asynchronously. The copies that one iteration
# starts fill the pair that will be needed STAGES − 1 iterations later. Two functions
# are given:
#
# - `fetch(ta, tb, stage, a, b, row0, col0, start)` *starts* the copies of the tiles
#   that begin at word `start` along k into pair number `stage`. Beyond the end of k, it
#   fills the tiles with zeros. It does not commit a group.
# - `multiply(sums, ta, tb, stage, wm, wn, lane)` adds the product of pair number
#   `stage` to the sums. It calls `place` once and finds the other pieces with an xor.
#
# `commit_group()` makes a group of the copies that a thread has started since its last
# group, and `wait_group(n)` waits until all but the thread's last n groups have
# arrived. A thread waits only for its own copies. When the loop begins, the copies of
# the first STAGES − 1 pairs are in flight; this number is called LAST.
#
# Complete the loop. In each iteration, wait for the pair that is about to be
# multiplied, start the copies into the free pair, multiply, and advance `read` and
# `write` by one pair, from the last pair back to 0. After the loop, call `put`. You may
# use only **one barrier per iteration**. Which pair is free, and from which point in
# the loop? The argument of `wait_group` must be a constant, such as `WAIT`, which is
# STAGES − 2. Stuck? `hint("gemm_pipelined")`.
#
# ```python
# gemm_pipelined(a, b, c)   # as in exercise 5
# ```

# %% tags=["given"]
STAGES = 3
LAST = STAGES - 1
WAIT = STAGES - 2
DEEP_A, DEEP_B = STAGES * BM, STAGES * BK  # rows of all pairs
WORDS_A = DEEP_A * KW  # of all tiles of a
SHARED = 4 * (WORDS_A + DEEP_B * NW)  # bytes
fetch, multiply = chapter.kernels.fetch, chapter.kernels.multiply

# %%
@cuda.jit
def gemm_pipelined(a, b, c):
    """Write a @ b into c, with STAGES pairs of tiles and copies in flight."""
    pool = cuda.shared.array(0, int32)  # as much as the launch says
    ta = as_matrix(pool, 0, DEEP_A, KW)
    tb = as_matrix(pool, WORDS_A, DEEP_B, NW)
    sums = cuda.local.array((MF, NF, 4), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t & int32(31), t >> int32(5)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    wm = warp // int32(BN // WN) * int32(WM)
    wn = warp % int32(BN // WN) * int32(WN)
    clear(sums)

    for stage in range(LAST):
        start = int32(stage * KW)
        fetch(ta, tb, int32(stage), a, b, row0, col0, start)
        commit_group()

    read, write = int32(0), int32(LAST)  # the pairs to multiply, to fill
    for start in range(int32(0), int32(a.shape[1]), int32(KW)):
        ahead = start + int32(LAST * KW)  # the stride that `write` is for
        # 7 lines
        # BEGIN SOLUTION
        wait_group(WAIT)
        cuda.syncthreads()
        fetch(ta, tb, write, a, b, row0, col0, ahead)
        commit_group()
        multiply(sums, ta, tb, read, wm, wn, lane)
        read = read + int32(1) if read < int32(LAST) else int32(0)
        write = write + int32(1) if write < int32(LAST) else int32(0)
        # END SOLUTION

    # one line: the stores
    # BEGIN SOLUTION
    put(c, sums, row0 + wm, col0 + wn, lane)
    # END SOLUTION

# %%
check(
    gemm_pipelined,
    spec=checks.product,
    because=checks.not_ahead,
    inputs=checks.operands,
    sizes=[(16, 64, 64), (8, 8, 200)],
    launch=lambda m, n, k: (
        (-(-n // BN), -(-m // BM)),
        THREADS,
        0,
        SHARED,
    ),
    full=(1000, 1032, 520),
    limits={"bank_conflicts": 0, "barriers": 4, "float64": 0},
)

# %% [markdown] tags=["solution"]
# One barrier is enough for two reasons. Before the barrier, every thread has waited for
# its own copies, so after it each thread sees the copies of all threads. No thread
# passes the barrier before all warps have multiplied the previous iteration's pair, and
# that is the pair that `fetch` fills now. Each iteration commits a group, even beyond
# the end of k, so that `wait_group(WAIT)` always waits for the group of pair `read`.

# %% [markdown]
# ## Measure: the ladder
#
# Now compare your kernels, compiled for bfloat16 and for large tiles, with cuBLAS. They
# write bfloat16, as cuBLAS does.
#
# - `one warp`: your `gemm_warp`. It takes `b` transposed; the transposition is not
#   timed.
# - `tiles`: your `gemm_tiled`, with block tiles of 128 × 128, eight warp tiles of 64 ×
#   32 in each, and a `place` that does not swizzle.
# - `swizzled`: the same kernel with the swizzle.
# - `two blocks`: the same kernel compiled for at most 128 registers per thread, so that
#   two blocks fit on an SM, instead of one. Some of its values no longer fit into the
#   registers, so they are spilled to local memory.
# - `two stages`: your `gemm_pipelined`, with two blocks per SM and two pairs of tiles.
# - `three stages`: the same kernel with three pairs of tiles.
# - `addresses`: `gemm_large`, in `kernels.py`, which uses the same tiles. It keeps one
#   address for each operand and advances it by additions, whereas `fetch` computes each
#   address from a row and a column.
# - `grouped`: the same kernel, with the tiles in groups of eight rows.
# - `64 x 64`: `gemm_large` with four warps in a block and warp tiles of 64 × 64.
# - `in turns`: the same kernel with two sets of fragments. The next step's set is
#   loaded while the current one is multiplied.
# - `larger blocks`: block tiles of 256 × 128 with eight warp tiles of 64 × 64.
# - `256 x 128`: the same kernel with four pairs of tiles.
#
# What fraction of the speed of cuBLAS do you expect in each row?

# %%
guess = {
    "one warp": None,
    "tiles": None,
    "swizzled": None,
    "two blocks": None,
    "two stages": None,
    "three stages": None,
    "addresses": None,
    "grouped": None,
    "64 x 64": None,
    "in turns": None,
    "larger blocks": None,
    "256 x 128": None,
}

ladder = chapter.measure.ladder_of(
    8192, gemm_warp, gemm_tiled, gemm_pipelined, guess=guess
)
ladder

# %% tags=["solution"]
ladder.expect("swizzled", at_least=2, times="tiles")
ladder.expect("three stages", at_least=1.4, times="swizzled")
ladder.expect("grouped", at_least=1.05, times="three stages")
ladder.expect("64 x 64", at_least=1.03, times="grouped")
ladder.expect("in turns", at_least=1.03, times="64 x 64")
ladder.expect("256 x 128", at_least=0.57)

# %% [markdown] tags=["solution"]
# Three pairs of tiles of 128 × 64 and 64 × 128 take 96 KB. A launch may request that
# much only if the kernel has permission: `large_shared` compiles the kernel and
# requests the permission (chapter 13 shows the call in CUDA C++). Two such blocks fit
# on an SM of an H200.
#
# Under this load a GPU reaches its power limit and lowers its clock after a few
# milliseconds. So each measurement is a burst of 2 ms after a pause.
#
# **The swizzle** removes 28 of the 32 passes of each `ldmatrix`. With **two blocks** on
# an SM, one can multiply while the other waits for its copies. With **stages**, copies
# are in flight during the products of the same block, too. This gains far more, but not
# only because copies are in flight: they also bypass the registers, and fewer addresses
# are computed. A third pair of tiles adds nothing to the second. **Addresses** removes
# instructions: computing an address from a row and a column takes a 64-bit
# multiplication, but computing it from the previous address takes only an addition. A
# warp tile of **64 × 64** loads 8 × 4 words per lane for 32 `mma`, whereas 64 × 32
# loads 6 × 4 for 16. **In turns**, an `mma` does not use what the `ldmatrix` just
# before it loads. **Grouped** tiles share operands in L2, and **larger blocks** load
# fewer bytes for each result. For 4096 × 4096 matrices, which together are hardly
# larger than L2, neither of the two gains anything.

# %% [markdown]
# ## More measurements
#
# The rest of the lab measures the ladder again, the errors of four formats, and the
# instruction alone. The code is in `measure.py` and the kernels are in `kernels.py`,
# both in `chapters/21_tensor_cores`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Smaller matrices, and without a pause
#
# The first cell measures the ladder for 4096 × 4096 matrices. The second runs cuBLAS
# and `256 x 128` again, for seconds without a pause.

# %%
smaller = chapter.measure.ladder_of(
    4096, gemm_warp, gemm_tiled, gemm_pipelined
)
smaller

# %% tags=["solution"]
smaller.expect("in turns", at_least=0.53)

# %%
sustained = chapter.measure.without_pause()
sustained

# %% [markdown]
# ### Is it right?
#
# This cell runs five of the `gemm_large` kernels once more, on 1024 × 1024 matrices. It
# compares each result with a product of the same numbers in float32, and 30 runs of
# each kernel with each other, bit by bit.

# %%
same = chapter.measure.verified()

# %% [markdown]
# ### Four formats
#
# Nothing in `gemm_warp` depends on a word being two float16. The kernel moves words,
# and only the instruction interprets them. There are instructions for other formats,
# and counted in words, all of them have the same fragments:
#
# | format | numbers in a word | bits: exponent, mantissa | size of an `mma` |
# | --- | ---: | --- | --- |
# | tf32 | 1 | 8, 10 | 16 × 8 × 8 |
# | float16 | 2 | 5, 10 | 16 × 8 × 16 |
# | bfloat16 | 2 | 8, 7 | 16 × 8 × 16 |
# | float8 e4m3 | 4 | 4, 3 | 16 × 8 × 32 |
#
# So `specialise(gemm_warp, mma_f16=mma_tf32)` is a kernel for tf32. The cell below
# multiplies numbers between 0 and 1, which all have the same sign, and prints two
# errors. The first arises before the product, where the inputs are rounded to the
# format. The second arises in the sum. Both are norms of differences, relative to the
# norm of the product in float64.
#
# Guess first, for k = 4096. Which of the two errors is larger? By how much does the
# error of the sum change if the sums too are in float16 (`mma_f16_acc16`)?

# %%
seen = chapter.measure.errors(gemm_warp)

# %% tags=["solution"]
if weft.GPU:
    from weft.bench import results

    rows = [
        {
            "case": f"errors, k = {k}",
            "name": f"{name}: {part}",
            "value": float(f"{error * 1e6:.3g}"),
            "unit": "× 10⁻⁶",
        }
        for (name, k), both in seen.items()
        for part, error in zip(("inputs", "sum"), both, strict=True)
    ]
    results.record("21_tensor_cores", rows)

# %% [markdown] tags=["solution"]
# With float16 and k = 4096, rounding the inputs causes a smaller error than the sum
# does, although the sum is in float32. An ordinary float32 addition rounds to the
# nearest number, and errors of both signs partly cancel. The tensor core of an H200
# cuts off the bits that do not fit. All errors in a sum of positive numbers then have
# the same sign and accumulate, so the error of the sum grows with k, to several times
# the error of the inputs. The simulator rounds its sums to nearest, so it does not show
# this effect.
#
# Sums in float16 are far less accurate. From 2048 on, neighbouring float16 numbers are
# 2 apart. If the products were added one by one, the sum would stop growing there. An
# `mma` adds 16 of them at once, so the sum keeps growing, but it is not accurate. Use
# such sums only where k is small, or not at all.

# %% [markdown]
# ### The instruction alone
#
# How fast is `mma.sync` when nothing has to be loaded? In the kernel of this table,
# each warp has eight sums that do not depend on each other, and all operands are in
# registers. All eight use the same fragment of `a`, and each has its own fragment of
# `b`, so the compiler has nothing to move between one `mma` and the next.
#
# Guess: how much faster is float8 than tf32? And is bfloat16 faster here than in the
# product of 8192 × 8192 × 8192 that cuBLAS computes in the ladder above?

# %%
alone = chapter.measure.alone()
alone

# %% [markdown] tags=["solution"]
# Halving the width from tf32 to float16 doubles the rate. You would expect float8 to
# double it again, but float8 is slower than float16. On an H200, `mma.sync` turns
# float8 into float16 and multiplies these: the fast float8 multipliers are only
# available to another instruction (chapter 22). The full rate of bfloat16 needs that
# instruction too: `mma.sync` alone is slower than the whole product in cuBLAS.

# %% [markdown]
# ### If you want more
#
# - Compile `gemm_large` with `STAGES=2`, and then with `GROUP=1`. Predict the effect of
#   each first.
# - What has to change in `gemm_large` for tf32? (`.trans` moves numbers of 2 bytes, but
#   tf32 numbers have 4.)
# - Split the sum: add up 256 products in the tensor core, add the result to a second
#   sum with an ordinary float32 addition, and start the next 256 products from zero.
#   What happens to the error of the sum at k = 65,536, and to the speed?
# - On a T4 there is no `cp.async`. What is the best you can do with loads into
#   registers before the multiplication and stores after it?

# %% [markdown]
# ## What you learned
#
# 1. `mma.sync` is an instruction of a whole warp. Each lane holds a fragment of each
#    matrix, and counted in words, the fragments are the same for all formats.
# 2. Each lane passes `ldmatrix` the beginning of a row and receives one word of each
#    matrix. `.trans` is for operands whose neighbours along k are not neighbours in
#    memory.
# 3. A swizzle used in both the stores and the loads takes no extra memory and removes
#    every bank conflict.
# 4. Rounding the inputs causes one error, and the sum causes another. A tensor core's
#    float32 sum is less accurate than an ordinary float32 sum.
# 5. Once the arithmetic takes little time, everything else counts: copies in flight,
#    addresses, and how often each fragment is used.

# %%
quiz()
