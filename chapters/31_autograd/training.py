"""What is trained: a line and a network, with the lab's engine and with PyTorch."""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn import functional

import weft
from weft.starters import has_stub

from .engine import (
    Tensor,
    add,
    cross_entropy,
    descend,
    gradients_of,
    matmul,
    mul,
    ready,
    relu,
    total,
)
from .kernels import DEVICE


def my_loss(x, target, w1, b1, w2, b2):
    """Return the loss of a network of two layers, with our engine."""
    hidden = relu(add(matmul(Tensor(x), w1), b1))
    return cross_entropy(add(matmul(hidden, w2), b2), target)


def torch_loss(x, target, w1, b1, w2, b2):
    """Return the loss of the same network, with PyTorch."""
    hidden = torch.relu(x @ w1 + b1)
    return functional.cross_entropy(hidden @ w2 + b2, target)


def parameters(inputs, hidden, classes, seed=0):
    """Return the starting values of w1, b1, w2 and b2."""
    rng = np.random.default_rng(seed)
    shapes = (inputs, hidden), (1, hidden), (hidden, classes), (1, classes)
    made = [rng.normal(0, 1 / math.sqrt(shape[0]), shape) for shape in shapes]
    made[1][:], made[3][:] = 0, 0
    return [torch.tensor(p, dtype=torch.float32, device=DEVICE) for p in made]


FONT = (  # ten digits, each of seven rows of five pixels
    *("0e11131519110e", "040c040404040e", "0e11010204081f", "0e11010601110e"),
    *("02060a121f0202", "1f101e0101110e", "0608101e11110e", "1f010204080808"),
    *("0e11110e11110e", "0e11110f01020c"),
)


def digits(rng, count, side):
    """Return images of digits, (count, side * side), and the digits."""
    scale = side // 8
    labels = rng.integers(0, 10, count)
    images = rng.normal(0, 0.3, (count, side, side))
    for image, label in zip(images, labels, strict=True):
        rows = bytes.fromhex(FONT[label])
        bits = [[row >> (4 - i) & 1 for i in range(5)] for row in rows]
        drawn = np.kron(np.array(bits), np.ones((scale, scale)))
        height, width = drawn.shape
        top, left = rng.integers(0, [side - height + 1, side - width + 1])
        image[top : top + height, left : left + width] += drawn
    return images.reshape(count, -1).astype(np.float32), labels


def my_step(loss_of, batch, leaves, rate):
    """Take a step of gradient descent with our engine; return the loss."""
    loss = loss_of(*batch, *leaves)
    for leaf, gradient in zip(leaves, gradients_of(loss, leaves), strict=True):
        descend(leaf, gradient, rate)
    return loss.data


def torch_step(loss_of, batch, leaves, rate):
    """Take the same step with PyTorch."""
    loss = loss_of(*batch, *leaves)
    found = torch.autograd.grad(loss, leaves)
    with torch.no_grad():
        for leaf, gradient in zip(leaves, found, strict=True):
            leaf -= rate * gradient
    return loss.detach()


def both_curves(losses_of, start, batches, rate):
    """Train with both engines; return the losses of each, step by step."""
    mine = [Tensor(p.clone(), needs=True) for p in start]
    theirs = [p.clone().requires_grad_() for p in start]
    curves = {"mine": [], "PyTorch": []}
    for batch in batches:
        loss = my_step(losses_of[0], batch, mine, rate)
        curves["mine"].append(loss.view(1))
        loss = torch_step(losses_of[1], batch, theirs, rate)
        curves["PyTorch"].append(loss.view(1))
    return {name: torch.cat(each).tolist() for name, each in curves.items()}


def my_regression(x, y, w, b):
    """Return the mean squared error of x @ w + b, with our engine."""
    error = add(add(matmul(Tensor(x), w), b), Tensor(-y))
    share = torch.full((1, 1), 1 / len(x), device=DEVICE)
    return mul(total(mul(error, error)), Tensor(share))


def torch_regression(x, y, w, b):
    return functional.mse_loss(x @ w + b, y)


def regression_data(rng, count, inputs):
    """Return points on a plane, with noise."""
    x = rng.normal(0, 1, (count, inputs))
    y = x @ rng.normal(0, 1, (inputs, 1)) + 0.5 + rng.normal(0, 0.1, (count, 1))
    return [torch.tensor(v, dtype=torch.float32, device=DEVICE) for v in (x, y)]


def train():
    """Return the loss curves of the regression and of the network.

    An engine that lacks a part yields none.
    """
    if not ready():
        return {}
    rng = np.random.default_rng(31)
    points, inputs, steps = (512, 32, 100) if weft.GPU else (16, 3, 6)
    batch = regression_data(rng, points, inputs)
    start = [
        torch.zeros(inputs, 1, device=DEVICE),
        torch.zeros(1, 1, device=DEVICE),
    ]
    losses = my_regression, torch_regression
    line = both_curves(losses, start, [batch] * steps, 0.1)

    sizes = (28, 256, 128, 300) if weft.GPU else (8, 16, 16, 8)
    side, hidden, count, steps = sizes
    batches = []
    for _ in range(steps if weft.GPU else 1):
        images, labels = digits(rng, count, side)
        pair = torch.tensor(images), torch.tensor(labels)
        batches.append([each.to(DEVICE) for each in pair])
    batches = (batches * steps)[:steps]
    start = parameters(side * side, hidden, 10)
    network = both_curves((my_loss, torch_loss), start, batches, 0.3)
    return {"linear regression": line, "network on digits": network}


def with_activation(activation):
    """Train the small network with a learner's tanh, and with PyTorch's."""
    if has_stub(activation) or not ready():
        print("This needs `tanh`, and all parts of the engine.")
        return

    def mine(x, target, w1, b1, w2, b2):
        hidden = activation(add(matmul(Tensor(x), w1), b1))
        return cross_entropy(add(matmul(hidden, w2), b2), target)

    def theirs(x, target, w1, b1, w2, b2):
        return functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, target)

    images, labels = digits(np.random.default_rng(31), 16, 8)
    pair = torch.tensor(images), torch.tensor(labels)
    batches = [[each.to(DEVICE) for each in pair]] * 6
    curves = both_curves((mine, theirs), parameters(64, 16, 10), batches, 0.3)
    for name, losses in curves.items():
        print(f"{name:8}", " ".join(f"{loss:.4f}" for loss in losses))


def apart(pair):
    """Return how far two curves are from each other, relative to the start."""
    mine, other = (np.array(pair[name]) for name in ("mine", "PyTorch"))
    return float(np.abs(mine - other).max() / other[0])


def plot_and_print(curves):
    """Plot the loss curves, and print where they begin and end."""
    if curves:
        _, places = plt.subplots(1, 2, figsize=(9, 3.5), dpi=72)
        for axes, (title, pair) in zip(places, curves.items(), strict=True):
            axes.plot(pair["PyTorch"], "-", linewidth=4, alpha=0.4, label="PyTorch")
            axes.plot(pair["mine"], "k--", label="mine")
            axes.set_title(title)
            axes.set_xlabel("step")
            axes.set_ylabel("loss")
            axes.set_ylim(0)
            axes.legend()
        plt.show()
    for title, pair in curves.items():
        first, last = pair["mine"][0], pair["mine"][-1]
        print(f"{title}: {first:.3f} -> {last:.3f}, {apart(pair):.0e} apart")
