# %% [markdown]
# # 17 · Fusion
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/17_fusion.ipynb)
#
# **After this lab, you can**
#
# - say how many launches a chain of operations needs and how many bytes it moves, and
#   how many would be enough;
# - fuse such a chain by hand, and say what fusion cannot save;
# - generate random numbers instead of storing them, with the same mask forward and
#   backward;
# - write RMSNorm and LayerNorm so that they read everything only once, and write
#   LayerNorm's backward pass;
# - find out whether a compiled kernel keeps its values in registers, and fix it if it
#   does not;
# - trade registers for occupancy, and know when that is a bad trade.
#
# **You need** about 110 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft import bench, check, explore, hint, quiz
from weft.intrinsics import exp2, load4, store4

chapter = weft.lab("17_fusion")
checks = chapter.checks
gelu, philox, random4, keep, warp_sum, block_sum = (
    chapter.kernels.device_functions()
)

# %% [markdown]
# ## Look: one line of PyTorch
#
# In training, a layer of a language model may end with this line:
#
# ```python
# y = F.dropout(F.gelu(x + bias), 0.1)
# ```
#
# These are three operations, so PyTorch launches three kernels, and each reads what the
# one before has written. The table in the next cell lists the bytes per element that
# each kernel reads and writes: 4 for each array of the size of `x`. Dropout also writes
# a mask for the backward pass, one byte per element. The bias is small, so it is left
# out.
#
# For 16,384 × 4096 float32, how many bytes move? How many would have to move if one
# kernel did everything and needed no mask?

# %%
SIZE = 16384 * 4096
steps = {  # bytes read and written per element
    "x + bias": (4, 4),
    "gelu": (4, 4),
    "dropout": (4, 4 + 1),
}

for name, (read, written) in steps.items():
    mb_in, mb_out = read * SIZE / 1e6, written * SIZE / 1e6
    print(f"{name:9} {mb_in:6.0f} MB in {mb_out:6.0f} MB out")
together = sum(map(sum, steps.values())) * SIZE
print(f"together  {together / 1e6:6.0f} MB")

# %% tags=["solution"]
least = (4 + 4) * SIZE
print(f"at least  {least / 1e6:6.0f} MB, {together / least:.2f} times less")
assert together > 3 * least

# %% [markdown] tags=["solution"]
# A single kernel has to read `x` and write `y`, and nothing else needs to leave the
# registers. Such a kernel should be three times as fast as PyTorch's three kernels,
# without doing anything better. This is **fusion**. It does not compute faster, but
# moves fewer bytes.
#
# Fusion also saves launches, whose cost you measure under *More measurements*.

# %% [markdown]
# ## 1 · One pass
#
# **GELU** multiplies a number by the part of the bell curve's area that is to the left
# of that number:
#
# $$\mathrm{gelu}(z) = z \, \Phi(z) = \frac z 2 \left( 1 +
#    \mathrm{erf} \frac z {\sqrt 2} \right)$$
#
# The device function `gelu(z)` computes this. Write the kernel that adds a bias to
# each column and takes the GELU of the sum, in **one pass**: it reads only `x` and
# `bias`, and writes only `out`.
#
# Each thread takes four neighbouring elements of a row, with `load4` and `store4`
# (chapter 12). The number of columns is a multiple of 4, and the grid's y axis counts
# the rows. Stuck? `hint("bias_gelu")`; there are three hints.
#
# ```python
# bias_gelu(x, bias, out)    # (rows, cols), (cols,) -> (rows, cols)  float32
# ```

# %%
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    # about 5 lines
    # BEGIN SOLUTION
    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, col)
        a, b, c, d = gelu(a + e), gelu(b + f), gelu(c + g), gelu(d + h)
        store4(out, (row, col), a, b, c, d)
    # END SOLUTION


