# %% [markdown]
# # 29 · Triton
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/29_triton.ipynb)
#
# **After this lab, you can**
#
# - write Triton programs for elementwise operations, rows and matrix products, with
#   correct masks at every edge;
# - say what a program is, and which parts of a Numba kernel Triton's compiler writes
#   for you;
# - find the compiler's work in the machine code: vector loads, asynchronous copies,
#   swizzles and tensor core instructions;
# - order tiles for the L2 cache, tune a program, and avoid the two common tuning
#   mistakes;
# - say where Triton is as fast as the vendor's library, and where it is not.
#
# **You need** about 100 minutes, and Linux (WSL 2 and Colab are Linux): Triton has no
# builds for macOS or Windows. You do not need a GPU. The exercises run in Triton's own
# interpreter, under this course's sanitizer, and the compiler works on any machine.
# Without a GPU, the measurements show times from the reference GPU, an H200. If you use
# a GPU, it needs 4 GB of memory and compute capability 8.0 or higher, which excludes
# the T4.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import time
import warnings
from functools import partial

import numpy as np
import torch
from numba import cuda

from weft import bench, check, hint, quiz
from weft.triton_programs import machine_code

chapter = weft.lab("29_triton")

import triton
import triton.language as tl
from triton import cdiv
from triton.tools.tensor_descriptor import TensorDescriptor

checks, looks, measure = chapter.checks, chapter.looks, chapter.measure

# %% [markdown]
# ## Programs and blocks of values
#
# Here is chapter 5's addition, written twice. In Numba, you write what one **thread**
# does, with one element. In Triton, you write what one **program** does, with a block
# of elements at once.
#
# `tl.program_id(0)` is the number of the program. `tl.arange(0, BLOCK)` is a block of
# numbers, so `i` is a block too, and `a + i` is a block of addresses. The `if` has
# become a **mask**: a block of Booleans, one per element. There is no `threadIdx`,
# because a program does not deal with threads.

# %%
@cuda.jit
def numba_add(a, b, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]


