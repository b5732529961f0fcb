"""Packing a kernel for another process: its code, and the values it names.

Code objects travel as they are, values pickled one by one, modules and what belongs to
Numba by name, so that the other process takes its own.
"""

import marshal
import pickle
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import backend
from weft.code_objects import global_names
from weft.intrinsics import registry

MOST_BYTES = 64 * 1024  # of an array that a kernel names: what constant memory holds

Parcel = dict[str, Any]
Item = tuple[Any, ...]


class Unpackable(Exception):
    """Something that a kernel names cannot be sent; the message says what."""


def pack(kernel: Any, args: tuple[Any, ...]) -> Parcel:
    """Pack `kernel` and the types of `args`. Raises `Unpackable`.

    The first of the parcel's functions is the kernel, the others are those it calls.
    """
    fn = kernel if isinstance(kernel, FunctionType) else backend.python_function(kernel)
    if fn is None:
        raise Unpackable(f"{kernel!r} is not a kernel")
    packer = Packer()
    packer.function(fn, False)
    return {
        "functions": packer.functions,
        "args": [described(arg) for arg in args],
        "fastmath": backend.uses_fastmath(kernel),
    }


def described(arg: Any) -> Item:
    """What Numba has to know of an argument to tell its type."""
    if isinstance(arg, tuple):
        return ("tuple", [described(part) for part in arg])
    if isinstance(arg, np.ndarray):
        layout = "C" if arg.flags.c_contiguous else "A"
        if arg.flags.f_contiguous and not arg.flags.c_contiguous:
            layout = "F"
        return ("array", pickle.dumps(arg.dtype), max(arg.ndim, 1), layout)
    return ("value", pickled(arg, "an argument"))


class Packer:
    """Packs functions, each once."""

    def __init__(self) -> None:
        self.functions: list[Parcel] = []
        self._numbers: dict[FunctionType, int] = {}

    def function(self, fn: FunctionType, compiled: bool) -> int:
        """Pack `fn`; `compiled` says that it is a device function."""
        if fn in self._numbers:
            return self._numbers[fn]
        number = self._numbers[fn] = len(self.functions)
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        free = {name: cell.cell_contents for name, cell in cells}
        parcel: Parcel = {
            "name": fn.__name__,
            "code": marshal.dumps(fn.__code__),
            "defaults": pickled(fn.__defaults__, f"a default of {fn.__name__}"),
            "compiled": compiled,
        }
        self.functions.append(parcel)
        known = sorted(global_names(fn.__code__) & fn.__globals__.keys())
        named = {name: fn.__globals__[name] for name in known}
        parcel["globals"] = {name: self._item(name, v) for name, v in named.items()}
        parcel["free"] = {name: self._item(name, v) for name, v in free.items()}
        return number

    def _item(self, name: str, value: Any) -> Item:
        """How the value of a name travels. Raises `Unpackable`."""
        inner = backend.python_function(value)
        if inner is not None:
            return ("function", self.function(inner, True))
        operation = registry.of(value)
        if operation is not None:
            return ("attribute", "weft.intrinsics", operation.name)
        if isinstance(value, ModuleType):
            return ("module", backend.public_module(value.__name__))
        of_cuda = backend.cuda_name(value)
        if of_cuda:
            return ("attribute", "numba.cuda", of_cuda)
        if isinstance(value, FunctionType) and not numerical(value.__module__):
            return ("function", self.function(value, False))
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__ == "__main__":
            raise Unpackable(f"`{name}` is of a class of yours, {kind.__name__}")
        if isinstance(value, np.ndarray) and value.nbytes > MOST_BYTES:
            raise Unpackable(f"the array `{name}` is too large to be a constant")
        return ("value", pickled(value, f"`{name}`"))


def numerical(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("numpy", "numba", "math", "weft")


def pickled(value: Any, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:
        raise Unpackable(f"{what}, a {type(value).__name__}, cannot be sent") from None
