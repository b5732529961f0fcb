"""The whole network, with a plain kernel for each layer, and the same in PyTorch."""

import math

import numpy as np
import torch.nn.functional as F
from numba import cuda, float32

from weft import bench

from . import learner
from .kernels import (
    EPS,
    THREADS,
    add_parts,
    blocks,
    column_sums,
    conv_bias,
    conv_data,
    linear,
    linear_data,
    linear_weights,
    load_images,
    load_labels,
    loss_gradient,
    norm_forward,
    sgd,
    to_words,
    unpool,
)


class Plain:
    """The network, a plain kernel for each layer; all arrays float32."""

    def __init__(self, parameters, shape, norm, rate=0.1, slices=1, tensor=False):
        """parameters: see `fresh`. shape: of a batch, (n, h, w).

        slices: into how many the sums of `conv_weights` are split. tensor: whether
        `conv_pool` does the second layer, in bfloat16, which takes 16 k channels and
        8 k filters, and no normalisation.
        """
        self.norm, self.rate = norm, rate
        self.slices, self.tensor = slices, tensor
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
        if slices > 1:
            self.parts = {k: self.zeros(slices, *self.p[k].shape) for k in ("w1", "w2")}
        if tensor:
            x, w = self.stages[0][1]["out"].shape, self.p["w2"].shape
            self.words = self.zeros(*x[:3], x[3] // 2, dtype=np.int32)
            self.filters = self.zeros(w[0], 9, w[3] // 2, dtype=np.int32)
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
            if self.tensor and k == 2:
                self.second_layer(x, w, s)
                x = s["out"]
                continue
            self.run(conv_bias, s["y"].size, x, w, p[f"b{k}"], s["y"])
            before = s["y"]
            if self.norm:
                on = s["y"], p[f"gamma{k}"], p[f"beta{k}"], s["z"]
                on = *on, s["mean"], s["scale"]
                self.columns(norm_forward, w.shape[0], *on)
                before = s["z"]
            x = s["out"]
            self.run(learner.relu_pool, x.size, before, x, s["won"])
        rows = x.shape[0]
        self.flat = x.reshape(rows, x.size // rows)
        h, z = self.h, self.z
        self.run(linear, h.size, self.flat, p["w3"], p["b3"], h, True)
        self.run(linear, z.size, h, p["w4"], p["b4"], z, False)
        self.run(loss_gradient, rows, z, self.label, self.loss, self.dz)

    def second_layer(self, x, w, s):
        """Convolve, add the bias, ReLU and pool, on tensor cores."""
        for numbers, words in ((x, self.words), (w, self.filters)):
            flat = numbers.reshape(numbers.size), words.reshape(words.size)
            self.run(to_words, words.size, *flat)
        n, rows, cols, filters = s["out"].shape
        grid = -(-n * rows * cols // 8), filters // 8
        on = self.words, self.filters, self.p["b2"], s["out"], s["won"]
        learner.conv_pool[grid, 32, bench.stream()](*on)

    def weights(self, name, x, dy):
        """Write the gradient of a convolution's weights; the parts first."""
        found, slices = self.g[name], self.slices
        parts = self.parts[name] if slices > 1 else found.reshape(1, *found.shape)
        grid = blocks(found.size)[0], slices
        on = x, dy, parts
        learner.conv_weights[grid, THREADS, bench.stream()](*on)
        if slices > 1:
            rows = parts.reshape(slices, found.size)
            self.run(add_parts, found.size, rows, found.reshape(found.size))

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
                self.columns(learner.norm_backward, w.shape[0], *on, *gradients)
            self.weights(f"w{k}", x, dy)
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
