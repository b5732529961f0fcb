# %% [markdown]
# # 06 · Grids in two dimensions
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/06_grids_2d.ipynb)
#
# **After this lab, you can**
#
# - launch a two- or three-dimensional grid that covers any image, within the limits;
# - say which index must be the fast one, for row-major and for column-major data, and
#   count the sectors that the wrong choice costs;
# - split a kernel into device functions, and clamp an index at a border;
# - write a matrix product and a batched one for any shape, and calculate what limits
#   them.
#
# **You need** about 75 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU. If
# you use a GPU, it needs compute capability 7.5 or higher and 4 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint32

from weft import check, hint, quiz

chapter = weft.lab("06_grids_2d")
checks, pictures = chapter.checks, chapter.pictures

# %% [markdown]
# ## A picture to work on
#
# This is a piece of cloth: warp threads run down, weft threads run across, and at each
# crossing one of them is on top. The picture is an array of shape (rows, columns, 3): a
# red, a green and a blue value from 0 to 1 for each pixel.

# %%
picture = pictures.cloth(96, 144)
pictures.show(picture=picture)

# %% [markdown]
# ## 1 · A launch for any image
#
# A grid may have two dimensions, and so may a block: `kernel[(gx, gy), (bx, by)]`
# starts `gx` × `gy` blocks of `bx` × `by` threads. In both tuples **x comes first**,
# whereas an image's shape is (rows, columns). By convention x runs along the columns
# and y down the rows.
#
# The kernel is given. Its two guards stop the surplus threads. Write the function
# that computes its launch for an image of any shape, with one thread for each pixel
# and no block that has nothing to do.
#
# ```python
# grid_for(rows, cols) -> (grid x, grid y), (block x, block y)
# ```
#
# A block still holds at most 1024 threads, whatever its shape. Stuck?
# `hint("grid_for")` in a separate cell; there are three hints.

# %% tags=["given"]
@cuda.jit
def darken(x, out):
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[row, col] // 2


