"""Philox in kernels at full speed: random numbers, and dropout."""

import numpy as np
import torch
from numba import cuda, float32, int32, uint32

from weft.intrinsics import load4, mul_wide, store4

MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
ROUNDS = 10
TINY = np.float32(2**-24)
P = 0.1
CUT, SCALE = np.uint32(P * 2**32), np.float32(1 / (1 - P))


@cuda.jit(device=True)
def four(counter, seed, rounds):
    """Return four random words."""
    w, x, y, z = uint32(counter), uint32(0), uint32(0), uint32(0)
    key, other = seed[0], seed[1]
    for _ in range(rounds):
        p, q = mul_wide(MULTIPLIERS[0], w)
        r, s = mul_wide(MULTIPLIERS[1], y)
        w, x, y, z = uint32(r ^ x ^ key), s, uint32(p ^ z ^ other), q
        key, other = uint32(key + WEYL[0]), uint32(other + WEYL[1])
    return w, x, y, z


@cuda.jit(device=True)
def unit(word):
    """Return a float32 from [0, 1)."""
    return float32(word >> uint32(8)) * TINY


@cuda.jit
def fours(seed, out):
    """Fill out with random numbers; a thread makes four neighbours."""
    k = int32(cuda.grid(1))

    if 4 * k < out.size:
        a, b, c, d = four(k, seed, ROUNDS)
        store4(out, 4 * k, unit(a), unit(b), unit(c), unit(d))


@cuda.jit
def ones(seed, out):
    """The same numbers; a thread makes four and keeps one."""
    i = int32(cuda.grid(1))

    if i < out.size:
        a, b, c, d = four(i // int32(4), seed, ROUNDS)
        which = i % int32(4)
        lower = a if which == 0 else b
        upper = c if which == 2 else d
        out[i] = unit(lower if which < 2 else upper)


@cuda.jit(device=True)
def keep(word, value):
    """Return the value, scaled, or 0."""
    return value * SCALE if word >= CUT else float32(0)


@cuda.jit
def thin(seed, first, x, out):
    """Write x into out, scaled, a share of it dropped; a thread has four."""
    k = int32(cuda.grid(1))

    if 4 * k < x.size:
        p, q, r, s = load4(x, 4 * k)
        a, b, c, d = four(first + k, seed, ROUNDS)
        store4(out, 4 * k, keep(a, p), keep(b, q), keep(c, r), keep(d, s))


class Thin(torch.autograd.Function):
    """Dropout by the kernel, which makes the mask again."""

    @staticmethod
    def forward(ctx, x, seed, generator):
        ctx.seed, ctx.first = seed, generator.offset
        generator.offset += x.numel() // 4
        return Thin.run(x, seed, ctx.first)

    @staticmethod
    def backward(ctx, grad):
        return Thin.run(grad, ctx.seed, ctx.first), None, None

    @staticmethod
    def run(x, seed, first):
        out = torch.empty_like(x)
        arrays = (cuda.as_cuda_array(t.detach()) for t in (x, out))
        thin[x.numel() // 1024, 256](seed, np.int32(first), *arrays)
        return out
