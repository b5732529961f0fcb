"""Infer the kinds of values that a kernel gets as arguments and from outside."""

import builtins
import enum
import inspect
import re
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from weft import meaning
from weft.intrinsics import registry
from weft.simulator.arithmetic.numbers import NUMBERS, number_of, of_dtype
from weft.simulator.inference.kinds import (
    DOTS,
    NOTHING,
    REFUSED,
    SLICE,
    TEXT,
    Arr,
    Conversion,
    Kind,
    Named,
    Outside,
    Record,
    Tup,
    Vector,
    num,
    of_integer,
)

_SINGLE: list[tuple[type, Kind]] = [
    (type(None), NOTHING),
    (str, TEXT),
    (bytes, TEXT),
    (type(...), DOTS),
    (slice, SLICE),
]
_LETTERS = {"float": "f", "double": "f", "int": "i", "uint": "u"}
_LETTERS |= {"char": "i", "uchar": "u", "short": "i", "ushort": "u"}
_LETTERS |= {"long": "i", "ulong": "u", "longlong": "i", "ulonglong": "u"}
_BITS = {"double": 64, "char": 8, "uchar": 8, "short": 16, "ushort": 16}
_BITS |= dict.fromkeys(("long", "ulong", "longlong", "ulonglong"), 64)
_TYPE = (
    f"(?P<stem>{'|'.join(_LETTERS)})"
    "((?P<bits>8|16|32|64)(x(?P<size>[1-4]))?|(?P<short>[1-4]))"
)


def kind_of(value: Any) -> Kind:
    """Infer the kind of an argument, a constant or a value from outside the kernel."""
    number = number_of(value)
    if number is not None:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return of_integer(value) if whole else num(number)
    if isinstance(value, np.ndarray):
        of = _of_type(value.dtype)
        packed = bool(value.flags.c_contiguous)
        return Arr(of.number, max(value.ndim, 1), of.record, packed=packed)
    if isinstance(value, tuple):
        names = getattr(type(value), "_fields", ())
        return Tup(tuple(kind_of(part) for part in value), tuple(names))
    for kind_of_it, kind in _SINGLE:
        if isinstance(value, kind_of_it):
            return kind
    if isinstance(value, ModuleType):
        return _module(value)
    if value.__class__ is type and issubclass(value, np.generic):
        return _of_type(np.dtype(value))
    if isinstance(value, np.dtype):
        return _of_type(value)
    if isinstance(value, np.void):
        return _of_type(value.dtype).record
    if isinstance(value, np.ufunc):
        return Named(("numpy", value.__name__))
    if meaning.is_number_type(value) or meaning.is_record_type(value):
        return _of_type(meaning.as_dtype(value))
    if registry.of(value) is not None or meaning.python_function(value) is not None:
        return Outside(value)
    return _by_name(value)


def _by_name(value: Any) -> Kind:
    """Infer the kind of a value that is identified by its name, not its contents."""
    name = meaning.stub_name(value)
    if name:
        return of_cuda(name)
    module = getattr(value, "__module__", None)
    named = getattr(value, "__name__", "")
    if module in ("math", "cmath", "_operator"):
        return Named((module.strip("_"), named))
    if module == "builtins" and hasattr(builtins, named):
        return Named((module, named))
    return Outside(value)


def _of_type(dtype: np.dtype[Any]) -> Conversion:
    """Return the `Conversion` for the type of an array's elements.

    Its `number` and `record` are both None for a type that Numba lacks.
    """
    number = of_dtype(dtype)
    record = None
    if number is None and dtype.names:
        found = [(name, _field(dtype[name])) for name in dtype.names]
        record = Record(tuple(found))
    return Conversion(number, record)


def _field(dtype: np.dtype[Any]) -> Kind:
    kind = _of_type(dtype.base)
    array = Arr(kind.number, len(dtype.shape), kind.record)
    return array if dtype.shape else array.element


def _module(value: ModuleType) -> Kind:
    if meaning.is_cuda(value):
        return Named(("cuda",))
    if meaning.is_libdevice(value):
        return Named(("libdevice",))
    known = value.__name__ in ("math", "cmath", "operator")
    return Named((value.__name__,)) if known else Outside(value)


def of_builtin(name: str) -> Kind:
    """Infer the kind of a name that neither the kernel nor its module defines."""
    return Named(("builtins", name)) if hasattr(builtins, name) else REFUSED


@cache
def of_cuda(name: str) -> Kind:
    """Infer the kind of `cuda.name`: a type, or something identified by its name."""
    found = re.fullmatch(_TYPE, name)
    if found is None:
        return Named(("cuda", name))
    stem, bits = found["stem"], found["bits"]
    number = NUMBERS.get(f"{_LETTERS[stem]}{bits or _BITS.get(stem, 32)}")
    size = found["size"] or found["short"]
    if number is None:
        return Named(("cuda", name))
    return Vector(number, int(size)) if size else Conversion(number)


def attribute(kind: Outside, name: str) -> Kind:
    """Infer the kind of an attribute of a module, an enum, `np.finfo` or `np.iinfo`."""
    value = kind.value
    if isinstance(value, (ModuleType, enum.Enum, np.finfo, np.iinfo)) or (
        isinstance(value, type) and issubclass(value, enum.Enum)
    ):
        missing = object()
        found = getattr(value, name, missing)
        return REFUSED if found is missing else kind_of(found)
    return REFUSED


def in_order(
    function: Any, given: tuple[Kind, ...], named: dict[str | None, Kind]
) -> tuple[Kind, ...]:
    """Return the kinds of a device function's arguments, by position.

    named: the kinds of the arguments passed by keyword.
    """
    inner = meaning.python_function(function)
    if inner is None or not named:
        return given
    left = list(inspect.signature(inner).parameters.values())[len(given) :]
    found = [
        named[one.name]
        if one.name in named
        else REFUSED
        if one.default is one.empty
        else kind_of(one.default)
        for one in left
    ]
    return (*given, *found)


def is_class_of_tuples(value: Any) -> bool:
    """Return whether a value is a subclass of `tuple`, such as a named tuple."""
    return isinstance(value, type) and issubclass(value, tuple) and value is not tuple