@triton.jit
def triton_add(a, b, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n

    total = tl.load(a + i, mask=live) + tl.load(b + i, mask=live)
    tl.store(out + i, total, mask=live)

# %% [markdown]
# `BLOCK: tl.constexpr` is a compile-time constant: the program is compiled again for
# each new value. Here the value must be a power of two. The other arguments are passed
# at the launch, and tensors arrive as pointers, without their shapes. A launch
# specifies the grid, whose size is the number of programs:
#
# ```python
# triton_add[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
# ```
#
# ## 1 · Masks
#
# Write `lerp`, which goes a fraction `t` of the way from `a` to `b`: `a + t * (b - a)`.
# `t` is a number. Neither the loads nor the store may touch anything beyond element
# `n - 1`. The check runs every program in the interpreter and looks up each address
# that the program touches. Stuck? Run `hint("lerp")`; there are three hints.
#
# ```python
# lerp(a, b, t, out, n, BLOCK)    # a, b, out (n,) float32; t float
# ```

# %%
@triton.jit
def lerp(a, b, t, out, n, BLOCK: tl.constexpr):
    # about 6 lines
    # BEGIN SOLUTION
    first = tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    live = i < n

    start = tl.load(a + i, mask=live)
    end = tl.load(b + i, mask=live)
    tl.store(out + i, start + t * (end - start), mask=live)
    # END SOLUTION

# %%
check(
    lerp,
    spec=lambda a, b, t: a + t * (b - a),
    because=checks.FROM_B,
    inputs=lambda rng, n: (checks.normal(rng, n), checks.normal(rng, n), 0.25),
    sizes=[97, 300],
    launch=lambda n, BLOCK=64: ((cdiv(n, BLOCK),), {"BLOCK": BLOCK}),
    full=1_000_003,
    limits={"loaded": 1, "stored": 1},
)

# %% [markdown] tags=["solution"]
# One mask serves both loads and the store. What a masked load returns for the elements
# that it leaves out is undefined unless you pass `other=`. Here that does not matter,
# because the store leaves out the same elements.

# %% [markdown]
# ## Look: what the compiler made of it
#
# Triton's compiler needs no GPU. `machine_code` compiles a program for compute
# capability 9.0, as a launch with the same arguments would, and `count` counts
# instructions in its PTX (chapter 3). `ld.global.v4.b32` loads 16 bytes per thread, and
# `ld.global.b32` loads 4 bytes.
#
# A program of 1024 elements has four warps by default, so each thread gets 8 elements
# of `a`, 8 of `b` and 8 of `out`. Which loads will you find, and how many? Does it
# matter whether `n` is 4096 or 4095?

# %%
x = torch.empty(4096)
for n in (4096, 4095):
    code = machine_code(triton_add, x, x, x, n, BLOCK=1024)
    print(n, code.count("ld.global", "st.global"))

# %% [markdown] tags=["solution"]
# For 4096 there are four loads of 16 bytes per thread: two for `a` and two for `b`. You
# did not ask for them, whereas in Numba you needed an intrinsic (chapter 12).
#
# For 4095 there are 16 loads of 4 bytes. At a launch, Triton notes which pointers and
# which integers are multiples of 16, and compiles for that case. If `n` is a multiple
# of 16, four neighbours are either all inside or all outside, so a single predicate
# will do. Otherwise, each element needs its own predicate. The loads are still
# coalesced.

# %% [markdown]
# ## 2 · Softmax in Triton
#
# A program can hold a whole row as one block, as long as the row fits into registers.
# Then `tl.max(row, axis=0)` and `tl.sum(row, axis=0)` each return one number, and
# everything that chapters 8, 14 and 16 did with shuffles, shared memory and barriers is
# inside these two calls.
#
# Since the row's length is seldom a power of two, the block is usually longer than the
# row, and its extra elements take part in the maximum and in the sum. What must these
# elements contain so that neither result changes? `tl.load(..., mask=..., other=...)`
# fills them.
#
# Write the logarithm of the softmax, with one row per program: from each element
# subtract the row's maximum *m*, and then the logarithm of the sum of all $e^{x - m}$.
# There are gaps between the rows of `x`, but none between those of `out`, so each array
# has its own stride. Load and store each element once. `tl.exp` and `tl.log` work on
# blocks and on numbers. Stuck? `hint("log_softmax")`.
#
# ```python
# log_softmax(x, out, cols, x_stride, out_stride, WIDTH)
#     # x, out (rows, cols) float32; WIDTH >= cols
# ```

# %%
@triton.jit
def log_softmax(x, out, cols, x_stride, out_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)

    # about 6 lines
    # BEGIN SOLUTION
    col = tl.arange(0, WIDTH)
    live = col < cols

    value = tl.load(x + row * x_stride + col, mask=live, other=-float("inf"))
    value -= tl.max(value, axis=0)
    value -= tl.log(tl.sum(tl.exp(value), axis=0))
    tl.store(out + row * out_stride + col, value, mask=live)
    # END SOLUTION

# %%
check(
    log_softmax,
    spec=checks.log_shares,
    because=checks.SHARES,
    inputs=checks.gapped,
    sizes=[(3, 70), (4, 128), (5, 37)],
    arguments=lambda x, out: (x, out, x.shape[1], x.stride(0), out.stride(0)),
    launch=lambda rows, cols: (
        (rows,),
        {"WIDTH": triton.next_power_of_2(cols)},
    ),
    full=(1000, 1000),
    limits={"loaded": 1, "stored": 1},
)

# %% [markdown] tags=["solution"]
# $e^{-\infty}$ is 0, and minus infinity is never the maximum. In a row of negative
# numbers, filling with 0 would be wrong twice: it would be larger than every element,
# and it would add a term to the sum.

# %% [markdown]
# ## 3 · A row in pieces
#
# With 1024 threads in a program, each thread can have 64 registers, but a row of
# 131,072 values would need 128 per thread. Such a row has to be processed in pieces of
# `BLOCK` columns, in a loop over a `range`, whose bounds may be arguments of the
# launch.
#
# Write RMSNorm (chapter 17) in this way. Let *mean* be the mean of a row's squares.
# Divide each element by the square root of *mean* + `eps`, and multiply it by the
# weight of its column. The first loop adds up squares, and the second loop stores
# results. It is best to keep a **block** of `BLOCK` sums, which you add up after the
# first loop, so that the loop itself contains no reduction. There are gaps between
# rows.
#
# All arrays are float16, whose largest number is 65,504. So convert what you load with
# `.to(tl.float32)` before you square it. `tl.store` converts to the type of the array.
# `tl.zeros((BLOCK,), tl.float32)` is a block of zeros; `tl.rsqrt` computes 1 over the
# square root. Stuck? `hint("rms_norm")`.
#
# ```python
# rms_norm(x, weight, out, cols, stride, eps, BLOCK)
#     # x, out (rows, cols), rows `stride` apart; weight (cols,); all float16
# ```

# %%
@triton.jit
def rms_norm(x, weight, out, cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)

    # about 13 lines
    # BEGIN SOLUTION
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        live = col < cols
        value = tl.load(x + row * stride + col, mask=live, other=0.0)
        value = value.to(tl.float32)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)

    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        live = col < cols
        value = tl.load(x + row * stride + col, mask=live).to(tl.float32)
        factor = tl.load(weight + col, mask=live).to(tl.float32)
        tl.store(out + row * stride + col, value * scale * factor, mask=live)
    # END SOLUTION

