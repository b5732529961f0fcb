# %% [markdown]
# # 35 · A CNN on MNIST
#
# [Open in
# Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/35_mnist_cnn.ipynb)
#
# **After this lab, you can**
#
# - write the layers of a convolutional network as kernels, forward and backward, and
#   check their gradients with finite differences and with PyTorch;
# - split a sum among blocks, so that the result is the same every time;
# - fuse a convolution, its bias, ReLU and pooling into one kernel on tensor cores, and
#   the last layer, its loss and their gradients into another;
# - put your own kernels into a training step, and measure whether the step is still
#   faster than PyTorch's best;
# - say where the time of a training step goes, and what limits each part.
#
# **You need** three and a half hours, and chapters 13, 14, 21 and 23. You do not need a
# GPU: the exercises and a small training run work in the simulator, and without a GPU
# the measurements show times from the reference GPU, an H200. If you use a GPU, the
# exercises need compute capability 8.0 or higher; the fused step was made for 9.0.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32

from weft import bench, check, hint, quiz
from weft.intrinsics import mma_bf16

chapter = weft.lab("35_mnist_cnn")
checks, digits, kernels = chapter.checks, chapter.digits, chapter.kernels
block_sum, word_at, clear = kernels.block_sum, kernels.word_at, kernels.clear
hidden_units, warp_sum = kernels.hidden_units, kernels.warp_sum
bf16_bits = kernels.bf16_bits

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
# (filters, 3, 3, channels). There are two networks in this lab. `Plain` has one plain
# kernel for each layer and gradient. The fused step is made of six kernels on tensor
# cores. Both are given, except for the six kernels that you write, three for each
# network. (`conv_pool`, which belongs to the fused step, fits into the plain network
# too.)
#
# Two sources of digits come with the course: a program that draws digits, and 10,000
# real digits from MNIST. (`digits.mnist("data")` would download all 70,000.) The checks
# use random data that contain negative numbers. Blocks have 64 threads, but those of
# `conv_pool` and `head` are one warp.

