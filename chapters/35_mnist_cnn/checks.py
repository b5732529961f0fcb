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


def weights_gradient(x, dy):
    return np.einsum("nijpqc,nijf->fpqc", patches(x), dy)


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
