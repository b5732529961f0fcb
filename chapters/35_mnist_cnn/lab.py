# %% [markdown]
# # 35 · A CNN on MNIST
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/35_mnist_cnn.ipynb)
#
# **After this lab, you can**
#
# - write every layer of a convolutional network as a kernel, forward and backward:
#   convolution, batch normalisation, ReLU, max-pooling, log-softmax and its loss;
# - check gradients with finite differences and with PyTorch;
# - train a network with kernels of your own, to the accuracy that PyTorch reaches;
# - fuse a convolution, its bias, ReLU and pooling into one kernel on tensor cores;
# - say where the time of a training step goes, and what limits each part.
#
# **You need** about three hours, and chapters 13, 14, 21 and 23. You do not need a GPU:
# the exercises and a small training run work in the simulator, and without a GPU the
# measurements show times from the reference GPU, an H200. If you use a GPU, the
# exercises need compute capability 8.0 or higher; the fused step was made for 9.0.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32, uint8

from weft import bench, check, hint, quiz
from weft.intrinsics import mma_bf16

chapter = weft.lab("35_mnist_cnn")
checks, digits, kernels = chapter.checks, chapter.digits, chapter.kernels
block_sum, word_at, clear = kernels.block_sum, kernels.word_at, kernels.clear

# %% [markdown]
# ## The network
#
# | layer | result, per image | parameters |
# | --- | --- | ---: |
# | convolution 3 × 3, 1 → 32 channels, frame of zeros | 28 × 28 × 32 | 320 |
# | batch normalisation, ReLU, max-pooling 2 × 2 | 14 × 14 × 32 | 64 |
# | convolution 3 × 3, 32 → 64 channels, frame of zeros | 14 × 14 × 64 | 18,496 |
# | batch normalisation, ReLU, max-pooling 2 × 2 | 7 × 7 × 64 | 128 |
# | linear, 3136 → 128, ReLU | 128 | 401,536 |
# | linear, 128 → 10, log-softmax, negative log-likelihood | 1 | 1290 |
#
# All arrays are channels-last: images are (n, rows, cols, channels), and filters are
# (filters, 3, 3, channels). At first, each layer is one plain kernel. You write six
# kernels: five plain ones, and at the end one that does the work of three layers.
#
# Two sources of digits come with the course: a program that draws digits, and 10,000
# real digits from MNIST. `digits.mnist("data")` downloads all 70,000 and verifies their
# checksums; the lab does not need this download.

