"""The modules of the page's own NumPy, and their installation."""

import math
import sys
from types import ModuleType
from typing import Any

from weft.in_page.numpy import elementwise, functions, types
from weft.in_page.numpy.arrays import ndarray

_KINDS = (
    "generic number integer signedinteger unsignedinteger inexact floating "
    "complexfloating flexible void dtype iinfo finfo result_type"
).split()
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
_SAME = {"bool_": "bool", "double": "float64", "single": "float32", "half": "float16"}
_SAME |= {"intp": "int64", "int_": "int64", "uintp": "uint64", "uint": "uint64"}
_SAME |= {"intc": "int32", "uintc": "uint32", "byte": "int8", "ubyte": "uint8"}


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    made = ModuleType(name, f"{name}, as much of it as checks use.")
    made.__path__ = []
    vars(made).update(members)
    return made


def modules() -> dict[str, ModuleType]:
    """Return the modules by name, each an attribute of its parent."""
    members = {
        **functions.MEMBERS,
        **elementwise.UFUNCS,
        **{name: getattr(types, name) for name in _KINDS},
        **types.SCALARS,
        **{name: types.SCALARS[same] for name, same in _SAME.items()},
        **_CONSTANTS,
        "ndarray": ndarray,
        "ufunc": elementwise.ufunc,
        "divmod": elementwise.divmod_of,
        "newaxis": None,
        "__version__": "2.4",
    }
    made = {
        "numpy": _module("numpy", members),
        "numpy.random": _module("numpy.random", {}),
        "numpy.fft": _module("numpy.fft", {}),
        "numpy.linalg": _module("numpy.linalg", {"norm": functions.norm}),
        "numpy.lib": _module("numpy.lib", {}),
        "numpy.lib.array_utils": _module(
            "numpy.lib.array_utils", {"byte_bounds": functions.byte_bounds}
        ),
    }
    for name, module in made.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(made[parent], child, module)
    return made


def provide() -> None:
    """Make `import numpy` find the page's NumPy unless `numpy` is already imported."""
    if "numpy" not in sys.modules:
        sys.modules.update(modules())
