"""The number formats that tensor cores multiply, and how a 32-bit word holds them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Format:
    """A number format: its name in PTX, and how a 32-bit word holds its numbers.

    in_word: how many numbers a word holds. values: takes words (uint32) of any shape,
    and returns their numbers as float32, along a new last axis, in order of address.
    """

    ptx: str
    in_word: int
    values: Callable[[Array], Array]


def _float16(words: Array) -> Array:
    return np.stack(_halves(words), -1).view(np.float16).astype(np.float32)


def _bfloat16(words: Array) -> Array:
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return np.stack((low, high), -1).view(np.float32)


def _halves(words: Array) -> tuple[Array, Array]:
    return (words & 0xFFFF).astype(np.uint16), (words >> 16).astype(np.uint16)


def _tf32(words: Array) -> Array:
    """Return words as float32, without the lower 13 bits, which hardware ignores."""
    return (words & np.uint32(0xFFFFE000)).view(np.float32)[..., None]


def _all_e4m3() -> Array:
    """Return the value of each byte as a float8 e4m3: no infinities, one NaN per sign.

    OCP 8-bit Floating Point Specification, section 5.
    """
    byte = np.arange(256)
    exponent, mantissa = byte >> 3 & 15, byte & 7
    small, large = mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0)
    value = np.where(exponent == 0, small, large)
    value[byte & 127 == 127] = np.nan
    return np.where(byte & 128, -value, value).astype(np.float32)


_E4M3 = _all_e4m3()


def _float8(words: Array) -> Array:
    return _E4M3[np.stack([words >> 8 * k & 0xFF for k in range(4)], -1)]


FLOAT16 = Format("f16", 2, _float16)
BFLOAT16 = Format("bf16", 2, _bfloat16)
TF32 = Format("tf32", 1, _tf32)
E4M3 = Format("e4m3", 4, _float8)
