"""Numbers and start addresses for the arrays of a traced launch."""

from typing import Any

import numpy as np

from weft.simulator.memory.arrays import Memory

SPACES = "global", "shared", "local", "constant"
_ALIGNMENT = 256  # bytes to which a GPU's allocator aligns an array


class Addresses:
    """The arrays that a launch has touched, numbered in order of appearance.

    These lists have one entry per array: `arrays` (space and name), `dtypes`, `fresh`
    (whether it held nothing before the launch), `extents` (see `Trace.extents`) and
    `spans` (the address of its first byte, and its size in bytes). `bases` maps space
    and name to the address where the array begins.
    """

    def __init__(self) -> None:
        self.arrays: list[tuple[str, str]] = []
        self.dtypes: list[np.dtype[Any]] = []
        self.fresh: list[bool] = []
        self.extents: list[tuple[int, tuple[int, ...]]] = []
        self.spans: list[tuple[int, int]] = []
        self.bases: dict[tuple[str, str], int] = {}
        self._ids: dict[tuple[str, str, int], int] = {}
        self._retyped: dict[tuple[int, np.dtype[Any]], int] = {}
        self._regions: list[tuple[int, int, int]] = []
        self._regions_of: dict[tuple[str, Any], int] = {}
        self._ends = dict.fromkeys(SPACES, 0)

    def add(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        fresh: frozenset[str],
    ) -> tuple[int, int]:
        """Return the number of an array, and the offset to add to its host addresses.

        An array that is new gets the next number. fresh: the names of the host's arrays
        that hold nothing yet.
        """
        name, space, site = memory.name, memory.space, memory.site
        root = data
        while isinstance(root.base, np.ndarray):
            root = root.base
        low, high = np.lib.array_utils.byte_bounds(root)
        base = self._base(space, name if site is None else site, low, high)
        key = space, name, base
        if key not in self._ids:
            self._ids[key] = len(self.arrays)
            self.arrays.append((space, name))
            self.dtypes.append(data.dtype)
            self.fresh.append(space != "global" or name in fresh)
            begin = base - low + pointer(data)
            self.extents.append((begin, data.shape if data.flags.c_contiguous else ()))
            first, last = np.lib.array_utils.byte_bounds(data)
            self.spans.append((base - low + first, last - first))
            self.bases.setdefault((space, name), begin)
        return self._ids[key], base - low

    def field(self, array: int, dtype: np.dtype[Any]) -> int:
        """Return a new number for the fields of type `dtype` in an array of records."""
        space, name = self.arrays[array]
        self.arrays.append((space, name))
        self.dtypes.append(dtype)
        self.fresh.append(self.fresh[array])
        self.extents.append((0, ()))
        self.spans.append(self.spans[array])
        return len(self.arrays) - 1

    def retyped(self, array: int, dtype: np.dtype[Any]) -> int:
        """Return the number of `array` when it is viewed with the type `dtype`.

        An array has a separate number for each type with which it is viewed.
        """
        if dtype == self.dtypes[array]:
            return array
        if (array, dtype) not in self._retyped:
            self._retyped[array, dtype] = self.field(array, dtype)
        return self._retyped[array, dtype]

    def _base(self, space: str, key: Any, low: int, high: int) -> int:
        """Return the address at which memory from `low` to `high` begins in its space.

        Global arrays share addresses if the host's arrays do. Shared or local arrays of
        different blocks or threads share them if the same call made them.
        """
        if space == "global":
            for start, end, base in self._regions:
                if start < high and low < end:
                    return base + low - start
        elif (space, key) in self._regions_of:
            return self._regions_of[space, key]
        step = _ALIGNMENT if space == "global" else 16
        base = -(-self._ends[space] // step) * step
        self._ends[space] = base + max(high - low, 1)
        if space == "global":
            self._regions.append((low, high, base))
        else:
            self._regions_of[space, key] = base
        return base


def pointer(data: np.ndarray[Any, Any]) -> int:
    """Return the host address of the first element of `data`."""
    return int(data.__array_interface__["data"][0])
