"""Inputs and specifications for the checks of lab 34."""

import copy

import numpy as np
import torch
import torch.nn.functional as F

from .kernels import EPS
from .model import BF16, DEVICE, UNet, embed

PEAKS = 4e12, 800e12, 1.3e-6  # bytes/s, FLOP/s in bfloat16, seconds per kernel
GROUPS = 2  # in the check; the model has 32

torch.manual_seed(34)
tiny = UNet(widths=(16, 32), text=24, head=8, groups=4).requires_grad_(False)
near_tiny = copy.deepcopy(tiny).to(DEVICE)


def profiles(rng):
    """Return steps as a profiler would describe them, and the GPU's limits."""
    made = []
    for count in (4, 1, 9):
        calls = rng.integers(1, 30, count)
        moved = 10 ** rng.uniform(4, 8, count)
        computed = moved * 10 ** rng.uniform(0, 3, count)
        least = calls * np.maximum(moved / PEAKS[0], computed / PEAKS[1])
        seconds = np.maximum(least, calls * PEAKS[2]) * rng.uniform(0.8, 4, count)
        rows = zip(calls, seconds, moved, computed, strict=True)
        made.append([tuple(float(v) for v in row) for row in rows])
    # longest first, and each of the three limits decides somewhere
    made += [
        [
            (2, 900e-6, 4e8, 3.3e11),
            (20, 300e-6, 1e7, 1e8),
            (9, 200e-6, 2e5, 1e6),
        ],
        [
            (40, 500e-6, 3e7, 6e9),
            (300, 480e-6, 1e3, 1e3),
            (10, 450e-6, 2e7, 1e10),
        ],
        [(7, 700e-6, 3e8, 1e9), (3, 300e-6, 4e7, 7e10), (5, 90e-6, 5e6, 1e9)],
        [(90, 110e-6, 1e3, 1e3), (4, 95e-6, 1e7, 1e10)],
        [(6, 40e-6, 4e7, 1e9)],  # from the cache
    ]
    return [(profile, *PEAKS) for profile in made]


def worth_spec(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    calls, seconds, moved, computed = np.array(profile).T
    least = calls * np.maximum(np.maximum(moved / bandwidth, computed / rate), floor)
    gain = np.clip(seconds - least, 0, None)
    return int(gain.argmax()), seconds.sum() / (seconds.sum() - gain.max())


def toy_model(x, t, text):
    """Return something that depends on each sample, its time and its text."""
    if not len(x) == len(t) == len(text):
        found = f"{len(x)} samples, {len(t)} times and {len(text)} texts"
        raise ValueError(f"the model got {found}")
    words = torch.tanh(text).mean((1, 2)) + text[:, 0, 0]
    return torch.sin(x * (1 + words + 0.1 * t).view(-1, 1, 1, 1)) + 0.3 * x


class Once:
    """A model that can be called once."""

    def __init__(self, model):
        self.model, self.called = model, False

    def __call__(self, x, t, text):
        if self.called:
            raise RuntimeError("the model is called a second time in this step")
        self.called = True
        return self.model(x, t, text)


def in_two_calls(x, t, text, empty, scale):
    """Guide with one call for the empty text and one for the text."""
    nothing = toy_model(x, t, torch.stack([empty] * len(x)))
    return nothing + scale * (toy_model(x, t, text) - nothing)


def guidance_inputs(rng, n, tokens):
    """Return latents, times, texts, the empty text and a scale."""
    x = rng.standard_normal((n, 4, 3, 2)).astype(np.float32)
    t = rng.uniform(0, 9, n).astype(np.float32)
    text = rng.standard_normal((n, tokens, 6)).astype(np.float32)
    return x, t, text, rng.uniform(-2, 0, (tokens, 6)).astype(np.float32), 3.5


def step_by_step(times, text):
    """Compute shifts, keys and values as the steps themselves do."""
    times, text = times.float(), text.float()
    tables = [[] for _ in tiny.res]
    for t in times:
        vector = tiny.time(embed(t[None], tiny.widths[0]))
        for block, table in zip(tiny.res, tables, strict=True):
            pixel = torch.zeros(1, block.conv1.in_channels, 1, 1)
            table.append(block.conv1(pixel)[0, :, 0, 0])
            table[-1] = table[-1] + block.time(F.silu(vector))[0]
    pairs = []
    for each in (att.cross for att in tiny.att):
        pairs += [each.heads(each.k(text)), each.heads(each.v(text))]
    return *map(torch.stack, tables), *pairs


def listed(tables, pairs):
    """Return tables and pairs as one list."""
    return [*tables, *(part for pair in pairs for part in pair)]


def times_and_text(rng, steps, n):
    """Return the times of the steps, and n texts."""
    times = np.sort(rng.uniform(0, 999, steps)).astype(np.float32)[::-1].copy()
    return times, rng.standard_normal((n, 5, 24)).astype(np.float32)


def to_words(x):
    """Round float32 to bfloat16, two to an int32: (..., c) -> (..., c / 2)."""
    pairs = torch.from_numpy(np.ascontiguousarray(x)).to(BF16)
    return pairs.view(torch.int32).numpy()


def to_floats(words):
    """Unpack: (..., c / 2) int32 -> (..., c) float32."""
    return torch.from_numpy(words).view(BF16).float().numpy()


def normed(x, shift, gamma, beta):
    """Return silu(norm(x + shift)), the image as words."""
    z = torch.from_numpy(to_floats(x) + shift[:, None]).double().transpose(1, 2)
    weights = torch.from_numpy(gamma).double(), torch.from_numpy(beta).double()
    z = F.silu(F.group_norm(z, GROUPS, *weights, float(EPS)))
    return z.transpose(1, 2).float().numpy()


def norm_inputs(rng, n, pixels, width):
    """Return an image, shifts, and the norm's parameters."""
    channels = 2 * width * GROUPS
    far = rng.uniform(-3, 6, (n, 1, channels))
    spread = rng.uniform(0.2, 2, channels)
    x = rng.normal(far, spread, (n, pixels, channels)).astype(np.float32)
    shift = rng.normal(1, 2, (n, channels)).astype(np.float32)
    quiet = slice(channels // 2, None)  # a group with hardly any variance
    # many float32 summands near a mean cost digits: no group is so quiet then
    width = 3e-3 if pixels < 100 else 1
    x[..., quiet] = rng.normal(0, width, x[..., quiet].shape)
    shift[:, quiet] = shift[:, -1:]
    gamma = rng.uniform(0.5, 2, channels).astype(np.float32)
    beta = rng.normal(0.5, 1, channels).astype(np.float32)
    return to_words(x), shift, gamma, beta


def phases_by_trying(weight):
    """Read the phases off what the large convolution makes of single pixels."""
    out, channels = weight.shape[:2]
    merged = weight.new_zeros(2, 2, out, channels, 2, 2)
    for k in range(channels):
        for row in range(3):
            for col in range(3):
                image = weight.new_zeros(1, channels, 3, 3)
                image[0, k, row, col] = 1
                large = F.interpolate(image, scale_factor=2.0)
                middle = F.conv2d(large, weight, padding=1)[0, :, 2:4, 2:4]
                for a in range(2):
                    for b in range(2):
                        p, q = row - a, col - b
                        if p in (0, 1) and q in (0, 1):
                            merged[a, b, :, k, p, q] = middle[:, a, b]
    return merged
