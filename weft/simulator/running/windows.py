"""Addresses of shared arrays in a block's shared memory, as the hardware sees them.

The swizzle and the descriptors of wgmma depend on addresses. Here an array is aligned
only as its declaration guarantees, and not to any larger boundary.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.simulator.memory.addresses import pointer
from weft.simulator.running.threads import Block

REPEATS = 1024  # bytes after which every swizzle repeats
Bytes = np.ndarray[Any, Any]


@dataclass
class Loaded:
    """A box that the TMA has loaded: its start and end addresses, and its swizzle."""

    start: int
    stop: int
    swizzle: int


@dataclass(eq=False)
class Window:
    """An array's memory: its start address and its bytes.

    tile: the array as a kernel sees it; begins: the address of the first element of
    `tile`.
    """

    start: int
    data: Bytes
    tile: Any
    begins: int
    loaded: list[Loaded] = field(default_factory=list)

    @property
    def stop(self) -> int:
        return self.start + self.data.size

    def words(self, addresses: Bytes, kind: type[Any]) -> Bytes:
        """Return the numbers of type `kind` at `addresses`."""
        size = np.dtype(kind).itemsize
        whole = self.data[: self.data.size // size * size].view(kind)
        found: Bytes = whole[(addresses - self.start) // size]
        return found

    def load(self, start: int, stop: int, swizzle: int) -> None:
        """Record that a box is loaded; it replaces any boxes that it overlaps."""
        left = [
            each for each in self.loaded if each.stop <= start or stop <= each.start
        ]
        self.loaded = [*left, Loaded(start, stop, swizzle)]

    def other_swizzle(self, start: int, stop: int, swizzle: int) -> Loaded | None:
        """Return a loaded box in the range that has another swizzle, or None."""
        for each in self.loaded:
            if each.start < stop and start < each.stop and each.swizzle != swizzle:
                return each
        return None


def window_of(block: Block, tile: Any) -> Window:
    """Return the shared-memory window of an array, adding the window if it is new."""
    root = tile._data
    while isinstance(root.base, np.ndarray):
        root = root.base
    data = root.reshape(-1).view(np.uint8)
    here = pointer(data)
    known: list[Window] = block.windows
    for window in known:
        if pointer(window.data) == here:
            return window
    last = block.windows[-1].stop if block.windows else REPEATS
    start = -(-last // (2 * REPEATS)) * 2 * REPEATS
    if tile._memory.alignment < REPEATS:
        start += tile._memory.alignment
    window = Window(start, data, tile, start + pointer(tile._data) - here)
    block.windows.append(window)
    return window


def address_of(block: Block, tile: Any, index: Any) -> tuple[Window, int]:
    """Return the window that `tile[index]` is in, and the address of that element."""
    window = window_of(block, tile)
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != tile.ndim:
        raise TypeError(f"{tile._name} has {tile.ndim} axes; got the index {index}")
    offset = sum(int(k) * by for k, by in zip(parts, tile._data.strides, strict=True))
    return window, window.start + pointer(tile._data) - pointer(window.data) + offset


def holding(block: Block, start: int, stop: int) -> Window | None:
    """Return the window that contains all bytes from `start` to `stop`, or None."""
    known: list[Window] = block.windows
    for window in known:
        if window.start <= start and stop <= window.stop:
            return window
    return None
