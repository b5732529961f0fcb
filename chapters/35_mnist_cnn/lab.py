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

import functools
import math
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda, float32, int32, uint8
from torch import nn

from weft import bench, check, hint, quiz
from weft.bench import results
from weft.intrinsics import bf16_pair, mma_bf16

chapter = weft.lab("35_mnist_cnn")
digits = chapter.digits

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)

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
# All arrays are channels-last: images are (n, rows, columns, channels), and filters are
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
# layers in PyTorch and NumPy. For each pixel, `patches` returns the numbers under the
# filter, nine per channel.


# %% tags=["given"]
THREADS = 64


def blocks(count):
    """Return a launch of at least `count` threads."""
    return -(-count // THREADS), THREADS


def patches(x):
    """(n, h, w, c) -> (n, h, w, 3, 3, c), zeros outside."""
    h, w = x.shape[1:3]
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = [
        np.stack([framed[:, p : p + h, q : q + w] for q in range(3)], axis=3)
        for p in range(3)
    ]
    return np.stack(rows, axis=3)


def random_layer(rng, n, h, w, c, f):
    """Return images, filters and biases."""
    return (
        rng.standard_normal((n, h, w, c), np.float32),
        rng.standard_normal((f, 3, 3, c), np.float32),
        rng.standard_normal(f, np.float32),
    )


def convolution(x, w, b):
    """The layer, in NumPy."""
    return np.einsum("nijpqc,fpqc->nijf", patches(x), w) + b


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
# conv_bias(x, w, b, y)    # (n, h, w, c), (f, 3, 3, c), (f,) -> (n, h, w, f)
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
    spec=convolution,
    inputs=random_layer,
    sizes=[(2, 3, 5, 2, 4), (1, 4, 2, 3, 5)],
    launch=lambda n, h, w, c, f: blocks(n * h * w * f),
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
# relu_pool(x, y, won)    # (n, 2h, 2w, c) -> (n, h, w, c) float32, uint8
# ```
#
# Stuck? `hint("relu_pool")`.


# %% tags=["given"]
def random_pixels(rng, n, h, w, c):
    """Return images; quarters, so that some pixels of a window are equal."""
    x = np.round(4 * rng.standard_normal((n, 2 * h, 2 * w, c))) / 4 - 0.75
    return x.astype(np.float32)


def largest(x):
    """Return the largest of each window or 0, and which pixel it was."""
    n, h, w, c = x.shape
    windows = x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4)
    windows = windows.reshape(n, h // 2, w // 2, c, 4)
    best = windows.max(-1)
    won = np.where(best > 0, windows.argmax(-1), 4)
    return np.maximum(best, 0), won


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
    spec=largest,
    inputs=random_pixels,
    sizes=[(2, 2, 3, 4), (1, 3, 2, 5)],
    launch=lambda n, h, w, c: blocks(n * h * w * c),
    out=lambda x: (
        np.full(largest(x)[0].shape, -1, np.float32),
        np.full(largest(x)[1].shape, 9, np.uint8),
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
# the sum of dy, is given below.)
#
# ```python
# conv_weights(x, dy, dw)    # (n, h, w, c), (n, h, w, f) -> (f, 3, 3, c)
# ```
#
# Stuck? `hint("conv_weights")`.


# %% tags=["given"]
def random_gradient(rng, n, h, w, c, f):
    """Return images, and the gradient of a layer of them."""
    return (
        rng.standard_normal((n, h, w, c), np.float32),
        rng.standard_normal((n, h, w, f), np.float32),
    )


def weights_gradient(x, dy):
    return np.einsum("nijpqc,nijf->fpqc", patches(x), dy)


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
    spec=weights_gradient,
    inputs=random_gradient,
    sizes=[(2, 3, 4, 2, 4), (1, 5, 2, 3, 1)],
    launch=lambda n, h, w, c, f: blocks(9 * c * f),
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
# forward kernel below has written μ to `mean` and 1 / sqrt(v + ε) to `scale`.
# `block_sum` adds one number from each thread, and returns the sum to every thread. All
# threads of the block must call it together.
#
# ```python
# norm_backward(x, mean, scale, gamma, dy, dx, dgamma, dbeta)
#     # x, dy, dx: (m, c); all others: (c,)
# ```
#
# `norm_forward` shows the pattern. Stuck? `hint("norm_backward")`.

# %% tags=["given"]
EPS = 1e-5


@cuda.jit(device=True)
def block_sum(value, cells):
    """Return the sum of `value` over the block; cells: a number per thread."""
    t = cuda.threadIdx.x
    cells[t] = value
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            cells[t] += cells[t + width]
        cuda.syncthreads()
        width //= 2
    total = cells[0]
    cuda.syncthreads()
    return total


@cuda.jit
def norm_forward(x, gamma, beta, y, mean, scale):
    """Normalise each column of x (m, c), a block for each."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = float32(x.shape[0])

    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += x[i, c]
    centre = block_sum(mine, cells) / m
    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += (x[i, c] - centre) ** 2
    by = float32(1) / math.sqrt(block_sum(mine, cells) / m + float32(EPS))

    for i in range(t, x.shape[0], THREADS):
        y[i, c] = gamma[c] * (x[i, c] - centre) * by + beta[c]
    if t == 0:
        mean[c] = centre
        scale[c] = by


def random_norm(rng, m, c):
    """Return x, its statistics, gamma and a gradient with a mean."""
    x = (2 + 3 * rng.standard_normal((m, c))).astype(np.float32)
    exact = x.astype(np.float64)  # NumPy's sum of float32 rows is not
    mean = exact.mean(0)
    scale = 1 / np.sqrt(exact.var(0) + EPS)
    gamma = rng.uniform(0.5, 2, c)
    dy = 0.5 + rng.standard_normal((m, c))
    return tuple(a.astype(np.float32) for a in (x, mean, scale, gamma, dy))


def norm_gradient(x, mean, scale, gamma, dy):
    """The gradients, by PyTorch's autograd in double precision."""
    x, gamma, dy = (torch.tensor(np.float64(a)) for a in (x, gamma, dy))
    x.requires_grad_()
    gamma.requires_grad_()
    beta = torch.zeros_like(gamma, requires_grad=True)
    y = F.batch_norm(x, None, None, gamma, beta, True, 0, EPS)
    y.backward(dy)
    found = x.grad, gamma.grad, beta.grad
    return tuple(each.float().numpy() for each in found)


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
    spec=norm_gradient,
    inputs=random_norm,
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


# %% tags=["given"]
def random_logits(rng, n, k):
    """Return logits, some far from 0 or from their neighbours, and labels."""
    z = 3 * rng.standard_normal((n, k)) + rng.choice([-150, 0, 150], (n, 1))
    z[np.arange(n), rng.integers(0, k, n)] += rng.choice([0, 120], n)
    return z.astype(np.float32), rng.integers(0, k, n).astype(np.uint8)


def loss_and_gradient(z, labels):
    """The loss of each row, and the gradient of their mean, by PyTorch."""
    z = torch.tensor(np.float64(z), requires_grad=True)
    labels = torch.tensor(labels.astype(np.int64))
    rows = F.nll_loss(F.log_softmax(z, 1), labels, reduction="none")
    rows.mean().backward()
    return rows.detach().float().numpy(), z.grad.float().numpy()


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
    spec=loss_and_gradient,
    inputs=random_logits,
    sizes=[(5, 10), (67, 3)],
    launch=lambda n, k: blocks(n),
    full=(5000, 10),
    limits={"float64": 0},
    tolerance=1e-4,
)

# %% [markdown]
# ## The other layers
#
# The other kernels are short, and they are given: the remaining gradients of the
# convolution, the two linear layers, and SGD. `unpool` passes each window's gradient to
# the pixel that won.


# %% tags=["given"]
@cuda.jit
def load_images(data, order, first, x):
    """Normalise images order[first], order[first + 1], ... into x."""
    at = cuda.grid(1)
    if at < x.size:
        size = x.shape[1] * x.shape[2]
        n, pixel = at // size, at % size
        image = order[first + n]
        value = float32(data[image, pixel // x.shape[2], pixel % x.shape[2]])
        value = value * float32(1 / 255 / 0.3081) - float32(0.1307 / 0.3081)
        x[n, pixel // x.shape[2], pixel % x.shape[2], 0] = value


@cuda.jit
def load_labels(labels, order, first, out):
    n = cuda.grid(1)
    if n < out.size:
        out[n] = labels[order[first + n]]


@cuda.jit
def unpool(dy, won, dx):
    """Send each gradient to the pixel that won; all others get 0."""
    at = cuda.grid(1)
    if at < dy.size:
        c = at % dy.shape[3]
        rest = at // dy.shape[3]
        j = rest % dy.shape[2]
        i = rest // dy.shape[2] % dy.shape[1]
        n = rest // dy.shape[2] // dy.shape[1]
        for pixel in range(4):
            down, right = pixel // 2, pixel % 2
            mine = won[n, i, j, c] == pixel
            value = dy[n, i, j, c] if mine else float32(0)
            dx[n, 2 * i + down, 2 * j + right, c] = value


@cuda.jit
def conv_data(dy, w, dx):
    """Write the gradient of the images of a convolution."""
    at = cuda.grid(1)
    if at < dx.size:
        c = at % dx.shape[3]
        rest = at // dx.shape[3]
        j = rest % dx.shape[2]
        i = rest // dx.shape[2] % dx.shape[1]
        n = rest // dx.shape[2] // dx.shape[1]
        found = float32(0)
        for tap in range(9):
            p, q = tap // 3, tap % 3
            above, left = i - p + 1, j - q + 1
            if 0 <= above < dy.shape[1] and 0 <= left < dy.shape[2]:
                for f in range(dy.shape[3]):
                    found += dy[n, above, left, f] * w[f, p, q, c]
        dx[n, i, j, c] = found


@cuda.jit
def column_sums(x, out):
    """Sum the columns of x (m, c), a block for each."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += x[i, c]
    total = block_sum(mine, cells)
    if t == 0:
        out[c] = total


@cuda.jit
def linear(x, w, b, y, cut):
    """y = x @ w.T + b, and ReLU where `cut` says so."""
    at = cuda.grid(1)
    if at < y.size:
        n, m = at // y.shape[1], at % y.shape[1]
        found = b[m]
        for k in range(x.shape[1]):
            found += x[n, k] * w[m, k]
        if cut and found < float32(0):
            found = float32(0)
        y[n, m] = found


@cuda.jit
def linear_data(dy, w, y, dx, cut):
    """dx = dy @ w; where `cut`, 0 for those whose ReLU, y, was 0."""
    at = cuda.grid(1)
    if at < dx.size:
        n, k = at // dx.shape[1], at % dx.shape[1]
        found = float32(0)
        for m in range(dy.shape[1]):
            found += dy[n, m] * w[m, k]
        if cut and y[n, k] == float32(0):
            found = float32(0)
        dx[n, k] = found


@cuda.jit
def linear_weights(x, dy, dw):
    """dw = dy.T @ x."""
    at = cuda.grid(1)
    if at < dw.size:
        m, k = at // dw.shape[1], at % dw.shape[1]
        found = float32(0)
        for image in range(x.shape[0]):
            found += dy[image, m] * x[image, k]
        dw[m, k] = found


@cuda.jit
def sgd(parameter, gradient, rate):
    at = cuda.grid(1)
    if at < parameter.size:
        parameter[at] -= rate * gradient[at]


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
# images. Images and filters consist of words of two bfloat16 numbers: x is (n, h, w,
# 8), and w is (8, 9, 8). The fragments are those of chapter 21, in words:
#
#     a: (row g, word t),     (row g + 8, word t),
#        (row g, word t + 4), (row g + 8, word t + 4)
#     b: (filter g, word t),  (filter g, word t + 4)
#
# `word_at(x, n, row, col, word)` returns a word, or 0 outside the image. Every lane has
# to reach each `mma`, even a lane without a window.
#
# ```python
# conv_pool(x, w, b, y, won)    # -> (n, h / 2, w / 2, 8) float32, uint8
# ```
#
# The bias, ReLU and `won` are as in exercises 1 and 2. Stuck? `hint("conv_pool")`.


# %% tags=["given"]
@cuda.jit(device=True)
def word_at(x, n, row, col, word):
    """Return two channels of a pixel, zeros outside of the image."""
    if row < 0 or row >= x.shape[1] or col < 0 or col >= x.shape[2]:
        return int32(0)
    return x[n, row, col, word]


@cuda.jit(device=True)
def clear(sums):
    """Set the sums of both products to zero."""
    for cell in range(4):
        sums[0, cell] = float32(0)
        sums[1, cell] = float32(0)


def quarters(rng, *shape):
    """Return words of two bfloat16, multiples of 1/4: sums are exact."""
    values = np.round(4 * rng.standard_normal(shape)).astype(np.float32) / 4
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int32)


def numbers(x):
    """Return the numbers in words, twice as many in the last axis."""
    halves = np.ascontiguousarray(x.astype(np.int32)).view(np.uint16)
    return (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def random_words(rng, n, h, w):
    """Return images, filters and biases for eight filters of 16 channels."""
    bias = np.round(8 * rng.standard_normal(8)) - 8
    x, filters = quarters(rng, n, 2 * h, 2 * w, 16), quarters(rng, 8, 9, 16)
    return x, filters, bias.astype(np.float32)


def three_layers(x, w, b):
    return largest(convolution(numbers(x), numbers(w).reshape(8, 3, 3, 16), b))


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
    spec=three_layers,
    inputs=random_words,
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
# `Plain` puts the kernels together: it allocates every array once, and then `step` is a
# list of launches. It works with any number of filters, with and without batch
# normalisation, on a GPU and in the simulator.


# %% tags=["given"]
class Plain:
    """The network, a plain kernel for each layer; all arrays float32."""

    def __init__(self, parameters, shape, norm, rate=0.1):
        """parameters: see `fresh`. shape: of a batch, (n, h, w)."""
        self.norm, self.rate = norm, rate
        self.p = {k: cuda.to_device(v) for k, v in parameters.items()}
        self.g = {k: self.zeros(*v.shape) for k, v in parameters.items()}
        n, h, w = shape
        c1, c2 = (parameters[k].shape[0] for k in ("w1", "w2"))
        hidden, classes = (parameters[k].shape[0] for k in ("w3", "w4"))
        self.x = self.zeros(n, h, w, 1)
        self.label = self.zeros(n, dtype=np.uint8)
        self.stages = []
        for k, c in ((1, c1), (2, c2)):
            full = n, h, w, c
            h, w = h // 2, w // 2
            names = "y", "z", "dy", "dz"  # z: after the normalisation
            stage = {name: self.zeros(*full) for name in names}
            stage |= {name: self.zeros(n, h, w, c) for name in ("out", "dout")}
            stage |= {name: self.zeros(c) for name in ("mean", "scale")}
            stage["won"] = self.zeros(n, h, w, c, dtype=np.uint8)
            self.stages.append((k, stage))
        self.h, self.dh = (self.zeros(n, hidden) for _ in "hd")
        self.z, self.dz = (self.zeros(n, classes) for _ in "zd")
        self.loss = self.zeros(n)

    @staticmethod
    def zeros(*shape, dtype=np.float32):
        return cuda.to_device(np.zeros(shape, dtype))

    def run(self, kernel, count, *arguments):
        kernel[(*blocks(count), bench.stream())](*arguments)

    def columns(self, kernel, count, *arguments):
        """Launch a block for each column; images become matrices (m, c)."""
        flat = [
            a.reshape(a.size // count, count) if len(a.shape) == 4 else a
            for a in arguments
        ]
        kernel[count, THREADS, bench.stream()](*flat)

    def forward(self):
        x, p = self.x, self.p
        for k, s in self.stages:
            w = p[f"w{k}"]
            self.run(conv_bias, s["y"].size, x, w, p[f"b{k}"], s["y"])
            before = s["y"]
            if self.norm:
                on = s["y"], p[f"gamma{k}"], p[f"beta{k}"], s["z"]
                on = *on, s["mean"], s["scale"]
                self.columns(norm_forward, w.shape[0], *on)
                before = s["z"]
            x = s["out"]
            self.run(relu_pool, x.size, before, x, s["won"])
        rows = x.shape[0]
        self.flat = x.reshape(rows, x.size // rows)
        h, z = self.h, self.z
        self.run(linear, h.size, self.flat, p["w3"], p["b3"], h, True)
        self.run(linear, z.size, h, p["w4"], p["b4"], z, False)
        self.run(loss_gradient, rows, z, self.label, self.loss, self.dz)

    def backward(self):
        p, g, h = self.p, self.g, self.h
        self.run(linear_weights, g["w4"].size, h, self.dz, g["w4"])
        self.columns(column_sums, self.z.shape[1], self.dz, g["b4"])
        on = self.dz, p["w4"], h, self.dh, True
        self.run(linear_data, self.dh.size, *on)
        self.run(linear_weights, g["w3"].size, self.flat, self.dh, g["w3"])
        self.columns(column_sums, h.shape[1], self.dh, g["b3"])
        dout = self.stages[1][1]["dout"]
        on = self.dh, p["w3"], self.flat, dout.reshape(*self.flat.shape), False
        self.run(linear_data, dout.size, *on)
        inputs = self.x, self.stages[0][1]["out"]
        for (k, s), x in zip(self.stages[::-1], inputs[::-1], strict=True):
            w, dy = p[f"w{k}"], s["dy"]
            before = s["dz"] if self.norm else dy
            self.run(unpool, s["dout"].size, s["dout"], s["won"], before)
            if self.norm:
                gamma = p[f"gamma{k}"], s["dz"], dy
                on = s["y"], s["mean"], s["scale"], *gamma
                gradients = g[f"gamma{k}"], g[f"beta{k}"]
                self.columns(norm_backward, w.shape[0], *on, *gradients)
            self.run(conv_weights, w.size, x, dy, g[f"w{k}"])
            self.columns(column_sums, w.shape[0], dy, g[f"b{k}"])
            if k == 2:
                below = self.stages[0][1]["dout"]
                self.run(conv_data, below.size, dy, w, below)

    def update(self):
        for name, parameter in self.p.items():
            size = parameter.size
            on = parameter.reshape(size), self.g[name].reshape(size)
            self.run(sgd, size, *on, float32(self.rate))

    def load(self, data, labels, order, first):
        """Load a batch: images order[first], order[first + 1], ..."""
        self.run(load_images, self.x.size, data, order, first, self.x)
        self.run(load_labels, self.label.size, labels, order, first, self.label)

    def step(self):
        self.forward()
        self.backward()
        self.update()


def fresh(rng, side=28, c1=32, c2=64, hidden=128, norm=True):
    """Return parameters, as PyTorch initialises such layers."""

    def uniform(*shape):
        inputs = math.prod(shape[1:])
        bound = 1 / math.sqrt(inputs)
        weights = rng.uniform(-bound, bound, shape)
        bias = rng.uniform(-bound, bound, shape[0])
        return weights.astype(np.float32), bias.astype(np.float32)

    found = {}
    found["w1"], found["b1"] = uniform(c1, 3, 3, 1)
    found["w2"], found["b2"] = uniform(c2, 3, 3, c1)
    found["w3"], found["b3"] = uniform(hidden, (side // 4) ** 2 * c2)
    found["w4"], found["b4"] = uniform(10, hidden)
    if norm:
        for k, c in ((1, c1), (2, c2)):
            found[f"gamma{k}"] = np.ones(c, np.float32)
            found[f"beta{k}"] = np.zeros(c, np.float32)
    return found


def network(p, x, norm):
    """The same network in PyTorch: x (n, h, w, 1), returns the logits."""
    x = x.permute(0, 3, 1, 2)
    for k in (1, 2):
        w = p[f"w{k}"].permute(0, 3, 1, 2)
        x = F.conv2d(x, w, p[f"b{k}"], padding=1)
        if norm:
            gamma, beta = p[f"gamma{k}"], p[f"beta{k}"]
            x = F.batch_norm(x, None, None, gamma, beta, True, 0, EPS)
        x = F.max_pool2d(F.relu(x), 2)
    x = x.permute(0, 2, 3, 1).flatten(1)
    x = F.relu(F.linear(x, p["w3"], p["b3"]))
    return F.linear(x, p["w4"], p["b4"])


# %% [markdown]
# The cell uses a small network, with 2 and 3 filters and digits of 8 × 8 pixels. It
# compares three gradients for the same batch: those of your kernels, those of PyTorch's
# autograd, and **finite differences** in float64, which need no formula for a gradient:
# they change one parameter by ±ε and look at the loss. Ten parameters of each array are
# tried.
#
# A kink spoils finite differences: if ε is so large that another pixel wins, the
# difference quotient is not the gradient. So ε is small, which float64 allows.

# %%
tiny_images, tiny_labels = digits.generated(32, seed=1, side=8)
tiny = {
    name: cuda.to_device(array)
    for name, array in {
        "data": tiny_images,
        "labels": tiny_labels,
        "order": np.arange(32, dtype=np.int32),
    }.items()
}


def gradients(norm, batch=3):
    """Print how far gradients of the kernels are from two others."""
    rng = np.random.default_rng(7)
    given = fresh(rng, side=8, c1=2, c2=3, hidden=5, norm=norm)
    net = Plain(given, (batch, 8, 8), norm)
    net.load(*tiny.values(), 0)
    net.forward()
    net.backward()
    x = torch.tensor(net.x.copy_to_host().astype(np.float64))
    labels = torch.tensor(tiny_labels[:batch].astype(np.int64))
    exact = {
        name: torch.tensor(value.astype(np.float64), requires_grad=True)
        for name, value in given.items()
    }

    def loss_of():
        logits = network(exact, x, norm)
        return F.nll_loss(F.log_softmax(logits, 1), labels)

    loss_of().backward()
    worst = {}
    for name, parameter in exact.items():
        mine = net.g[name].copy_to_host().ravel()
        size = max(parameter.grad.norm().item() / mine.size**0.5, 1e-3)
        theirs = np.abs(mine - parameter.grad.numpy().ravel()).max()
        cells, eps = rng.integers(0, mine.size, 10), 1e-6
        differences = []
        flat = parameter.data.view(-1)
        for cell in cells:
            at = flat[cell].item()
            around = []
            for value in (at + eps, at - eps):
                flat[cell] = value
                with torch.no_grad():
                    around.append(loss_of().item())
            flat[cell] = at
            differences.append((around[0] - around[1]) / (2 * eps))
        off = np.abs(mine[cells] - differences).max()
        worst[name] = theirs / size, off / size
        print(f"{name:7}{theirs / size:12.0e}{off / size:12.0e}")
    return worst


for norm in (False, True):
    print(f"\nbatch normalisation: {norm}")
    print(f"{'':9}from PyTorch  from differences")
    errors = gradients(norm)

# %% tags=["solution"]
assert max(max(pair) for pair in errors.values()) < 1e-3

# %% [markdown] tags=["solution"]
# The biases b1 and b2 get no gradient through batch normalisation, which subtracts the
# mean, and with it any constant. The numbers that remain there are rounding errors.

# %% [markdown]
# ## Look: it trains
#
# The cell trains with the same kernels, batch normalisation included, on four generated
# digits of 8 × 8 pixels. The network should learn these four by heart, so the loss
# should fall.

# %%
rng = np.random.default_rng(2)
pupil = Plain(
    fresh(rng, side=8, c1=4, c2=6, hidden=16), (4, 8, 8), norm=True, rate=0.2
)
losses = []
for _ in range(6):
    pupil.load(*tiny.values(), 0)
    pupil.step()
    losses.append(float(pupil.loss.copy_to_host().mean()))
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
# - `torch, best`: the same, but with the model and the optimiser compiled;
# - `plain kernels`: the kernels above, one launch for each;
# - `plain, one graph`: the same launches, captured in a CUDA graph;
# - `fused`: six kernels, in bfloat16 on tensor cores with float32 weights;
# - `fused, one graph`: the same six kernels, captured.
#
# None of these steps has batch normalisation, which comes further below. Compute by
# hand: how many multiplications does each layer perform for one image? How many do the
# forward and the backward pass perform together for 64 images, and how long would
# tensor cores take for them at 400 TFLOP/s? Then guess.


# %% tags=["given"]
class Net(nn.Module):
    """The network, as a PyTorch tutorial would write it."""

    def __init__(self, norm=False):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(32) if norm else nn.Identity()
        self.norm2 = nn.BatchNorm2d(64) if norm else nn.Identity()
        self.fc1, self.fc2 = nn.Linear(3136, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = self.fc2(F.relu(self.fc1(x.flatten(1))))
        return F.log_softmax(x, dim=1)


def as_module(given, averages=None):
    """Return parameters as the state of a Net; averages: of its norms."""
    given = {name: torch.as_tensor(value) for name, value in given.items()}
    found = {}
    for k in (1, 2):
        found[f"conv{k}.weight"] = given[f"w{k}"].permute(0, 3, 1, 2)
        found[f"conv{k}.bias"] = given[f"b{k}"]
        if "gamma1" not in given:
            continue
        found[f"norm{k}.weight"] = given[f"gamma{k}"]
        found[f"norm{k}.bias"] = given[f"beta{k}"]
        zeros = torch.zeros_like(given[f"gamma{k}"])
        start = averages or {f"mean{k}": zeros, f"var{k}": zeros + 1}
        found[f"norm{k}.running_mean"] = start[f"mean{k}"]
        found[f"norm{k}.running_var"] = start[f"var{k}"]
        found[f"norm{k}.num_batches_tracked"] = torch.tensor(0)
    w = given["w3"].view(128, 7, 7, 64).permute(0, 3, 1, 2)
    found |= {"fc1.weight": w.reshape(128, 3136), "fc1.bias": given["b3"]}
    return found | {"fc2.weight": given["w4"], "fc2.bias": given["b4"]}


def loaded(data, rows):
    """Return images `rows`, normalised, (n, 1, 28, 28)."""
    x = data["images"][rows].unsqueeze(1).float()
    return x * (1 / 255 / 0.3081) - 0.1307 / 0.3081


def on_device(images, labels):
    return {
        "images": torch.tensor(images, device=DEVICE),
        "labels": torch.tensor(labels, device=DEVICE),
    }


def eager_step(data, batch, norm=False):
    """Return a step of PyTorch, float32, on batches of random rows."""
    net = Net(norm).to(DEVICE)
    optimiser = torch.optim.SGD(net.parameters(), 0.02)
    labels = data["labels"].long()
    rows = torch.randperm(len(labels), device=DEVICE)[:batch]

    def step():
        optimiser.zero_grad()
        loss = F.nll_loss(net(loaded(data, rows)), labels[rows])
        loss.backward()
        optimiser.step()

    return step


def best_step(
    data, order, batch, norm=False, compiled=True, net=None, rate=0.02
):
    """Return a step of PyTorch in one CUDA graph; `order` has the images."""
    net = Net(norm) if net is None else net
    net = net.to(DEVICE, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), rate)
    labels, steps = data["labels"].long(), len(order) // batch
    counter = torch.zeros(1, dtype=torch.long, device=DEVICE)
    numbers = torch.arange(batch, device=DEVICE)

    def loss_of():
        rows = order[counter * batch + numbers].long()
        x = loaded(data, rows).bfloat16()
        x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            return F.nll_loss(net(x).float(), labels[rows])

    update = optimiser.step
    if compiled:
        loss_of = torch.compile(loss_of, dynamic=False)
        update = torch.compile(update, dynamic=False)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of().backward()
        update()
        counter.add_(1).remainder_(steps)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.step = step  # a graph knows addresses: keep the tensors behind them
    return graph.replay


class InNumPy:
    """The network in NumPy: patches, matrix products, float32."""

    def __init__(self, data, batch):
        self.images, self.labels = data
        self.p = fresh(np.random.default_rng(5), norm=False)
        self.rows = np.arange(batch)

    def forward(self, x):
        p, kept = self.p, []
        for k in (1, 2):
            w = p[f"w{k}"]
            under = patches(x).reshape(-1, 9 * x.shape[3])
            y = under @ w.reshape(len(w), -1).T + p[f"b{k}"]
            y = y.reshape(*x.shape[:3], len(w))
            x, won = largest(y)
            kept.append((under, won))
        flat = x.reshape(len(x), -1)
        h = np.maximum(flat @ p["w3"].T + p["b3"], 0)
        return kept, flat, h, h @ p["w4"].T + p["b4"]

    def step(self, rate=0.02):
        x = self.images[self.rows][..., None].astype(np.float32)
        x = x / np.float32(255 * 0.3081) - np.float32(0.1307 / 0.3081)
        kept, flat, h, z = self.forward(x)
        e = np.exp(z - z.max(1, keepdims=True))
        dz = e / e.sum(1, keepdims=True)
        dz[np.arange(len(x)), self.labels[self.rows]] -= 1
        dz /= len(x)
        p, g = self.p, {"w4": dz.T @ h, "b4": dz.sum(0)}
        dh = (dz @ p["w4"]) * (h > 0)
        g["w3"], g["b3"] = dh.T @ flat, dh.sum(0)
        up = (dh @ p["w3"]).reshape(len(x), 7, 7, 64)
        for k in (2, 1):
            (under, won), w = kept[k - 1], p[f"w{k}"]
            n, h, wide, c = up.shape
            dy = (won[..., None] == np.arange(4)) * up[..., None]
            dy = dy.reshape(n, h, wide, c, 2, 2).transpose(0, 1, 4, 2, 5, 3)
            dy = dy.reshape(n, 2 * h, 2 * wide, c)
            rows = dy.reshape(-1, c)
            g[f"w{k}"] = (rows.T @ under).reshape(w.shape)
            g[f"b{k}"] = rows.sum(0)
            if k == 2:
                turned = w[:, ::-1, ::-1].transpose(1, 2, 0, 3)
                around = patches(dy).reshape(-1, 9 * c)
                up = around @ turned.reshape(9 * c, -1)
                up = up.reshape(n, 2 * h, 2 * wide, -1)
        for name in p:
            p[name] -= np.float32(rate) * g[name].astype(np.float32)


# %%
guess = {"plain kernels": None, "torch, eager": None, "fused, one graph": None}


def twice(step):
    """Return a function of two steps."""

    def steps():
        step()
        step()

    return steps


def captured(step):
    """Return the replay of a CUDA graph of two steps."""
    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
        step()
    graph.step = step
    return graph.replay


def mixed_order(count, rows=10_000):
    """Return so many image numbers, each as often as any other."""
    parts = [
        torch.randperm(rows, device=DEVICE) for _ in range(-(-count // rows))
    ]
    return torch.cat(parts)[:count].int()


def fused_net(data, order, batch, rate=0.02, seed=0, norm=False):
    given = fresh(np.random.default_rng(seed), norm=norm)
    digits_there = data["images"], data["labels"]
    return chapter.measure.Fused(given, digits_there, order, batch, rate)


def plain_step(batch, norm):
    """Return a step of the plain kernels, always on the same batch."""
    given = fresh(np.random.default_rng(0), norm=norm)
    net = Plain(given, (batch, 28, 28), norm, rate=0.02)
    data = cuda.to_device(real), cuda.to_device(real_labels)
    order = cuda.to_device(np.arange(batch, dtype=np.int32))

    def step():
        net.load(*data, order, 0)
        net.step()

    return step


def fast_settings():
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")


def steps_of_64():
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(64 * 128)
    in_numpy = InNumPy((real, real_labels), 64)
    plain, fused = plain_step(64, norm=False), fused_net(data, order, 64)
    graph = fused.graph()

    def launches():
        fused.step(0)
        fused.step(1)

    return {
        "torch, best": twice(best_step(data, order, 64)),
        "NumPy": twice(in_numpy.step),
        "torch, eager": twice(eager_step(data, 64)),
        "torch, bfloat16, graph": twice(
            best_step(data, order, 64, compiled=False)
        ),
        "plain kernels": twice(plain),
        "plain, one graph": captured(plain),
        "fused": launches,
        "fused, one graph": graph.replay,
    }


small = bench.compare(
    "2 steps, batch 64",
    steps_of_64,
    baseline="torch, best",
    host=True,
    guess=guess,
)
small

# %% tags=["solution"]
small.expect("fused, one graph", at_least=3)
small.expect("torch, best", at_least=3, times="torch, eager")
small.expect("plain, one graph", at_least=4, times="NumPy")
small.expect("fused", at_least=3, times="plain, one graph")
small.expect("fused, one graph", at_least=1.3, times="fused")

# %% [markdown]
# ## Look: is the fused step right?
#
# The cell runs one fused step, without and with batch normalisation. The gradient of
# each parameter is what the step subtracted, divided by the learning rate. It is
# compared with PyTorch's float32 gradient for the same weights and batch, and so is the
# gradient under bfloat16 autocast: both round, but in different places. So are the
# running averages that batch normalisation keeps for the test. The cell also takes
# twenty steps three times, to see whether they give the same bits.


# %%
def compared(norm, batch=1024, rate=1.0):
    """Print relative errors of all gradients, of ours and of autocast."""
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    data, order = on_device(real, real_labels), mixed_order(4 * batch)
    given = {
        name: torch.tensor(value, device=DEVICE)
        for name, value in fresh(np.random.default_rng(1), norm=norm).items()
    }
    net = fused_net(data, order, batch, rate, seed=1, norm=norm)
    net.step(0)
    moved = net.parameters()
    rows = order[:batch].long()
    x = loaded(data, rows).permute(0, 2, 3, 1)

    def gradients_of(autocast):
        p = {k: v.clone().requires_grad_() for k, v in given.items()}
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            logits = network(p, x, norm)
        logits = F.log_softmax(logits.float(), 1)
        F.nll_loss(logits, data["labels"][rows].long()).backward()
        zero = {"b1", "b2"} if norm else set()
        return {k: v.grad for k, v in p.items() if k not in zero}

    def averages_of(autocast):
        pupil = Net(norm=True).to(DEVICE)
        pupil.load_state_dict(as_module(given))
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            pupil(x.permute(0, 3, 1, 2))
        norms = {1: pupil.norm1, 2: pupil.norm2}
        means = {f"mean{k}": each.running_mean for k, each in norms.items()}
        return means | {f"var{k}": n.running_var for k, n in norms.items()}

    exact, cast = gradients_of(False), gradients_of(True)
    found = {k: (given[k] - moved[k]) / rate for k in exact}
    if norm:
        exact |= averages_of(False)
        cast |= averages_of(True)
        found |= net.averages()
    print(f"batch normalisation: {norm}")
    print(f"{'':7}{'fused':>10}{'autocast':>10}")
    errors = {}
    for name, right in exact.items():
        errors[name] = [
            ((each - right).norm() / right.norm()).item()
            for each in (found[name], cast[name])
        ]
        print(f"{name:7}{errors[name][0]:10.1e}{errors[name][1]:10.1e}")
    runs = []
    for _ in range(3):
        net = fused_net(data, order, batch, 0.1, norm=norm)
        graph = net.graph()
        for _ in range(10):
            graph.replay()
        runs.append(net.parameters())
    same = all(
        torch.equal(run[name], runs[0][name]) for run in runs for name in run
    )
    print("three times twenty steps give the same bits:", same, "\n")
    return errors, same


if weft.on_gpu("the fused step is for full size"):
    fused_errors = {norm: compared(norm) for norm in (False, True)}

# %% tags=["solution"]
if weft.GPU:
    for norm, (off, same_bits) in fused_errors.items():
        step = "the fused step with norms" if norm else "the fused step"
        worst = max(mine / max(cast, 1e-3) for mine, cast in off.values())
        bench.always(f"{step} is as exact as autocast", worst < 2)
        bench.always(f"{step} is deterministic", same_bits)

# %% [markdown]
# Now the batch size is 1024, which gives the GPU something to do. Which of the ratios
# change, and in which direction?

# %%
guess = {"torch, eager": None, "fused, one graph": None}


def steps_of_1024():
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(1024 * 8)
    fused = fused_net(data, order, 1024)
    return {
        "torch, best": twice(best_step(data, order, 1024)),
        "torch, eager": twice(eager_step(data, 1024)),
        "torch, bfloat16, graph": twice(
            best_step(data, order, 1024, compiled=False)
        ),
        "fused, one graph": fused.graph().replay,
    }


large = bench.compare(
    "2 steps, batch 1024",
    steps_of_1024,
    baseline="torch, best",
    host=True,
    guess=guess,
)
large

# %% tags=["solution"]
large.expect("fused, one graph", at_least=4)
large.expect("torch, best", at_least=1.5, times="torch, bfloat16, graph")

# %% [markdown] tags=["solution"]
# The compiler fuses what comes before and after a convolution into kernels of its own.
# It does not put pooling into the convolution, nor the unpooling into the loads of the
# gradients. The fused step does both: it writes neither the result of a convolution nor
# its gradient.

# %% [markdown]
# Now with batch normalisation. The statistics of a batch have to be complete before the
# first number can be normalised, so a kernel for both convolutions seems impossible,
# and PyTorch has to read the large arrays more often. The fused step needs only one
# more kernel (see the page's section "Fusion 3"). By what factor does each of the two
# steps become slower?


# %%
guess = {"plain, one graph": None, "fused, one graph": None}


def normalised_steps(batch):
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(batch * 8)
    fused = fused_net(data, order, batch, norm=True)
    steps = {
        "torch, best": twice(best_step(data, order, batch, norm=True)),
        "torch, eager": twice(eager_step(data, batch, norm=True)),
    }
    if batch == 64:
        steps["plain, one graph"] = captured(plain_step(64, norm=True))
    return steps | {"fused, one graph": fused.graph().replay}


normalised = bench.compare(
    "2 steps, batch 64, batch normalisation",
    functools.partial(normalised_steps, 64),
    baseline="torch, best",
    host=True,
    guess=guess,
)
normalised

# %%
normalised_large = bench.compare(
    "2 steps, batch 1024, batch normalisation",
    functools.partial(normalised_steps, 1024),
    baseline="torch, best",
    host=True,
)
normalised_large

# %% tags=["solution"]
normalised.expect("fused, one graph", at_least=3)
normalised_large.expect("fused, one graph", at_least=4)

# %% [markdown] tags=["solution"]
# For 1024 images, both steps become slower by about the same factor. Even so, the fused
# step never writes the first layer's result, normalised or not: its statistics follow
# from the images alone. The second layer's result is the one large array that it writes
# and reads again. For 64 images, the seventh kernel and the longer `update` weigh more.

# %% [markdown]
# ## Measure: where the time goes
#
# Each row is one of the kernels of the fused step, in its own CUDA graph. What keeps
# each kernel from being faster?


# %%
def kernels_of(batch, norm=False):
    def build():
        data, order = on_device(real, real_labels), mixed_order(batch * 4)
        net = fused_net(data, order, batch, norm=norm)
        return net.launches() | {"all seven" if norm else "all six": net.step}

    return build


profile_64 = bench.compare("kernels, batch 64", kernels_of(64), graph=True)
profile_64

# %%
profile_1024 = bench.compare(
    "kernels, batch 1024", kernels_of(1024), graph=True
)
profile_1024

# %% [markdown] tags=["solution"]
# `backward` takes about half of the step for 1024 images, and it performs 15 of the
# step's 26 GFLOP. For two of the kernels the limit is arithmetic; for the others it is
# mostly the time to start. For 64 images, neither arithmetic nor bytes limit any
# kernel. Each of the six kernels needs a few microseconds to start its blocks, fill its
# tiles and drain.

# %% [markdown]
# The same for the step with batch normalisation. Which kernels have become slower, and
# why?

# %%
normalised_profile_64 = bench.compare(
    "kernels, batch 64, batch normalisation", kernels_of(64, True), graph=True
)
normalised_profile_64

# %%
normalised_profile_1024 = bench.compare(
    "kernels, batch 1024, batch normalisation",
    kernels_of(1024, True),
    graph=True,
)
normalised_profile_1024

# %% [markdown]
# ## Measure: an epoch, loading included
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
class Digits(torch.utils.data.Dataset):
    """Images as a tutorial has them: one at a time, converted on the way."""

    def __len__(self):
        return 60_000

    def __getitem__(self, k):
        image = torch.tensor(real[k % 10_000]).unsqueeze(0).float() / 255
        return (image - 0.1307) / 0.3081, int(real_labels[k % 10_000])


def tutorial_epoch(norm):
    net = Net(norm).to(DEVICE)
    optimiser = torch.optim.SGD(net.parameters(), 0.02)
    loader = torch.utils.data.DataLoader(
        Digits(), 64, shuffle=True, num_workers=1, pin_memory=True
    )
    for images, labels in loader:
        images, labels = images.to(DEVICE), labels.to(DEVICE)
        optimiser.zero_grad()
        loss = F.nll_loss(net(images), labels)
        loss.backward()
        optimiser.step()


def noted(case, unit, measure):
    """Print what `measure` finds on a GPU; without one, what is recorded."""
    lab = "35_mnist_cnn"
    if weft.GPU:
        found = {
            name: float(f"{value:.4g}") for name, value in measure().items()
        }
        rows = [
            {"case": case, "name": name, "value": value, "unit": unit}
            for name, value in found.items()
        ]
        results.record(lab, rows)
    else:
        recorded = results.of_case(results.reference(lab), case)
        found = {name: row["value"] for name, row in recorded.items()}
        print("There is no GPU here. Recorded on the reference GPU:")
    for name, value in found.items():
        print(f"{name:28}{value:>10,g} {unit}")
    return found


def clocked(epoch, times=3):
    """Return the median time of an epoch, in ms."""
    found = []
    for _ in range(times):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        epoch()
        torch.cuda.synchronize()
        found.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(found)


def shuffled_into(order):
    mixed = torch.randperm(60_000, device=DEVICE)[: len(order)]
    order.copy_(mixed.remainder_(10_000))


def epochs_of(norm):
    """Return the times of three ways to train for an epoch."""
    data = on_device(real, real_labels)
    steps = 60_000 // 64  # 937, the last images are left out
    order = mixed_order(64 * steps)
    best = best_step(data, order, 64, norm)
    net = fused_net(data, order, 64, norm=norm)
    graph = net.graph(4)

    def best_epoch():
        shuffled_into(order)
        for _ in range(steps):
            best()

    def fused_epoch():
        shuffled_into(order)
        net.counter.zero_()
        for _ in range(steps // 4):
            graph.replay()
        net.step(0)  # the 937th

    fused_epoch()
    return {
        "torch, tutorial": clocked(lambda: tutorial_epoch(norm), 1),
        "torch, best": clocked(best_epoch),
        "fused": clocked(fused_epoch),
    }


def epochs():
    fast_settings()
    found = epochs_of(norm=False)
    with_norms = epochs_of(norm=True)
    return found | {f"{k}, with norms": v for k, v in with_norms.items()}


epoch = noted("epoch of 60,000 images, batch 64", "ms", epochs)

# %% tags=["solution"]
if epoch:
    for with_norms in ("", ", with norms"):
        fused = f"fused{with_norms}"
        faster = epoch[f"torch, tutorial{with_norms}"] / epoch[fused]
        bench.expect(f"{fused}, an epoch", faster, at_least=10)
        faster = epoch[f"torch, best{with_norms}"] / epoch[fused]
        bench.expect(f"{fused}, an epoch, to best", faster, at_least=2)

# %% [markdown]
# ## Measure: accuracy
#
# A fast step that learns less well is worth nothing, and a single loss shows little:
# rounding differs from the first product on, and two algorithms of one library can
# differ by more than two correct programs do. So the fused step and PyTorch each train
# several networks to the end, from the same initial weights. The cell compares the mean
# accuracy on unseen digits, and how much it varies.
#
# There are 9000 real digits for training and 1000 for testing. Training takes five
# epochs with batches of 64, for each of ten seeds. With batch normalisation, the test
# uses the running averages of means and variances that training has left.


# %%
def taught(norm):
    """Return test accuracies: means and standard deviations over ten seeds."""
    fast_settings()
    data = on_device(real, real_labels)
    tests = torch.arange(0, 10_000, 10, device=DEVICE)
    numbers = torch.arange(10_000, device=DEVICE)
    train = numbers[numbers % 10 != 0]
    steps = len(train) // 64
    order = train[: 64 * steps].int()

    def again():
        order.copy_(
            train[torch.randperm(len(train), device=DEVICE)][: len(order)]
        )

    def right(net):
        net.eval()
        with torch.no_grad():
            found = net(loaded(data, tests)).argmax(1)
        return 100 * (found == data["labels"][tests]).float().mean().item()

    def fused(seed):
        torch.manual_seed(seed)
        net = fused_net(data, order, 64, rate=0.1, seed=seed, norm=norm)
        graph = net.graph(steps)
        for _ in range(5):
            again()
            graph.replay()
        trained = Net(norm).to(DEVICE)
        averages = net.averages() if norm else None
        trained.load_state_dict(as_module(net.parameters(), averages))
        return right(trained)

    def theirs(seed):
        given = fresh(np.random.default_rng(seed), norm=norm)
        initial = as_module(given)
        net = Net(norm)
        step = best_step(data, order, 64, compiled=False, net=net, rate=0.1)
        with torch.no_grad():  # the steps before the capture are undone
            for name, value in net.state_dict().items():
                value.copy_(initial[name])
        torch.manual_seed(seed)
        for _ in range(5):
            again()
            for _ in range(steps):
                step()
        return right(net)

    found = {}
    for name, teach in {"fused": fused, "torch": theirs}.items():
        accuracies = [teach(seed) for seed in range(10)]
        found[f"{name}, mean"] = statistics.mean(accuracies)
        found[f"{name}, deviation"] = statistics.stdev(accuracies)
    return found


accuracy = noted(
    "accuracy after 5 epochs", "%", functools.partial(taught, norm=False)
)

# %%
normalised_accuracy = noted(
    "accuracy after 5 epochs, batch normalisation",
    "%",
    functools.partial(taught, norm=True),
)

# %% tags=["solution"]
for found in (accuracy, normalised_accuracy):
    if found:
        apart = abs(found["fused, mean"] - found["torch, mean"])
        spread = found["fused, deviation"] + found["torch, deviation"]
        bench.always(
            "the accuracies differ by less than they vary", apart <= spread
        )

# %% [markdown]
# The plain kernels, with batch normalisation, train on the same digits for two epochs.
# The test needs statistics for the normalisation; here they are those of the test
# images and the first 1024 training images together.


# %%
def plainly_taught():
    train = np.flatnonzero(np.arange(10_000) % 10)
    rng = np.random.default_rng(0)
    given = fresh(rng, norm=True)
    net = Plain(given, (64, 28, 28), norm=True, rate=0.1)
    data = cuda.to_device(real), cuda.to_device(real_labels)
    for _ in range(2):
        order = cuda.to_device(rng.permutation(train).astype(np.int32))
        for step in range(len(train) // 64):
            net.load(*data, order, 64 * step)
            net.step()
    trained = {
        name: torch.tensor(value.copy_to_host(), device=DEVICE)
        for name, value in net.p.items()
    }
    tests = np.concatenate([np.arange(0, 10_000, 10), train[:1024]])
    rows = torch.tensor(tests, device=DEVICE)
    x = loaded(on_device(real, real_labels), rows).permute(0, 2, 3, 1)
    found = network(trained, x, True)[:1000].argmax(1).cpu().numpy()
    return {"plain": 100 * (found == real_labels[tests[:1000]]).mean()}


plain_accuracy = noted("accuracy after 2 epochs", "%", plainly_taught)

# %% tags=["solution"]
if plain_accuracy:
    bench.always("the plain kernels learn", plain_accuracy["plain"] > 90)

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
#
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
#    best that the library can do.

# %%
quiz()