# %%
check(
    bias_gelu,
    spec=lambda x, bias: checks.gelu_of(x + bias),
    inputs=checks.biased,
    sizes=[(1, 1), (3, 70), (5, 33)],
    launch=lambda rows, cols: (
        (-(-cols // checks.threads(cols)), rows),
        checks.threads(cols),
    ),
    full=(100, 999),
    limits={"loads": 2, "load_bytes": 16, "store_bytes": 16, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Two kernels for the same operations would read and write twice as many bytes.
# Otherwise, nothing about this kernel is new: it is chapter 12's copy, with some
# arithmetic between load and store.
#
# Every row reads the bias, but in the measurement below the bias is only 16 KB, so it
# comes from a cache.

# %% [markdown]
# ## Measure: two kernels, one kernel
#
# The size is 16,384 × 4096 again. At best, that is 268 MB in and 268 MB out, as for a
# copy of the same array, which is the ceiling. *Two kernels* in Numba, one for the bias
# and one for the GELU, move twice as many bytes. *One pass, 16 bytes* is your kernel,
# and *one pass* is the same with loads of 4 bytes. *CUDA C++* is your kernel in that
# language, compiled by NVRTC (chapter 5). `torch.compile` also fuses the two
# operations, in Triton. If PyTorch's two kernels are 1.0, how fast are the others?
#
# %%
guess = {
    "two kernels": None,
    "one pass": None,
    "one pass, 16 bytes": None,
    "CUDA C++": None,
    "torch.compile": None,
}

one_pass = chapter.measure.one_pass(bias_gelu, guess)
one_pass

# %% tags=["solution"]
one_pass.expect("one pass, 16 bytes", at_least=1.6)
one_pass.expect("one pass, 16 bytes", ceiling=0.9)
one_pass.expect("one pass, 16 bytes", at_least=0.95, times="CUDA C++")
one_pass.expect("one pass", at_least=1.3, times="two kernels")

# %% [markdown] tags=["solution"]
# The two kernels move twice as many bytes as the single kernel, and take nearly twice
# as long. With loads of 16 bytes, the single kernel comes close to the copy. So does
# the same kernel in C++, and so does the kernel that `torch.compile` generates: for a
# chain of elementwise operations, you can leave the fusion to the compiler.
#
# There is time for the arithmetic. While memory delivers 32 elements and stores 32,
# which is 256 bytes, the SMs of an H200 have time for about 60 warp instructions (for
# reading alone, chapter 14 counted 30). The kernel executes 148 instructions for four
# elements per thread, or 37 for every 32 elements.

# %% [markdown]
# ## 2 · Regenerating the dropout mask
#
# **Dropout**, here with a probability of 0.1, sets a random tenth of the elements to 0
# and multiplies the other elements by 1 / 0.9. In the backward pass, the gradients of
# the same elements are set to 0, so the usual way is to keep the mask.
#
# The other way is to *compute it again*. A **counter-based generator** is a function
# that scrambles a number, the counter. The same counter always gives the same random
# number. No state is passed from one number to the next, so any thread can compute any
# of the numbers, in any order, and more than once.
#
# **Philox** is the counter-based generator that PyTorch uses on a GPU. It takes four
# 32-bit counters and a key, and scrambles them in ten rounds. Each round multiplies two
# of the numbers by constants, which gives 64 bits each (`mul_wide` returns the upper
# and the lower half), and combines the halves and the key crosswise. The results are
# four random 32-bit numbers.
#
# `random4(k, state)` returns these four numbers for counter `k`. `state` holds two
# numbers, a seed and the number of the training step. Four random numbers are enough
# for four neighbouring elements. **Group `k`**, which begins at element `4 * k`, uses
# counter `k`, no matter which thread processes it. An element is kept if its random
# number is at least `CUT`, a tenth of 2^32, and is then multiplied by `SCALE`.
# `keep(random, value)` returns the scaled value, or 0 if the random number is below
# `CUT`.
#
# Write the kernel as a grid-stride loop over these groups. The mask has to be the same
# for any grid and any block. Stuck? `hint("dropout")`.
#
# ```python
# dropout(x, state, out)    # (4 n,), (2,) uint32 -> (4 n,)  float32
# ```

# %% tags=["given"]
DROPPED = 0.1
CUT = np.uint32(DROPPED * 2**32)
SCALE = np.float32(1 / (1 - DROPPED))

# %%
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    # about 5 lines
    # BEGIN SOLUTION
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = random4(k, state)
        store4(out, 4 * k, keep(p, a), keep(q, b), keep(r, c), keep(s, d))
    # END SOLUTION


# %%
check(
    dropout,
    spec=checks.dropped,
    inputs=checks.random_states,
    sizes=[1, 32, 75, 200],
    launch=lambda n: (1 + n % 3, checks.threads(n)),
    full=100_001,
    limits={"load_bytes": 8, "store_bytes": 16, "loads": 6, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Dropout multiplies each element by 0 or `SCALE`. Its backward pass multiplies each
# gradient by the same factor, so it is **the same kernel**, with the gradient instead
# of `x` and with the same state. Only two numbers have to be kept.

# %% tags=["solution"]
x = np.random.default_rng(17).random(4000, np.float32) + 1
state = np.uint32([17, 1])  # seed 17, step 1
there = checks.launched(dropout, (4, 32), x, state, x)
back = checks.launched(dropout, (3, 64), -x, state, x)
later = checks.launched(dropout, (4, 32), x, state + np.uint32([0, 1]), x)

print(f"dropped: {np.mean(there == 0):.1%}")
print(f"the same ones going back: {np.all((there == 0) == (back == 0))}")
shared = np.mean((later == 0)[there == 0])
print(f"of these, dropped again a step later: {shared:.1%}")
assert np.array_equal(back, -there)

# %% [markdown]
# Philox comes with **known answers**: the numbers that it must return for certain
# counters. If you write the generator and do not compare it with these answers, you
# have probably written a different generator. Here are the lab's generator, in
# `kernels.py`, and the answers of Philox's authors:

# %%
checks.compare_with_known_answers()

# %% [markdown]
# ## 3 · A norm, read once
#
# So far, each element was computed on its own. A **norm** first needs to know something
# about the whole row. RMSNorm, which many language models use, divides each element by
# the root of the row's mean square, and multiplies it by its column's weight:
#
# $$y_j = x_j \, r \, w_j, \qquad r = \frac 1 {\sqrt{\frac 1 n \sum_k x_k^2 +
#    \varepsilon}}$$
#
# The sum needs the whole row before the first element can be written. As in chapter 16,
# a block holds a row, each thread keeps its part in **registers**, and everything is
# read only once.
#
# A thread has up to `PIECES` = 4 pieces of four columns. Piece `k` begins at column
# `first + k * width`, where `width` is four times the number of threads; a row has at
# most `4 * width` columns, always a multiple of 4. Some threads have fewer pieces, or
# none.
#
# `values` is an array of 16 registers; `values[4 * k + j]` is for element `j` of piece
# `k`. `block_sum(value, turn)` adds up the values of all threads in the block and
# returns the sum to each of them. Two successive calls need different turns, 0 and 1,
# so that they use different elements of shared memory.
#
# Use loops over `range(PIECES)` and `range(4)`, and compute every index from their loop
# variables. Then the compiler knows which register each index refers to, and the check
# makes sure of this. The backward pass will need $r$ again, so one thread of the block
# writes it to `rstd[row]`. Stuck? `hint("rms_norm")`.
#
# ```python
# rms_norm(x, weight, out, rstd)    # (rows, cols), (cols,) -> (rows, cols), (rows,)
# ```

# %% tags=["given"]
PIECES, VALUES = 4, 16  # per thread: pieces of 16 bytes, elements
EPS = np.float32(1e-5)

# %%
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    # about 19 lines
    # BEGIN SOLUTION
    squares = float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                squares += four[j] * four[j]

    mean = block_sum(squares, 0) / float32(cols)
    r = float32(1) / math.sqrt(mean + EPS)
    if first == 0:
        rstd[row] = r

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            w = load4(weight, col)
            a, b = values[4 * k] * r * w[0], values[4 * k + 1] * r * w[1]
            c, d = values[4 * k + 2] * r * w[2], values[4 * k + 3] * r * w[3]
            store4(out, (row, col), a, b, c, d)
    # END SOLUTION


# %%
check(
    rms_norm,
    spec=checks.rms_of,
    inputs=checks.small_rows,
    sizes=[(1, 1), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    limits={
        "sectors": 16,
        "loads": 8,
        "load_bytes": 16,
        "store_bytes": 15,
        "local": 0,
        "float64": 0,
    },
)

# %% [markdown] tags=["solution"]
# The elements in this check are small, so that a missing `EPS` would show.
#
# `/ float32(cols)` needs the conversion. A float32 divided by an int64 would be a
# float64, and so would everything after it.

# %% [markdown]
# ## 4 · Registers, local memory and spills
#
# **LayerNorm** first subtracts the row's mean, then divides by the standard deviation,
# and applies a weight $\gamma$ and a bias $\beta$ for each column:
#
# $$y_j = \hat x_j \gamma_j + \beta_j, \qquad
#    \hat x_j = (x_j - \mu) \, r, \qquad
#    r = \frac 1 {\sqrt{\frac 1 n \sum_k (x_k - \mu)^2 + \varepsilon}}$$
#
# There are two sums, and the second needs the first. With the row in registers, this
# takes no second read. For the backward pass, the kernel stores two numbers per row,
# $\mu$ in `mean` and $r$ in `rstd`. They take 8 bytes per row, whereas $\hat x$ would
# take 4 bytes per element.
#
# A colleague has written the kernel below. It loads each element once, four at a time,
# and its results are right. But it is slow, because of its array. Run the check: it
# objects to the array.
#
# **Registers have no address.** `values[i]` can be a register only if the compiler
# knows `i`. Otherwise, the array gets an address, in **local memory**. The name is
# misleading: local memory is a part of the GPU's ordinary memory that belongs to one
# thread, and is cached like the rest. For a small array, the last stage of compilation
# may still avoid local memory, by comparing the index with each possible value in turn.
# That takes no memory, but many instructions. The check compiles your kernel to PTX,
# which is the stage before, and looks for an array with an address.
#
# Find the indices that depend on something known only at run time, and fix them.
# Exercise 3 has the pattern. Stuck? `hint("layer_norm")`.
#
# ```python
# layer_norm(x, gamma, beta, out, mean, rstd)
#     # (rows, cols), (cols,), (cols,) -> (rows, cols), (rows,), (rows,)
# ```

# %% tags=["broken"]
@cuda.jit
def layer_norm(x, gamma, beta, out, mean, rstd):
    """Write the LayerNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    total = float32(0)
    # BEGIN SOLUTION
    # was: count = 0
    # was: for col in range(first, cols, width):
    # was:     piece = load4(x, (row, col))
    # was:     for n in range(4):
    # was:         values[count] = piece[n]
    # was:         total += piece[n]
    # was:         count += 1
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                total += four[j]
    # END SOLUTION
    mu = block_sum(total, 0) / float32(cols)

    total = float32(0)
    # BEGIN SOLUTION
    # was: for i in range(count):
    # was:     total += (values[i] - mu) * (values[i] - mu)
    for k in range(PIECES):
        if first + k * width < cols:
            for j in range(4):
                total += (values[4 * k + j] - mu) * (values[4 * k + j] - mu)
    # END SOLUTION
    r = float32(1) / math.sqrt(block_sum(total, 1) / float32(cols) + EPS)
    if first == 0:
        mean[row], rstd[row] = mu, r

    # BEGIN SOLUTION
    # was: i = 0
    # was: for col in range(first, cols, width):
    # was:     w, v = load4(gamma, col), load4(beta, col)
    # was:     c = (values[i] - mu) * r * w[0] + v[0]
    # was:     d = (values[i + 1] - mu) * r * w[1] + v[1]
    # was:     e = (values[i + 2] - mu) * r * w[2] + v[2]
    # was:     f = (values[i + 3] - mu) * r * w[3] + v[3]
    # was:     store4(out, (row, col), c, d, e, f)
    # was:     i += 4
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            g, b = load4(gamma, col), load4(beta, col)
            p = (values[4 * k] - mu) * r * g[0] + b[0]
            q = (values[4 * k + 1] - mu) * r * g[1] + b[1]
            s = (values[4 * k + 2] - mu) * r * g[2] + b[2]
            t = (values[4 * k + 3] - mu) * r * g[3] + b[3]
            store4(out, (row, col), p, q, s, t)
    # END SOLUTION


# %%
check(
    layer_norm,
    spec=checks.norm_of,
    inputs=checks.shifted,
    sizes=[(1, 2), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    tolerance=1e-4,
    limits={"loads": 12, "load_bytes": 16, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `count` grew in a loop whose length depends on `x.shape[1]`, so the compiler could not
# know which element `values[count]` is. A loop over `range(PIECES)` always has four
# iterations. The compiler unrolls it, and `4 * k + j` becomes sixteen constants. Only a
# condition now depends on the shape, and conditions do no harm.
#
# Every other row in this check has a mean of 100 and a standard deviation of 1, and the
# tolerance is 1e-4. You could also compute the variance in one pass, as the mean of the
# squares minus the square of the mean. But in such a row that is 10,001 minus 10,000,
# which loses four digits. With the row in registers, a second pass costs no read. In
# the other rows of the check, the squares are as small as `EPS`.

# %% [markdown]
# ## 5 · Backward: the rows
#
# The backward pass gets `dy`, the gradient of the output. Let $g_j = dy_j \gamma_j$,
# and let a bar mean the average over a row. Then the gradient of the input is
#
# $$dx_j = r \left( g_j - \overline{g} - \hat x_j \, \overline{g \hat x} \right),
#    \qquad \hat x_j = (x_j - \mu) \, r$$
#
# There are two sums over the row again, but neither needs the other. `mean` and `rstd`
# come from the forward pass. Read everything only once; `xs` is for $\hat x$, and `gs`
# is for $g$. Stuck? `hint("layer_norm_backward")`.
#
# ```python
# layer_norm_backward(x, dy, gamma, mean, rstd, dx)
#     # (rows, cols), (rows, cols), (cols,), (rows,), (rows,) -> (rows, cols)
# ```

# %%
@cuda.jit
def layer_norm_backward(x, dy, gamma, mean, rstd, dx):
    """Write the gradient of LayerNorm's input into dx; one block per row."""
    xs = cuda.local.array(VALUES, float32)
    gs = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x
    mu, r = mean[row], rstd[row]

    # about 25 lines
    # BEGIN SOLUTION
    sum_g, sum_gx = float32(0), float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            weight = load4(gamma, col)
            for j in range(4):
                xs[4 * k + j] = (four[j] - mu) * r
                gs[4 * k + j] = back[j] * weight[j]
                sum_g += gs[4 * k + j]
                sum_gx += gs[4 * k + j] * xs[4 * k + j]

    a = block_sum(sum_g, 0) / float32(cols)
    b = block_sum(sum_gx, 1) / float32(cols)

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            i = 4 * k
            p = r * (gs[i] - a - xs[i] * b)
            q = r * (gs[i + 1] - a - xs[i + 1] * b)
            s = r * (gs[i + 2] - a - xs[i + 2] * b)
            t = r * (gs[i + 3] - a - xs[i + 3] * b)
            store4(dx, (row, col), p, q, s, t)
    # END SOLUTION


# %%
check(
    layer_norm_backward,
    spec=checks.norm_gradient,
    inputs=checks.going_back,
    sizes=[(1, 2), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    tolerance=1e-4,
    limits={"loads": 14, "load_bytes": 14, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The two sums could share a barrier, since neither needs the other: a `block_sum` of
# two values would be enough. The fused kernel below works this way.

# %% [markdown]
# ## 6 · Backward: the columns
#
# $\gamma$ and $\beta$ have gradients too. These are sums in the other direction, **down
# the columns**, through all rows:
#
# $$d\gamma_j = \sum_{\text{rows}} dy_j \, \hat x_j, \qquad
#    d\beta_j = \sum_{\text{rows}} dy_j$$
#
# There are 16,384 rows and 8192 sums. One thread per column would mean only 4096
# threads, but an H200 holds more than a quarter of a million. With one atomic addition
# per element for each of the two gradients, there would be 134 million additions, all
# to the same 32 KB.
#
# So, as in chapter 14, use **two stages**. The rows are distributed over `gridDim.y`
# groups: group `p` takes the rows p, p + gridDim.y, p + 2 gridDim.y and so on. A thread
# belongs to one group and to four neighbouring columns. It goes down the rows of its
# group, adds to eight sums in registers, and at the end stores these sums in row `p` of
# `dgammas` and of `dbetas`. A second, small kernel adds up these rows. Write the first
# stage: no atomics, and four loads per row. Stuck? `hint("column_parts")`.
#
# ```python
# column_parts(x, dy, mean, rstd, dgammas, dbetas)
#     # (rows, cols) twice, (rows,) twice -> (groups, cols) twice
# ```

# %%
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    # about 14 lines
    # BEGIN SOLUTION
    if col < x.shape[1]:
        a = b = c = d = float32(0)
        e = f = g = h = float32(0)
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            middle, r = mean[row], rstd[row]
            a += back[0] * (four[0] - middle) * r
            b += back[1] * (four[1] - middle) * r
            c += back[2] * (four[2] - middle) * r
            d += back[3] * (four[3] - middle) * r
            e, f = e + back[0], f + back[1]
            g, h = g + back[2], h + back[3]
        store4(dgammas, (group, col), a, b, c, d)
        store4(dbetas, (group, col), e, f, g, h)
    # END SOLUTION


# %%
check(
    column_parts,
    spec=checks.parts_of,
    inputs=checks.without_gamma,
    sizes=[(3, 1), (10, 70), (8, 33)],
    launch=lambda rows, cols: (
        (-(-cols // checks.threads(cols)), checks.groups(rows)),
        checks.threads(cols),
    ),
    full=(999, 500),
    tolerance=1e-4,
    limits={
        "atomics": 0,
        "load_bytes": 9,
        "store_bytes": 16,
        "loads": 8,
        "float64": 0,
    },
)

# %% [markdown]
# Each thread goes down its columns, which sounds like the worst possible way to read a
# matrix. But look at what a *warp* reads in one iteration.

# %%
few = checks.without_gamma(np.random.default_rng(17), 4, 32)
explore(column_parts)[(1, 2), 32](*few, *np.zeros((2, 2, 128), np.float32))

# %% [markdown] tags=["solution"]
# The 32 lanes read 512 consecutive bytes: 16 sectors of 32 bytes, and all their bytes
# are needed. Each thread goes down its own columns, but at any moment the threads of a
# warp are side by side in one row. `mean` and `rstd` are the same for all lanes, so
# each of these two loads touches one sector.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: more
# measurements, each with a prediction, and tests of the kernels that they run. Their
# code is in `measure_layer.py` and `measure_norms.py`, and their kernels are in
# `kernels.py` and `norm_backward.py`, all in `chapters/17_fusion`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### A hundred small kernels
#
# Suppose you add 1 to each element of an array, a hundred times in a row. There are
# four ways to do this:
#
# - **Numba**: a hundred launches, in a loop;
# - **PyTorch**: a hundred times `x.add_(1)`;
# - **graph**: Numba's hundred launches, recorded once as a CUDA graph (chapter 11) and
#   then replayed as a whole;
# - **one kernel**: a single launch; each thread adds 1 a hundred times, in a register.
#
# The times are how long your program waits, the host's work included, first for 32
# elements and then for 2^26. If Numba's hundred launches are 1.0, how fast are the
# other three ways?

# %%
guess = {"PyTorch": None, "graph": None, "one kernel": None}
guess_large = {"PyTorch": None, "graph": None, "one kernel": None}

chains = chapter.measure.chains(guess, guess_large)
chains[32]

# %%
chains[1 << 26]

# %%
chapter.measure.print_per_kernel(chains)

# %% tags=["solution"]
chains[32].expect("graph", at_least=8)
chains[32].expect("one kernel", at_least=15)
chains[1024].expect("graph", at_least=6)
chains[1 << 26].expect("one kernel", at_least=20, times="graph")
chains[1 << 26].expect("one kernel", at_least=20, times="PyTorch")

# %% [markdown] tags=["solution"]
# For 32 elements, only the launches count. Python takes about 20 µs to launch a Numba
# kernel: it looks at the types of the arguments, finds the compiled kernel, packs the
# arguments and calls the driver. PyTorch does the same in C++. A graph does it
# *beforehand*: a replay sends finished commands, and the GPU goes from one to the next
# in less than a microsecond.
#
# That gap cannot be avoided between kernels, because each can start only when the
# results of the one before are visible. The single kernel has no such gaps.
#
# A graph removes the *launches*. Fusion removes the *bytes* as well. With 2^26
# elements, each kernel moves 0.5 GB. Then the graph saves hardly any time, whereas the
# single kernel saves nearly all of it. (PyTorch's kernel is faster than `add_one` at
# this size, probably because each of its threads takes several elements, as in chapter
# 12, and has more bytes in flight.)

# %% [markdown]
# ### Everything at once
#
# `layer` and `layer_backward` are the whole layer and its backward pass with respect to
# `x`, in one kernel each. The backward pass takes `dy` through dropout and then through
# GELU, whose slope is $\Phi(z) + z \, \varphi(z)$ with $z = x + \text{bias}$. That
# needs `x`, which is available anyway as the layer's input, so nothing else has to be
# kept.

# %% [markdown]
# **Is there time for this arithmetic?** Barely, on an H200: `layer` executes 55 warp
# instructions per 32 elements, while memory leaves time for about 60. So `lean_layer`
# computes the GELU with fewer instructions, by a polynomial with nine coefficients and
# one `exp2` (the chapter has the formula). How large is the error?

# %%
checks.print_gelu_error()

# %% [markdown]
# The error that you see is due to rounding: between 4 and 8, neighbouring float32 are
# 4.8e-7 apart.
#
# Are the kernels right? You can test a gradient without a formula: change `x` a little,
# and see how much the output changes.

# %%
checks.compare_gradients(np.uint32([17, 1]))  # seed 17, step 1

# %% [markdown]
# ### The layer, forward and backward
#
# On paper, PyTorch's three forward kernels move 25 bytes per element, and the fused
# kernel moves 8. In the backward pass, PyTorch first goes through dropout, which reads
# the gradient and the mask and writes a gradient. Then it goes through GELU, which
# reads that gradient and the stored `x + bias`, and writes a gradient. How many bytes
# is that? The fused backward kernel reads `x` and `dy` and writes `dx`.
#
# How much time do the instructions take? *One kernel* is `layer`, and *fewer
# instructions* is `lean_layer`.
#
# All versions run in training mode and compute the gradient of `x` alone. The time of
# PyTorch's forward pass includes autograd's work on the host only if that takes longer
# than the work on the GPU.

# %%
guess = {"torch.compile": None, "one kernel": None, "fewer instructions": None}

layer_table = chapter.measure.layer_table(guess)
layer_table

# %%
guess = {"torch.compile": None, "one kernel": None, "fewer instructions": None}

back_table = chapter.measure.back_table(guess)
back_table

# %% tags=["solution"]
layer_table.expect("one kernel", at_least=2)
layer_table.expect("fewer instructions", at_least=2)
layer_table.expect("fewer instructions", ceiling=0.88)
layer_table.expect("fewer instructions", at_least=1.1, times="one kernel")
layer_table.expect("fewer instructions", at_least=1.3, times="torch.compile")
back_table.expect("fewer instructions", at_least=1.2)
back_table.expect("fewer instructions", ceiling=0.88)

# %% [markdown] tags=["solution"]
# In the backward pass, PyTorch moves 4 + 1 + 4 bytes for dropout and 4 + 4 + 4 for
# GELU. These are 21 bytes instead of 12.
#
# Forward, `layer` is much slower than the copy on an H200, but only a little slower on
# an H100, whose slower memory leaves more time for the arithmetic. The backward kernel
# is closer to the copy, because moving 12 bytes instead of 8 leaves one and a half
# times as much time for about the same arithmetic. With fewer instructions, both passes
# gain. If memory were the limit, saving instructions would gain nothing, so count
# first.

# %% [markdown]
# ### Limits of CUDA graphs
#
# A graph keeps the *arguments* of its launches: the addresses of arrays, and the values
# of numbers. Suppose the training step of this layer is replayed as a graph. Which of
# these gives a new mask at each replay?
#
# - the step number is an argument of the launch, and your program increments it;
# - the step number is in `state`, in the GPU's memory, and a kernel in the graph
#   increments it.

# %%
chapter.measure.replay_steps(dropout)

# %% [markdown] tags=["solution"]
# The argument was copied when the graph was recorded. So every replay drops the same
# elements. No error is reported. The network only trains a little worse, and no test of
# shapes finds such a bug. Whatever changes from replay to replay has to be read from
# memory. PyTorch's own dropout does this: while a graph is being recorded, its kernels
# get the *address* of the counter.

# %% [markdown]
# ### Registers
#
# Once a kernel has been compiled for a GPU, two methods report what it uses:
#
# - `kernel.get_regs_per_thread()`: registers per thread, for each signature;
# - `kernel.get_local_mem_per_thread()`: bytes of local memory per thread.
#
# You can also make the compiler use fewer registers: `@cuda.jit(max_registers=32)`.
# Values that do not fit are then **spilled**: stored in local memory, and loaded when
# they are needed. That can be useful because an SM has only 65,536 registers. The fewer
# registers each thread takes, the more threads can be resident at a time. An SM holds
# at most 2048 threads, and the share of them that is resident is the **occupancy**.
#
# Below is LayerNorm of 16,384 rows of 4096, with 256 threads per row: your kernel, your
# colleague's kernel with the unknown index, and your kernel with at most 32 and at most
# 24 registers. Which of these kernels do you expect to spill? Which will be the
# fastest? The ceiling is a copy, and `F.layer_norm` is 1.0.

# %%
guess = {"yours": None, "unknown index": None, "at most 24": None}

registers_table = chapter.measure.registers(layer_norm, guess)
registers_table

# %%
bench.compiled(
    "LayerNorm",
    lambda: {
        name: (kernel, 256)
        for name, kernel in chapter.measure.norm_kernels.items()
    },
)

# %% tags=["solution"]
registers_table.expect("yours", at_least=1.05)
registers_table.expect("yours", at_least=1.15, times="at most 24")
registers_table.expect("yours", at_least=1.5, times="unknown index")
registers_table.expect("yours", ceiling=0.88)

# %% [markdown] tags=["solution"]
# With at most 32 registers, an SM holds all 2048 threads that it can, but the kernel is
# slower. There were enough loads in flight before. Now each thread also stores and
# loads the values that it spills, which adds traffic. With 24 registers, not even one
# more block fits, and many more bytes are spilled.
#
# Your colleague's kernel, with the unknown index, reports no local memory, and yet it
# takes far longer than yours on both GPUs. In PTX, the array is in local memory and
# takes 64 bytes, but the last stage, ptxas, has moved it to registers after all. To
# find the right register, a warp executes 1689 instructions instead of 546, and issuing
# them takes most of the kernel's time. We also compiled the kernel for 32 elements per
# thread. Then the array really is in local memory; on compute capability 10.0, it is
# even with 16 elements.
#
# What counts is not the number of threads, but the number of bytes in flight, and
# whether anything else limits the kernel.

# %% [markdown]
# ### Both at once
#
# `layer_norm_backward` and `column_parts` both read `x` and `dy`, so five arrays move
# where three would be enough. Can one kernel compute both?
#
# The solution is a **persistent** block, which takes *many* rows, one after the other.
# A thread has the same columns in each row, so it keeps the sums of these columns in
# registers from row to row, and stores them when its block has no rows left. A block
# waits in every row: first for its loads, then at the barrier. That time can be used by
# another block on the same SM, or by the block itself, if it requests the next row
# before it adds up the current row (`ahead`). The next row arrives in registers or,
# where these are full, in shared memory.
#
# `norm_backward`, in the file of that name, makes these kernels. They compute the
# gradients of LayerNorm or RMSNorm (`centred` or not), for rows of
# `4 * pieces * threads` columns.

# %% [markdown]
# Does `norm_backward` compute the right gradients, for both norms and for each way of
# loading ahead? The next cell compares them with NumPy's, with three blocks for eight
# rows.

# %%
checks.compare_norm_backward()

# %% [markdown]
# ### LayerNorm, backward
#
# The size is 16,384 × 4096. *Rows, then columns* runs your two kernels and the kernel
# that adds up the parts. On paper, that moves five arrays, or 1.34 GB. *Both at once*
# moves three arrays, or 0.81 GB, and so does the copy. PyTorch's own backward pass has
# one kernel for the rows and others for the columns. If PyTorch is 1.0, what will the
# table say?

# %%
guess = {
    "rows, then columns": None,
    "both at once": None,
    "torch.compile": None,
}

backward_table = chapter.measure.backward(
    layer_norm_backward, column_parts, guess
)
backward_table

# %% tags=["solution"]
backward_table.expect("both at once", at_least=1.5)
backward_table.expect("both at once", at_least=1.4, times="rows, then columns")
backward_table.expect("both at once", ceiling=0.88)

# %% [markdown] tags=["solution"]
# *Both at once* moves three arrays instead of five. Sums along the rows and sums down
# the columns are two reductions, and PyTorch's own kernels read the data separately for
# each of them. `torch.compile` must have fused the two, as `norm_backward` does, since
# five arrays would take 0.32 ms at the speed of an H200's copy.

# %% [markdown]
# ### How many registers are best?
#
# Here are six versions of the same kernel, for 4096 columns:
#
# | | threads | columns per thread | ahead | registers | blocks on an SM |
# | --- | ---: | ---: | --- | ---: | ---: |
# | two blocks | 512 | 8 | no | 56 | 2 |
# | one block, ahead | 512 | 8 | yes | 72 | 1 |
# | two blocks, ahead | 512 | 8 | yes | at most 64 | 2 |
# | three blocks, ahead | 512 | 8 | yes | at most 40 | 3 |
# | large block | 1024 | 4 | no | 40 | 1 |
# | large block, ahead | 1024 | 4 | yes | 48 | 1 |
#
# 512 × 72 is 36,864, which is more than half of an SM's 65,536 registers, so only one
# block fits. With at most 64 registers there is room for two blocks, and with at most
# 40 for three. Values that do not fit are spilled. In which of the versions is nothing
# loaded while a block waits? Which versions spill? Sort all six by speed before you
# look.

# %%
guess = {
    "one block, ahead": None,
    "three blocks, ahead": None,
    "large block": None,
}

variants_table = chapter.measure.variants(guess)
variants_table

# %%
bench.compiled("LayerNorm backward", lambda: chapter.measure.back_kernels)

# %% tags=["solution"]
variants_table.expect("two blocks", at_least=1.8, times="three blocks, ahead")

# %% [markdown] tags=["solution"]
# Two blocks take turns: one loads while the other waits. One block that loads ahead
# takes turns with itself. Either is enough. The large block has as many threads as the
# two blocks together, but they all wait at the same barrier, and nothing is loaded
# meanwhile. Loading ahead fixes this.
#
# Two blocks that load ahead might be better still if there were enough registers. But a
# few bytes of spills per thread, in a loop that runs for every row, cost more time than
# loading ahead gains. With only 40 registers per thread, the spills take longer than
# everything else in the kernel.

# %% [markdown]
# ### Where should the next row go?
#
# For 8192 columns, a thread has 16 elements. On paper, that takes 80 registers, or 112
# if it loads ahead, plus whatever else it needs. In a block of 512 threads, each thread
# may have 128 registers, and one block fits on an SM. The next row of `dy` arrives in
# registers; the next row of `x` arrives either there or in shared memory:
#
# | | registers | shared memory | blocks on an SM |
# | --- | ---: | ---: | ---: |
# | not ahead | 96 | 0.5 KB | 1 |
# | ahead in registers | 128 | 0.5 KB | 1 |
# | ahead in shared memory | 118 | 32.5 KB | 1 |
#
# None of these kernels spills. If *not ahead* is 1.0, how fast are the other two?

# %%
guess = {"ahead in registers": None, "ahead in shared memory": None}

wide_table = chapter.measure.next_row(guess)
wide_table

# %%
bench.compiled(
    "LayerNorm backward, next row", lambda: chapter.measure.wide_kernels
)

# %% tags=["solution"]
if chapter.norm_backward.WIDE == "shared":
    wide_table.expect("ahead in shared memory", at_least=1.02)
    wide_table.expect(
        "ahead in shared memory", at_least=1, times="ahead in registers"
    )
    wide_table.expect("ahead in shared memory", ceiling=0.92)

# %% [markdown] tags=["solution"]
# A load occupies its destination register for as long as it is in flight. An
# asynchronous copy to shared memory occupies no register while it is in flight. Loading
# both arrays ahead into registers takes all 128. Nothing is spilled, and on an H200
# this gains nearly as much as shared memory does, but no register is left for anything
# else. (On an H100, neither way gains anything.) With `x` in shared memory, just as
# many bytes are in flight, and a thread has registers to spare.

# %% [markdown]
# ### Three shapes, four kernels
#
# The rows have 1024, 4096 or 8192 columns, and the arrays 2^25 or 2^26 elements.
# LayerNorm and RMSNorm run forward and backward, in training mode, so all versions keep
# what the backward pass needs. The forward kernels are yours, with one thread for every
# 16 columns; the backward kernels are those of `norm_backward`. In the tables, both are
# called *yours*. They are compared with a copy of the same number of bytes, with
# PyTorch and with `torch.compile`.
#
# Guess one number: how many times as fast as PyTorch are these kernels, on average?

# %%
guess = {"yours": None}

tables = chapter.measure.shapes(layer_norm, rms_norm, guess)
chapter.measure.overview(tables)

# %%
tables["LayerNorm backward, 8192 x 8192"]

# %% tags=["solution"]
for name, table in tables.items():
    table.expect("yours", at_least=1.3 if "backward" in name else 1)
    table.expect("yours", ceiling=0.88)

# %% [markdown]
# ### If you want more
#
# - The gradient of `bias` in the layer consists of the column sums of `dx`. Fuse them
#   into `layer_backward`, as *both at once* does. What has to change in its grid?
# - LayerNorm often follows `y = x + dropout(...)`. Fuse this residual connection into
#   the norm. On paper, how many bytes does that save?
# - In bfloat16 (chapter 16: `bf16_low`, `bf16_pair`), half as many bytes move. For how
#   many instructions per 32 elements is there time then? Which kernels of this lab
#   would no longer be memory-bound?
# - Use fewer rounds of Philox: seven are said to pass all tests of randomness, too. How
#   much time does this save?
# - For rows of 16,384 columns, `norm_backward` does not have enough registers. Put the
#   column sums into shared memory, where each thread has its own four elements for each
#   piece.
# - What if a row does not fit in one block (chapter 16)? Welford's or Chan's algorithm
#   merges pairs of a mean and a sum of squares, as `merge` does with a maximum and a
#   sum.

# %% [markdown]
# ## What you learned
#
# 1. A chain of small operations is limited by launches, and a chain of large ones by
#    memory. A graph removes the launches. Fusion saves both launches and bytes.
# 2. A graph freezes its arguments. A value that changes from replay to replay has to be
#    in memory.
# 3. A random number can be a function of a position and a step. Then a mask need not be
#    stored, and every launch in a step makes the same mask.
# 4. Registers have no address, so an index that the compiler does not know costs memory
#    accesses or comparisons. Values that do not fit in the registers are spilled. The
#    compiled kernel reports both registers and local memory.
# 5. Some sums run along rows, others down columns. A block that takes many rows keeps
#    the sums of its columns in registers, so one read is enough for both kinds of sum.

# %%
quiz()
