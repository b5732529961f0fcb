"""The operands of wgmma: where descriptors place them, and which thread holds each sum.

PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions": "Matrix
Descriptor Format", "Strides", "Register Fragments and Shared Memory Matrix Layouts".

An operand in shared memory consists of groups of eight rows. With a swizzle of s bytes,
a row of a group has s bytes, of which one instruction takes 32. Without a swizzle, a
group is a column of core matrices of 8 rows × 16 bytes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.intrinsics.boxes import swizzled

Array = np.ndarray[Any, Any]

# of one instruction: rows of a, threads, bytes along k
ROWS, THREADS, DEPTH_BYTES = 64, 128, 32
REACH = 1 << 18  # bytes of shared memory that a descriptor can address
_SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}
_KINDS = {swizzle: code for code, swizzle in _SWIZZLES.items()}
LINE = 128  # bytes of a row with the largest swizzle


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor, whose numbers are in bytes.

    leading: without a swizzle, the distance between the 16-byte parts of a row. stride:
    the distance between groups of eight rows. If the numbers are stored k by k, leading
    is the distance between blocks of columns, and stride the distance between groups of
    eight k.
    """

    start: int
    leading: int
    stride: int
    swizzle: int

    @property
    def bits(self) -> int:
        """The descriptor's 64 bits."""
        fields = (self.start, 0), (self.leading, 16), (self.stride, 32)
        packed = sum((number % REACH >> 4) << at for number, at in fields)
        return packed | _KINDS[self.swizzle] << 62

    def rows(self, count: int) -> Array:
        """Return the addresses of the 4-byte words of `count` rows, eight per row."""
        row, byte = np.arange(count)[:, None], np.arange(0, DEPTH_BYTES, 4)
        at = self.start + row // 8 * self.stride
        if self.swizzle:
            at = at + row % 8 * self.swizzle + byte
        else:
            at = at + byte // 16 * self.leading + row % 8 * 16 + byte % 16
        found: Array = swizzled(at, self.swizzle) % REACH
        return found

    def columns(self, count: int, depth: int = 16) -> Array:
        """Return the (count, depth) addresses of 2-byte numbers that are stored k by k.

        Each row of `swizzle` bytes holds, for one k, as many columns as fit.
        """
        column, k = np.arange(count)[:, None], np.arange(depth)
        each = self.swizzle // 2
        at = self.start + column // each * self.leading + k // 8 * self.stride
        found: Array = swizzled(
            at + k % 8 * self.swizzle + column % each * 2, self.swizzle
        )
        return found % REACH


def described(bits: int) -> Descriptor:
    """Return the descriptor with these 64 bits."""
    start, leading, stride = ((bits >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    return Descriptor(start, leading, stride, _SWIZZLES[bits >> 62 & 3])


def spans(addresses: Array) -> list[tuple[int, int]]:
    """Return the fewest spans that cover the bytes at `addresses`.

    Each is a pair (start, size), in bytes, and consists of whole 16-byte pieces.

    >>> spans(np.array([[32, 36], [48, 52], [96, 100]]))
    [(32, 32), (96, 16)]
    """
    pieces = np.unique(addresses >> 4)
    breaks = np.flatnonzero(np.diff(pieces) != 1) + 1
    parts = np.split(pieces, breaks) if pieces.size else []
    return [(int(part[0]) * 16, len(part) * 16) for part in parts]


def fragment_places(n: int) -> tuple[Array, Array]:
    """Return each sum's row and column, as two arrays of shape (threads, n / 2)."""
    thread, number = np.arange(THREADS)[:, None], np.arange(n // 2)
    lane = thread % 32
    row = thread // 32 * 16 + lane // 4 + number // 2 % 2 * 8
    return row, number // 4 * 8 + lane % 4 * 2 + number % 2 + 0 * row
