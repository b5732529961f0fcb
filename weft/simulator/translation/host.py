"""NumPy's arrays lent to a kernel as plain memory."""

import ctypes
from typing import Any

import numpy as np

from weft.simulator.arithmetic.numbers import of_dtype
from weft.simulator.memory.plain import Array, Memory


def lent(data: np.ndarray[Any, Any], memory: Memory) -> Array:
    """An array of NumPy's as a kernel indexes it; they share their memory."""
    number = of_dtype(data.dtype)
    assert number is not None, data.dtype
    low, high = np.lib.array_utils.byte_bounds(data)
    if low == high:
        return Array(memoryview(bytearray()), 0, data.shape, data.strides, number, memory)
    piece = (ctypes.c_char * (high - low)).from_address(low)
    piece._owner = data  # or the memory goes
    start = data.__array_interface__["data"][0] - low
    view = memoryview(piece).cast("B")
    return Array(view, start, data.shape, data.strides, number, memory)


def constant(data: np.ndarray[Any, Any], name: str = "constant") -> Array:
    return lent(np.ascontiguousarray(data), Memory(name, "constant", readonly=True))