# %% tags=["folded"]
drawn, drawn_labels = digits.generated(8, seed=3)
real, real_labels = digits.packed()
for line in range(3, 26, 2):
    rows = [image[line, 4:24] for image in (*drawn[:3], *real[:3])]
    dots = ["".join(" .:#"[v // 64] for v in row) for row in rows]
    print(" ".join(dots).rstrip())
print(drawn_labels[:3], real_labels[:3])

# %% tags=["given"]
THREADS = 64

# %% [markdown]
# ## 1 · ReLU and pooling, and which pixel won
#
# Max-pooling keeps the largest number of each 2 × 2 window, and ReLU keeps what is
# positive. Together they are one operation: the result is the largest number of the
# window, or 0 if that is negative.
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
# one channel, and threads are numbered in the order of y. Stuck? `hint("relu_pool")`.
#
# ```python
# relu_pool(x, y, won)
#     # (n, rows, cols, c) -> (n, rows / 2, cols / 2, c) float32, uint8
# ```

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
    because=checks.odd_winners,
)

# %% [markdown] tags=["solution"]
# Starting with a best value of 0 and winner 4 covers both ReLU and the case without a
# winner. The comparison is `>`, so among equal numbers the first one stays.

# %% [markdown]
# ## 2 · The gradient of the weights, in parts
#
# A weight w[f, p, q, c] multiplies x[n, i + p - 1, j + q - 1, c] in every y[n, i, j, f]
# of the convolution, so
#
#     dw[f, p, q, c] = sum over n, i, j of
#                                x[n, i + p - 1, j + q - 1, c] * dy[n, i, j, f]
#
# where x counts as 0 outside the image. With one thread for each weight, the first
# layer has 288 threads, fewer than three for each SM of an H200, and each of them adds
# up all pixels of all images. To use more threads, the images are split into slices,
# and `parts[k]` is the sum over images k, k + slices, k + 2 · slices, ... A second
# kernel, which is given, adds the parts. No atomic operation is needed, and the order
# of the sum is always the same. This method is called split-K.
#
# The grid is two-dimensional: `cuda.blockIdx.y` is the slice k, and `cuda.grid(1)` is
# the number of the weight, in the order in which dw is stored. With one slice, your
# kernel is the version that is not split; both are measured. Stuck? Run
# `hint("conv_weights")`; there are three hints.
#
# ```python
# conv_weights(x, dy, parts)
#     # (n, rows, cols, c), (n, rows, cols, f) -> (slices, f, 3, 3, c)
# ```

# %%
@cuda.jit
def conv_weights(x, dy, parts):
    """Write part k of the gradient: the sum over images k, k + slices, ..."""
    at, k = cuda.grid(1), cuda.blockIdx.y
    dw = parts[k]  # (f, 3, 3, c)

    # about 15 lines
    # BEGIN SOLUTION
    if at < dw.size:
        c = at % dw.shape[3]
        rest = at // dw.shape[3]
        q = rest % 3
        p = rest // 3 % 3
        f = rest // 9
        total = float32(0)
        for n in range(k, x.shape[0], parts.shape[0]):
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
    sizes=[(5, 3, 2, 2, 4), (3, 2, 4, 3, 1)],
    launch=lambda n, h, w, c, f: (
        (kernels.blocks(9 * c * f)[0], checks.slices_of(n)),
        kernels.THREADS,
    ),
    full=(9, 14, 13, 16, 32),
    limits={"float64": 0},
    because=checks.odd_slices,
)

# %% [markdown] tags=["solution"]
# For 64 images and 64 slices, the first layer has 18,432 threads instead of 288, and
# each adds up one image. The price is an array of 64 parts, which is written and read
# once. The fused step does the same with its matrix products and its convolutions.

# %% [markdown]
# ## 3 · Batch normalisation, backwards
#
# Batch normalisation makes the numbers of a channel have mean 0 and variance 1 over the
# batch, and then scales them by a parameter γ and shifts them by a parameter β. For a
# channel with m numbers x, mean μ and variance v:
#
#     x̂ = (x - μ) / sqrt(v + ε)          y = γ x̂ + β
#
# Every x changes μ and v, and therefore every y of its channel. So the formula for the
# gradient is longer than that for y. With sums over the m numbers of the channel,
#
#     dβ = sum of dy          dγ = sum of dy · x̂
#
#     dx = γ / sqrt(v + ε) · (dy - dβ / m - x̂ · dγ / m)
#
# One block handles one channel, number `cuda.blockIdx.x`, with `THREADS` threads. The
# forward kernel has written μ to `mean` and 1 / sqrt(v + ε) to `scale`.
# `block_sum(value, cells)` adds the `value` of each thread, and returns the sum to
# every thread. `cells` is a shared array from the starter, with one float32 per thread.
# All threads of the block must call `block_sum` together. `norm_forward`, in
# `kernels.py`, shows the pattern. Stuck? `hint("norm_backward")`.
#
# ```python
# norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta)
#     # x, dy, dx: (m, c); all others: (c,)
# ```


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
    because=checks.odd_gradients,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# The kernel computes two sums and then writes dx, so it reads x and dy twice. The
# gradient dx has mean 0 and is orthogonal to x̂, whatever dy is. Shifting or scaling x
# does not change y (apart from ε), so dx has no component in those two directions.

# %% [markdown]
# ## 4 · Three layers in one kernel
#
# After the convolution, the bias, ReLU and pooling perform only a few operations per
# number, but a kernel for each would read and write all the numbers. The kernel that
# you write here keeps them in registers. It multiplies on tensor cores (chapter 21).
# The idea is to choose *which pixel goes into which row*.
#
# An `mma` multiplies 16 rows by 8 columns. Here a row is a pixel, a column is a filter,
# and k runs over 16 channels at one position of the filter. In chapter 21 the rows were
# neighbours in memory, but this is not necessary: a lane may load any pixel. A lane's
# sums c[0] and c[1] belong to row g, columns 2t and 2t + 1, and c[2] and c[3] belong to
# row g + 8, where lane = 4g + t. So let
#
#     row g      be the left pixel of window g
#     row g + 8  be the right pixel of window g
#
# and compute two products: `sums[0]` for the upper pixels of eight windows, and
# `sums[1]` for the lower. Then all four pixels of a window are in one thread, and
# pooling takes three comparisons, without a shuffle and without shared memory.
#
# One block is one warp. It handles windows 8 · `blockIdx.x` + g, counted over all
# images, and filters 8 · `blockIdx.y` to 8 · `blockIdx.y` + 7. Images and filters
# consist of words of two bfloat16 numbers. x is (n, rows, cols, words), and w is
# (f, 9, words), with the indices filter, position 3p + q, and word. As in exercise 2,
# position (p, q) multiplies the pixel p - 1 rows below and q - 1 columns to the right.
# `words` is a multiple of 8, and each group of eight words is a separate product. The
# biases b are (f,). The results y (float32) and won (uint8) are
# (n, rows / 2, cols / 2, f). The fragments are those of chapter 21, in words of one
# group:
#
#     a: (row g, word t),     (row g + 8, word t),
#        (row g, word t + 4), (row g + 8, word t + 4)
#     b: (filter g, word t),  (filter g, word t + 4)
#
# `word_at(x, n, row, col, word)` returns a word, or 0 outside the image; `word` counts
# all words of the pixel, not those of a group. `mma_bf16(sums[k], fa, fb)` adds a
# product to `sums[k]`, in place, and returns nothing; `fa` is a tuple of the four words
# of a, and `fb` is a tuple of the two words of b. In the starter, `clear(sums)` sets
# all sums to 0. Every lane has to reach each `mma_bf16`, even a lane without a window.
# ReLU and `won` are as in exercise 1, after the bias. Stuck? `hint("conv_pool")`.


# %%
@cuda.jit
def conv_pool(x, w, b, y, won):
    """Convolve, add the bias, apply ReLU and pool: eight windows per warp."""
    sums = cuda.local.array((2, 4), float32)
    lane = int32(cuda.threadIdx.x)
    g, t = lane // int32(4), lane % int32(4)
    window = int32(cuda.blockIdx.x) * int32(8) + g
    first = int32(cuda.blockIdx.y) * int32(8)
    count = int32(y.shape[0] * y.shape[1] * y.shape[2])
    known = min(window, count - int32(1))
    j = known % int32(y.shape[2])
    i = known // int32(y.shape[2]) % int32(y.shape[1])
    n = known // int32(y.shape[2]) // int32(y.shape[1])
    clear(sums)

    # about 29 lines
    # BEGIN SOLUTION
    for p in range(3):
        for q in range(3):
            tap = 3 * p + q
            left = 2 * j + q - 1
            for s in range(t, x.shape[3], 8):
                fb = w[first + g, tap, s], w[first + g, tap, s + 4]
                for lower in range(2):
                    row = 2 * i + lower + p - 1
                    fa = (
                        word_at(x, n, row, left, s),
                        word_at(x, n, row, left + 1, s),
                        word_at(x, n, row, left, s + 4),
                        word_at(x, n, row, left + 1, s + 4),
                    )
                    mma_bf16(sums[lower], fa, fb)

    if window < count:
        for e in range(2):
            f = first + 2 * t + e
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
    sizes=[(1, 2, 4, 2, 3), (2, 3, 2, 1, 1)],
    launch=lambda n, h, w, c, f: ((-(-n * h * w // 8), f), 32),
    out=checks.pool_outputs,
    full=(64, 7, 7, 2, 8),
    limits={"float64": 0},
    because=checks.odd_windows,
)

# %% [markdown] tags=["solution"]
# The convolution's result is never written. It exists only in 8 registers of each lane,
# one window at a time. The given kernel of the fused step, `forward`, uses the same
# idea. It has all 64 filters in one warp, and therefore 64 registers for the sums,
# loads with `ldmatrix` from a tile in shared memory, and stores `won` in four bits.

# %% [markdown]
# ## 5 · The head
#
# This exercise starts with a nearly blank cell: all you get is a specification and a
# docstring. The hidden layer of the fused step has 128 units. `head` is the kernel that
# comes after its matrix product. It finishes the forward pass and begins the backward
# pass. Let h be the hidden units of an image, after their ReLU, and a its label, out of
# n images. Then
#
#     z[k] = b4[k] + sum over j of w4[k, j] h[j]    p = softmax(z)
#     loss = -log p[a]                              dz[k] = (p[k] - [k is a]) / n
#     dw4[k, j] = dz[k] h[j]                        db4[k] = dz[k]
#     dh[j] = sum over k of dz[k] w4[k, j]          0 where h[j] is 0
#
# One block is one warp, and handles image `cuda.blockIdx.x`. Its label is `labels[i]`
# with i = `order[counter[0] * n + cuda.blockIdx.x]`, where n is the number of images in
# the batch, and counter[0] is the number of the step. Lane l has units 4l to 4l + 3.
# Two device functions are given: `hidden_units(part, b3, image, h)` applies the ReLU
# and writes the lane's four units to `h`, a local array, and `warp_sum(value)` returns
# the sum over the lanes to each of them. The logits may be so large that exp overflows.
#
# `dh` gets the gradient *before* the ReLU. Row i of `sums` gets the gradients of image
# i for all parameters of the head: first dw4 (as 1280 numbers), then db4 (10) and dh
# (128, the gradient of b3), and finally the loss, not divided by n. Leave the 53
# numbers after these unchanged. Stuck? `hint("head")`.
#
# ```python
# head(part, b3, w4, b4, labels, order, counter, dh, sums)
#     # (slices, n, 128), (128,), (10, 128), (10,), uint8, int32, int32
#     #     -> (n, 128), (n, 1472)
# ```

# %%
@cuda.jit
def head(part, b3, w4, b4, labels, order, counter, dh, sums):
    """Finish the forward pass and begin the backward pass, a warp per image."""
    # about 30 lines
    # BEGIN SOLUTION
    image, lane = cuda.blockIdx.x, cuda.threadIdx.x
    label = labels[order[counter[0] * part.shape[1] + image]]
    h = cuda.local.array(4, float32)
    d = cuda.local.array(4, float32)
    z = cuda.local.array(10, float32)
    hidden_units(part, b3, image, h)

    top, mine = float32(-1e30), float32(0)
    for k in range(10):
        dot = float32(0)
        for e in range(4):
            dot += w4[k, 4 * lane + e] * h[e]
        z[k] = warp_sum(dot) + b4[k]
        top = max(top, z[k])
        if k == label:
            mine = z[k]
    total = float32(0)
    for k in range(10):
        total += math.exp(z[k] - top)
    if lane == 0:
        sums[image, 1418] = math.log(total) + top - mine

    for e in range(4):
        d[e] = float32(0)
    for k in range(10):
        dz = math.exp(z[k] - top) / total
        if k == label:
            dz -= float32(1)
        dz /= float32(part.shape[1])
        if lane == 0:
            sums[image, 1280 + k] = dz
        for e in range(4):
            j = 4 * lane + e
            sums[image, 128 * k + j] = dz * h[e]
            d[e] += dz * w4[k, j]
    for e in range(4):
        if h[e] == float32(0):
            d[e] = float32(0)
        dh[image, 4 * lane + e] = d[e]
        sums[image, 1290 + 4 * lane + e] = d[e]
    # END SOLUTION


# %%
check(
    head,
    spec=checks.head_gradients,
    inputs=checks.random_head,
    sizes=[(1, 2), (3, 3)],
    launch=lambda slices, n: (n, 32),
    out=checks.head_outputs,
    full=(7, 1024),
    limits={"float64": 0},
    because=checks.odd_head,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Neither the logits nor the probabilities are ever in memory: each lane has all ten of
# them in registers. This is why the logit of the label is selected in the loop: an
# array that is indexed by a variable, as in `z[label]`, cannot be in registers. The
# sums over the images are left to the next kernel. The given `head` adds the images of
# a block first, in shared memory, so it writes less.

# %% [markdown]
# ## 6 · The update
#
# The last kernel of the fused step adds the parts of the gradients, takes a step of
# SGD, and keeps the copy in bfloat16 from which tensor cores read:
#
#     gradient[c] = sum of column c of conv          for the columns of conv,
#                   sum of the next column of sums   for the parameters after them
#     theta[c] = theta[c] - rate * gradient[c]       w2[c] = theta[c], rounded
#
# `w2` has copies of the first parameters only. `sums` has more columns than there are
# parameters left. One thread handles one parameter, and adds its parts in the order of
# the rows. `bf16_bits(value)` returns a number in the form in which w2 stores it. One
# thread also sets counter[0] to the number of the next step, which is 0 after step
# `steps - 1`, so that the host need not count. Stuck? `hint("update")`.
#
# ```python
# update(conv, sums, rate, steps, theta, w2, counter)
#     # (k, m), (n, l) float32, float32, int32
#     #     -> in place: (p,) float32, (q,) int16, (1,) int32
# ```

# %%
@cuda.jit
def update(conv, sums, rate, steps, theta, w2, counter):
    """Take a step of SGD, one thread per parameter."""
    c = cuda.grid(1)

    # about 13 lines
    # BEGIN SOLUTION
    if c < theta.size:
        gradient = float32(0)
        if c < conv.shape[1]:
            for k in range(conv.shape[0]):
                gradient += conv[k, c]
        else:
            for k in range(sums.shape[0]):
                gradient += sums[k, c - conv.shape[1]]
        theta[c] -= rate * gradient
        if c < w2.size:
            w2[c] = bf16_bits(theta[c])
    if c == 0:
        counter[0] = (counter[0] + 1) % steps
    # END SOLUTION


# %%
check(
    update,
    spec=checks.after_update,
    inputs=checks.random_parts,
    sizes=[(1, 2, 40), (3, 5, 50)],
    launch=lambda k, n, m: kernels.blocks(m + 20),
    out=checks.before_update,
    full=(132, 64, 18816),
    limits={"float64": 0},
    because=checks.odd_copy,
)

# %% [markdown]
# ## Look: a whole network, and its gradients
#
# `Plain`, in `network.py`, puts the kernels together: it allocates every array once,
# and its `step` is a list of launches. Here, `relu_pool`, `conv_weights` (in two
# slices) and `norm_backward` are yours. The others are short, and they are in
# `kernels.py`.
#
# The next cell puts your kernels to use. Run it again whenever you change one of them.
# In a small network, with 2 and 3 filters and digits of 8 × 8 pixels, it compares three
# gradients for the same batch: those of your kernels, those of PyTorch's autograd, and
# **finite differences** in float64. These need no formula for a gradient: they change
# one parameter by ±ε and compare the losses. The cell tries ten parameters of each
# array.
#
# Each number is the largest error of an element, relative to the root mean square of
# the array's gradient (to 0.001 if that is larger). w1 and w2 belong to the
# convolutions, and w3 and w4 belong to the linear layers. With batch normalisation, the
# exact gradient of b1 and b2 is 0, since the normalisation subtracts any constant, so
# you see only rounding errors there.

# %% tags=["folded"]
chapter.learner.use(
    relu_pool=relu_pool,
    conv_weights=conv_weights,
    norm_backward=norm_backward,
    conv_pool=conv_pool,
    head=head,
    update=update,
)
errors = chapter.gradients.print_errors()

# %% tags=["solution"]
assert max(max(pair) for pair in errors.values()) < 1e-3

# %% [markdown]
# ## Try it: does it learn?

# %% [markdown]
# The cell trains with the same kernels, including those for batch normalisation, on
# four generated digits of 8 × 8 pixels. The network should learn these four by heart,
# so the loss should fall.

# %%
losses = chapter.gradients.by_heart(steps=6)
print(" ".join(f"{loss:.2f}" for loss in losses))

# %% tags=["solution"]
assert losses[-1] < 0.6 * losses[0]

# %% [markdown]
# ## Measure: whose kernels?
#
# Now the network has its full size: 28 × 28 pixels, 32 and 64 filters, and 421,642
# parameters. A step loads a batch of 64 images, runs the forward and the backward pass,
# and updates the weights. Each measurement takes two steps, without batch
# normalisation.
#
# The rows lead from the plain kernels to the fused step, which consists of six kernels
# in bfloat16 on tensor cores, with float32 weights. The name of a row lists the kernels
# that you wrote; all others are given.
#
# - `torch, eager`: the usual step of tutorials, in float32, but with the data on the
#   GPU;
# - `torch, best`: under bfloat16 autocast, compiled with all tuning,
#   `mode="max-autotune-no-cudagraphs"`;
# - `plain`: your `relu_pool`, and your `conv_weights` with one slice;
# - `plain, your split`: `conv_weights` with 64 slices;
# - `plain, your split, conv_pool`: your `conv_pool` does the second layer;
# - `fused, your head`: the fused step, with your `head` instead of the given one;
# - `fused, your head, update`: with your `update`, too;
# - `fused, your head, update, conv_pool`: your `conv_pool` replaces `forward`, together
#   with two short given kernels: one for the first layer, and one that packs the result
#   and the winners as `backward` needs them;
# - `fused, all given`: the fused step without any kernel of yours.
#
# All but `torch, eager` are CUDA graphs. Which is the first row that is faster than
# `torch, eager`, and which is the first that is faster than `torch, best`? Guess the
# speeds of two rows, as multiples of that of `torch, best`.

# %%
guess = {
    "plain, your split, conv_pool": None,
    "fused, your head, update, conv_pool": None,
}

whose = chapter.rungs.whose_kernels(guess)
whose

# %% tags=["solution"]
whose.expect("plain, your split", at_least=2, times="plain")
whose.expect("plain, your split, conv_pool", at_least=1, times="torch, eager")
whose.expect("fused, your head, update, conv_pool", at_least=1.2)
whose.expect("fused, all given", at_least=1, times="fused, your head")

# %% [markdown]
# ## More measurements
#
# In `chapters/35_mnist_cnn`, the fused kernels are in `fused`, the measurements in
# `measure.py` and `training.py`, and the steps of PyTorch and NumPy in `opponents.py`.
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Do your kernels compute the same?
#
# The next cell takes two steps with your kernels, and two with the given kernels. It
# prints by how much the parameters differ, relative to the distance that they have
# moved. Rounding differs, so the numbers are not 0. Then the cell takes twenty steps
# twice with your kernels, which should give the same bits.

# %%
if weft.on_gpu("the fused step is for full size"):
    off, same_bits = chapter.rungs.differences()

# %% tags=["solution"]
if weft.GPU:
    worst = max(off.values())
    bench.always("the step with these kernels computes the same", worst < 0.02)
    bench.always("the step with these kernels is deterministic", same_bits)

# %% [markdown]
# ### A training step
#
# Here are more ways to take the two steps of the table above.
#
# - `NumPy`: matrix products on patches, on the CPU;
# - `torch, eager`: the usual step of tutorials, in float32, but with the data on the
#   GPU;
# - `torch, bfloat16, graph`: with autocast and channels-last, and the step in one CUDA
#   graph;
# - `torch, compiled`: the same, but with the model and the optimiser compiled, in the
#   default mode;
# - `torch, best`: compiled with all tuning, `mode="max-autotune-no-cudagraphs"`. Like
#   the two rows before it, it flattens the pooled maps in channels-last order. Both
#   steps are in one graph, as in `fused, one graph`;
# - `plain kernels`: your kernels and the given ones, one launch for each;
# - `plain, one graph`: the same launches, captured in a CUDA graph;
# - `fused`: six given kernels, in bfloat16 on tensor cores with float32 weights;
# - `fused, one graph`: the same six kernels, captured.
#
# Compute by hand: how many multiplications does each layer perform for one image? How
# many do the forward and the backward pass perform together for 64 images, and how long
# would tensor cores take for them at 400 TFLOP/s? Then guess the speeds, as multiples
# of that of `torch, best`.

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
# ### Is the fused step right?
#
# The cell runs one fused step, without and with batch normalisation. The gradient of
# each parameter is what the step subtracted, divided by the learning rate. The cell
# compares it with PyTorch's float32 gradient for the same weights and batch. It does
# the same with the gradient under bfloat16 autocast, which rounds too, but in different
# places, and with the running averages that batch normalisation keeps for the test. The
# cell also takes twenty steps three times, to see whether they give the same bits.
# Without a GPU it is skipped; the solution shows what the reference GPU printed.

# %%
if weft.on_gpu("the fused step is for full size"):
    compared = chapter.measure.compared
    fused_errors = {norm: compared(norm) for norm in (False, True)}

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
# Now the batch size is 1024, so that the GPU has more to do. Which of the ratios
# change, and in which direction? Again, guess multiples of the speed of `torch, best`.

# %%
guess = {"torch, eager": None, "fused, one graph": None}

large = chapter.measure.batch_1024(guess)
large

# %% tags=["solution"]
large.expect("fused, one graph", at_least=3)
large.expect("torch, best", at_least=0.97, times="torch, compiled")
large.expect("torch, best", at_least=1.5, times="torch, bfloat16, graph")

# %% [markdown] tags=["solution"]
# The compiler fuses what comes before and after a convolution into separate kernels. It
# puts neither pooling into the convolution nor unpooling into the loads of the
# gradients. The fused step does both: it writes neither the result of a convolution nor
# its gradient. The bytes that this saves explain only a small part of the difference in
# time, as the page shows. To see what explains the rest, profile PyTorch's step.

# %% [markdown]
# ### Where PyTorch's time goes
#
# The cell profiles two steps of `torch, best` with 1024 images, without and with batch
# normalisation. It groups the kernels by their purpose, judging by their names, adds up
# their times, and lists the longest. If a name begins with `triton`, the compiler
# generated that kernel. Which kinds of work does the fused step not have at all?

# %%
torch_kinds = chapter.measure.torch_kernels()

# %%
normalised_torch_kinds = chapter.measure.torch_kernels(norm=True)

# %% [markdown]
# ### Batch normalisation
#
# Now measure the steps with batch normalisation. The statistics of a batch have to be
# complete before the first number can be normalised, so a single kernel for both
# convolutions seems impossible, and PyTorch has to read the large arrays more often.
# The fused step needs only one more kernel (see the page's section "Fusion 3").
#
# Guess the speeds of two of the steps for 64 images, as multiples of that of
# `torch, best`, which normalises too. (Like those of the fused step, its convolutions
# have no biases, since a normalisation would subtract them.) Then compare the times
# with those above: by what factor has each step become slower?

# %%
guess = {"plain, one graph": None, "fused, one graph": None}

normalised = chapter.measure.normalised_64(guess)
normalised

# %% [markdown]
# For 1024 images, predict whether normalisation slows down `fused, one graph` more or
# less than `torch, best`.

# %%
normalised_large = chapter.measure.normalised_1024()
normalised_large

# %% tags=["solution"]
normalised.expect("fused, one graph", at_least=2.5)
normalised_large.expect("fused, one graph", at_least=3)

# %% [markdown] tags=["solution"]
# For 1024 images, both steps become slower by about the same factor. Even with
# normalisation, the fused step never writes the first layer's result, whose statistics
# follow from the images alone. The second layer's result is the one large array that it
# writes and reads again. For 64 images, the fused step slows down more than PyTorch's,
# probably because of the seventh kernel and the longer `update`.

# %% [markdown]
# ### Where the time goes
#
# Each row is one of the kernels of the fused step, in its own CUDA graph. The page
# describes `forward` under *Fusion 1*, `backward` under *Fusion 2*, and the rest under
# *The other kernels*. What keeps each kernel from being faster?

# %%
profile_64 = chapter.measure.profile_64()
profile_64

# %%
profile_1024 = chapter.measure.profile_1024()
profile_1024

# %% [markdown] tags=["solution"]
# For 1024 images, `backward` takes the longest, and performs 15 of the step's 26 GFLOP.
# `backward` and `forward` take about twice as long as their arithmetic would at 400
# TFLOP/s. The others probably spend most of their time on getting started. For 64
# images, neither arithmetic nor bytes limit any kernel. Each of the six kernels takes a
# few microseconds, probably to start its blocks, fill its tiles and drain.

# %% [markdown]
# The next table shows the step with batch normalisation. Its seventh kernel, `moments`,
# computes the sums from which the statistics of the first layer follow (*Fusion 3*).
# Which kernels have become slower, and why?

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
# How fast do you expect each of the other rows to be, as a multiple of the first row's
# speed?

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
# A fast step is useless if it learns less well. A single loss shows little, because
# rounding differs from the first product on, and two algorithms of one library can
# differ by more than two correct programs do. So the fused step and PyTorch, which is
# not compiled here, each train several networks to the end, from the same initial
# weights. The cell compares their mean accuracies on unseen digits, and shows how much
# these vary.
#
# The 10,000 real digits are cut into ten parts. Each network trains on nine of them for
# five epochs, with batches of 64, and is tested on the tenth; there are thirty seeds,
# three for each part. With batch normalisation, the test uses the running averages of
# means and variances from the training. The difference is the fused step's accuracy
# minus PyTorch's, for the same seed; `half` is half of the 95 % confidence interval of
# its mean, in percentage points. `averages without biases` is the fused network, tested
# with a deliberate mistake: the averages lack a bias that the network adds.

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
# ### If you want more
#
# - `moments` depends on the images alone, not on the weights. Let it run at the same
#   time as the kernels of the step before, on a second stream, which becomes a branch
#   of the graph. What must wait for what?
# - Add momentum to the update. Which additional arrays do you need, and which kernel
#   gets slower?
# - Let one block handle half an image at batch 64: an H200 has 132 SMs.
# - Rewrite `fc1` with the `wgmma` of chapter 22.
# - Run `digits.mnist("data")` and train on all 60,000 training images. How many epochs
#   does it take to reach 99 %?

# %% [markdown]
# ## What you learned
#
# 1. A network is a handful of kernels, and each has a gradient that a few lines of
#    float64 code can check.
# 2. For its gradient, pooling stores a number from 0 to 4 with each result. The
#    gradient of log-softmax and its loss is so simple that loss and gradients belong in
#    one kernel.
# 3. If you choose well which pixel goes into which row of a tensor core's product,
#    pooling can take place in registers.
# 4. With fusion, intermediate results need not be written: here those of both
#    convolutions, and the gradients of these results.
# 5. A sum over a batch needs parallelism: split it into parts, and add the parts in a
#    fixed order in the next kernel. The result is the same every time.
# 6. Kernels of a step can be replaced one at a time, if each reads and writes the same
#    arrays. So you can measure how much time each of your kernels saves or adds.
# 7. Compare training runs by their accuracy over several seeds, and a step with the
#    best version that you can make with the library.

# %%
quiz()
