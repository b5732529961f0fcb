# %% [markdown]
# # 23 · Convolution and FFT
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/23_convolution_fft.ipynb)
#
# **After this lab, you can**
#
# - say where each index in a convolution comes from: full, valid or same, reversed or
#   not;
# - load a tile with its halo, and say which loads the tile saves and which it does not;
# - derive both gradients of a convolution, and check them by finite differences;
# - compute a Fourier transform by hand, as a sum, and in ten passes through shared
#   memory;
# - decide from bytes and operations whether to apply a filter directly, as a matrix
#   product, or by FFT, and measure it against cuDNN and cuFFT.
#
# **You need** about 120 minutes. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show the results of the reference GPU, an H200.
# If you use a GPU, it needs compute capability 7.5 or higher, and the measurements need
# 6 GB of its memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import cmath

import numpy as np
from numba import complex64, cuda, float32, int32, uint32

from weft import check, explore, hint, quiz
from weft.intrinsics import load4, store4

chapter = weft.lab("23_convolution_fft")
checks = chapter.checks
times = chapter.kernels.multiplication()

# %% [markdown]
# ## Look: four numbers and a filter
#
# A filter *w* slides along a signal *x*. At each position, the overlapping elements are
# multiplied and the products are added. Two things remain to be chosen: *which*
# positions count, and which *way* the filter points.
#
# For x = [1, 2, 3, 4] and w = [1, 0, -2], compute by hand, before you run the cell:
#
# - the **cross-correlation**, with the filter as it is, at the positions where the
#   whole filter overlaps x (**valid**): two results;
# - the **convolution**, with the filter reversed, at the same positions;
# - the convolution at all positions where the filter and x overlap at all (**full**):
#   six results;
# - the middle four of these six, one for each element of x (**same**).

# %%
x4, w3 = [1, 2, 3, 4], [1, 0, -2]
print("correlation, valid", np.correlate(x4, w3, "valid"))
print("convolution, valid", np.convolve(x4, w3, "valid"))
print("convolution, full ", np.convolve(x4, w3, "full"))
print("convolution, same ", np.convolve(x4, w3, "same"))

# %% [markdown] tags=["solution"]
# With n = 4 and k = 3, *valid* has n - k + 1 results, *full* has n + k - 1, and *same*
# has n. The first result of the correlation is 1·1 + 2·0 + 3·(-2) = -5. With the filter
# reversed it is 1·(-2) + 2·0 + 3·1 = 1.
#
# What neural networks call a convolution, `torch.nn.Conv2d` included, is the
# cross-correlation. For learned weights it makes no difference which of the two is
# used. It does make a difference for a filter that was designed by hand, and for the
# algebra: convolution is commutative, whereas correlation is not. For correlation, the
# theorem about convolution and Fourier transforms needs a complex conjugate.

# %% [markdown]
# ## 1 · Slide
#
# For an image x of (h, w) and a filter of (kh, kw), the valid cross-correlation has
# (h - kh + 1, w - kw + 1) results, and result (`row`, `col`) is
#
#     sum over p, q of   x[row + p, col + q] * w[p, q]
#
# One thread computes one result, so the guard checks indices of `out`. Accumulate in a
# float32 variable, not in `out`: at the beginning, `out` contains whatever was in
# memory. In a verdict, `13 × 40 × 3 × 2` means an image of 13 × 40 and a filter of
# 3 × 2. Stuck? `hint("correlate")`; there are three hints.
#
# ```python
# correlate(x, w, out)    # (h, w), (kh, kw) -> (h - kh + 1, w - kw + 1)  float32
# ```

# %%
@cuda.jit
def correlate(x, w, out):
    """Write the valid cross-correlation of x with w into out."""
    col, row = cuda.grid(2)

    # about 6 lines
    # BEGIN SOLUTION
    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                value += x[row + p, col + q] * w[p, q]
        out[row, col] = value
    # END SOLUTION


# %%
check(
    correlate,
    spec=lambda x, w: checks.slide(x, w),
    inputs=checks.image_and_filter,
    sizes=[(13, 40, 3, 2), (5, 4, 5, 4), (20, 9, 1, 5)],
    launch=lambda h, w, kh, kw: checks.blocks_of(h - kh + 1, w - kw + 1),
    full=(1000, 1203, 7, 4),
    limits={"loads": 12, "float64": 0},
    because=checks.why_not_correlated,
)

# %% [markdown] tags=["solution"]
# The guard checks indices of the result, so x needs no guard: the last result reads up
# to row h - 1 and column w - 1, which are the last row and column of x.

