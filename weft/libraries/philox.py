"""Philox4x32-10, as defined by Salmon et al., and the way cuRAND uses it.

A reference in NumPy for the checks and the model of cuRAND.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
LOWER = np.uint64(0xFFFFFFFF)


def philox_words(
    counters: Any,
    key: Any,
    rounds: int = 10,
    multipliers: tuple[int, int] = MULTIPLIERS,
    weyl: tuple[int, int] = WEYL,
) -> Array:
    """Scramble counters with a key: (n, 4), (2,) -> (n, 4), all uint32."""
    a, b, c, d = np.asarray(counters, np.uint64).reshape(-1, 4).T
    k, l = (np.uint64(part) for part in key)  # noqa: E741
    first, second = map(np.uint64, multipliers)
    step, step2 = map(np.uint64, weyl)
    half = np.uint64(32)
    for _ in range(rounds):
        p, q = first * a, second * c
        a, b, c, d = q >> half ^ b ^ k, q & LOWER, p >> half ^ d ^ l, p & LOWER
        k, l = k + step & LOWER, l + step2 & LOWER  # noqa: E741
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)


def split(value: int) -> tuple[int, int]:
    """Split a 64-bit number into two of 32 bits, the lower one first."""
    return value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF


def words(seed: int, subsequence: Any, counter: Any, word: Any) -> Array:
    """Return the random words of cuRAND's Philox at the given positions.

    The seed is the key. The lower half of the 128-bit counter counts blocks of four
    words; the upper half is the subsequence. subsequence, counter, word: integers, or
    arrays of integers.
    """
    wide = np.broadcast_arrays(subsequence, counter, word)
    thread, fours, which = (np.asarray(each, np.uint64).ravel() for each in wide)
    half = np.uint64(32)
    columns = fours & LOWER, fours >> half, thread & LOWER, thread >> half
    found = philox_words(np.stack(columns, axis=-1), split(seed))
    picked: Array = found[np.arange(len(found)), which.astype(np.intp)]
    return picked.reshape(wide[0].shape)


def open_at_zero(bits: Array) -> Array:
    """Convert words to cuRAND's uniform float32: above 0, up to and including 1.

    The scaling is rounded once, as by a fused multiply-add.
    """
    exact = bits.astype(np.float32).astype(np.float64) * 2.0**-32 + 2.0**-33
    return exact.astype(np.float32)
