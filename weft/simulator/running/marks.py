"""Mark the elements of an output to which the TMA, not a thread, has stored."""

from typing import Any

import numpy as np

from weft.simulator.memory.addresses import pointer

Array = np.ndarray[Any, Any]


def mark(data: Array, marks: Array, part: Array) -> None:
    """Mark the elements of `data` that overlap `part`, a part of the same memory.

    Does nothing if `data` is not contiguous.
    """
    if not data.flags.c_contiguous:
        return
    grid = np.indices(part.shape).reshape(part.ndim, -1)
    first = pointer(part) - pointer(data)
    offsets = first + sum(k * by for k, by in zip(grid, part.strides, strict=True))
    ends = np.stack((offsets, offsets + part.itemsize - 1)) // data.itemsize
    inside = ends[(ends >= 0) & (ends < data.size)]
    marks.reshape(-1)[inside] = True