# %% [markdown]
# ## 2 · The same size, reversed
#
# Now write a true convolution, with one result for each pixel. The filter, reversed in
# both directions, is centred on each pixel, and everything outside the image counts
# as 0. For filters of odd height and width, with `ph = kh // 2` and `pw = kw // 2`,
#
#     out[row, col] = sum over p, q of   x[row + ph - p, col + pw - q] * w[p, q]
#
# There are no zeros in memory beyond the edges, so the kernel has to check its indices.
# In Python, and in Numba, index -1 is the last element, so neither reports an error. In
# a verdict, `9 × 35 × 1 × 2` means an image of 9 × 35 with `ph` = 1 and `pw` = 2, so
# the filter is 3 × 5. Stuck? `hint("convolve_same")`.
#
# ```python
# convolve_same(x, w, out)    # (h, w), (kh, kw) -> (h, w)  float32
# ```

# %%
@cuda.jit
def convolve_same(x, w, out):
    """Write the convolution of x with w into out: same size, zeros outside."""
    col, row = cuda.grid(2)

    # about 9 lines
    # BEGIN SOLUTION
    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                i = row + w.shape[0] // 2 - p
                j = col + w.shape[1] // 2 - q
                if 0 <= i < x.shape[0] and 0 <= j < x.shape[1]:
                    value += x[i, j] * w[p, q]
        out[row, col] = value
    # END SOLUTION


# %%
check(
    convolve_same,
    spec=lambda x, w: checks.turned_round(
        x, w, w.shape[0] // 2, w.shape[1] // 2
    ),
    inputs=lambda rng, h, w, kh, kw: checks.image_and_filter(
        rng, h, w, 2 * kh + 1, 2 * kw + 1
    ),
    sizes=[(9, 35, 1, 2), (4, 3, 2, 3), (11, 10, 2, 0)],
    launch=lambda h, w, kh, kw: checks.blocks_of(h, w),
    full=(1001, 1203, 3, 2),
    limits={"loads": 12, "float64": 0},
    because=checks.why_not_same,
)

# %% [markdown] tags=["solution"]
# A copy of x with a frame of zeros would save the four comparisons. Here the loads
# probably hide most of their cost. If the block had a tile, as in the next exercise, it
# could write the zeros there once for all its threads.

# %% [markdown]
# ## 3 · A tile with its halo
#
# With a 5 × 5 filter, a thread loads 25 elements of x for each result, and the
# neighbouring thread loads most of them again. In this exercise, a block loads each
# element that it needs only once.
#
# 8 × 32 results need 8 × 32 elements of x *and* the elements around them that the
# filter reaches: 4 more rows and 4 more columns, the **halo**. Together they are a tile
# of 12 × 36 = 432 elements for 256 threads, so some threads load two elements. Some
# tiles extend beyond the edge of the image.
#
# ```
#          left          + 32 + 4
#     top  ┌───────────────┬───┐
#          │ what the      │ h │
#          │ threads have  │ a │
#      + 8 ├───────────────┘ l │
#      + 4 │      h a l o    o │
#          └───────────────────┘
# ```
#
# The starter loads the filter into shared memory. The check counts the loads of each
# thread from global memory. Two elements of x and one of w make three loads; up to five
# are allowed. Stuck? `hint("correlate_tiled")`.
#
# ```python
# correlate_tiled(x, w, out)    # (h, w), (5, 5) -> (h - 4, w - 4)  float32
# ```

# %% tags=["given"]
K = 5  # the filter is 5 x 5
HIGH, WIDE = 8, 32  # results per block, and its threads
TALL, BROAD = HIGH + K - 1, WIDE + K - 1  # its tile of x

