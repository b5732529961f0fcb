"""`numba.cuda.libdevice`, as far as a name maps to a function of `math`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.simulator.arithmetic.functions import MATH

_SAME_BITS: dict[str, tuple[Any, Any]] = {
    "float_as_int": (np.float32, np.int32),
    "float_as_uint": (np.float32, np.uint32),
    "int_as_float": (np.int32, np.float32),
    "uint_as_float": (np.uint32, np.float32),
    "double_as_longlong": (np.float64, np.int64),
    "longlong_as_double": (np.int64, np.float64),
}


class Libdevice:
    """`numba.cuda.libdevice`, as far as a name maps to a function of `math`.

    `fast_expf`, `expf` and `exp` are one function here: the simulator has no reduced
    precision.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function that a name of libdevice stands for."""
        if name in _SAME_BITS:
            given, wanted = _SAME_BITS[name]
            return lambda x: np.asarray(x).astype(given).view(wanted)[()]
        plain = name.removeprefix("fast_")
        wide = np.float32 if plain.endswith("f") else np.float64
        special = {
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "fma": lambda x, y, z: np.float64(x) * np.float64(y) + np.float64(z),
            "fdivide": lambda x, y: x / y,
            "fmax": np.fmax,
            "fmin": np.fmin,
            "rint": np.rint,
            "rcp": lambda x: 1 / x,
        }
        for stem in (plain, plain.removesuffix("f")):
            found = special.get(stem) or MATH.get(stem)
            if callable(found):
                return lambda *v: wide(found(*(wide(x) for x in v)))
        raise AttributeError(f"the simulator has no libdevice.{name}")