# %%
drawn, drawn_labels = digits.generated(8, seed=3)
real, real_labels = digits.packed()
for images, labels in ((drawn, drawn_labels), (real, real_labels)):
    for line in range(3, 26, 2):
        rows = [image[line, 4:24] for image in images[:3]]
        dots = ["".join(" .:#"[v // 64] for v in row) for row in rows]
        print(" ".join(dots).rstrip())
    print(labels[:3])

# %% [markdown]
# The checks use random data that contain negative numbers, and the definitions of the
# layers in PyTorch and NumPy (`checks.py` in `chapters/35_mnist_cnn` has both). Blocks
# have 64 threads.

# %% tags=["given"]
THREADS = 64

# %% [markdown]
# ## 1 · Convolution
#
# With a frame of zeros, the result has as many pixels as the image:
#
#     y[n, i, j, f] = b[f] + sum over p, q, c of
#                                x[n, i + p - 1, j + q - 1, c] * w[f, p, q, c]
#
# where x counts as 0 outside the image. One thread computes one element of y. Threads
# are numbered in the order in which y is stored, from 0 to one less than the size of y:
# neighbouring threads compute the same pixel for neighbouring filters. First find n, i,
# j and f from the thread's number.
#
# ```python
# conv_bias(x, w, b, y)
#     # (n, rows, cols, c), (f, 3, 3, c), (f,) -> (n, rows, cols, f)
# ```
#
# Stuck? Run `hint("conv_bias")`; there are three hints.

# %%
@cuda.jit
def conv_bias(x, w, b, y):
    """Convolve, with a frame of zeros, and add the bias."""
    at = cuda.grid(1)

    # about 14 lines
    # BEGIN SOLUTION
    if at < y.size:
        f = at % y.shape[3]
        pixel = at // y.shape[3]
        j = pixel % y.shape[2]
        i = pixel // y.shape[2] % y.shape[1]
        n = pixel // y.shape[2] // y.shape[1]
        total = b[f]
        for p in range(3):
            for q in range(3):
                row, col = i + p - 1, j + q - 1
                if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                    for c in range(x.shape[3]):
                        total += x[n, row, col, c] * w[f, p, q, c]
        y[n, i, j, f] = total
    # END SOLUTION

# %%
check(
    conv_bias,
    spec=checks.convolution,
    inputs=checks.random_layer,
    sizes=[(2, 3, 5, 2, 4), (1, 4, 2, 3, 5)],
    launch=lambda n, h, w, c, f: kernels.blocks(n * h * w * f),
    full=(16, 14, 13, 32, 64),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# Neighbouring threads have neighbouring filters, so they read the same x, which is one
# request for a warp, but weights that are 9c numbers apart. The fast kernels at the end
# turn the convolution into a matrix product.

# %% [markdown]
# ## 2 · ReLU and pooling, and which pixel won
#
# Max-pooling keeps the largest number of each 2 × 2 window. ReLU keeps what is
# positive. Both together are one operation: the largest number of the window, or 0 if
# it is negative.
#
# The gradient takes the same path back. It goes only to the pixel that won, or to no
# pixel if ReLU set the result to 0. So the forward kernel records which pixel won:
#
# | `won` | pixel of the window |
# | ---: | --- |
# | 0, 1 | upper left, upper right |
# | 2, 3 | lower left, lower right |
# | 4 | none: the largest is not above 0 |
#
# Among equal numbers, the first in this order wins. One thread handles one window of
# one channel, and threads are numbered in the order of y.
#
# ```python
# relu_pool(x, y, won)
#     # (n, rows, cols, c) -> (n, rows / 2, cols / 2, c) float32, uint8
# ```
#
# Stuck? `hint("relu_pool")`.

# %%
@cuda.jit
def relu_pool(x, y, won):
    """Write the largest of each 2 x 2 window, or 0, and which pixel it was."""
    at = cuda.grid(1)

    # about 16 lines
    # BEGIN SOLUTION
    if at < y.size:
        c = at % y.shape[3]
        rest = at // y.shape[3]
        j = rest % y.shape[2]
        i = rest // y.shape[2] % y.shape[1]
        n = rest // y.shape[2] // y.shape[1]
        best = float32(0)
        winner = 4
        for k in range(4):
            value = x[n, 2 * i + k // 2, 2 * j + k % 2, c]
            if value > best:
                best = value
                winner = k
        y[n, i, j, c] = best
        won[n, i, j, c] = winner
    # END SOLUTION

# %%
check(
    relu_pool,
    spec=checks.largest,
    inputs=checks.random_pixels,
    sizes=[(2, 2, 3, 4), (1, 3, 2, 5)],
    launch=lambda n, h, w, c: kernels.blocks(n * h * w * c),
    out=lambda x: (
        np.full(checks.largest(x)[0].shape, -1, np.float32),
        np.full(checks.largest(x)[1].shape, 9, np.uint8),
    ),
    full=(16, 14, 14, 33),
    limits={"loads": 4, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Starting with a best value of 0 and winner 4 handles both ReLU and the case without a
# winner. The comparison is `>`, so among equal numbers the first one stays.

# %% [markdown]
# ## 3 · The gradient of the weights
#
# Chapter 23 had one channel and no frame. Now a weight w[f, p, q, c] multiplies
# x[n, i + p - 1, j + q - 1, c] in every y[n, i, j, f], so
#
#     dw[f, p, q, c] = sum over n, i, j of
#                                x[n, i + p - 1, j + q - 1, c] * dy[n, i, j, f]
#
# where x counts as 0 outside the image. One thread computes one element of dw, and
# threads are numbered in the order in which dw is stored. (The gradient of the bias,
# the sum of dy, is given.)
#
# ```python
# conv_weights(x, dy, dw)
#     # (n, rows, cols, c), (n, rows, cols, f) -> (f, 3, 3, c)
# ```
#
# Stuck? `hint("conv_weights")`.

# %%
@cuda.jit
def conv_weights(x, dy, dw):
    """Write the gradient of the weights of a convolution."""
    at = cuda.grid(1)

    # about 15 lines
    # BEGIN SOLUTION
    if at < dw.size:
        c = at % dw.shape[3]
        rest = at // dw.shape[3]
        q = rest % 3
        p = rest // 3 % 3
        f = rest // 9
        total = float32(0)
        for n in range(x.shape[0]):
            for i in range(x.shape[1]):
                for j in range(x.shape[2]):
                    row, col = i + p - 1, j + q - 1
                    if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                        total += x[n, row, col, c] * dy[n, i, j, f]
        dw[f, p, q, c] = total
    # END SOLUTION

# %%
check(
    conv_weights,
    spec=checks.weights_gradient,
    inputs=checks.random_gradient,
    sizes=[(2, 3, 4, 2, 4), (1, 5, 2, 3, 1)],
    launch=lambda n, h, w, c, f: kernels.blocks(9 * c * f),
    full=(4, 14, 13, 16, 32),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# This kernel has as many threads as there are weights: 288 in the first layer, fewer
# than three for each SM of an H200, and every thread adds up all pixels of all images.
# The kernel lacks parallelism. Split the sum over n among blocks, and add the parts in
# a second kernel: this is split-K, and the fused step uses it.

# %% [markdown]
# ## 4 · Batch normalisation, backwards
#
# Batch normalisation makes the numbers of a channel have mean 0 and variance 1 over the
# batch, and then scales them by a parameter γ and shifts them by a parameter β. For a
# channel with m numbers x, mean μ and variance v:
#
#     x̂ = (x - μ) / sqrt(v + ε)          y = γ x̂ + β
#
# Every x changes μ and v, and therefore every y of its channel. That makes the gradient
# longer than the formula for y. With sums over the m numbers of the channel,
#
#     dβ = sum of dy          dγ = sum of dy · x̂
#
#     dx = γ / sqrt(v + ε) · (dy - dβ / m - x̂ · dγ / m)
#
# One block handles one channel, number `cuda.blockIdx.x`, with `THREADS` threads. The
# forward kernel has written μ to `mean` and 1 / sqrt(v + ε) to `scale`.
# `block_sum(value, cells)` adds the `value` of each thread, and returns the sum to
# every thread. `cells` is a shared array with a float32 for each thread, which the
# starter has made. All threads of the block must call it together.
#
# ```python
# norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta)
#     # x, dy, dx: (m, c); all others: (c,)
# ```
#
# `norm_forward`, in `kernels.py`, shows the pattern. Stuck? `hint("norm_backward")`.

# %%
@cuda.jit
def norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta):
    """Write the gradients of batch normalisation, a block for each channel."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = float32(x.shape[0])

    # about 14 lines
    # BEGIN SOLUTION
    sum_dy = float32(0)
    sum_dy_hat = float32(0)
    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) * scale[c]
        sum_dy += dy[row, c]
        sum_dy_hat += dy[row, c] * hat
    sum_dy = block_sum(sum_dy, cells)
    sum_dy_hat = block_sum(sum_dy_hat, cells)

    for row in range(t, x.shape[0], THREADS):
        hat = (x[row, c] - mean[c]) * scale[c]
        centred = dy[row, c] - sum_dy / m - hat * sum_dy_hat / m
        dx[row, c] = gamma[c] * scale[c] * centred
    if t == 0:
        dgamma[c] = sum_dy_hat
        dbeta[c] = sum_dy
    # END SOLUTION

# %%
check(
    norm_backward,
    spec=checks.norm_gradient,
    inputs=checks.random_norm,
    sizes=[(5, 2), (70, 3)],
    launch=lambda m, c: (c, THREADS),
    full=(5000, 33),
    limits={"float64": 0},
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# The kernel computes two sums and then writes dx, so it reads x and dy twice. The
# gradient dx has mean 0 and is orthogonal to x̂, whatever dy is. Shifting or scaling x
# does not change y (apart from ε), so dx has no component in those two directions.

# %% [markdown]
# ## 5 · The loss and its gradient
#
# The last layer gives ten numbers z for each image, the logits. Log-softmax turns them
# into logarithms of probabilities. The loss of a row is the negative logarithm for the
# right answer a, and the loss of the batch is the mean over its rows:
#
#     log p[k] = z[k] - log(sum of exp(z))          loss of the row = -log p[a]
#
# The gradient of this mean is the simplest in the network. With n rows in the batch:
#
#     dz[k] = (p[k] - [k is a]) / n
#
# So one kernel can write both the loss and the gradient, and p is never stored in
# memory. One thread handles one row. The logits may be large, and exp(100) overflows in
# float32, so subtract the largest logit of the row first, as in chapter 16.
#
# ```python
# loss_gradient(z, labels, loss, dz)    # (n, k) float32, (n,) uint8 -> (n,), (n, k)
# ```
#
# `loss` receives the loss of each row, not divided by n. Stuck?
# `hint("loss_gradient")`.

# %%
@cuda.jit
def loss_gradient(z, labels, loss, dz):
    """Write the loss of each row, and the gradient of the mean loss."""
    row = cuda.grid(1)

    # about 13 lines
    # BEGIN SOLUTION
    if row < z.shape[0]:
        top = z[row, 0]
        for k in range(1, z.shape[1]):
            top = max(top, z[row, k])
        total = float32(0)
        for k in range(z.shape[1]):
            total += math.exp(z[row, k] - top)
        loss[row] = math.log(total) + top - z[row, labels[row]]
        for k in range(z.shape[1]):
            p = math.exp(z[row, k] - top) / total
            if k == labels[row]:
                p -= float32(1)
            dz[row, k] = p / float32(z.shape[0])
    # END SOLUTION

# %%
check(
    loss_gradient,
    spec=checks.loss_and_gradient,
    inputs=checks.random_logits,
    sizes=[(5, 10), (67, 3)],
    launch=lambda n, k: kernels.blocks(n),
    full=(5000, 10),
    limits={"float64": 0},
    tolerance=1e-4,
)

# %% [markdown]
# ## 6 · Three layers in one kernel
#
# After the convolution, the bias, ReLU and pooling perform only a few operations per
# number, but a kernel for each would read and write all the numbers. The kernel of the
# last exercise keeps them in registers. It multiplies on tensor cores (chapter 21), and
# the trick is *which pixel goes where*.
#
# An `mma` multiplies 16 rows by 8 columns. Here a row is a pixel, a column is a filter,
# and k runs over the 16 channels under one tap of the filter. In chapter 21 the rows
# were neighbours in memory. They need not be: a lane may load any pixel. A lane's sums
# c[0] and c[1] belong to row g, columns 2t and 2t + 1, and c[2] and c[3] belong to row
# g + 8, where lane = 4g + t. So let
#
#     row g      be the left pixel of window g
#     row g + 8  be the right pixel of window g
#
# and compute two products: `sums[0]` for the upper pixels of eight windows, and
# `sums[1]` for the lower. Then all four pixels of a window are in one thread, and
# pooling takes three comparisons, without a shuffle and without shared memory.
#
# One block is one warp, and handles windows 8 · `blockIdx.x` + g, counted over all
# images. Images and filters consist of words of two bfloat16 numbers: x is (n, rows,
# cols, 8), and w is (8, 9, 8): filter, tap 3p + q, word. The biases b are (8,), one for
# each filter. The fragments are those of chapter 21, in words:
#
#     a: (row g, word t),     (row g + 8, word t),
#        (row g, word t + 4), (row g + 8, word t + 4)
#     b: (filter g, word t),  (filter g, word t + 4)
#
# `word_at(x, n, row, col, word)` returns a word, or 0 outside the image.
# `mma_bf16(sums[k], fa, fb)` adds a product to `sums[k]`, in place, and returns
# nothing; `fa` is a tuple of the four words of a, and `fb` one of the two words of b.
# In the starter, `clear(sums)` sets all sums to 0. Every lane has to reach each
# `mma_bf16`, even a lane without a window.
#
# ```python
# conv_pool(x, w, b, y, won)    # -> (n, rows / 2, cols / 2, 8) float32, uint8
# ```
#
# The bias, ReLU and `won` are as in exercises 1 and 2. Stuck? `hint("conv_pool")`.

# %%
@cuda.jit
def conv_pool(x, w, b, y, won):
    """Convolve, add the bias, ReLU and pool: eight windows for each warp."""
    sums = cuda.local.array((2, 4), float32)
    lane = int32(cuda.threadIdx.x)
    g, t = lane // int32(4), lane % int32(4)
    window = int32(cuda.blockIdx.x) * int32(8) + g
    count = int32(y.shape[0] * y.shape[1] * y.shape[2])
    known = min(window, count - int32(1))
    j = known % int32(y.shape[2])
    i = known // int32(y.shape[2]) % int32(y.shape[1])
    n = known // int32(y.shape[2]) // int32(y.shape[1])
    clear(sums)

    # about 28 lines
    # BEGIN SOLUTION
    for p in range(3):
        for q in range(3):
            tap = 3 * p + q
            fb = w[g, tap, t], w[g, tap, t + 4]
            left = 2 * j + q - 1
            for lower in range(2):
                row = 2 * i + lower + p - 1
                fa = (
                    word_at(x, n, row, left, t),
                    word_at(x, n, row, left + 1, t),
                    word_at(x, n, row, left, t + 4),
                    word_at(x, n, row, left + 1, t + 4),
                )
                mma_bf16(sums[lower], fa, fb)

    if window < count:
        for e in range(2):
            f = 2 * t + e
            best = float32(0)
            winner = 4
            for k in range(4):
                value = sums[k // 2, 2 * (k % 2) + e] + b[f]
                if value > best:
                    best = value
                    winner = k
            y[n, i, j, f] = best
            won[n, i, j, f] = winner
    # END SOLUTION

# %%
check(
    conv_pool,
    spec=checks.three_layers,
    inputs=checks.random_words,
    sizes=[(1, 2, 4), (2, 3, 2)],
    launch=lambda n, h, w: (-(-n * h * w // 8), 32),
    out=lambda x, w, b: (
        np.full((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, 8), -1, "f4"),
        np.full((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, 8), 9, "u1"),
    ),
    full=(64, 7, 7),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# The convolution's result is never written. It exists only in 8 registers of each lane,
# one window at a time. For the 64 filters of the second layer, the fused step uses 64
# such registers, loads with `ldmatrix` from a tile in shared memory, and keeps `won` in
# four bits. The idea is the same.

# %% [markdown]
# ## Look: a whole network, and its gradients
#
# `Plain`, in `network.py`, puts the kernels together: it allocates every array once,
# and then `step` is a list of launches. It works with any number of filters, with and
# without batch normalisation, on a GPU and in the simulator. Five of its kernels are
# yours. The others are short, and they are in `kernels.py`: the remaining gradients of
# the convolution, the two linear layers, and SGD. `unpool` passes each window's
# gradient to the pixel that won.
#
# The next cell uses a small network, with 2 and 3 filters and digits of 8 × 8 pixels.
# It compares three gradients for the same batch: those of your kernels, those of
# PyTorch's autograd, and **finite differences** in float64, which need no formula for a
# gradient: they change one parameter by ±ε and look at the loss. Ten parameters of each
# array are tried.
#
# A kink spoils finite differences: if ε is so large that another pixel wins, the
# difference quotient is not the gradient. So ε is small, which float64 allows.
#
# Each number is the largest error of an element, relative to the root mean square of
# that gradient (to 0.001 where that is larger). w1 and w2 belong to the convolutions,
# w3 and w4 to the linear layers. With batch normalisation, the exact gradient of b1 and
# b2 is 0, since it subtracts any constant: what you see there are rounding errors.

# %%
chapter.learner.use(
    conv_bias=conv_bias,
    relu_pool=relu_pool,
    conv_weights=conv_weights,
    norm_backward=norm_backward,
    loss_gradient=loss_gradient,
)
errors = chapter.gradients.of_plain()

# %% tags=["solution"]
assert max(max(pair) for pair in errors.values()) < 1e-3

# %% [markdown]
# ## Look: it trains
#
# The cell trains with the same kernels, batch normalisation included, on four generated
# digits of 8 × 8 pixels. The network should learn these four by heart, so the loss
# should fall.

# %%
losses = chapter.gradients.by_heart(steps=6)
print(" ".join(f"{loss:.2f}" for loss in losses))

# %% tags=["solution"]
assert losses[-1] < 0.6 * losses[0]

# %% [markdown]
# ## Measure: a training step
#
# Now the network has its full size: 28 × 28 pixels, 32 and 64 filters, and 421,642
# parameters. A step loads a batch, runs the forward and the backward pass, and updates
# the weights. The first batch size is 64, and each measurement takes two steps.
#
# - `NumPy`: matrix products on patches, on the CPU;
# - `torch, eager`: as tutorials write it, in float32, but with the data on the GPU;
# - `torch, bfloat16, graph`: with autocast and channels-last, and the step in one CUDA
#   graph;
# - `torch, compiled`: the same, but with the model and the optimiser compiled, in the
#   default mode;
# - `torch, best`: compiled with all tuning, `mode="max-autotune-no-cudagraphs"`. Like
#   the two rows before it, it takes the pooled maps in channels-last order, and has
#   both steps in one graph, as `fused, one graph` has;
# - `plain kernels`: your kernels and the given ones, one launch for each;
# - `plain, one graph`: the same launches, captured in a CUDA graph;
# - `fused`: six kernels, in bfloat16 on tensor cores with float32 weights;
# - `fused, one graph`: the same six kernels, captured.
#
# None of these steps has batch normalisation, which comes further below. Compute by
# hand: how many multiplications does each layer perform for one image? How many do the
# forward and the backward pass perform together for 64 images, and how long would
# tensor cores take for them at 400 TFLOP/s? Then guess: 1.0 is as fast as `torch,
# best`, and 0.1 a tenth as fast.

# %%
guess = {"plain kernels": None, "torch, eager": None, "fused, one graph": None}

small = chapter.measure.batch_64(guess)
small

# %% tags=["solution"]
small.expect("fused, one graph", at_least=2.5)
small.expect("torch, best", at_least=0.97, times="torch, compiled")
small.expect("torch, best", at_least=3, times="torch, eager")
small.expect("plain, one graph", at_least=4, times="NumPy")
small.expect("fused", at_least=3, times="plain, one graph")
small.expect("fused, one graph", at_least=1.3, times="fused")

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious. In
# `chapters/35_mnist_cnn`, the fused kernels are in `fused`, the measurements in
# `measure.py` and `training.py`, and the steps of PyTorch and NumPy in `opponents.py`.
# The solution and the chapter's page explain what each table shows.

# %% [markdown]
# ### Is the fused step right?
#
# The cell runs one fused step, without and with batch normalisation. The gradient of
# each parameter is what the step subtracted, divided by the learning rate. It is
# compared with PyTorch's float32 gradient for the same weights and batch, and so is the
# gradient under bfloat16 autocast: both round, but in different places. So are the
# running averages that batch normalisation keeps for the test. The cell also takes
# twenty steps three times, to see whether they give the same bits. Without a GPU it is
# skipped; the solution has what the reference GPU printed.

# %%
if weft.on_gpu("the fused step is for full size"):
    fused_errors = {
        norm: chapter.measure.compared(norm) for norm in (False, True)
    }

# %% tags=["solution"]
if weft.GPU:
    for norm, (off, same_bits) in fused_errors.items():
        step = "the fused step with norms" if norm else "the fused step"
        worst = max(mine / max(cast, 1e-3) for mine, cast in off.values())
        bench.always(f"{step} is as exact as autocast", worst < 2)
        bench.always(f"{step} is deterministic", same_bits)

# %% [markdown]
# ### Batch 1024
#
# Now the batch size is 1024, which gives the GPU something to do. Which of the ratios
# change, and in which direction? Again, 1.0 is as fast as `torch, best`.

# %%
guess = {"torch, eager": None, "fused, one graph": None}

large = chapter.measure.batch_1024(guess)
large

# %% tags=["solution"]
large.expect("fused, one graph", at_least=3)
large.expect("torch, best", at_least=0.97, times="torch, compiled")
large.expect("torch, best", at_least=1.5, times="torch, bfloat16, graph")

# %% [markdown] tags=["solution"]
# The compiler fuses what comes before and after a convolution into kernels of its own.
# It does not put pooling into the convolution, nor the unpooling into the loads of the
# gradients. The fused step does both: it writes neither the result of a convolution nor
# its gradient. The bytes that this saves explain only a small part of the difference in
# time; the page has the count. To see what explains it, profile PyTorch's step.

# %% [markdown]
# ### Where PyTorch's time goes
#
# The cell profiles two steps of `torch, best` with 1024 images, without and with batch
# normalisation. It adds up the kernels by what they do, judging by their names, and
# lists the longest. A name that begins with `triton` is that of a kernel which the
# compiler generated. Which kinds of work does the fused step not have at all?

# %%
torch_kinds = chapter.measure.torch_kernels()

# %%
normalised_torch_kinds = chapter.measure.torch_kernels(norm=True)

# %% [markdown]
# ### Batch normalisation
#
# Now with batch normalisation. The statistics of a batch have to be complete before the
# first number can be normalised, so a kernel for both convolutions seems impossible,
# and PyTorch has to read the large arrays more often. The fused step needs only one
# more kernel (see the page's section "Fusion 3").
#
# Guess how fast two of the steps are for 64 images, where 1.0 is as fast as `torch,
# best`, which normalises too. (Its convolutions have no biases, like the fused step's,
# since a normalisation subtracts them.) Then compare the times with those above: by
# what factor has each step become slower?

# %%
guess = {"plain, one graph": None, "fused, one graph": None}

normalised = chapter.measure.normalised_64(guess)
normalised

# %% [markdown]
# And for 1024 images? Predict whether `fused, one graph` gains or loses against `torch,
# best`, compared with batch 1024 without batch normalisation.

# %%
normalised_large = chapter.measure.normalised_1024()
normalised_large

# %% tags=["solution"]
normalised.expect("fused, one graph", at_least=2.5)
normalised_large.expect("fused, one graph", at_least=3)

# %% [markdown] tags=["solution"]
# For 1024 images, both steps become slower by about the same factor. Even so, the fused
# step never writes the first layer's result, normalised or not: its statistics follow
# from the images alone. The second layer's result is the one large array that it writes
# and reads again. For 64 images, the seventh kernel and the longer `update` weigh more.

# %% [markdown]
# ### Where the time goes
#
# Each row is one of the kernels of the fused step, in its own CUDA graph. The page
# describes `forward` under *Fusion 1*, `backward` under *Fusion 2*, and the other four
# under *Six kernels*. What keeps each kernel from being faster?

# %%
profile_64 = chapter.measure.profile_64()
profile_64

# %%
profile_1024 = chapter.measure.profile_1024()
profile_1024

# %% [markdown] tags=["solution"]
# `backward` takes about half of the step for 1024 images, and it performs 15 of the
# step's 26 GFLOP. For two of the kernels the limit is arithmetic; for the others it is
# mostly the time to start. For 64 images, neither arithmetic nor bytes limit any
# kernel. Each of the six kernels needs a few microseconds to start its blocks, fill its
# tiles and drain.

# %% [markdown]
# The same for the step with batch normalisation. Its seventh kernel, `moments`, adds up
# what the statistics of the first layer follow from (*Fusion 3*). Which kernels have
# become slower, and why?

# %%
normalised_profile_64 = chapter.measure.normalised_profile_64()
normalised_profile_64

# %%
normalised_profile_1024 = chapter.measure.normalised_profile_1024()
normalised_profile_1024

# %% [markdown]
# ### An epoch, loading included
#
# An epoch is 60,000 images in a random order, in batches of 64. (The 10,000 real digits
# of this course are used six times; the time does not depend on what the images show.)
#
# - `torch, tutorial`: a `DataLoader` with a worker process and pinned memory, images
#   normalised one by one, a copy to the GPU for each batch, and float32;
# - `torch, best`: all images on the GPU as bytes, and the compiled step in a graph;
# - `fused`: the same with our fused step;
# - `... with norms`: the same three with batch normalisation.
#
# How many times as fast as the first row is each of the others?

# %%
epoch = chapter.training.epoch()

# %% tags=["solution"]
if epoch:
    for with_norms in ("", ", with norms"):
        fused = f"fused{with_norms}"
        faster = epoch[f"torch, tutorial{with_norms}"] / epoch[fused]
        bench.expect(f"{fused}, an epoch", faster, at_least=10)
        faster = epoch[f"torch, best{with_norms}"] / epoch[fused]
        bench.expect(f"{fused}, an epoch, to best", faster, at_least=2)

# %% [markdown]
# ### Accuracy
#
# A fast step that learns less well is worth nothing, and a single loss shows little:
# rounding differs from the first product on, and two algorithms of one library can
# differ by more than two correct programs do. So the fused step and PyTorch, which is
# not compiled here, each train several networks to the end, from the same initial
# weights. The cell compares the mean
# accuracy on unseen digits, and how much it varies.
#
# The 10,000 real digits are cut into ten parts. Each network trains on nine of them for
# five epochs, with batches of 64, and is tested on the tenth; there are thirty seeds,
# three for each part. With batch normalisation, the test uses the running averages of
# means and variances that training has left. The difference is the fused step's
# accuracy minus PyTorch's, for the same seed; `half` is half of the 95 % confidence
# interval of its mean, in percentage points. `averages without biases` is the fused
# network with a bug of the test: the averages lack a bias that the network adds.

# %%
accuracy = chapter.training.accuracy()

# %%
normalised_accuracy = chapter.training.normalised_accuracy()

# %% tags=["solution"]
for found in (accuracy, normalised_accuracy):
    if found:
        apart, half = found["difference, mean"], found["difference, half"]
        bench.always(
            "the accuracies differ by less than half a point", abs(apart) < 0.5
        )
        bench.always("the test is precise enough to tell", half < 0.35)

# %% [markdown]
# The plain kernels, with batch normalisation, train on the same digits for two epochs.
# The test needs statistics for the normalisation; here they are those of the test
# images and the first 1024 training images together.

# %%
plain_accuracy = chapter.training.plain_accuracy()

# %% tags=["solution"]
if plain_accuracy:
    bench.always("the plain kernels learn", plain_accuracy["plain"] > 90)

# %% [markdown]
# ## What you learned
#
# 1. A network is a handful of kernels, and each has a gradient that a few lines of
#    float64 code can check.
# 2. Pooling keeps a number from 0 to 4 for its gradient. Log-softmax and its loss have
#    a gradient so short that loss and gradient belong in one kernel.
# 3. Choose which pixel goes into which row of a tensor core's product, and pooling
#    happens in registers.
# 4. Fusion saves what is never written: here the results of both convolutions and the
#    gradients of these results.
# 5. Compare training runs by their accuracy over several seeds, and a step with the
#    best version of the library's that you can find.

# %% [markdown]
# ## If you want more
#
# - `moments` depends on the images alone, not on the weights. Let it run beside the
#   kernels of the step before: on a second stream, which becomes a branch of the graph.
#   What must wait for what?
# - Add momentum to the update. Which additional arrays do you need, and which kernel
#   gets slower?
# - Let one block handle half an image at batch 64: an H200 has 132 SMs.
# - Replace `fc1` by the `wgmma` of chapter 22.
# - Run `digits.mnist("data")` and train on all 60,000 training images. How many epochs
#   does it take to reach 99 %?

# %%
quiz()
