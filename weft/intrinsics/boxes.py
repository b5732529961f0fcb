"""Tensor maps: where a matrix is, and the layout of a box of it in shared memory.

In the simulator, a tensor map is 128 bytes, as on a GPU, and so can be passed, copied
and stored in an array. The bytes contain a number by which this module finds the map.

Source: CUDA Driver API, `cuTensorMapEncodeTiled`; PTX ISA, "Tensors", "Swizzling
Modes".
"""

import itertools
import math
import struct
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIZE = 128  # bytes of a tensor map
ALIGNED = 128  # bytes to which a box is aligned in shared memory
STEP = 16  # bytes, of which a matrix's address and stride, and a box's, are multiples
PATTERNS = {32: 1, 64: 2, 128: 3}  # how many address bits a swizzle changes
_MAGIC = b"weft map"
_numbers = itertools.count(1)
_known: dict[int, "Boxes"] = {}


@dataclass(frozen=True, eq=False)
class Boxes:
    """A tensor map. `data` is the matrix, or a stack of matrices, in the host's memory.

    box: elements along each axis of `data`, the outermost first. swizzle: the number of
    bytes within which 16-byte pieces are permuted, or 0 for none.
    """

    data: Array
    box: tuple[int, ...]
    swizzle: int

    @property
    def nbytes(self) -> int:
        """The size of a box in bytes, even if part of it is outside the matrix."""
        return math.prod(self.box) * self.data.itemsize

    @property
    def row_bytes(self) -> int:
        return self.box[-1] * self.data.itemsize

    @property
    def repeats(self) -> int:
        """The number of bytes after which the order of the pieces repeats."""
        return 8 * self.swizzle or 16

    def inside(self, corner: tuple[int, ...]) -> tuple[slice, ...]:
        """Return slices for the part of `data` that is in the box at `corner`."""
        ends = zip(corner, self.box, self.data.shape, strict=True)
        return tuple(
            slice(min(max(at, 0), most), min(max(at + length, 0), most))
            for at, length, most in ends
        )

    def within(self, corner: tuple[int, ...]) -> tuple[slice, ...]:
        """Return the part of the box at `corner` that is inside `data`."""
        pairs = zip(self.inside(corner), corner, strict=True)
        return tuple(slice(part.start - at, part.stop - at) for part, at in pairs)

    def read(self, corner: tuple[int, ...]) -> Array:
        """Read the box at `corner`, with zeros outside the matrix."""
        found = np.zeros(self.box, self.data.dtype)
        part = self.data[self.inside(corner)]
        if part.size:
            found[self.within(corner)] = part
        return found

    def write(self, corner: tuple[int, ...], values: Array) -> None:
        """Store the part of the box at `corner` that is inside the matrix."""
        part = self.inside(corner)
        if self.data[part].size:
            self.data[part] = values[self.within(corner)]

    def places(self, address: int) -> Array:
        """Return the offset of each 16-byte piece of a box that begins at `address`.

        Offsets are in bytes, in the order of the box. The swizzle is applied to the
        address in shared memory.
        """
        order = address + np.arange(0, self.nbytes, 16)
        found: Array = swizzled(order, self.swizzle) - address
        return found


def swizzled(address: Any, swizzle: int) -> Any:
    """Return the address to which swizzling moves the byte at `address`.

    PTX ISA, "Swizzling Modes": the number of each 16-byte piece within `swizzle` bytes
    is combined, by XOR, with the number of the 128-byte line.

    >>> [int(swizzled(at, 128)) for at in (0, 16, 128, 144)]
    [0, 16, 144, 128]
    """
    bits = PATTERNS.get(swizzle, 0)
    return address ^ ((address >> 7 & (1 << bits) - 1) << 4)


def encoded(boxes: Boxes) -> Array:
    """Return the 128 bytes of a tensor map for the simulator.

    They are valid as long as the returned array is alive.
    """
    number = next(_numbers)
    held = np.frombuffer(_bytes(number), np.uint8).copy()
    _known[number] = boxes
    weakref.finalize(held, _known.pop, number, None)
    return held


def _bytes(number: int) -> bytes:
    return (_MAGIC + struct.pack("<Q", number)).ljust(SIZE, b"\xa5")


def decoded(held: Array) -> Boxes | None:
    """Return the tensor map whose bytes `held` begins with, or None."""
    if held.dtype != np.uint8 or held.size < SIZE:
        return None
    raw = held.reshape(-1)[:SIZE].tobytes()
    if not raw.startswith(_MAGIC):
        return None
    (number,) = struct.unpack_from("<Q", raw, len(_MAGIC))
    return _known.get(number) if raw == _bytes(number) else None
