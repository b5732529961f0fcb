"""Specifications, inputs and explanations for the checks of lab 26."""

from dataclasses import dataclass

import numpy as np
import torch

from weft.libraries.philox import philox_words, words

from .kernels import MULTIPLIERS, WEYL

ONES = 0xFFFFFFFF
PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344
KNOWN = {
    "zeros": ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ((ONES,) * 4, (ONES,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": (PI, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
}


def counters_and_key(rng, n):
    """Return counters, a known one first, and the key that belongs to it."""
    counters = rng.integers(0, 1 << 32, (n, 4), dtype=np.uint32)
    first, key, _ = list(KNOWN.values())[n % 3]
    counters[0] = first
    return counters, np.uint32(key)


def likely_mistake(counters, key, out):
    """Return which mistake makes these words, where it is a common one."""
    given = {"counters": counters, "key": key}
    swapped = WEYL[::-1]
    changes = {
        "The two multipliers are swapped.": {"multipliers": MULTIPLIERS[::-1]},
        "The constants added to the key are swapped.": {"weyl": swapped},
        "The two key numbers are swapped at the start.": {"key": key[::-1]},
        "The first number of the key belongs to a, the second to c.": {
            "key": key[::-1],
            "weyl": swapped,
        },
        "The key is the same in every round.": {"weyl": (0, 0)},
        "The key changes too early: the first round uses the key as given.": {
            "key": key + np.uint32(WEYL)
        },
    }
    for last in range(1, 13):
        reason = f"These are the words after round {last}. There are ten."
        changes[reason] = {"rounds": last}
    for reason, change in changes.items():
        if np.array_equal(out, philox_words(**given | change)):
            return reason
    return (
        "No common mistake makes these words. Loop once instead of ten times, "
        "and check again: is the first round right?"
    )


def some_words(rng, n):
    """Return words: random ones, the largest, and the smallest."""
    found = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    edges = np.uint32([ONES, 0, 0xFFFFFF80, 0xFF, 0x100, 0x80000000])
    found[: len(edges)] = edges[:n]
    return found


def upper_24(words):
    """Return the upper 24 bits of each word as a fraction."""
    return ((words >> np.uint32(8)) / 2**24).astype(np.float32)


def by_running(i, threads, offset):
    """Run the loop of every thread until one of them comes to element i."""
    for thread in range(threads):
        for counter, first in enumerate(range(thread, i + 1, 4 * threads)):
            for word in range(4):
                if first + word * threads == i:
                    return thread, offset // 4 + counter, word
    raise AssertionError("no thread writes this element")


def some_places(rng):
    """Return places, numbers of threads, and offsets."""
    cases = [(0, 8, 0), (5, 8, 0), (21, 8, 0), (32, 8, 0)]
    cases += [(77, 8, 0), (3, 8, 12)]
    cases += [(70, 8, 8), (300, 256, 4), (1023, 256, 0), (1024, 256, 0)]
    for _ in range(10):
        threads = 32 * int(rng.integers(1, 9))
        offset = 4 * int(rng.integers(0, 1000))
        cases.append((int(rng.integers(0, 12 * threads)), threads, offset))
    return cases


def same_place(got, wanted):
    """Return "" for the right place, or else which part of it is wrong."""
    if not isinstance(got, tuple | list) or len(got) != 3:
        return "Return a tuple of three: subsequence, counter, word."
    if any(isinstance(part, float) for part in got):
        return "All three are integers: divide with `//`."
    if tuple(got) == tuple(wanted):
        return ""
    reasons = {
        "subsequence": "a thread has one subsequence, its own number. Which "
        "thread writes this element?",
        "counter": "a thread makes four numbers per counter, so the counter "
        "moves on every 4 × threads elements. The offset counts numbers.",
        "word": "the four numbers of a counter go to places `threads` apart.",
    }
    for name, part, aim in zip(reasons, got, wanted, strict=True):
        if part != aim:
            return f"The {name} is {part}, but {reasons[name]}"
    return ""


@dataclass
class Generator:
    """How far a sequence of counters has been used: its key, and their number."""

    seed: int
    offset: int = 0


def thinned(x, p, seed, first):
    """Set a share p of x to 0, and scale the rest by 1 / (1 - p)."""
    counters = first + np.arange(-(-x.numel() // 4))
    bits = words(seed, 0, counters[:, None], np.arange(4)).ravel()[: x.numel()]
    stays = torch.from_numpy(bits >= p * 2**32).to(x.device).view(x.shape)
    return torch.where(stays, x / (1 - p), torch.zeros_like(x))


def same_twice(x, seed, first):
    """Two layers of dropout in a row; the second continues after the first."""
    between = first + -(-torch.numel(x) // 4)
    once = thinned(x, 0.25, seed, first)
    return thinned(once, 0.25, seed, between)


def two_layers(dropout, x, seed, first):
    """Apply two layers of dropout with one generator, and look after it."""
    generator = Generator(seed, first)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor
    ):
        once = dropout.apply(x, 0.25, generator)
    used, needed = generator.offset - first, -(-x.numel() // 4)
    if used != needed:
        less = "would use some of them again"
        more = "would skip counters that no layer has used"
        raise ValueError(
            f"{x.numel()} elements use {needed} counters, and the offset has "
            f"moved on by {used}: the next layer "
            f"{less if used < needed else more}"
        )
    held = list(vars(once.grad_fn).values()) if once.grad_fn else []
    for value in held:
        held += value if isinstance(value, tuple | list) else ()
    arrays = torch.Tensor, np.ndarray
    kept += [value for value in held if isinstance(value, arrays)]
    if kept:
        size = sum(tensor.nbytes for tensor in kept)
        raise ValueError(
            f"{size} bytes of arrays are kept for the backward pass, and x has "
            f"{x.nbytes}; the mask can be made again"
        )
    return dropout.apply(once, 0.25, generator)


def recording(rng, n, channels, more):
    """Return samples, in an array with more channels, and room for spectra."""
    wide = torch.from_numpy(rng.normal(0, 1, (n, channels + more)))
    room = torch.full((channels, n // 2 + 1), torch.nan, dtype=torch.complex64)
    return wide.float()[:, :channels], room


def by_numpy(x, out):
    """Return the spectra of the columns of x, one per row."""
    return np.fft.rfft(x, axis=0).T


def how_wide(x, room, out):
    """Return how wide the array is that x is a part of, if it is a part."""
    (_, mine), width = x.shape, x.stride(0)
    if width == mine:
        return ""
    return f"x is {mine} of the {width} channels of an array."


def signals(rng, batch, n, k):
    """Return signals, a filter, and room for the results."""
    x, w = rng.normal(0, 1, (batch, n)), rng.normal(0, 1, (1, k))
    room = torch.full((batch, n + k - 1), torch.nan)
    return x.astype(np.float32), w.astype(np.float32), room


def by_definition(x, w, out):
    """Return the full convolution of each row with the filter."""
    return np.stack([np.convolve(row, w[0]) for row in x])


def wraps_around(x, w, room, out):
    """Return which transform is too short, if that is what has gone wrong."""
    full = by_definition(x, w, room)
    for size in range(max(x.shape[1], w.shape[1]), full.shape[1]):
        circular = full[:, :size].copy()
        circular[:, : full.shape[1] - size] += full[:, size:]
        if np.allclose(out[:, :size], circular, atol=1e-3):
            return (
                f"This is a circular convolution of size {size}: the last "
                f"{full.shape[1] - size} results are added to the first."
            )
    return ""
