"""Specifications and data for the checks of lab 33."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .models import DEVICE, Net

RATE, MOMENTUM, LONGEST = 0.2, 0.9, 1.2  # of the training script
MOST = 4.0  # that `damped` lets through


def random_batch(rng, batch, side):
    """Return images, flips, and the mean and standard deviation per channel."""
    images = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    flips = rng.random(batch) < 0.5
    mean = rng.uniform(0.4, 0.5, (3, 1, 1)).astype(np.float32)
    std = rng.uniform(0.2, 0.3, (3, 1, 1)).astype(np.float32)
    return images, flips, mean, std


def prepared(images, flips, mean, std):
    """Return the batch as the network needs it, with NumPy."""
    batch = (images / 255 - mean) / std
    return np.where(flips[:, None, None, None], batch[..., ::-1], batch)


def three_gradients(rng, n):
    """Return three gradients, and the norm that they may have."""
    scale = 0.0 if n == 1 else 1.0
    shapes = [(n, 3), (n,), (2, n)]
    gradients = [scale * rng.standard_normal(s).astype(np.float32) for s in shapes]
    return *gradients, 2.0 if n % 2 else 50.0


def clipped(a, b, c, most):
    """Return the norm of three gradients, and the gradients scaled down."""
    norm = np.sqrt(sum((g * g).sum() for g in (a, b, c)))
    factor = most / norm if norm > most else 1.0
    return norm, a * factor, b * factor, c * factor


def call_clip(clip_, *given):
    """Call clip_ on copies; return what it returns and what it changes."""
    gradients = [g.clone() for g in given[:3]]
    return clip_(gradients, given[3]), *gradients


WIDTH, CLASSES, CUT = 8, 5, 16


def small_net():
    """Return the same small network, with gradients, at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(33)
        wide = nn.Linear(WIDTH, 32)
        net = nn.Sequential(wide, nn.Tanh(), nn.Linear(32, CLASSES))
        for parameter in net.parameters():
            parameter.grad = torch.randn_like(parameter) / 4
        return net


def labelled(rng, n):
    """Return samples and labels; in a long batch, part 2 is all ignored."""
    x = rng.standard_normal((n, WIDTH)).astype(np.float32)
    y = rng.integers(0, CLASSES, n)
    y[: n // 3][rng.random(n // 3) < 0.7] = -100
    if n > 4 * CUT:
        y[CUT : 2 * CUT] = -100
    return x, y


def at_once(x, y):
    """Return the loss of the whole batch, and the gradients after it."""
    model = small_net().to(x.dtype)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss, *(p.grad for p in model.parameters())


def call_accumulate(accumulate, x, y):
    """Call accumulate on parts of a batch; return loss and gradients."""
    model = small_net().to(x.device)
    loss = accumulate(model, list(zip(x.split(CUT), y.split(CUT), strict=True)))
    return loss, *(p.grad for p in model.parameters())


def layer(rng, n):
    """Return an input and a weight, which is larger for a larger n."""
    x = rng.standard_normal((n, 6)).astype(np.float32)
    return x, (0.1 * n * rng.standard_normal((6, 6))).astype(np.float32)


def damped_in_steps(x, weight):
    """Return the layer's output, with NumPy."""
    y = x @ weight
    top = np.abs(y).max()
    return x + y * (MOST / top if top > MOST else 1.0)


LAYERS, KEEP = 8, 3


def small_blocks():
    """Return the same blocks at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(34)
        return [
            nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.Tanh())
            for _ in range(LAYERS)
        ]


def all_kept(x):
    """Return the loss and the gradients of the input and the first block."""
    blocks = [block.to(x.dtype) for block in small_blocks()]
    x = x.clone().requires_grad_()
    y = x
    for block in blocks:
        y = block(y)
    loss = torch.mean(y * y)
    loss.backward()
    return loss, x.grad, blocks[0][0].weight.grad, blocks[4][2].weight.grad


def call_within(within, x):
    """Call within; return the loss and gradients."""
    blocks = [block.to(x.device) for block in small_blocks()]
    x = x.clone().requires_grad_()
    loss = within(blocks, x, KEEP)
    return loss, x.grad, blocks[0][0].weight.grad, blocks[4][2].weight.grad


def small_step(device):
    """Return the same training step at every call, and the weights that it trains."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(36)
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4)).to(device)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x, answers):
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), answers)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step, list(net.parameters())


def random_points(rng, steps, n):
    """Return batches of points, and the answers to each batch."""
    points = rng.standard_normal((steps, n, 6)).astype(np.float32)
    return points, rng.integers(0, 4, (steps, n))


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def tiny():
    """Return the same tiny network at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(35)
        return Net((8, 16), 1, 6)


def random_steps(rng, steps, batch, side):
    """Return images, labels and flips; only flips differ between batches."""
    images = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    labels = rng.integers(0, 6, batch)
    flips = rng.random((steps, batch)) < 0.5
    return np.stack([images] * steps), np.stack([labels] * steps), flips


def channel_constants(device, dtype=torch.float32):
    """Return mean and standard deviation, (3, 1, 1) each."""
    return [
        torch.tensor(each, dtype=dtype, device=device).view(3, 1, 1)
        for each in (MEAN, STD)
    ]


def losses_of(images, labels, flips):
    """Train in float64, step by step; return the losses."""
    model = tiny().double()
    mean, std = channel_constants("cpu", torch.float64)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    found = []
    for batch, answers, mirrored in zip(images, labels, flips, strict=True):
        x = (batch.double() / 255 - mean) / std
        x = torch.where(mirrored.view(-1, 1, 1, 1), x.flip(-1), x)
        optimiser.zero_grad()
        loss = F.cross_entropy(model(x), answers)
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), LONGEST)
        optimiser.step()
        found.append(loss.item())
    return torch.tensor(found, dtype=torch.float64)


def call_train(train, images, labels, flips):
    """Call train on a tiny network; return the losses."""
    batches = list(zip(images, labels, flips, strict=True))
    constants = channel_constants(DEVICE)
    return train(tiny().to(DEVICE), batches, *constants, DEVICE)
