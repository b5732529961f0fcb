"""Modules and number types as a kernel sees them."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from weft.simulator.language import rules


class Cast:
    """A Numba number type used as a function, `int32(i)`, or as a dtype."""

    __slots__ = ("_type", "dtype")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._type = dtype.type

    def __call__(self, value: Any) -> Any:
        try:
            return self._type(value)
        except OverflowError:  # wraps around, as in a register
            return np.array(int(value) & (2**64 - 1), np.uint64).astype(self.dtype)[()]


class NumpyModule:
    """NumPy as a kernel sees it: its types and functions of numbers, no arrays."""

    _MAKERS = frozenset(
        [
            *("arange", "array", "asarray", "concatenate", "copy", "dot", "empty"),
            *("empty_like", "eye", "full", "hstack", "linspace", "matmul", "mean"),
            *("ones", "ones_like", "stack", "sum", "transpose", "vstack", "zeros"),
        ]
    )

    def __init__(self, module: ModuleType, refuse: Callable[[str, str], Any]) -> None:
        self._module, self._refuse = module, refuse

    def __getattr__(self, name: str) -> Any:
        if name in self._MAKERS:
            self._refuse(
                f"`np.{name}` makes or takes a whole array",
                "A kernel cannot do that: it gets its arrays as arguments, or "
                "declares small ones with cuda.shared.array and cuda.local.array, and "
                "works on single elements.",
            )
        return rules.part_of(self._module, name, self._refuse)


class NumbaModule:
    """The `numba` module as a kernel sees it: its `cuda` is the simulated one."""

    def __init__(
        self, module: ModuleType, cuda: Any, refuse: Callable[[str, str], Any]
    ) -> None:
        self._module, self._refuse = module, refuse
        self.cuda = cuda

    def __getattr__(self, name: str) -> Any:
        return rules.part_of(self._module, name, self._refuse)
