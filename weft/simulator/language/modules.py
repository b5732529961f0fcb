"""Number types as a kernel sees them."""

from typing import Any

import numpy as np

from weft.simulator.arithmetic.by_name import cast_to
from weft.simulator.arithmetic.numbers import of_dtype


class Cast:
    """A Numba number type used as a function, `int32(i)`, or as a dtype."""

    __slots__ = ("_convert", "dtype")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        number = of_dtype(dtype)
        self._convert = dtype.type if number is None else cast_to(number)

    def __call__(self, value: Any) -> Any:
        return self._convert(value)