# %%
@cuda.jit
def correlate_tiled(x, w, out):
    """Write the valid cross-correlation of x with a 5 x 5 filter into out."""
    tile = cuda.shared.array((TALL, BROAD), float32)
    taps = cuda.shared.array((K, K), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE

    if ty < K and tx < K:
        taps[ty, tx] = w[ty, tx]

    # about 13 lines
    # BEGIN SOLUTION
    for i in range(ty, TALL, HIGH):
        for j in range(tx, BROAD, WIDE):
            if top + i < x.shape[0] and left + j < x.shape[1]:
                tile[i, j] = x[top + i, left + j]
    cuda.syncthreads()

    row, col = top + ty, left + tx
    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(K):
            for q in range(K):
                value += tile[ty + p, tx + q] * taps[p, q]
        out[row, col] = value
    # END SOLUTION


# %%
check(
    correlate_tiled,
    spec=lambda x, w: checks.slide(x, w),
    inputs=lambda rng, h, w: checks.image_and_filter(rng, h, w, K, K),
    sizes=[(20, 36), (5, 5), (19, 47)],
    launch=lambda h, w: checks.blocks_of(h - K + 1, w - K + 1),
    full=(1000, 1203),
    limits={"loads": 5, "bank_conflicts": 0, "sectors": 8, "float64": 0},
    because=checks.why_not_correlated,
)

# %% [markdown] tags=["solution"]
# Two nested loops, whose steps are the height and the width of the block, visit every
# element of the tile once, for any size of tile and block. An element beyond the image
# is never written, but no result inside `out` reads it. All threads reach the barrier,
# including those without a result.
#
# `correlate` loads 25 elements of x per result from global memory; `correlate_tiled`
# loads 432 / 256 = 1.7. It still loads 25 elements of the tile from *shared* memory,
# though.

# %% [markdown]
# Look at the memory accesses of your kernel's warps. Which line of the kernel makes the
# most requests now?

# %%
explore(correlate_tiled)[1, (WIDE, HIGH)](
    np.ones((TALL, BROAD), np.float32),
    np.ones((K, K), np.float32),
    np.zeros((HIGH, WIDE), np.float32),
)

# %% [markdown]
# ## Measure: what does the tile save?
#
# The image has 8192 × 8192 pixels, which are 268 MB, and the filter has 5 × 5 taps.
# Compute by hand: how long does it take to read the image and write the result at an
# H200's 4.2 TB/s, and how long do the 2 · 25 · 8188² operations take at 67 TFLOP/s?
# Then estimate the time of the loads: an SM serves one request of a warp per clock
# cycle, whether the request goes to the L1 cache or to shared memory. Every 32 results
# need 25 requests for x and 25 for w. How long do these requests take with 132 SMs at
# 1.98 GHz?
#
# Two more kernels join the comparison. `correlate_lean` is exercise 1 again, *without*
# a tile, for 5 × 5 taps only. Its loops have constant bounds, its arrays are flat, and
# its indices are unsigned 32-bit integers, so no index has to be tested for negative
# values (chapter 18). Do these changes save more time than the tile, or less?
#
# The other one, `rows`, uses the idea of chapter 19, **thread coarsening**: a thread
# computes eight results, one below the other. The thread keeps eight elements of x in
# **registers** and moves down its column. In each step, it loads one element and one
# tap, and does eight multiplications.

# %%
guess = {
    "correlate": None,
    "correlate_tiled": None,
    "correlate_lean": None,
    "rows": None,
}

five, filters = chapter.measure.five_by_five(
    correlate, correlate_tiled, guess
)
five

# %% tags=["solution"]
five.expect("rows", at_least=2)
five.expect("correlate_tiled", at_least=1.5, times="correlate")

# %% [markdown] tags=["solution"]
# `correlate` is not limited by the bytes (0.13 ms), the operations (0.05 ms) or the
# requests (0.40 ms). According to the profiler, a warp of `correlate` executes 51
# instructions for each tap, of which one is the multiply-add. Most of the others
# compute the indices of two matrices whose widths the compiler does not know, in 64
# bits, and test whether an index is negative. At 1045 billion instructions per second,
# it takes 2.55 ms to issue 51 instructions for 25 taps in each of 2.1 million warps.
# For the rest of the time, the warps wait.
#
# In `correlate_tiled`, the compiler knows the widths of both shared arrays, and a tap
# takes 19 instructions. **This is most of what the tile gains here.** The global loads
# that the tile saves were served by L1, where a request takes no longer than in shared
# memory. `correlate_lean` has no tile. Its machine code has 110 consecutive
# instructions for 25 taps, of which 75 are the loads and the multiply-adds. It is more
# than twice as fast as `correlate_tiled`, which has general indices. With a tile added,
# `correlate_lean` is only half as fast, as a row on the book's page shows. The time of
# `correlate_lean` is already close to that of the requests, 0.40 ms.
#
# `rows` has both lean indices and a tile, and makes less than a quarter of the
# requests. It executes seven instructions per tap and *per result*, including those
# that fill its tile. With 5 × 5 taps, filling the tile is a large part of its work;
# with more taps, in the section on filters by FFT, the instructions for filling count
# less. With the large L1 of an H200, a tile matters less than on GPUs without such a
# cache. Only a register, however, can supply one value to eight multiplications.

# %% [markdown]
# ## 4 · Gradients of a convolution
#
# A network is trained by gradients: given dL/dy for each result y of a layer, what are
# dL/dx and dL/dw? For y = correlate(x, w),
#
#     y[i, j] = sum over p, q of   x[i + p, j + q] * w[p, q]
#
# tap w[p, q] multiplies x[i + p, j + q] in *every* result y[i, j], so
#
#     dw[p, q] = sum over i, j of   x[i + p, j + q] * dy[i, j]
#
# which is again a valid correlation, of x with dy. Element x[a, b] appears in the
# results for which i + p = a and j + q = b, so
#
#     dx[a, b] = sum over p, q of   dy[a - p, b - q] * w[p, q]
#
# where dy counts as 0 outside its matrix. The minus signs say that this is a
# convolution, and since dx is larger than dy, it is the *full* convolution. Write the
# kernel for `dx`. (The kernel for `dw`, in `kernels.py`, has one block per tap and a
# sum as in chapter 14.) In a verdict, `7 × 33 × 3 × 2` means that dy is 7 × 33 and w is
# 3 × 2. Stuck? `hint("grad_data")`.
#
# ```python
# grad_data(dy, w, dx)    # (h, w), (kh, kw) -> (h + kh - 1, w + kw - 1)  float32
# ```

# %%
@cuda.jit
def grad_data(dy, w, dx):
    """Write the full convolution of dy with w into dx."""
    col, row = cuda.grid(2)

    # about 8 lines
    # BEGIN SOLUTION
    if row < dx.shape[0] and col < dx.shape[1]:
        value = float32(0)
        for p in range(w.shape[0]):
            for q in range(w.shape[1]):
                i, j = row - p, col - q
                if 0 <= i < dy.shape[0] and 0 <= j < dy.shape[1]:
                    value += dy[i, j] * w[p, q]
        dx[row, col] = value
    # END SOLUTION


# %%
check(
    grad_data,
    spec=lambda dy, w: checks.turned_round(
        dy, w, w.shape[0] - 1, w.shape[1] - 1
    ),
    inputs=checks.image_and_filter,
    sizes=[(7, 33, 3, 2), (1, 2, 5, 4), (8, 9, 1, 3)],
    launch=lambda h, w, kh, kw: checks.blocks_of(h + kh - 1, w + kw - 1),
    full=(1000, 1203, 4, 5),
    limits={"loads": 8, "float64": 0},
    because=checks.why_not_full,
)

# %% [markdown]
# To check a formula for a gradient, use **finite differences**: change one number by a
# small ε in either direction, and see how much the loss changes. The cell below does so
# for every element of x and every tap, in float64, with the loss L = ½ Σ y², for which
# dL/dy = y. Once your kernel is right, both lines should show an error of about 1e-7.

# %%
dx_error, dw_error = checks.finite_differences(grad_data)

# %% tags=["solution"]
assert max(dx_error, dw_error) < 1e-5

# %% [markdown]
# ## 5 · A transform by hand
#
# The **discrete Fourier transform** of n numbers measures how much of each frequency
# they contain. With the n-th root of unity w = exp(-2πi / n), which is a clockwise
# rotation by one n-th of a full turn,
#
#     X[k] = sum over j of   x[j] * w^(j k)          k = 0 ... n - 1
#
# For n = 4 the root is w = -i, and its powers repeat: 1, -i, -1, i, 1, … So
#
#     X[0] = x0 +   x1 + x2 +   x3        X[1] = x0 - i x1 - x2 + i x3
#     X[2] = x0 -   x1 + x2 -   x3        X[3] = x0 + i x1 - x2 - i x3
#
# On paper, compute the transforms of [1, 1, 1, 1], [1, -1, 1, -1], [1, 0, 0, 0] and [1,
# 0, -1, 0]. Then write the sum as a Python function for lists of any length, and
# compare its results with yours. You can use `cmath.exp` and `cmath.pi`; `1j` is
# Python's i. Since `np.fft` would do the exercise for you, the check rejects it. Stuck?
# `hint("dft")`.
#
# ```python
# dft([1, 1, 1, 1])    # a list of n complex numbers
# ```

# %%
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    # about 6 lines
    # BEGIN SOLUTION
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    return [sum(x[j] * root ** (j * k % n) for j in range(n)) for k in range(n)]
    # END SOLUTION


# %%
check(
    dft,
    spec=np.fft.fft,
    inputs=checks.lists_to_transform,
    without=("numpy.fft", "scipy", "torch"),
    because=checks.why_not_transformed,
)

# %% tags=["solution"]
for signal in ([1, 1, 1, 1], [1, -1, 1, -1], [1, 0, 0, 0], [1, 0, -1, 0]):
    print(signal, "->", np.round(dft(signal), 12) + 0)

# %% [markdown] tags=["solution"]
# The first result is [4, 0, 0, 0]: a constant contains only frequency 0. The second is
# [0, 0, 4, 0]: alternating signs have frequency 2, the highest that four points can
# represent. The third is [1, 1, 1, 1]: an impulse contains every frequency in equal
# parts. The fourth is [0, 2, 0, 2]: one period of a cosine contains frequency 1, and
# frequency 3, which is the same as frequency -1.
#
# The sum takes n² multiplications, so with twice as many points it takes four times as
# long. The FFT in the next exercise needs far fewer.

# %% [markdown]
# ## The idea of the FFT
#
# Split the sum into its even and odd terms. Each half is a transform of half the size:
#
#     X[k]         = E[k] + w^k O[k]
#     X[k + n / 2] = E[k] - w^k O[k]          since w^(n / 2) = -1
#
# A transform of n points thus becomes two transforms of n / 2 points and n / 2 pairs of
# such sums, called **butterflies**. The halves can be split again, and after log2(n)
# levels each transform has only one point. For 1024 points there are 10 levels of 512
# butterflies: 51,200 operations instead of 8 million. The factors w^k are called
# **twiddles**.
#
# There are many ways to arrange these levels in memory. Stockham's algorithm needs no
# bit reversal: it goes through the levels from small transforms to large, and each
# level writes its results where the *next* level reads them. With `s` the size of the
# transforms that are complete (1, 2, 4, ... n/2), butterfly `t` (0 ... n/2 - 1) does
# this:
#
#     k = t % s                                  its position within a transform
#     a, b = z[t],  z[t + n/2] * w^(k * (n / 2 / s))
#     z'[2 * t - k]     = a + b
#     z'[2 * t - k + s] = a - b
#
# At every level, butterfly `t` reads elements `t` and `t + n/2`, so neighbouring lanes
# read neighbouring elements. The next cell does this in NumPy, where `z'` is a new
# array at each level.

# %%
def stockham(x):
    """Transform a vector whose length is a power of two."""
    n, z = len(x), np.array(x, np.complex128)
    t = np.arange(n // 2)
    s = 1
    while s < n:
        k = t % s
        a, b = z[t], z[t + n // 2] * np.exp(-1j * np.pi * k / s)
        z = np.empty_like(z)
        z[2 * t - k], z[2 * t - k + s] = a + b, a - b
        s *= 2
    return z


signal = np.random.default_rng(1).standard_normal(64)
print(np.abs(stockham(signal) - np.fft.fft(signal)).max())

# %% [markdown]
# ## 6 · Ten passes in shared memory
#
# A block of 512 threads transforms a row of 1024 complex numbers. The row stays in
# `z`, in shared memory, from the first pass to the last, and each thread does one
# butterfly per pass.
#
# There is only one array `z`, not two, so all threads have to wait between the reads
# and the writes of a pass, and again between these writes and the reads of the next
# pass. Think about what would go wrong without the first wait, and without the second.
# `table[m]` is w^m, for m below 1024, and `times(a, b)` multiplies two complex64.
# (`a * b` would also do.) The check counts a thread's loads from global memory (two of
# `x`, and one of `table` per pass) and the barriers. Stuck? `hint("fft_shared")`.
#
# ```python
# fft_shared(x, table, out)    # (rows, 1024) complex64; one block of 512 per row
# ```

# %% tags=["given"]
POINTS, HALF = 1024, 512

# %%
@cuda.jit
def fft_shared(x, table, out):
    """Transform each row of x into the same row of out."""
    z = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    z[t] = x[row, t]
    z[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()

    # about 12 lines
    # BEGIN SOLUTION
    s = 1
    while s < POINTS:
        k = t % s
        a = z[t]
        b = times(z[t + HALF], table[k * (HALF // s)])
        cuda.syncthreads()

        z[2 * t - k] = a + b
        z[2 * t - k + s] = a - b
        cuda.syncthreads()
        s *= 2

    out[row, t] = z[t]
    out[row, t + HALF] = z[t + HALF]
    # END SOLUTION


# %%
check(
    fft_shared,
    spec=lambda x, table: np.fft.fft(x).astype(np.complex64),
    inputs=checks.rows_to_transform,
    sizes=[1, 2],
    launch=lambda rows: (rows, HALF),
    full=1000,
    limits={"loads": 14, "barriers": 24, "float64": 0},
    because=checks.why_not_in_passes,
)

# %% [markdown] tags=["solution"]
# Without the first barrier, a fast warp may overwrite numbers that a slow warp has not
# read yet. Without the second, a fast warp may read numbers before a slow warp has
# written them. With two arrays, one to read from and one to write to, one barrier per
# pass would be enough (**double buffering**), but the kernel would need twice the
# shared memory.

# %% [markdown]
# ## More measurements
#
# The rest of the lab has five measurements, each with a prediction. Their code is in
# `measure.py`, and their kernels are in `kernels.py` and `transforms.py`, all in
# `chapters/23_convolution_fft`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### The FFT ladder
#
# Every pass of `fft_shared` goes through shared memory, with two barriers. A thread
# that has four points, however, can do two levels at once, in registers. This is a
# **radix-4** butterfly: the four-point transform that you did by hand. Multiplying by
# -i takes no multiplication: it swaps the real and imaginary parts and changes a sign.
# Eight points allow three levels at once, and sixteen allow four. For 1024 points, the
# table lists the radix of each pass:
#
# | points per thread | passes | trips through shared memory |
# | --- | --- | --- |
# | 2 | 2 · 2 · 2 · 2 · 2 · 2 · 2 · 2 · 2 · 2 | 9 |
# | 4 | 4 · 4 · 4 · 4 · 4 | 4 |
# | 16 | 8 · 16 · 8 | 2 |
#
# A general pass of radix R is like the pass of exercise 6, with R instead of 2: read
# `z[t + r n/R]` for r = 0 ... R-1, multiply by the twiddles, transform the R numbers,
# and write number r to `R (t - k) + k + r s`.
#
# `registers` is the fastest kernel of this lab. The sixteen points that a thread loads
# belong to two *neighbouring* butterflies of radix 8, so it can load two complex
# numbers, or 16 bytes, at a time.
#
# The data are 65,536 rows of 1024 complex64, which are 537 MB, and they have to be
# read once and written once. For each row of the table, predict its speed relative to
# cuFFT, the library that `torch.fft` calls:
#
# - `sum`: the definition, with one thread per X[k] and 8 · 1024 operations for each;
# - `ten launches`: each pass of exercise 6 as a separate kernel, from global memory to
#   global memory;
# - `fft_shared`: your kernel of exercise 6;
# - `radix 4` and `registers`: two kernels of `transforms.py`, with 4 and 16 points per
#   thread;
# - `pairs apart`: `registers` with one complex64 at a time, which Numba turns into two
#   loads of 4 bytes.
#
# The upper limit is a copy of the same bytes. How close to this limit will cuFFT be?

# %%
guess = {
    "sum": None,
    "ten launches": None,
    "fft_shared": None,
    "radix 4": None,
    "pairs apart": None,
    "registers": None,
}

ladder, errors = chapter.measure.fft_ladder(fft_shared, guess)
ladder

# %% tags=["solution"]
ladder.expect("registers", at_least=0.85)
ladder.expect("registers", ceiling=0.7)
ladder.expect("registers", at_least=1.2, times="pairs apart")
ladder.expect("radix 4", at_least=1.5, times="fft_shared")
ladder.expect("fft_shared", at_least=5, times="sum")

# %% [markdown] tags=["solution"]
# Count the round trips to memory. `ten launches` makes ten round trips and takes as
# long as ten or eleven copies. `fft_shared` makes only one, but takes as long as five
# copies on an H200, and three and a half on an H100. For each row of 1024 points, the
# profiler counts 7552 instructions in all warps together. For 65,536 rows, at 1045
# billion instructions per second, they take 0.47 ms. It also counts 4929 cycles per row
# in which the L1 and shared memory of an SM are busy. Each SM has 496 rows, so at 1.98
# GHz these cycles take 1.24 ms, and they are what limits the kernel. Only a third of
# these cycles are for `z`. Most are for `table`, where the lanes of a warp look up
# entries that are far apart.
#
# `radix 4` needs 4048 instructions and 1760 cycles per row, and these cycles take
# 0.44 ms. `registers` needs 1548 instructions and 495 cycles, which take 0.12 ms. Now
# global memory is the limit, and `registers` is within a few per cent of the copy.
#
# `pairs apart` does the same arithmetic and takes 1.8 times as long (1.6 on an H100).
# It moves each complex64 in two parts of 4 bytes, so it needs four requests for a pair.
# Each request touches 16 sectors and uses a quarter of each, and each sector is written
# four times.
#
# The multiplications and additions of `sum` alone would take 8 ms. The kernel takes
# more than 20 times as long, probably also because it looks up a million twiddles per
# row in the table.

# %% [markdown]
# How accurate are these kernels? The next cell prints their relative errors, compared
# with float64. Which is more accurate, a sum of 1024 products or a tree of ten levels?

# %%
for name, error in errors.items():
    print(f"{name:14} {error:.1e}")

# %% tags=["solution"]
if errors:
    assert max(errors.values()) < 1e-6
    from weft.bench import results

    results.record(
        "23_convolution_fft",
        [
            {
                "case": "relative error of 1024 points",
                "name": name,
                "value": float(f"{error * 1e9:.3g}"),
                "unit": "× 10⁻⁹",
            }
            for name, error in errors.items()
        ],
    )

# %% [markdown] tags=["solution"]
# The error of a sum grows with its length, whereas the error of a tree grows with the
# number of its levels. Among the fast kernels, those that look up every twiddle are the
# most accurate; computing twiddles as powers adds a small error. The error of cuFFT is
# of the same size.

# %% [markdown]
# ### A layer of a network
#
# A layer processes a batch of images. Each image has several *channels*, and there is a
# filter for each pair of an input channel and an output channel. x is (n, c, h, w), the
# weights are (f, c, 3, 3), and
#
#     y[n, f, i, j] = sum over c, p, q of
#                         x[n, c, i + p - 1, j + q - 1] * w[f, c, p, q]
#
# with a frame of zeros around x. Take a layer of a ResNet: 32 images of 56 × 56 pixels,
# with 64 input channels and 64 output channels. Compute by hand: how many operations
# does the layer need, and how many bytes do x, w and y occupy? How long do the
# operations take at 67 TFLOP/s, and the bytes at 4.2 TB/s?
#
# The table compares five ways to compute the layer.
#
# - `direct`: one thread for each y, as in exercise 1.
# - **im2col** and a matrix product: for each pixel, the 9 × 64 numbers under the filter
#   become a column of a matrix. The layer is then *one* product of (64, 576) by (576,
#   pixels), which cuBLAS computes. Nine copies of x have to be written and read.
# - `layer_tiled`: an **implicit GEMM**, that is, im2col that never writes the matrix to
#   memory. A block computes 8 × 32 pixels for all 64 filters, and a thread computes 8
#   pixels for 8 filters, with 64 sums in registers, like the matrix products of chapter
#   19.
# - FFT: transforms of 64 × 64 points, and a product for each pair of channels at each
#   frequency.
# - cuDNN, with channels first and channels last: it tries all its algorithms, then uses
#   the fastest.
#
# Which order do you expect?

# %%
guess = {
    "direct": None,
    "im2col, matmul": None,
    "layer_tiled": None,
    "FFT": None,
}

layer = chapter.measure.layer(guess)
layer

# %% tags=["solution"]
layer.expect("layer_tiled", at_least=0.65)
layer.expect("im2col, matmul", at_least=0.65)
layer.expect("layer_tiled", at_least=3, times="direct")

# %% [markdown] tags=["solution"]
# Two of the other ways are within a tenth of cuDNN on an H200, and within an eighth on
# an H100. According to the profiler, cuDNN chose
# `sm80_xmma_fprop_implicit_gemm_f32f32…_tilesize256x64x8…_ffma`, which is a matrix
# product without the matrix, in tiles of 256 pixels by 64 filters, 8 numbers deep.
# `layer_tiled` does the same, and so does cuBLAS after `im2col`, but with the matrix in
# memory.
#
# None of these three comes near 67 TFLOP/s. For `layer_tiled`, the shape of the layer
# explains part of the gap. The 56 columns fill only seven eighths of two tiles of 32.
# With two blocks on each SM, the 448 blocks make 1.7 waves of 264, but take the time of
# two. These two losses leave at most 50 TFLOP/s.
#
# The FFT has to transform the images to 64 × 64 frequencies and back, and multiply
# matrices of complex numbers in between. For 3 × 3 taps, this is too much work; for 7 ×
# 7 taps, it would be the same amount.

# %% [markdown]
# ### The four-step transform
#
# 2^20 points do not fit into one SM, but the rule that splits a sum into its even and
# odd terms can also split it into 1024 sums of 1024 terms. Arrange the million points
# as a matrix, row by row (element j is in row j // 1024). Then
#
# 1. transform every *column*;
# 2. multiply element (r, c) by w^(r c), with w the 2^20-th root of unity;
# 3. transform every *row*;
# 4. read the result column by column.
#
# In NumPy this takes three lines, which the next cell shows for 32 × 32 points. On the
# GPU, it takes two kernels that use `transform` and also do steps 2 and 4. Each kernel
# reads and writes all points once, so together they take at least as long as two
# copies. Both have to access columns: the first when it reads and when it writes, and
# the second when it writes. A block takes four neighbouring columns, so it uses 32
# bytes, a whole sector, of each row.

# %%
def four_steps(x, n):
    """Transform n * n points as a matrix of n x n."""
    z = np.fft.fft(x.reshape(n, n), axis=0)
    z *= np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n**2)
    return np.fft.fft(z, axis=1).T.ravel()


signal = np.random.default_rng(2).standard_normal(1024)
print(np.abs(four_steps(signal, 32) - np.fft.fft(signal)).max())

# %%
guess = {"two kernels": None}

large = chapter.measure.large(guess)
large

# %% tags=["solution"]
large.expect("two kernels", at_least=0.65)

# %% [markdown] tags=["solution"]
# The two kernels are within an eighth of cuFFT. According to the profiler, cuFFT also
# runs two kernels, `regular_fft_factor<1024, EPT<16>, 8, …>`, in blocks of 8 × 64
# threads. They probably do the same two steps, for *eight* neighbouring columns, which
# are 64 bytes of each row. Eight columns take 70 KB of shared memory, whereas Numba
# needs further calls to launch a kernel with more than 48 KB.

# %% [markdown]
# ### Fast convolution
#
# By the **convolution theorem**, you can convolve an image with a filter by FFT:
# transform both, multiply, and transform back. The result is not quite the convolution
# of exercise 2. The transform treats the data as circular, so a filter that extends
# beyond the end reads from the start. Valid results are not affected, because there the
# filter never extends beyond an end.
#
# `filtered`, in `measure.py`, does this for whole images, with the complex conjugate of
# the filter's transform, since it computes a correlation. Its work hardly depends on
# the filter's width k, whereas that of the direct kernels grows as k². So from some k
# on, the FFT is faster. Count the operations for an image of 2048 × 2048: a real
# transform of n = 2^22 points takes about 2.5 n log2(n) operations, and there are three
# transforms; a direct kernel takes 2 k² n. For which k are these counts equal? For
# which k do you expect equal times, given that the FFTs wait for memory and `rows` does
# not?

# %%
guess = {"rows": None, "FFT": None}

by_width = chapter.measure.by_width(filters, guess)
by_width[7]

# %%
by_width[31]

# %% tags=["solution"]
by_width[7].expect("rows", at_least=1.5, times="FFT")
by_width[31].expect("FFT", at_least=1.3, times="rows")

# %%
chapter.measure.plot_widths(by_width)

# %% [markdown] tags=["solution"]
# The time of the FFT hardly depends on k. `rows` takes the same time for some k between
# 15 and 23, or at 15 if the filter's transform is ready. The FFT overtakes cuDNN at k =
# 7. For a filter of 63 × 63, the FFT takes 0.09 ms on an H200 if the filter's transform
# is ready. Dividing the operations of the direct algorithm by that time gives 340
# TFLOP/s, on a GPU that can do 67: the FFT does not need most of these operations.
#
# By operations alone, the two would be equal at about k = 7 if the filter's transform
# is ready, and at about 9 if not. But `rows` runs at a third of the peak, and the FFTs
# run at far less, since every pass over the image reads and writes memory.

# %% [markdown]
# ### Overlap-save in one kernel
#
# The last example is a long signal: 2^26 complex samples, as a radio receiver delivers
# them, and a filter of 257 taps. With library calls, you cut the signal into pieces of
# 1024 samples that overlap by 256, transform, multiply, transform back, and discard
# the 256 results of each piece that have wrapped around. This is called
# **overlap-save**. Each call reads and writes all pieces.
#
# Since `transform` leaves its results in registers, one kernel can do all three steps.
# The inverse transform is the conjugate of the transform of the conjugate, and the
# factor 1 / 1024 is already in the filter's spectrum. Compute by hand: the kernel reads
# 1024 samples for 768 results. How many bytes does it move, compared with a copy, and
# how many operations does it do?

# %%
guess = {"filter_fused": None}

long = chapter.measure.long(guess)
long

# %% tags=["solution"]
long.expect("filter_fused", at_least=2.3)

# %% [markdown] tags=["solution"]
# The kernel makes one pass over the data, where *three passes* makes three, with the
# same transforms. The next two rows show what is easily added: *and a copy* copies the
# results that are kept into one array, and *in pieces* also lets PyTorch scale the
# inverse transform, in a separate pass. The kernel's own bytes, at most 1.17 times
# those of a copy, take 0.29 ms on an H200. The machine code of two transforms and a
# product has 1690 instructions. Two warps execute them for each of 87,381 pieces, which
# takes 0.28 ms at 1045 billion instructions per second. So arithmetic and memory take
# about equally long on an H200, and they do not overlap perfectly.
#
# Direct convolution in the time domain, `F.conv1d`, does 69 billion operations, whereas
# the transforms do 9 billion.

# %% [markdown]
# ### If you want more
#
# - Add a stride and a dilation to `correlate`: each is a factor in the indices. How
#   does a stride of 2 change the tile?
# - Apply a **separable** filter, which is an outer product of a column and a row, in
#   two passes of k taps instead of one pass of k². How large must k be for two passes
#   to be faster?
# - Derive Winograd's F(2, 3): four multiplications instead of six for two results of a
#   filter with 3 taps. cuDNN includes it. Count the additions.
# - Use `cuda.const.array_like(w)` for a filter that is known when the kernel is
#   compiled. How much faster does it make `rows`?
# - Derive how to transform a *real* signal by a complex transform of half the length;
#   then use `fft_registers` for 2048 real points.
# - Write transforms of 2048 and of 512 points, modelled on `transform`. Which radices
#   and which padding do you need?
# - Write the inverse transform in `columns` and `rows_to_columns`. Which signs change?

# %% [markdown]
# ## What you learned
#
# 1. *Valid*, *same* and *full* define where the filter may be; correlation and
#    convolution define which way it points. The backward pass of a correlation is a
#    convolution, and vice versa.
# 2. A tile with a halo saves loads from global memory. A convolution is fast if each
#    pixel and each tap in a register is used for many results, as in a matrix product.
# 3. An FFT computes the same sums, but shares partial sums, so that it takes n log n
#    operations. Its time on a GPU depends first on the trips to global memory, and then
#    on those through shared memory.
# 4. With many points per thread, few passes and wide loads, a transform of 1024 points
#    is nearly as fast as a copy.
# 5. Apply small filters directly, filters with many channels as a matrix product, and
#    large filters by FFT. If you fuse the steps, the data between them stay on the SM.

# %%
quiz()
