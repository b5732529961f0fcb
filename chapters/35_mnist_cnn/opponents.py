"""The steps that the fused step is compared with: in PyTorch and in NumPy."""

import contextlib
import io

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import weft

from .checks import largest, patches
from .network import fresh

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)


TUNED = "max-autotune-no-cudagraphs"  # the step is captured in a graph of ours


class Net(nn.Module):
    """The network in PyTorch.

    tutorial: as tutorials write it, with biases before a normalisation, which have no
    effect there, and with the channels of the pooled maps in order. Otherwise without
    these biases, and with the pixels in order, as channels-last has them.
    """

    def __init__(self, norm=False, tutorial=False):
        super().__init__()
        self.tutorial, bias = tutorial, tutorial or not norm
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1, bias=bias)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1, bias=bias)
        self.norm1 = nn.BatchNorm2d(32) if norm else nn.Identity()
        self.norm2 = nn.BatchNorm2d(64) if norm else nn.Identity()
        self.fc1, self.fc2 = nn.Linear(3136, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = x if self.tutorial else x.permute(0, 2, 3, 1)
        x = self.fc2(F.relu(self.fc1(x.flatten(1))))
        return F.log_softmax(x, dim=1)


def as_module(given, averages=None, tutorial=True):
    """Return parameters as the state of a Net; averages: of its norms."""
    given = {name: torch.as_tensor(value) for name, value in given.items()}
    found = {}
    for k in (1, 2):
        found[f"conv{k}.weight"] = given[f"w{k}"].permute(0, 3, 1, 2)
        if tutorial or "gamma1" not in given:
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
    w = given["w3"].view(128, 7, 7, 64)
    w = w.permute(0, 3, 1, 2) if tutorial else w
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
    net = Net(norm, tutorial=True).to(DEVICE)
    optimiser = torch.optim.SGD(net.parameters(), 0.02)
    labels = data["labels"].long()
    rows = torch.randperm(len(labels), device=DEVICE)[:batch]

    def step():
        optimiser.zero_grad()
        loss = F.nll_loss(net(loaded(data, rows)), labels[rows])
        loss.backward()
        optimiser.step()

    return step


def half_step(data, order, batch, net, mode=None, rate=0.02):
    """Return a step of PyTorch in bfloat16; `order` has the images of each batch.

    mode: of `torch.compile`, None for a step that is not compiled.
    """
    optimiser = torch.optim.SGD(net.parameters(), rate)
    labels, steps = data["labels"].long(), len(order) // batch
    counter = torch.zeros(1, dtype=torch.long, device=DEVICE)
    numbers = torch.arange(batch, device=DEVICE)

    def loss_of():
        rows = order[counter % steps * batch + numbers].long()
        x = loaded(data, rows).bfloat16()
        x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            return F.nll_loss(net(x).float(), labels[rows])

    update = optimiser.step
    if mode is not None:
        torch._dynamo.reset()  # it compiles the same code for a few networks only
        loss_of = torch.compile(loss_of, dynamic=False, mode=mode)
        update = torch.compile(update, dynamic=False, mode=mode)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of().backward()
        update()
        counter.add_(1)

    return step


def best_step(data, order, batch, norm=False, mode=TUNED, net=None, rate=0.02, steps=2):
    """Return a CUDA graph of so many steps of PyTorch in bfloat16, see `half_step`."""
    net = Net(norm) if net is None else net
    net = net.to(DEVICE, memory_format=torch.channels_last)
    step = half_step(data, order, batch, net, mode, rate)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    reports = contextlib.redirect_stderr(io.StringIO())  # of what was tuned
    with torch.cuda.stream(side), reports:
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(steps):
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
