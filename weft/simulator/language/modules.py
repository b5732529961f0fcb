"""Modules and number types as a kernel sees them."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from weft import meaning
from weft.simulator.arithmetic.by_name import cast_to, of_numpy
from weft.simulator.arithmetic.numbers import of_dtype
from weft.simulator.language import rules


class Cast:
    """A Numba number type used as a function, `int32(i)`, or as a dtype."""

    __slots__ = ("_convert", "dtype")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        number = of_dtype(dtype)
        self._convert = dtype.type if number is None else cast_to(number)

    def __call__(self, value: Any) -> Any:
        return self._convert(value)


class NumpyModule:
    """NumPy as a kernel sees it: its types and functions of numbers, no arrays."""

    _MAKERS = frozenset(
        (
            "arange array asarray concatenate copy dot empty empty_like eye "
            "full hstack linspace matmul mean ones ones_like stack sum "
            "transpose vstack zeros"
        ).split()
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
        found = rules.part_of(self._module, name, self._refuse)
        if isinstance(found, type) and issubclass(found, np.generic):
            found = Cast(np.dtype(found))
        elif isinstance(found, np.ufunc):
            found = of_numpy(found)
        elif type(found) is float:
            found = np.float64(found)
        setattr(self, name, found)
        return found


class NumbaModule:
    """The `numba` module as a kernel sees it: its `cuda` is the simulated one."""

    def __init__(
        self, module: ModuleType, cuda: Any, refuse: Callable[[str, str], Any]
    ) -> None:
        self._module, self._refuse = module, refuse
        self.cuda = cuda

    def __getattr__(self, name: str) -> Any:
        found = rules.part_of(self._module, name, self._refuse)
        if meaning.is_number_type(found):
            found = Cast(meaning.as_dtype(found))
        setattr(self, name, found)
        return found