# %%
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    # about 3 lines
    # BEGIN SOLUTION
    block = 32, 8
    grid = -(-cols // block[0]), -(-rows // block[1])
    return grid, block
    # END SOLUTION


# %%
check(
    grid_for,
    kernel=darken,
    spec=lambda x: x // 2,
    inputs=lambda rng, rows, cols: (
        rng.integers(0, 256, (rows, cols), np.int32),
    ),
    sizes=[(70, 10), (8, 32), (1, 100), (33, 65)],
    full=(2000, 3001),
)

# %% [markdown] tags=["solution"]
# There are two divisions that round up, one for each dimension: columns over the
# block's x, rows over its y. If you swap them, you get away with it on square images
# only. 32 × 8 is one of many right choices; you will measure some of them. If neither
# side is a multiple of the block's, there are idle threads at both edges.

# %% [markdown]
# ## Launch limits
#
# A launch has limits, which are the same for every GPU that this course supports:
#
# | | x | y | z | in all |
# | --- | ---: | ---: | ---: | ---: |
# | threads in a block | 1024 | 1024 | 64 | 1024 |
# | blocks in a grid | 2^31 − 1 | 65,535 | 65,535 | |
#
# Which of the launches in the next cell does a GPU refuse? Decide for each launch, then
# run the cell. Its kernel does nothing.

# %%
for grid, block in [
    ((1, 1), (32, 32)),
    ((1, 1), (32, 33)),
    ((1, 1, 1), (4, 4, 64)),
    ((1, 1, 1), (4, 2, 65)),
    ((70_000, 1), (1, 1)),
    ((1, 70_000), (1, 1)),
    ((1, 1, 65_536), (1, 1)),
]:
    said = checks.answer(grid, block)
    print(f"grid {grid!s:14} block {block!s:11} {said}")

# %% [markdown] tags=["solution"]
# 32 × 33 = 1056 threads are too many, although neither side is too long. 4 × 2 × 65 =
# 520 threads are few enough, but 65 in z are too many. 70,000 blocks fit along x but
# not along y. With blocks of 8 rows, an image of more than 65,535 × 8 rows therefore
# needs a loop, or its rows along x.
#
# On a GPU all refusals look alike, `CUDA_ERROR_INVALID_VALUE`, with no word on which of
# the six numbers was too large. A check tells you which; try `(64, 32)` for the block
# in exercise 1.

# %% [markdown]
# ## 2 · Colour to grey
#
# Now write a kernel. Each thread takes one pixel, loads each of its three numbers once,
# and writes one number. The eye finds green brightest and blue darkest, so grey is a
# weighted sum. The image has three indices, `x[row, col, channel]`, and the result has
# two.
#
# ```python
# grey(x, out)    # (rows, cols, 3) -> (rows, cols)  float32
# ```
#
# `RED`, `GREEN` and `BLUE` are the weights of the television standard BT.601. Stuck?
# `hint("grey")`.

# %% tags=["given"]
RED, GREEN, BLUE = np.array([0.299, 0.587, 0.114], np.float32)

# %%
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    # about 4 lines
    # BEGIN SOLUTION
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        red, green, blue = x[row, col, 0], x[row, col, 1], x[row, col, 2]
        out[row, col] = RED * red + GREEN * green + BLUE * blue
    # END SOLUTION


# %%
check(
    grey,
    spec=lambda x: x @ np.array([0.299, 0.587, 0.114], np.float32),
    inputs=lambda rng, rows, cols: (rng.random((rows, cols, 3), np.float32),),
    sizes=[(8, 32), (1, 40), (13, 37)],
    launch=lambda rows, cols: ((-(-cols // 32), -(-rows // 8)), (32, 8)),
    full=(1080, 1921),
    limits={"loads": 3},
)

# %% [markdown]
# See how your kernel turns the cloth grey:

# %%
pictures.show(picture=picture, grey=pictures.run(grey, picture))

# %% [markdown] tags=["solution"]
# `cuda.grid(2)` returns x first, hence `col, row`; an array takes the row first. The
# third index needs no threads of its own: a thread that has a pixel handles its three
# channels. You can guard with the shape of `out`, or of `x`, whose first two numbers
# are the same.
#
# The weights are float32 because their array is. Written as `0.299` in the kernel they
# would be 64 bits wide, and so would the sum.

# %% [markdown]
# ## Measure: which index is the fast one?
#
# Memory is one long sequence of bytes, without rows and columns. A **row-major** array
# keeps each row together, so its *column* index is the fast one: the next column is 4
# bytes away, the next row is a whole row away. In a **column-major** array, the
# convention of Fortran and cuBLAS, it is the other way around. NumPy and PyTorch make
# row-major arrays; `x.T` shares the bytes and is column-major.
#
# Threads have an order too: a block's threads are numbered with x fastest, then y, then
# z, and a warp is 32 consecutive threads. In a block of 32 × 8, the lanes of a warp
# have the same y, and x from 0 to 31.
#
# Compute the cost by hand first. Memory is fetched in **sectors** of 32 bytes. If lanes
# run along the fast index, a warp reads 32 × 4 = 128 bytes in one piece, which is 4
# sectors. If they run along the slow index, the warp reads from 32 places, which is 32
# sectors, and needs only 4 bytes of each. One kernel in the table begins with `col, row
# = cuda.grid(2)`, so x is the column; the other begins with `row, col = cuda.grid(2)`.
# How fast will the four combinations of layout and kernel be, compared with
# `torch.mul`? (The matrix is 8192 × 8192: 268 MB read, 268 MB written.)
#
# Every guess in these labs is a speed, as a multiple of the baseline's: here 1.0 is as
# fast as `torch.mul`, and 0.25 takes four times as long.

# %%
guess = {
    "row-major, x is col": None,
    "row-major, x is row": None,
    "column-major, x is col": None,
    "column-major, x is row": None,
}

order = chapter.measure.order(guess)
order

# %% tags=["solution"]
order.expect("row-major, x is col", at_least=3, times="row-major, x is row")
order.expect(
    "column-major, x is row", at_least=3, times="column-major, x is col"
)
order.expect(
    "column-major, x is row", at_least=0.9, times="row-major, x is col"
)
order.expect("torch.mul", at_least=1.3, times="row-major, x is col")

# %% [markdown] tags=["solution"]
# Two combinations are fast and two are slow, and neither kernel is right in itself:
# what counts is that lanes run along the index that is fast *in memory*. Swap the
# layout or swap the unpacking, and the speed is gone; swap both, and it is back.
#
# The slow combinations take less than eight times as long, although they need 32
# sectors instead of 4. In a block of 32 × 8, the 8 threads along y are now neighbours
# in memory. So the next warps probably find in the cache the part of a sector that the
# first one does not use. The fast combinations are still much slower than `torch.mul`,
# probably because each thread handles one element, as in chapter 5.

# %% [markdown]
# ## 3 · The other major
#
# A matrix that comes from Fortran or goes to cuBLAS is **column-major**. You get it as
# a flat array of `m * n` elements. Column 0 comes first, with all its `m` elements,
# then column 1. Element (`row`, `col`) is at
#
# ```python
# row + m * col
# ```
#
# Mirror the matrix: what was in the first column goes to the last column. The check
# launches a square of threads that is large enough in both directions, so **you**
# decide whether x is the row or the column. The check allows 4 sectors per request, and
# so shows whether you decided well. Stuck? `hint("mirror")`.
#
# ```python
# mirror(x, m, n, out)    # (m * n,) -> (m * n,)  float32, column-major
# ```

# %%
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    # about 3 lines
    # BEGIN SOLUTION
    row, col = cuda.grid(2)

    if row < m and col < n:
        out[row + m * (n - 1 - col)] = x[row + m * col]
    # END SOLUTION


# %%
check(
    mirror,
    spec=lambda x, m, n: x.reshape((m, n), order="F")[:, ::-1].ravel("F"),
    inputs=lambda rng, m, n: (rng.random(m * n, np.float32), m, n),
    sizes=[(32, 8), (5, 40), (33, 21), (64, 48)],
    launch=checks.square_of,
    full=(1001, 2003),
    limits={"sectors": 4, "loads": 2},
)

# %% [markdown] tags=["solution"]
# Here the row is the fast index, so the row is x: `row, col = cuda.grid(2)`. If you
# write `col, row` by habit, you get the right result, but with 32 sectors where 4 would
# do. Do not ask *which is the column* but *which index moves by one element*.
#
# The mirroring itself costs nothing: whole columns change places, and the order within
# a column is kept. In a row-major matrix the lanes would run backwards along a row,
# which is equally fast, because the hardware gathers the same 128 bytes in any order.

# %% [markdown]
# ## 4 · A device function
#
# To blur a picture, give each pixel the mean of the 3 × 3 pixels around it. At the
# border some of these nine do not exist. A common rule is to take the nearest pixel
# that does exist: clamp the row and the column into the picture. Nine such clamps would
# make the kernel unreadable, so the clamping gets its own function.
#
# A **device function** is called by kernels and by other device functions, and never
# launched. Unlike a kernel it returns a value. In Numba it is marked
# `@cuda.jit(device=True)`, in CUDA C++ `__device__`.
#
# ```python
# at(x, row, col)    # (rows, cols), any integers -> the nearest pixel's value
# blur(x, out)       # (rows, cols) -> (rows, cols)  float32
# ```
#
# `min` and `max` work in a kernel. Begin the sum with `float32(0)`, and divide by
# `float32(9)`: a bare `0.0` would make the sum 64 bits wide. Stuck? `hint("blur")`.

# %%
@cuda.jit(device=True)
def at(x, row, col):
    """Return x[row, col], or the nearest pixel if that is outside."""
    # about 3 lines
    # BEGIN SOLUTION
    row = min(max(row, 0), x.shape[0] - 1)
    col = min(max(col, 0), x.shape[1] - 1)
    return x[row, col]
    # END SOLUTION


@cuda.jit
def blur(x, out):
    """Write the mean of each pixel's 3 x 3 surroundings into out."""
    col, row = cuda.grid(2)

    # about 6 lines
    # BEGIN SOLUTION
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(-1, 2):
            for j in range(-1, 2):
                total += at(x, row + i, col + j)
        out[row, col] = total / float32(9)
    # END SOLUTION


# %%
check(
    blur,
    spec=checks.mean_of_nine,
    inputs=lambda rng, rows, cols: (rng.random((rows, cols), np.float32),),
    sizes=[(8, 32), (1, 5), (9, 1), (13, 37)],
    launch=lambda rows, cols: ((-(-cols // 32), -(-rows // 8)), (32, 8)),
    full=(1080, 1921),
    limits={"loads": 12, "float64": 0},
)

# %%
plain = pictures.run(grey, picture)
blurred = pictures.run(blur, pictures.run(blur, plain))
pictures.show(grey=plain, blurred=blurred)

# %% [markdown] tags=["solution"]
# `at` does the clamping, so `blur` reads like the sentence that describes it. The range
# ends at 2 because Python's ranges leave out their end. `x.shape[0] - 1` is the last
# row; clamping to `x.shape[0]` would read one row too far, but only at the bottom
# border.
#
# Do not write the result into `x`: another thread may still need the old value of that
# pixel, and nothing makes the threads wait for one another.

# %% [markdown]
# ## 5 · A matrix product
#
# Two matrices go in, and one comes out: `out[row, col]` is the sum over `i` of `a[row,
# i] * b[i, col]`. A thread takes one element of `out`, and runs along a row of `a` and
# down a column of `b`.
#
# ```python
# matmul(a, b, out)    # (m, k), (k, n) -> (m, n)  float32
# ```
#
# `a.shape[1]` is `k`. The kernel must work for any shape. Sum into a local variable
# that begins as `float32(0)`, and write to `out` once. The check counts a thread's
# loads, two per iteration, and looks for 64-bit arithmetic. Stuck? `hint("matmul")`.

# %%
@cuda.jit
def matmul(a, b, out):
    """Write the matrix product of a and b into out."""
    col, row = cuda.grid(2)

    # about 5 lines
    # BEGIN SOLUTION
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        out[row, col] = total
    # END SOLUTION


# %%
check(
    matmul,
    spec=lambda a, b: a @ b,
    inputs=lambda rng, m, n, k: (
        rng.random((m, k), np.float32),
        rng.random((k, n), np.float32),
    ),
    sizes=[(8, 32, 4), (5, 40, 70), (21, 3, 1), (16, 64, 10)],
    launch=lambda m, n, k: ((-(-n // 32), -(-m // 8)), (32, 8)),
    full=(500, 700, 301),
    limits={"sectors": 4, "loads": 20, "float64": 0},
)

# %% [markdown] tags=["solution"]
# In each iteration of the loop the lanes of a warp have one row and 32 columns. They
# all need the same element of `a`, so one sector serves the whole warp. They also need
# 32 neighbours in a row of `b`, which is four sectors. So x as the column is right for
# three arrays at once: the lanes run along rows of `out` and `b`, and share `a`.

# %% [markdown]
# ## 6 · A batch of products
#
# Neural networks often need a thousand small products rather than one large one:
# `out[z] = a[z] @ b[z]`. That is a third dimension, and grids have one too.
# `cuda.grid(3)` returns x, y and z.
#
# The check's blocks are 16 × 4 × 2 threads, so a block covers two matrices of the
# batch. Guard all three indices. Stuck? `hint("batched_matmul")`.
#
# ```python
# batched_matmul(a, b, out)    # (batch, m, k), (batch, k, n) -> (batch, m, n)
# ```

# %%
@cuda.jit
def batched_matmul(a, b, out):
    """Write the matrix products a[z] @ b[z] into out[z]."""
    # about 6 lines
    # BEGIN SOLUTION
    col, row, z = cuda.grid(3)
    batch, m, n = out.shape

    if z < batch and row < m and col < n:
        total = float32(0)
        for i in range(a.shape[2]):
            total += a[z, row, i] * b[z, i, col]
        out[z, row, col] = total
    # END SOLUTION


# %%
check(
    batched_matmul,
    spec=lambda a, b: a @ b,
    inputs=lambda rng, batch, m, n, k: (
        rng.random((batch, m, k), np.float32),
        rng.random((batch, k, n), np.float32),
    ),
    sizes=[(2, 4, 16, 3), (3, 5, 20, 67), (1, 9, 2, 4)],
    launch=lambda batch, m, n, k: (
        (-(-n // 16), -(-m // 4), -(-batch // 2)),
        (16, 4, 2),
    ),
    full=(101, 60, 70, 50),
    limits={"loads": 8},
)

# %% [markdown] tags=["solution"]
# Again the fast index of the launch, x, goes with the fast index of the array, its
# last. The slowest, z, goes with the first. `blockIdx.z` alone would be the number of
# the matrix only if a block were one thread deep; here it would leave half of the batch
# unwritten.
#
# A batch of more than 65,535 × 2 would not fit into z. Then let z be the start of a
# grid-stride loop: `for z in range(z, batch, cuda.gridsize(3)[2])`.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: five
# measurements, each with a prediction. Their code is in `measure.py` and their kernels
# in `kernels.py`, both in `chapters/06_grids_2d`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### The shape of a block
#
# 256 threads can be a block of 256 × 1, of 32 × 8, or of 1 × 256. In a block of *w*
# columns a warp covers 32 / *w* rows if *w* is less than 32. How many sectors does a
# warp's request take for *w* = 16, 8, 4, 1? Calculate it, then guess: at which width
# does the speed begin to fall?

# %%
guess = {"16 x 16": None, "8 x 32": None, "4 x 64": None, "1 x 256": None}

shaped = chapter.measure.shaped(guess)
shaped

# %% tags=["solution"]
shaped.expect("8 x 32", at_least=0.8, times="32 x 8")
shaped.expect("32 x 8", at_least=1.2, times="4 x 64")
shaped.expect("32 x 8", at_least=4, times="1 x 256")

# %% [markdown] tags=["solution"]
# | width | rows per warp | sectors per row | sectors per request |
# | ---: | ---: | ---: | ---: |
# | 32 | 1 | 4 | 4 |
# | 16 | 2 | 2 | 4 |
# | 8 | 4 | 1 | 4 |
# | 4 | 8 | 1, half used | 8 |
# | 1 | 32 | 1, an eighth used | 32 |
#
# A sector is 32 bytes, eight float32 values, so a block of eight columns wastes
# nothing: it needs as many sectors as a block of 256 columns, and is nearly as fast.
# Below eight columns, each halving of the width doubles the sectors for the same
# pixels, and soon the time.

# %% [markdown]
# ### Colours side by side, or apart
#
# `x[row, col, channel]` keeps the three values of a pixel together, *interleaved*, as
# files and cameras do. PyTorch prefers `x[channel, row, col]`: three grey pictures,
# *planar*. In an interleaved picture, neighbouring lanes are 12 bytes apart, so each of
# the three loads touches 32 × 12 = 384 bytes, which is 12 sectors, and needs a third of
# those bytes. In a planar picture, each load takes 4 sectors.
#
# For each pixel 12 bytes are read and 4 written: 1.07 GB for 8192 × 8192. Is `grey` a
# third as fast on interleaved data as on planar data? The baseline, 1.0, is PyTorch on
# interleaved data, where the weighted sum can be written as a matrix product, `x @
# weights`.

# %%
guess = {"grey, interleaved": None, "grey, planar": None}

colours = chapter.measure.colours(grey, guess)
colours

# %% tags=["solution"]
colours.expect("grey, interleaved", at_least=3, times="torch, interleaved")
colours.expect("grey, interleaved", at_least=1.2, times="torch, planar")
colours.expect("grey, interleaved", at_least=0.8, times="grey, planar")
colours.expect("grey, interleaved", ceiling=0.7)

# %% [markdown] tags=["solution"]
# The layout makes next to no difference here. The first of the three loads fetches 12
# sectors, and the other two find their values in the L1 cache, a small memory in each
# SM that keeps what was read last. There are many sectors per request, but every byte
# of them is used a moment later. Count sectors for a *thread's work*, not for one line.
#
# Each thread moves sixteen bytes per pixel, which is enough work for this kernel of
# four lines to get close to the copy. PyTorch is slower, probably because it has no
# kernel for this, and passes a product with a vector of three numbers to a library made
# for long vectors.

# %% [markdown]
# ### What does a function cost?
#
# Your kernel calls `at` nine times per pixel, for 8192 × 8192 pixels. Compare it with
# the same kernel with the clamping written out, with the same computation in CUDA C++,
# and with PyTorch's average pooling after padding with the border.
#
# For each pixel, at least 4 bytes are read and 4 written. That makes 537 MB in all, as
# in a copy. Each pixel is read nine times, and eight of these reads should find it in a
# cache. What will the calls themselves cost, and which row gets closest to the copy?

# %%
guess = {"blur": None, "written out": None, "CUDA C++": None}

blurs = chapter.measure.blurs(blur, guess)
blurs

# %% tags=["solution"]
blurs.expect("blur", at_least=0.8, times="written out")
blurs.expect("written out", at_least=0.8, times="blur")
blurs.expect("blur", at_least=1.2, times="torch")
blurs.expect("CUDA C++", at_least=1.5, times="blur")

# %% [markdown] tags=["solution"]
# The call costs nothing, because there is none: the compiler copies the body of a
# device function into the kernel that uses it. Use as many as make the code readable.
#
# Numba's rows are nevertheless far slower than the copy, whereas the row in C++ is
# closer to it. The bytes are the same, and a cache can answer eight of nine reads, so
# the difference is probably in the instructions. There are two suspects. Numba's
# indices have 64 bits, whereas those in C++ have 32. Numba also allows negative
# indices, so each read tests its indices and adds the size if one is below zero. An
# unsigned index needs no test.

# %% tags=["solution"]
indices = chapter.measure.indices(blur)
indices.expect("unsigned", at_least=1.2, times="blur")
indices.expect("unsigned", at_least=1.2, times="int32")
indices

# %% [markdown] tags=["solution"]
# `int32` alone changes little, probably because the address is still computed in 64
# bits. Unsigned indices, which need no test, save more than a quarter of the kernel's
# time. *You* know that an index cannot be negative, and you have to tell the compiler.

# %% [markdown]
# ### How far is naive from cuBLAS?
#
# By hand, for 2048 × 2048 × 2048:
#
# - Work: 2 × 2048^3 = 17.2 billion operations, which take 0.26 ms at the H200's 67
#   TFLOP/s.
# - Bytes, with each matrix moved once: 3 × 4 × 2048^2 = 50 MB, which take 0.01 ms at
#   4.8 TB/s. So arithmetic is by far the stricter limit for a product of this size.
# - Requests: the kernel makes two loads for every multiply-add. Assume that a
#   multiprocessor (SM) serves one request of a warp per clock cycle. Two requests take
#   two cycles, and load the numbers for 32 × 2 = 64 operations. The arithmetic units
#   could do 256 operations in *one* cycle. So expect an eighth of the peak at the very
#   best.
#
# How fast is `matmul`, compared with `torch.matmul`? How fast is it in CUDA C++? And on
# column-major matrices? For column-major matrices, the same kernel gets transposed
# views, since `c.T = b.T @ a.T`.
#
# PyTorch calls cuBLAS in true float32, with TF32 off. (TF32 rounds the fractions of the
# inputs to 10 bits to use the tensor cores, units for small matrix products.)

# %%
guess = {"matmul": None, "column-major": None, "CUDA C++": None}

products = chapter.measure.products(matmul, guess)
products

# %% tags=["solution"]
products.expect("torch.matmul", at_least=15, times="matmul")
products.expect("matmul", at_least=1.5, times="column-major")
products.expect("CUDA C++", at_least=1.5, times="matmul")
products.expect("torch.matmul", at_least=5, times="CUDA C++")

# %% [markdown] tags=["solution"]
# The C++ kernel reaches four fifths of what the last calculation allows: it makes two
# requests for each multiply-add. That limit does not apply to cuBLAS, which fetches
# each element once and uses it many times; `matmul` loads every element of `a` 2048
# times. Chapters 18 and 19 close that gap, with shared memory and with registers.
#
# On column-major matrices the lanes run down columns of the output and of one of the
# inputs, so again there are 32 sectors where 4 would do.
#
# Numba's kernel is several times slower than the one in C++, and it is not waiting for
# loads. Count: all warps together execute 2048^3 / 32 = 268 million iterations. 132 SMs
# issue four instructions per cycle each, at up to 1.98 GHz. Multiply that rate by the
# kernel's time, and divide by the number of iterations, to see how many instructions
# there was time for in each of them. An iteration needs two loads and one multiply-add.
# The rest is probably index arithmetic, `row * k + i` and `i * n + col`, in 64 bits and
# with tests for negative indices. So tell the compiler what you know:

# %% tags=["solution"]
steps = chapter.measure.side**3 / 32
issued = 4 * (weft.device.find().sms or 132) * 1.98e9  # per second
slots = products["matmul"].ms / 1000 * issued / steps
print(f"matmul has time for {slots:.0f} instructions in a step")

typed = chapter.measure.typed(matmul)
typed.expect("unsigned", at_least=1.25, times="matmul")
typed.expect("matmul", at_least=1.01, times="sum in 64 bits")
typed

# %% [markdown] tags=["solution"]
# Three conversions to `uint32` save a third of the time. The sum in 64 bits, from a
# bare `0.0`, hardly shows, since an H200 does 64-bit arithmetic at half the speed of
# float32 and the kernel is probably busy with its indices anyway. On GPUs with fewer
# 64-bit units, such a sum costs more.

# %% [markdown]
# ### One launch or a thousand
#
# 1024 products of 64 × 64 × 64 are 0.54 billion operations. You can compute them with
# one call of `torch.bmm`, with one launch of your kernel, or in a Python loop over your
# `matmul` or over `torch.matmul`. Remember what a launch costs (chapter 5). How fast is
# your single launch, compared with `torch.bmm` (1.0), and how fast are 1024 launches?

# %%
guess = {"one 3D launch": None, "loop of matmul": None}

batched = chapter.measure.batched(batched_matmul, matmul, guess)
batched

# %% tags=["solution"]
batched.expect("one 3D launch", at_least=30, times="loop of matmul")
batched.expect("torch.bmm", at_least=100, times="loop of torch.matmul")
batched.expect("torch.bmm", at_least=5, times="one 3D launch")

# %% [markdown] tags=["solution"]
# A loop over launches is slow, whatever the kernel. One launch with one more dimension
# does the same work in a fraction of the time, even with a naive kernel.

# %% [markdown]
# ### If you want more
#
# - Write `sobel`: two weighted sums of the same nine pixels, and the root of the sum of
#   their squares. `at` stays as it is. Show the edges of the cloth.
# - Give `at` another border: zero outside, or the picture wrapped around. Only one
#   function changes.
# - Write `grey` for pictures of `uint8`, as in most files: a quarter of the bytes, so a
#   quarter of the time? Predict, then measure.
# - Let each thread of `matmul` compute two elements of a row of `out`, 32 columns
#   apart, so that it uses each loaded element of `a` twice. Predict the gain.
# - Multiply a batch of 200,000 products of 8 × 8 in one launch.

# %% [markdown]
# ## What you learned
#
# 1. x comes first in a launch, but rows come first in a shape: `col, row =
#    cuda.grid(2)`.
# 2. x is the fast index of threads; give it the fast index of memory, whichever that
#    is.
# 3. A block has at most 1024 threads in all, and 64 in z. A grid has at most 65,535
#    blocks in y and in z.
# 4. Device functions cost nothing; write small ones.
# 5. A naive product is limited by its loads, and a batch belongs in one launch.

# %%
quiz()