# %%
check(
    rms_norm,
    spec=checks.normed,
    because=checks.NORMS,
    inputs=checks.loud_rows,
    sizes=[(2, 64), (3, 300), (2, 37)],
    arguments=lambda x, weight, eps, out: (
        *(x, weight, out, x.shape[1], x.stride(0), eps),
    ),
    launch=lambda rows, cols: ((rows,), {"BLOCK": 64}),
    gaps=checks.GAP,
    full=(300, 5001),
    tolerance=2e-3,
)

# %% [markdown] tags=["solution"]
# Here 0 is the right value for `other`, since it adds nothing to a sum of squares. For
# the mean, the sum is divided by `cols`, not by the number of elements in the blocks.
# Each element is loaded twice.

# %% [markdown]
# ## 4 · A product of tiles
#
# `tl.dot(p, q, acc)` multiplies a block of shape (m, k) by a block of shape (k, n) and
# adds a block of shape (m, n). All three sizes must be at least 16. On a GPU, the call
# becomes tensor core instructions. Here is a matrix product (chapters 18 to 22). Each
# program computes one tile of `c`.
#
# Indices are columns and rows that broadcast, as in NumPy: `[:, None]` makes a column
# of row numbers, and `[None, :]` makes a row of column numbers. A pointer plus such
# indices is a block of addresses.

# %%
@triton.jit
def matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        across = start + tl.arange(0, BK)[None, :]
        down = start + tl.arange(0, BK)[:, None]
        live = (row < M) & (across < K)
        left = tl.load(a + row * K + across, mask=live, other=0.0)
        live = (down < K) & (col < N)
        right = tl.load(b + down * N + col, mask=live, other=0.0)
        acc = tl.dot(left, right, acc)

    live = (row < M) & (col < N)
    tl.store(c + row * N + col, acc.to(c.dtype.element_ty), mask=live)

# %% [markdown]
# Now write a linear layer, as PyTorch defines it. The layer differs from `matmul` in
# three respects:
#
# - the weights are stored as (N, K), so that row *n* of `w` contains what output *n*
#   needs: `out = relu(x @ w.T + bias)`;
# - there is an **epilogue**: add the bias of each column, and replace what is below 0
#   with 0 (`tl.maximum`), both while the sums are still float32 in registers;
# - program (0, 1) computes the *second tile of columns*, so here axis 0 of the grid
#   counts rows.
#
# There are no gaps between rows. No size has to be a multiple of its block, so you need
# masks for rows, for columns, and along `K`. You need not transpose anything: choose
# the addresses so that the block that you load has the shape that `tl.dot` expects.
# Stuck? `hint("linear")`.
#
# ```python
# linear(x, w, bias, out, M, N, K, BM, BN, BK)
#     # x (M, K), w (N, K), bias (N,), out (M, N) float16
# ```

