"""Numba's names, whose types no type checker knows."""

from collections.abc import Callable
from typing import Any

import numba
from numba import cuda as numba_cuda

Function = Callable[..., Any]

cuda: Any = numba_cuda
float32: Any = numba.float32
int16: Any = numba.int16
int32: Any = numba.int32
uint32: Any = numba.uint32


def jit(function: Function) -> Any:
    """Make a device function, written into whatever calls it."""
    return cuda.jit(device=True, forceinline=True)(function)
