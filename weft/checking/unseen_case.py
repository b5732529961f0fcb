"""A case that the learner has not seen: another size, and data of its own.

A kernel that knows the sizes of its check, or their answers, is no kernel. So a check
adds a size between the given ones. Which, and with what data, follows from the
learner's source: it is the same at every run, and another once the source has changed.
"""

import hashlib
import inspect
import math
from collections.abc import Sequence
from typing import Any

from weft.checking.exercise import source_function


def seed(function: Any) -> int:
    """A number that belongs to the source of `function`."""
    inner = source_function(function)
    try:
        text = inspect.getsource(inner).encode() if inner else b""
    except (OSError, TypeError):
        text = inner.__code__.co_code if inner else b""
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def size(sizes: Sequence[Any], number: int) -> Any:
    """A size between the given ones, chosen by `number`.

    It keeps what they have in common: a divisor of all of them, or that all are powers
    of two. Where nothing else fits it is one of them; None where they are no integers.
    """
    rows = [s if isinstance(s, tuple) else (s,) for s in sizes]
    if not all(isinstance(part, int) and part >= 0 for row in rows for part in row):
        return None
    low, *_, high = sorted(rows * 2, key=math.prod)
    for step in range(16):
        share = 0.25 + 0.5 * (((number >> 4 * step) + 5 * step) % 16) / 15
        found = tuple(
            between(a, b, share, [row[axis] for row in rows])
            for axis, (a, b) in enumerate(zip(low, high, strict=True))
        )
        if found not in rows:
            return found if isinstance(sizes[0], tuple) else found[0]
    return sizes[len(sizes) // 2]


def between(a: int, b: int, share: float, given: list[int]) -> int:
    """An integer from `a` to `b`, `share` of the way, of the same kind as `given`."""
    value = a + share * (b - a)
    if len(set(given)) > 1 and all(g & (g - 1) == 0 for g in given if g):
        return max(min(given), 1 << math.floor(math.log2(max(value, 1))))
    step = math.gcd(*given) or 1
    found = max(int(value) // step * step, min(given))
    return found + 1 if step == 1 and found % 2 == 0 and found < max(given) else found


def arguments(cases: Sequence[Any], number: int) -> Any:
    """Arguments between those of the given cases, all integers; None for others."""
    rows = [c if isinstance(c, tuple) else (c,) for c in cases]
    if len({len(row) for row in rows}) != 1 or len(rows) < 2:
        return None
    if not all(type(part) is int for row in rows for part in row):
        return None
    found = size(rows, number)
    return None if found in rows else found
