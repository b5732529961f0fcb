"""Narrow floating-point formats, and vectors whose blocks share a scale.

e2m1 and MX are those of the OCP Microscaling Formats (MX) Specification 1.0, e4m3 that
of the OCP 8-bit Floating Point Specification. NVFP4 follows "Pretraining Large Language
Models with NVFP4" (arXiv 2509.25149).
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_POSITIVE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1 = (*_POSITIVE, *(-value for value in _POSITIVE))  # code -> value
E2M1_MOST = 6.0
E4M3_MOST = 448.0
E4M3_EXPONENT = 8  # of the largest power of two in e4m3
BIAS = 127  # of e8m0, whose byte stands for 2 ** (byte - BIAS)


@dataclass(frozen=True)
class Scaled:
    """A vector in e2m1; element i is E2M1[codes[i]] * scales[i // block] * tensor.

    codes: 0 to 15, one per element. scales: one per block. tensor: of all elements.
    """

    codes: tuple[int, ...]
    scales: tuple[float, ...]
    tensor: float = 1.0

    @property
    def block(self) -> int:
        """Return how many elements share a scale."""
        return len(self.codes) // len(self.scales)


def nearest(x: float, bits: int, low: int, most: float) -> float:
    """Round to a format, ties to even; beyond its largest value, return that.

    bits: of the mantissa. low: the exponent of the smallest normal number. x is finite.
    """
    exponent = max(math.frexp(x)[1] - 1, low)
    step = math.ldexp(1.0, exponent - bits)
    return math.copysign(min(round(abs(x) / step) * step, most), x)


def e4m3(x: float) -> float:
    """Return the number of e4m3 that is nearest to a finite x, 448 at most."""
    return nearest(x, 3, -6, E4M3_MOST)


def float32(x: float) -> float:
    """Return the number of float32 that is nearest to x."""
    (value,) = struct.unpack("f", struct.pack("f", x))
    return float(value)


def e2m1(x: float) -> int:
    """Return the code of the number of e2m1 that is nearest to a finite x."""
    code = _POSITIVE.index(abs(nearest(x, 1, 0, E2M1_MOST)))
    return code + 8 * (math.copysign(1, x) < 0)


def mx_scale(block: Sequence[float]) -> int:
    """Return the e8m0 byte of a block's scale in MXFP8 with elements in e4m3.

    The scale is 2 ** (byte - 127); a block of zeros has byte 0. The numbers are finite
    in float32, so byte 255, which is NaN, is never reached.
    """
    most = max(map(abs, block))
    if most == 0:
        return 0
    return max(math.frexp(most)[1] - 1 - E4M3_EXPONENT + BIAS, 0)


def blocks(values: Sequence[float], size: int) -> Iterator[Sequence[float]]:
    """Go through the blocks of a vector whose length is a multiple of their size."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def nvfp4_scales(values: Sequence[float]) -> tuple[float, tuple[float, ...]]:
    """Return NVFP4's scale of a tensor, and those of its blocks of 16.

    The first is a float32, the others are numbers of e4m3. Not all values are 0.
    """
    tensor = float32(max(map(abs, values)) / (E2M1_MOST * E4M3_MOST))
    scales = (
        e4m3(max(map(abs, block)) / E2M1_MOST / tensor) for block in blocks(values, 16)
    )
    return tensor, tuple(scales)


def scaled_dot(a: Scaled, b: Scaled) -> float:
    """Return the dot product of two vectors whose blocks are of one size."""
    total = 0.0
    for k, (left, right) in enumerate(zip(a.scales, b.scales, strict=True)):
        part = slice(k * a.block, (k + 1) * a.block)
        pairs = zip(a.codes[part], b.codes[part], strict=True)
        total += left * right * sum(E2M1[i] * E2M1[j] for i, j in pairs)
    return total * a.tensor * b.tensor
