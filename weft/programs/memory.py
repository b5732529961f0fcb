"""The memory of a run: arrays so far apart that every address belongs to one of them.

Between two arrays there are 4 MiB that nothing uses. So an index that is too large or
too small, or a wrong stride, gives an address that is still nearest to its own array.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

GAP = 4 << 20  # bytes on both sides of an array
ALIGNMENT = 256  # bytes, as with CUDA's allocator


@dataclass
class Region:
    """One array in the arena.

    start: the address of the first element. span: the bytes from there to the end of
    the last element. first: the number of the array's first cell (see `Arena`).
    readonly: whether the array is an input. fresh: whether it holds no values before
    the launch. name: its name in the program.
    """

    data: Array
    start: int
    span: int
    first: int
    readonly: bool
    fresh: bool
    name: str = ""

    @property
    def itemsize(self) -> int:
        return self.data.itemsize


class Arena:
    """Copies of the arrays of a case, far apart.

    A cell is one element of one array, or a gap between its rows; cells are numbered
    across all arrays. `element` gives, for each cell, the number of its element in
    the array, counted row by row, or -1 for a gap. `bytes` is the memory, at address
    `base`.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Array], fresh: bool):
        """Copy the arrays. fresh: whether the outputs hold no values yet."""
        arrays = [v for v in (*inputs, *outputs) if isinstance(v, np.ndarray)]
        count = len(arrays) - len(outputs)
        spans = [span_of(a) for a in arrays]
        room = [GAP + -(-span // ALIGNMENT) * ALIGNMENT for span in spans]
        self.bytes = np.empty(sum(room) + GAP + ALIGNMENT, np.uint8)
        self.base = self.bytes.ctypes.data
        start = -(-(self.base + GAP) // ALIGNMENT) * ALIGNMENT
        self.regions: list[Region] = []
        elements, cells = [], 0
        for k, (array, span) in enumerate(zip(arrays, spans, strict=True)):
            data = self._copy(array, start, span)
            self.regions.append(
                Region(data, start, span, cells, k < count, fresh and k >= count)
            )
            elements.append(elements_of(array, span))
            cells += len(elements[-1])
            start += room[k]
        self.element = np.concatenate(elements)
        self.cells = cells
        self.starts = np.array([r.start for r in self.regions])
        self.spans = np.array([r.span for r in self.regions])
        self.sizes = np.array([r.itemsize for r in self.regions])
        self.firsts = np.array([r.first for r in self.regions])
        ends = self.starts + self.spans
        self.borders = (ends[:-1] + self.starts[1:]) // 2

    def _copy(self, array: Array, start: int, span: int) -> Array:
        at = start - self.base
        flat = self.bytes[at : at + span].view(array.dtype)
        data = np.lib.stride_tricks.as_strided(flat, array.shape, array.strides)
        data[...] = array
        return data

    def owners(self, addresses: Array) -> Array:
        """Return the number of the array nearest to each address."""
        return np.searchsorted(self.borders, addresses, "right")

    def index(self, cell: int) -> tuple[Region, tuple[int, ...]]:
        """Return the array of a cell, and the index of the cell's element there."""
        region = self.regions[int(np.searchsorted(self.firsts, cell, "right")) - 1]
        at = np.unravel_index(int(self.element[cell]), region.data.shape)
        return region, tuple(int(i) for i in at)

    def cell_of(self, region: Region, index: tuple[int, ...]) -> int:
        """Return the cell number of the element at `index`."""
        pairs = zip(index, region.data.strides, strict=True)
        offset = sum(i * s for i, s in pairs)
        return region.first + offset // region.itemsize

    def written(self, region: Region, cells: Array) -> Array:
        """Return a mask of the array elements whose cells are among `cells`."""
        inside = (cells >= region.first) & (cells - region.first < self._count(region))
        marks = np.zeros(region.data.size, bool)
        marks[self.element[cells[inside]]] = True
        return marks.reshape(region.data.shape)

    def _count(self, region: Region) -> int:
        return region.span // region.itemsize


def span_of(array: Array) -> int:
    """Return the number of bytes from the first element to the end of the last.

    Strides must be positive.
    """
    pairs = zip(array.shape, array.strides, strict=True)
    return int(array.itemsize + sum((n - 1) * s for n, s in pairs))


def elements_of(array: Array, span: int) -> Array:
    """Return the number of each cell's element, -1 for a gap. span: see `span_of`."""
    table = np.full(span // array.itemsize, -1, np.int64)
    offsets = np.zeros(array.shape, np.int64)
    for axis, stride in enumerate(array.strides):
        steps = np.arange(array.shape[axis]) * (stride // array.itemsize)
        offsets += steps.reshape([-1 if k == axis else 1 for k in range(array.ndim)])
    table[offsets.ravel()] = np.arange(array.size)
    return table
