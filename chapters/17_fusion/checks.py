"""Specifications and data for the checks of lab 17, and tests of its given kernels."""

import math

import numpy as np
from numba import cuda

from .kernels import (
    CUT,
    EPS,
    EXPONENT,
    MULTIPLY,
    ROUNDS,
    SCALE,
    WEYL,
    layer,
    layer_backward,
    lean_backward,
    lean_layer,
    one_philox,
)
from .norm_backward import WIDE, add_parts, norm_backward

ONES = 0xFFFFFFFF
PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0
ANSWERS = {
    (0,) * 6: "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    (ONES,) * 6: "408f276d 41c83b0e a20bc7c6 6d5451fd",
    PI: "d16cfe09 94fdcceb 5001e420 24126ea1",
}

erf = np.vectorize(math.erf, otypes=[np.float64])  # NumPy has none


def gelu_of(z):
    """Return the GELU of an array, as NumPy computes it."""
    return (z / 2 * (1 + erf(z / math.sqrt(2)))).astype(z.dtype)


def threads(n):
    return 64 - 32 * (n % 2)  # blocks of different sizes


def biased(rng, rows, cols):
    """Return a matrix and a bias for each of its columns."""
    x = rng.normal(0, 2, (rows, 4 * cols)).astype(np.float32)
    return x, rng.normal(0, 2, 4 * cols).astype(np.float32)


def philox_numpy(counters, keys):
    """Return 4 random uint32 for each of n counters; (4, n), (2,) -> (n, 4)."""
    a, b, c, d = (np.asarray(part, np.uint64) for part in counters)
    key, key2 = (np.uint64(part) for part in keys)
    first, second, step, step2 = map(np.uint64, MULTIPLY + WEYL)
    half, lower = np.uint64(32), np.uint64(0xFFFFFFFF)
    for _ in range(ROUNDS):
        p, q = first * a, second * c
        a, c = q >> half ^ b ^ key, p >> half ^ d ^ key2
        b, d = q & lower, p & lower
        key, key2 = key + step & lower, key2 + step2 & lower
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)


