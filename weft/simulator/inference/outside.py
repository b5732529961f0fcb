"""What is known of the values that a kernel gets: from outside, and as arguments."""

import builtins
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import meaning
from weft.intrinsics import registry
from weft.simulator.arithmetic.numbers import number_of, of_dtype
from weft.simulator.inference.kinds import (
    Arr,
    Conversion,
    Kind,
    Named,
    Outside,
    Tup,
    num,
    of_integer,
)


def kind_of(value: Any) -> Kind:
    """What is known of a value, from outside or an argument."""
    number = number_of(value)
    if number is not None:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return of_integer(value) if whole else num(number)
    if isinstance(value, np.ndarray):
        return Arr(of_dtype(value.dtype), max(value.ndim, 1))
    if isinstance(value, tuple) and type(value) is tuple:
        return Tup(tuple(kind_of(part) for part in value))
    if isinstance(value, ModuleType):
        return _module(value)
    if value.__class__ is type and issubclass(value, np.generic):
        found = of_dtype(np.dtype(value))
        return None if found is None else Conversion(found)
    if meaning.is_number_type(value):
        found = of_dtype(meaning.as_dtype(value))
        return None if found is None else Conversion(found)
    if registry.of(value) is not None or meaning.python_function(value) is not None:
        return Outside(value)
    name = meaning.stub_name(value)
    if name:
        return Named(("cuda", name))
    module = getattr(value, "__module__", None)
    named = getattr(value, "__name__", "")
    if module == "math" or (module == "builtins" and hasattr(builtins, named)):
        return Named((module, named))
    return Outside(value) if isinstance(value, FunctionType) else None


def _module(value: ModuleType) -> Kind:
    if meaning.is_cuda(value):
        return Named(("cuda",))
    return Named(("math",)) if value.__name__ == "math" else Outside(value)


def of_builtin(name: str) -> Kind:
    """A name that neither the kernel nor its module defines."""
    return Named(("builtins", name)) if hasattr(builtins, name) else None


def attribute(kind: Outside, name: str) -> Kind:
    """`module.name`, of a module of NumPy's or Numba's."""
    if not isinstance(kind.value, ModuleType):
        return None
    return kind_of(getattr(kind.value, name, None))
