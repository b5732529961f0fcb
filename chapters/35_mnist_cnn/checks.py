"""Data and specifications for the checks of lab 35, in NumPy and PyTorch."""

import numpy as np
import torch
import torch.nn.functional as F

from .kernels import EPS


def patches(x):
    """(n, h, w, c) -> (n, h, w, 3, 3, c), zeros outside."""
    h, w = x.shape[1:3]
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = [
        np.stack([framed[:, p : p + h, q : q + w] for q in range(3)], axis=3)
        for p in range(3)
    ]
    return np.stack(rows, axis=3)


def convolution(x, w, b):
    """The layer, in NumPy."""
    return np.einsum("nijpqc,fpqc->nijf", patches(x), w) + b


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


def random_gradient(rng, n, h, w, c, f):
    """Return images, and the gradient of a layer of them."""
    return (
        rng.standard_normal((n, h, w, c), np.float32),
        rng.standard_normal((n, h, w, f), np.float32),
    )


def slices_of(n):
    """Return into how many slices the check splits n images."""
    return -(-n // 2)


def weights_gradient(x, dy):
    """The gradient of the weights, in slices of every k-th image."""
    k = slices_of(len(x))
    parts = [
        np.einsum("nijpqc,nijf->fpqc", patches(x[s::k]), dy[s::k]) for s in range(k)
    ]
    return np.stack(parts)


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


def random_head(rng, slices, n):
    """Return what `head` reads; the logits of some images are far from 0."""
    part = rng.standard_normal((slices, n, 128)) * rng.choice([1, 40], (1, n, 1))
    b3, b4 = rng.standard_normal(128), 3 * rng.standard_normal(10)
    w4 = 0.3 * rng.standard_normal((10, 128))
    labels = rng.integers(0, 10, n + 3).astype(np.uint8)
    order = rng.integers(0, n + 3, 2 * n).astype(np.int32)
    numbers = (a.astype(np.float32) for a in (part, b3, w4, b4))
    return *numbers, labels, order, np.array([1], np.int32)


def head_outputs(part, *_):
    """Return what `head` writes, as it is before."""
    n = part.shape[1]
    return np.full((n, 128), -1, np.float32), np.zeros((n, 1472), np.float32)


def head_gradients(part, b3, w4, b4, labels, order, counter):
    """What `head` writes, by PyTorch's autograd in double precision."""
    n = part.shape[1]
    part, b3, w4, b4 = (torch.tensor(np.float64(a)) for a in (part, b3, w4, b4))
    before = (part.sum(0) + b3).requires_grad_()
    h = F.relu(before)
    z = F.linear(h, w4, b4)
    z.retain_grad()
    mine = order[int(counter[0]) * n :][:n]
    right = torch.tensor(labels[mine].astype(np.int64))
    rows = F.cross_entropy(z, right, reduction="none")
    rows.mean().backward()
    sums = torch.zeros(n, 1472, dtype=torch.float64)
    sums[:, :1280] = (z.grad[:, :, None] * h.detach()[:, None]).flatten(1)
    sums[:, 1280:1290], sums[:, 1290:1418] = z.grad, before.grad
    sums[:, 1418] = rows.detach()
    return before.grad.float().numpy(), sums.float().numpy()


def random_parts(rng, k, n, m):
    """Return parts of m gradients of convolutions and of 20 others, and numbers."""
    conv, sums = (np.round(4 * rng.standard_normal(s)) / 4 for s in ((k, m), (n, 25)))
    numbers = np.float32(0.5), np.int32(k + 1)
    return conv.astype(np.float32), sums.astype(np.float32), *numbers


def before_update(conv, sums, rate, steps):
    """Return parameters, the copy in bfloat16 of some, and the number of the step."""
    m = conv.shape[1]
    theta = ((7 * np.arange(m + 20)) % 23 - 11).astype(np.float32) / 4
    counter = [int(steps) - 1 - len(sums) % 2]
    return theta, np.full(m - 8, 9, np.int16), np.array(counter, np.int32)


def after_update(conv, sums, rate, steps):
    """What `update` makes of that; all numbers are multiples of 1/8, so exact."""
    theta, w2, counter = before_update(conv, sums, rate, steps)
    gradient = np.concatenate([conv.sum(0), sums.sum(0)])[: theta.size]
    theta = (theta - float(rate) * gradient).astype(np.float32)
    rounded = torch.tensor(theta[: w2.size]).bfloat16().view(torch.int16).numpy()
    return theta, rounded, (counter + 1) % int(steps)


def quarters(rng, *shape):
    """Return words of two bfloat16, multiples of 1/4: sums are exact."""
    values = np.round(4 * rng.standard_normal(shape)).astype(np.float32) / 4
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int32)


def numbers(x):
    """Return the numbers in words, twice as many in the last axis."""
    halves = np.ascontiguousarray(x.astype(np.int32)).view(np.uint16)
    return (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def random_words(rng, n, h, w, c, f):
    """Return images, filters and biases for 16 c channels and 8 f filters.

    Half of the first image is empty, so that the pixels of a window are equal there.
    """
    bias = np.round(8 * rng.standard_normal(8 * f)) - 4
    x = quarters(rng, n, 2 * h, 2 * w, 16 * c)
    x[0, :, w:] = 0
    return x, quarters(rng, 8 * f, 9, 16 * c), bias.astype(np.float32)


def pool_outputs(x, w, b):
    """Return what `conv_pool` writes, as it is before."""
    shape = x.shape[0], x.shape[1] // 2, x.shape[2] // 2, len(b)
    return np.full(shape, -1, np.float32), np.full(shape, 9, np.uint8)


def three_layers(x, w, b):
    filters = numbers(w).reshape(len(b), 3, 3, -1)
    return largest(convolution(numbers(x), filters, b))