def numbers(count, state):
    """Return the random numbers of `count` elements, four per counter."""
    k = np.arange(-(-count // 4))
    step, nothing = np.full_like(k, state[1]), np.zeros_like(k)
    fours = philox_numpy((k, step, nothing, nothing), (state[0], 0))
    return fours.ravel()[:count]


def dropped(x, state):
    """Return what dropout makes of x, computed by NumPy."""
    return np.where(numbers(x.size, state) >= CUT, x * SCALE, 0)


def random_states(rng, n):
    """Return 4 n elements, and the seed and the step of their random numbers."""
    x = rng.normal(0, 1, 4 * n).astype(np.float32)
    return x, rng.integers(0, 1 << 32, 2, dtype=np.uint32)


def small_rows(rng, rows, cols):
    """Return rows so small that EPS counts, and a weight for each column."""
    x = rng.normal(0, 0.01, (rows, 4 * cols)).astype(np.float32)
    return x, rng.normal(0, 1, 4 * cols).astype(np.float32)


def launched(kernel, how, *arrays):
    """Launch a kernel on copies of arrays, and return the last of them."""
    copied = [cuda.to_device(a) for a in arrays]
    kernel[how](*copied)
    return copied[-1].copy_to_host()


def norm_of(x, gamma, beta):
    """Return the LayerNorm of each row, its mean and 1 / deviation."""
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(x.var(axis=1) + EPS)
    centred = (x - mean[:, None]) * rstd[:, None]
    return centred * gamma + beta, mean, rstd


def rms_of(x, weight):
    """Return the RMSNorm of each row and its r, as NumPy computes it."""
    rstd = 1 / np.sqrt((x**2).mean(axis=1) + EPS)
    return x * rstd[:, None] * weight, rstd


def shifted(rng, rows, cols):
    """Return rows far from 0 or near it; weights and biases of the columns."""
    x = rng.normal(100, 1, (rows, 4 * cols)).astype(np.float32)
    x[1::2] = rng.normal(0, 0.003, x[1::2].shape)  # here EPS counts
    gamma, beta = rng.normal(0, 1, (2, 4 * cols)).astype(np.float32)
    return x, gamma, beta


def going_back(rng, rows, cols):
    """Return the inputs of LayerNorm's backward pass."""
    x = rng.normal(3, 2, (rows, 4 * cols)).astype(np.float32)
    dy = rng.normal(0.5, 1, x.shape).astype(np.float32)
    gamma = rng.normal(1, 1, 4 * cols).astype(np.float32)
    _, mean, rstd = norm_of(x, gamma, gamma)
    return x, dy, gamma, mean, rstd


def norm_gradient(x, dy, gamma, mean, rstd):
    """Return the gradient of LayerNorm's input, by NumPy."""
    mean, rstd = mean[:, None], rstd[:, None]
    hat, g = (x - mean) * rstd, dy * gamma
    along = (g * hat).mean(axis=1, keepdims=True)
    return rstd * (g - g.mean(axis=1, keepdims=True) - hat * along)


def groups(rows):
    return 2 + rows % 3


def parts_of(x, dy, mean, rstd):
    """Return the sums of each group of rows, by NumPy."""
    products = dy * (x - mean[:, None]) * rstd[:, None]
    step = groups(len(x))
    return tuple(
        np.stack([terms[p::step].sum(axis=0) for p in range(step)])
        for terms in (products, dy)
    )


def without_gamma(rng, rows, cols):
    x, dy, _, mean, rstd = going_back(rng, rows, cols)
    return x, dy, mean, rstd


def compare_with_known_answers():
    """Print what Philox returns, beside the known answers."""
    for given, answer in ANSWERS.items():
        parts = np.uint32(given[:4]), np.uint32(given[4:])
        d_found = cuda.to_device(np.zeros(4, np.uint32))
        one_philox[1, 1](*map(cuda.to_device, parts), d_found)
        found = d_found.copy_to_host()
        theirs = philox_numpy([[n] for n in given[:4]], given[4:])[0]
        print(" ".join(f"{n:08x}" for n in found), "  wanted:", answer)
        assert list(found) == list(theirs) == [int(n, 16) for n in answer.split()]


def above_numpy(a):
    """Return what above() computes, in NumPy and in float32."""
    power = np.full_like(a, EXPONENT[0])
    for c in EXPONENT[1:]:
        power = power * a + c
    return np.exp2(power)


def print_gelu_error():
    """Print by how much the GELU with fewer instructions is off."""
    z = np.linspace(-12, 12, 100_001).astype(np.float32)
    found = np.maximum(z, 0) - np.abs(z) * above_numpy(np.abs(z))
    off = np.abs(found - gelu_of(z.astype(np.float64))).max()
    print(f"largest error: {off:.1e}")
    assert off < 5e-7


def small_layer():
    """Return a generator, and the input and the bias of a small layer."""
    rng = np.random.default_rng(17)
    x, bias = biased(rng, 5, 16)
    return rng, x, bias


def compare_gradients(state):
    """Print by how much both layers are off, forward and backward."""
    rng, x, bias = small_layer()
    dy = rng.normal(0, 1, x.shape).astype(np.float32)
    mask = (numbers(x.size, state) >= CUT).reshape(x.shape) * SCALE
    wide = x.astype(np.float64) + bias
    slopes = (gelu_of(wide + 1e-4) - gelu_of(wide - 1e-4)) / 2e-4

    for name, there, back in (
        ("with erf", layer, layer_backward),
        ("lean", lean_layer, lean_backward),
    ):
        out = launched(there, ((1, 5), 32), x, bias, state, x)
        dx = launched(back, ((1, 5), 32), x, bias, dy, state, x)
        off = np.abs(out - gelu_of(wide) * mask).max()
        off_back = np.abs(dx - dy * slopes * mask).max()
        print(f"{name:9} forward {off:.0e}, backward {off_back:.0e}")
        assert max(off, off_back) < 1e-5


def eight_rows():
    """Return the inputs of a small backward pass."""
    x, dy, gamma, mean, rstd = going_back(np.random.default_rng(17), 8, 64)
    return x, dy, gamma, mean, rstd


def compare_norm_backward():
    """Print by how much `norm_backward` is off, for each way of loading ahead."""
    x, dy, gamma, mean, rstd = eight_rows()
    rms = (1 / np.sqrt((x**2).mean(axis=1) + EPS)).astype(np.float32)
    for name, centred, ahead, mu, r in (
        ("LayerNorm", True, "no", mean, rstd),
        ("RMSNorm", False, "registers", 0 * mean, rms),
        ("LayerNorm", True, WIDE, mean, rstd),
        ("RMSNorm", False, WIDE, 0 * mean, rms),
    ):
        given = [cuda.to_device(a) for a in (x, dy, gamma, mu, r)]
        d_dx = cuda.to_device(x)
        zeros = np.zeros((3, 256), np.float32)
        parts = [cuda.to_device(zeros) for _ in range(2)]
        sums = [cuda.to_device(zeros[0]) for _ in range(2)]
        norm_backward(centred, 1, 64, ahead)[3, 64](*given, d_dx, *parts)
        add_parts[(8, 2), (32, 16)](*parts, *sums)
        dx, dgamma, dbeta = (a.copy_to_host() for a in (d_dx, *sums))

        hat, g = (x - mu[:, None]) * r[:, None], dy * gamma
        wanted = norm_gradient(x, dy, gamma, mu, r)
        if not centred:
            wanted = r[:, None] * (g - hat * (g * hat).mean(axis=1, keepdims=True))
        assert np.allclose(dx, wanted, atol=1e-5)
        assert np.allclose(dgamma, (dy * hat).sum(axis=0), atol=1e-4)
        assert np.allclose(dbeta, dy.sum(axis=0) * centred, atol=1e-4)
        print(f"{name}, {ahead}: dx is off by {np.abs(dx - wanted).max():.0e}")