# %%
@triton.jit
def linear(
    x, w, bias, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    # about 16 lines
    # BEGIN SOLUTION
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    in_m, in_n = m < M, n < N

    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        p = tl.load(
            x + m[:, None] * K + k[None, :],
            mask=in_m[:, None] & (k < K)[None, :],
            other=0.0,
        )
        q = tl.load(
            w + n[None, :] * K + k[:, None],
            mask=in_n[None, :] & (k < K)[:, None],
            other=0.0,
        )
        total = tl.dot(p, q, total)

    total += tl.load(bias + n, mask=in_n, other=0.0)[None, :]
    total = tl.maximum(total, 0.0)
    place = out + m[:, None] * N + n[None, :]
    tl.store(place, total.to(tl.float16), mask=in_m[:, None] & in_n[None, :])
    # END SOLUTION

# %%
check(
    linear,
    spec=checks.layer,
    because=checks.LAYERS,
    inputs=checks.layer_data,
    sizes=[(16, 32, 32), (20, 40, 37), (33, 17, 16)],
    arguments=lambda x, w, bias, out: (
        *(x, w, bias, out),
        *(x.shape[0], w.shape[0], x.shape[1]),
    ),
    launch=lambda m, n, k: (
        (cdiv(m, 16), cdiv(n, 32)),
        {"BM": 16, "BN": 32, "BK": 16},
    ),
    full=(1000, 520, 328),
    tolerance=2e-3,
)

# %% [markdown] tags=["solution"]
# The addresses do the transposing: element (k, n) of the block `q` is at `n * K + k`.
# Elements beyond `K` must be 0 in at least one of the two blocks, and since memory
# could contain NaN there, they should be 0 in both. Rows beyond `M` and columns beyond
# `N` may contain anything, because they affect only elements that are not stored.
#
# The check uses float16 because Triton's interpreter has no bfloat16: it would multiply
# the bits as if they were integers, without a warning. On a GPU the program works with
# either type.

# %% [markdown]
# ## Look: chapters 12 to 22 in thirty lines
#
# `matmul` mentions no shared memory, no barrier, no swizzle and no tensor core
# instruction. The next cell compiles it for bfloat16 matrices of 8192 × 8192 in tiles
# of 128 × 256 × 64, with 8 warps and `num_stages=3`. (Tensors on the device *meta* have
# a shape and a type but no memory, which is all that the compiler needs.)
#
# Count the copies by hand first. In each step of the loop, a program loads a 128 × 64
# tile of `a` and a 64 × 256 tile of `b`, in asynchronous copies of 16 bytes per thread
# (chapter 12). How many copies does each thread make? The code of these copies appears
# three times: twice before the loop, to fill the pipeline, and once in the loop. How
# many `cp.async` instructions will you find?

# %%
looks.instructions(matmul)

# %% [markdown] tags=["solution"]
# (128 × 64 + 64 × 256) × 2 bytes are 49,152 bytes, and 256 threads copy 4096 bytes at a
# time. This makes 12 copies per thread, and 36 in the PTX. Three such pairs of tiles
# fill the 147,456 bytes of shared memory. On capability 8.0 there are only two pairs,
# which is enough there: `ldmatrix` has copied the operands into registers before the
# next copy begins, while a `wgmma` that is in flight still reads shared memory.
#
# On capability 9.0, each warpgroup needs four `wgmma` of 64 × 256 × 16 for a step of
# 64, and these read shared memory directly. On 8.0 there are 128 `mma.sync`, whose
# operands are loaded with `ldmatrix`. The source is the same. (The `ldmatrix` on 9.0
# come after the loop: the result passes through shared memory, so that it can be stored
# 16 bytes at a time.)

# %% [markdown]
# One level above PTX, Triton has an intermediate form in which each block of values has
# a *layout*. The first lines below define layouts; the others, one per operation, name
# the layout of each block after a `#`. Look for the shape of the two blocks in shared
# memory, and for `swizzlingByteWidth`:

# %%
looks.chosen_layouts(matmul)

# %% [markdown] tags=["solution"]
# - `#blocked`: in a load of `a`, a thread loads 8 neighbours (16 bytes), 8 threads load
#   a row of 64 elements, and a warp loads 4 rows. This is **coalescing** (chapter 12).
# - `#shared` with `swizzlingByteWidth = 128`: tiles are stored **swizzled**, so that
#   tensor cores read them without bank conflicts (chapters 13 and 20).
# - `3x128x64` and `3x64x256`: these are buffers for three steps, and `async_wait` with
#   `num = 2` leaves the copies of one step in flight. This is **software pipelining**
#   (chapter 19).
# - `#mma` with `instrShape = [16, 256, 16]`: the accumulator is in registers, in the
#   layout in which **wgmma** leaves it (chapters 21 and 22).

# %% [markdown]
# Now compile for 8190 instead of 8192. What do rows of 8190 elements mean for copies of
# 16 bytes?

# %%
looks.odd_size(matmul)

# %% [markdown] tags=["solution"]
# Not a single `cp.async` is left, and shared memory has only one pair of tiles. Rows of
# 16,380 bytes begin at multiples of 4 bytes, but not of 16, so 16 bytes cannot be
# copied at once. The compiler falls back on loads of single elements. With no
# asynchronous copy there is nothing to pipeline, so `num_stages=3` has no effect. There
# is no warning.

# %% [markdown]
# ## The order of tiles
#
# At any time, a GPU works on as many programs as fit, and it starts them in the order
# of their numbers. Programs with neighbouring numbers should therefore need the same
# data, which are then still in the L2 cache.
#
# Take a grid of `grid_m` × `grid_n` tiles. Row by row, 132 programs of a grid of 64 ×
# 32 tiles cover about four rows, and need *all 32* tile columns of `b`. In **grouped
# order**, the tiles of a band of `group` rows come column by column, before the next
# band begins. With `grid_m` = 3, `grid_n` = 2 and `group` = 2:
#
# | tile | 0 | 1 | 2 | 3 | 4 | 5 |
# | --- | --- | --- | --- | --- | --- | --- |
# | row | 0 | 1 | 0 | 1 | 2 | 2 |
# | column | 0 | 0 | 1 | 1 | 0 | 1 |
#
# First make a prediction, for a bfloat16 product of 8192 × 8192 × 8192 in tiles of 128
# × 256. How many bytes of `a` and `b` do the first 132 tiles need at least once? A row
# of tiles needs 128 rows of `a`, 2 MB. A column of tiles needs 256 columns of `b`, 4
# MB. Which `group` needs the fewest bytes? An H200 has 60 MB of L2 cache.

# %%
group_guess = {1: None, 8: None, 64: None}  # MB

looks.bytes_by_group(group_guess)

# %% [markdown]
# ## Three more versions
#
# `matmul` comes in three more versions, in `chapters/29_triton/programs.py`. A program
# cannot look its tile up in a list. It computes the tile from its own number, with the
# function `tile_of` in the same file. (In lab 22 you write a variant of `tile_of`.)
# `triton.jit(tile_of)` makes the Python function callable from programs.
#
# - `matmul_grouped` takes its tile from `tile_of`. (`STEP` is 1, for now.)
# - `matmul_descriptors` takes **tensor descriptors** instead of pointers. A descriptor
#   contains a pointer, a shape, strides and the shape of a block, and on Hopper it
#   becomes a tensor map for the TMA (chapter 22): one thread requests a whole tile.
#   Elements outside the matrix read as 0 and are not written.
# - `matmul_persistent` is launched with one program per SM, each of which computes
#   every 132nd tile. `flatten=True` asks the compiler to pipeline across tiles, so that
#   the loads of the next tile begin while the current tile is being finished.

# %%
tile = triton.jit(measure.programs.tile_of)
measure.programs.use(matmul, tile)

# %% [markdown]
# Compile `matmul_grouped` as you compiled `matmul`. Does the order of the tiles change
# what happens inside a tile?

# %%
looks.grouped()

# %% [markdown] tags=["solution"]
# The tile is computed as before, with the same pipeline: 36 asynchronous copies and
# four `wgmma`. Only the tile's position is computed differently, with a few integer
# instructions per program.

# %% [markdown]
# ## Measure: the ladder
#
# All programs multiply bfloat16 matrices, with float32 accumulators:
#
# | row | program |
# | --- | --- |
# | *64 × 64* | `matmul`, tiles of 64 × 64 × 32, 4 warps, `num_stages=1` |
# | *3 stages* | the same with `num_stages=3` |
# | *128 × 256* | tiles of 128 × 256 × 64, 8 warps, still 3 stages |
# | *1 stage* | *128 × 256* with `num_stages=1`, for comparison |
# | *grouped* | 128 × 256, 3 stages, in grouped order |
# | *n x k* | the same, but `b` is stored transposed, as in `linear` |
# | *descriptors* | the TMA loads the tiles |
# | *persistent* | one program per SM |
#
# With cuBLAS as 1.0 (`torch.matmul`; *cuBLAS, by columns* is the same with `b` stored
# transposed), where do you expect each row to be? Which change gains the most? And for
# *grouped*: how long does a wave of 132 tiles take at the speed of cuBLAS, and how long
# does memory need to deliver the bytes that you have counted?

# %%
guess = {"64 x 64": None, "3 stages": None, "grouped": None, "persistent": None}

products = measure.ladder(guess)
products[8192]

# %% [markdown]
# ## More of the ladder: smaller matrices

# %%
products[4096]

# %% tags=["solution"]
for table in products.values():
    table.expect("persistent", at_least=0.97)
    table.expect("persistent", at_least=1.05, times="grouped")
    table.expect("128 x 256", at_least=0.85)
    table.expect("128 x 256", at_least=1.8, times="1 stage")
    table.expect("3 stages", at_least=1.2, times="64 x 64")

# %% [markdown] tags=["solution"]
# The products are timed in short bursts, each after a pause. Under a longer load, the
# GPU lowers its clock (chapter 21), and times vary.
#
# With large tiles, **stages** gain more than a factor of two, and they take only one
# argument of the launch. Large **tiles** with a single stage are only a little faster
# than small tiles with a pipeline, because each SM has a single program, and no other
# to run while that one waits.
#
# **Grouped** order gains nothing at 4096, and little at 8192. At 8192, the 16 waves
# take 1.5 ms, so one wave takes nearly 100 µs. In that time the memory of an H200
# delivers 400 MB, whereas the worst of the orders in your table needs 151 MB. By this
# count, memory is not the limit. Chapter 22's kernel, however, gains more from such an
# order at 8192, although the same count is true of it. Section *The order of tiles*
# below shows what happens at 16,384.
#
# ***n x k*** is clearly slower than *grouped*, although only the layout of `b` in
# memory has changed. We have not measured why.
#
# **Descriptors** replace the 36 copies per thread, and their addresses and masks, with
# one instruction for each tile. The **persistent** loop fills the gap between two
# tiles, in which nothing was being loaded or multiplied.

# %% [markdown]
# ## 5 · A shared result, and tuning
#
# Which tile, how many warps and how many stages are best? `@triton.autotune` tries a
# list of configurations, at the first launch with new values of the parameters in
# `key`, and keeps the fastest. To do so, it launches the program many times, on your
# arrays.
#
# Write `column_sums`, which adds up each column of a matrix (the gradient of a bias is
# such a sum). Program (`i`, `j`) takes `ROWS` rows from row `i * ROWS` on and `COLS`
# columns from column `j * COLS` on. `tl.sum(block, axis=0)` adds the rows of its block.
# Then all programs with the same `j` add to the same sums in `out`, which contains
# zeros before the launch, with `tl.atomic_add(pointers, values, mask=...)` (chapter 9).
#
# Then think about the decorator. Each configuration is timed many times. What does
# `out` contain afterwards? One argument of `triton.autotune` is missing;
# `help(triton.autotune)` lists all of them. Stuck? `hint("column_sums")`.
#
# ```python
# column_sums(x, out, rows, cols, ROWS, COLS)    # x (rows, cols), out (cols,) float32
# ```

# %%
@triton.autotune(
    [triton.Config({"ROWS": rows, "COLS": 32}) for rows in (16, 64)],
    key=["rows", "cols"],
    # BEGIN SOLUTION
    # was: # one argument is missing here
    reset_to_zero=["out"],
    # END SOLUTION
)
@triton.jit
def column_sums(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    # about 5 lines
    # BEGIN SOLUTION
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]

    block = tl.load(x + row * cols + col, (row < rows) & (col < cols), 0.0)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    tl.atomic_add(out + col, tl.sum(block, axis=0), mask=col < cols)
    # END SOLUTION

# %%
check(
    column_sums,
    spec=lambda x: x.sum(axis=0),
    because=checks.SUMS,
    inputs=lambda rng, rows, cols: (checks.normal(rng, rows, cols),),
    sizes=[(20, 33), (70, 50)],
    out=lambda x: np.zeros(x.shape[1], np.float32),
    launch=lambda rows, cols: (
        lambda meta: (cdiv(rows, meta["ROWS"]), cdiv(cols, meta["COLS"]))
    ),
    full=(5000, 3000),
    limits={"loaded": 1},
)

# %% [markdown] tags=["solution"]
# Without `reset_to_zero`, `out` contains the sums of all the trials together after the
# first launch, whereas every later launch is right. Such a mistake is easy to overlook.
# The other common mistake is a `key` without one of the sizes, so that the choice for
# the first size is used for all sizes.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### The addition beside Numba's
#
# Both programs add 2^26 numbers. How fast is each, with `torch.add` as 1.0? *Triton,
# odd* adds one element fewer, so each of its loads fetches only 4 bytes.

# %%
guess = {"Numba": None, "Triton": None, "Triton, odd": None}

added = measure.added(numba_add, triton_add, guess)
added

# %% tags=["solution"]
added.expect("Triton", at_least=0.97)
added.expect("Triton", at_least=1.15, times="Numba")

# %% [markdown]
# ### Rows
#
# Compare the programs on three shapes, with `torch.log_softmax` as 1.0. In the third
# shape, a row has 131,072 elements, or 512 KB. Where are these elements while the
# program computes?

# %%
guess = {"mine": None, "copy": None}

rows_of = measure.by_rows(log_softmax, guess)
rows_of[1024]

# %%
rows_of[8192]

# %%
rows_of[131072]

# %% tags=["solution"]
rows_of[1024].expect("mine", ceiling=0.93)
rows_of[8192].expect("mine", ceiling=0.9)
rows_of[131072].expect("copy", at_least=3.0, times="mine")

# %% [markdown]
# ### Long rows
#
# The matrix has 1024 rows of 131,072 bfloat16 numbers, 268 MB. Each element is loaded
# twice and stored once, in pieces of 4096 elements. A program has 8 warps and an SM has
# room for 64, so all 1024 rows are in progress at once. The L2 cache holds 60 MB. Where
# do the second loads get their data, then, and how close to the speed of a copy can the
# program come?

# %%
guess = {"mine": None, "torch.compile": None}

pieces = measure.pieces(rms_norm, guess)
pieces

# %% tags=["solution"]
pieces.expect("mine", ceiling=0.55)
pieces.expect("mine", at_least=1.2)
pieces.expect("mine", at_least=0.93, times="torch.compile")

# %% [markdown] tags=["solution"]
# The second loads go to memory again, because all 256 KB of a row are loaded before its
# second loop begins, and 1024 rows are in progress. So each element is transferred
# three times instead of twice, and the limit is 67 % of the copy's speed.
# `torch.compile` reaches the same speed.

# %% [markdown]
# ### The order of tiles
#
# Now the size is 16,384, so a row of tiles needs twice as many bytes as before, and so
# does a column. *Row by row* is `GROUP=1`. *Scattered* takes every 613th tile, so that
# programs with neighbouring numbers have nothing in common. The product takes 63 waves.
# How fast is each order, with *grouped* as 1.0?

# %%
guess = {"row by row": None, "scattered": None}

in_orders = measure.in_orders(guess)
looks.rates_by_order(in_orders)
in_orders

# %% tags=["solution"]
in_orders.expect("grouped", at_least=1.1, times="row by row")
in_orders.expect("grouped", at_least=1.3, times="scattered")

# %% [markdown] tags=["solution"]
# The cell prints the bytes that a wave needs at least once, and the rate at which these
# would have to arrive for a wave to be as fast as *grouped*. The scattered order needs
# more than an H200's memory can deliver, even if nothing is loaded twice, so here the
# tensor cores have to wait. Row by row needs less than a copy moves, but is slow too.
# Its programs probably drift apart, so that some data have left the cache before the
# last program reads them, and are loaded again. Such a count shows which orders cannot
# be fast, but not which order is.

# %% [markdown]
# ### A size that is not a multiple of 16
#
# You have seen how 8190 changes the machine code. How does it change the time?

# %%
guess = {"8190": None}

odd = measure.odd(guess)
odd

# %% tags=["solution"]
odd.expect("8192", at_least=2.0, times="8190")

# %% [markdown]
# ### Tuning
#
# Here are six configurations of `matmul_grouped` with 128 × 128 and 128 × 256 tiles. A
# program needs stages × (BM × BK + BK × BN) × 2 bytes of shared memory; 227 KB is the
# limit. The accumulator takes BM × BN / (32 × warps) registers per thread; 255 is the
# limit. Work both out by hand. Which configuration will be the fastest, and how long
# will the tuning take?

# %%
measure.requirements()

if weft.on_gpu("tuning needs a clock"):
    a, b = (
        torch.randn(8192, 8192, device="cuda").to(torch.bfloat16) for _ in "ab"
    )
    measure.tune(a, b)

# %% [markdown] tags=["solution"]
# Six configurations take seconds; a search over a few hundred takes minutes, on every
# new machine and for every new shape.
#
# `best` is chosen by the median of many runs, whereas this list shows the fast end of
# their times. If two configurations are close and times fluctuate, the fastest in the
# list need not be the chosen one.
#
# Tuning cannot change the program: no configuration turns pointers into descriptors.

# %% [markdown]
# ### Without tensor cores
#
# Now multiply matrices in **float32**. `tl.dot` of float32 uses tensor cores in TF32 by
# default, with 10 bits of mantissa. `input_precision="ieee"` requests float32
# arithmetic, which no tensor core offers. In this arithmetic, chapter 19's best kernel
# in Numba is as fast as cuBLAS, with register tiles and a pipeline written by hand.
# Will Triton be as fast?

# %%
guess = {"Triton": None}

slow = measure.slow(guess)
slow

# %% tags=["solution"]
slow.expect("cuBLAS", at_least=1.05, times="Triton")

# %% [markdown]
# ### One level down
#
# **Gluon** is the language one level below Triton: the compiler and the idea of a
# program are the same, but you decide about layouts, shared memory, barriers and
# asynchronous copies. Here is the addition again. `BlockedLayout([4], [32], [4], [0])`
# says that a thread has 4 neighbouring elements, a warp has 32 threads, and a program
# has 4 warps. What happens if a thread has 1 element, or 32? Remember chapter 12.

# %%
guess = {"1 each": None, "4 each": None, "32 each": None}

by_hand = measure.by_hand(triton_add, guess)
by_hand

# %% tags=["solution"]
by_hand.expect("4 each", at_least=0.9)
by_hand.expect("4 each", at_least=1.3, times="32 each")

# %% [markdown] tags=["solution"]
# With 32 neighbours per thread, neighbouring threads read addresses that are 128 bytes
# apart, and each load of a warp touches 32 different lines. Triton would not choose
# this layout, and it gives you no way to ask for it.

# %% [markdown]
# ### If you want more
#
# - Write `rms_norm` for rows that fit into one block, and find the row length above
#   which pieces are faster.
# - Let `log_softmax` process a row in pieces, with the online softmax of chapter 16,
#   and compare the times at 131,072 columns.
# - Split-K: let several programs share a tile of `linear`, each with a part of K, and
#   add up their float32 sums with atomics. For which shapes is that faster, and where
#   does the epilogue go?
# - Compile `matmul_persistent` with and without `flatten=True`. What differs in
#   `code.layouts`?
# - `tl.rand(seed, offsets)` uses Philox (chapter 17). Write a dropout whose backward
#   pass makes the same mask again.

# %% [markdown]
# ## What you learned
#
# 1. A program computes with blocks. The compiler takes care of threads, shared memory,
#    barriers and tensor core instructions; you write the grid, the tiles, their order
#    and the masks.
# 2. A mask is part of every access at an edge, and `other` must not change the result:
#    minus infinity for a maximum, 0 for a sum.
# 3. The compiler writes vector loads, swizzles and pipelines, if addresses and sizes
#    are multiples of 16. Otherwise, it falls back on slower code without a warning; the
#    PTX shows it.
# 4. In bfloat16, descriptors and a persistent loop reach the speed of the library.
#    Pointers alone come close to it.
# 5. Programs that share a result need atomics. Tuning launches a program many times, so
#    such a result must be reset before each trial.

# %%
quiz()
