"""Packing a kernel for another process: its code, and the values it names.

Code objects are sent as they are, values are pickled one by one, and modules and
Numba's objects are sent by name, so that the other process uses its own.
"""

import enum
import marshal
import pickle
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from weft import meaning, own_classes
from weft.code_objects import global_names
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.simulator.constant_memory import MOST

# Effects of operations that require some compute capability.
_LATER = Effect.COLLECTIVE, Effect.PHASES, Effect.HOPPER

Parcel = dict[str, Any]
Item = tuple[Any, ...]


class Unpackable(Exception):
    """Raised if a kernel or something it names cannot be sent; the message says why."""


def pack(kernel: Any, args: tuple[Any, ...]) -> Parcel:
    """Pack `kernel` and the types of `args`. Raises `Unpackable` if that is impossible.

    The first of the parcel's functions is the kernel, and the others are those that it
    calls.
    """
    fn = kernel if isinstance(kernel, FunctionType) else meaning.python_function(kernel)
    if fn is None:
        raise Unpackable(f"{kernel!r} is not a kernel")
    packer = Packer()
    packer.function(fn, False)
    return {
        "functions": packer.functions,
        "args": [packer.argument(arg) for arg in args],
        "classes": packer.classes,
        "fastmath": meaning.uses_fastmath(kernel),
        "signatures": declared(kernel),
        "needs": packer.needs,
    }


def declared(kernel: Any) -> list[bytes]:
    """Return a kernel's or device function's declared signatures, as pickled types."""
    try:
        types = [
            meaning.typing_of(kernel).signature_types(one)
            for one in meaning.options_of(kernel).signatures
        ]
    except Exception as error:
        raise Unpackable(f"a signature cannot be read: {error}") from None
    return [pickled(each, "a signature") for each in types]


def described(arg: Any) -> Item:
    """Describe an argument so that Numba can infer its type."""
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
        self.classes: list[Item] = []
        # the lowest compute capability that supports everything in the functions
        self.needs = (0, 0)
        self._numbers: dict[FunctionType, int] = {}
        self._known: dict[type, int] = {}

    def argument(self, arg: Any) -> Item:
        """Describe an argument, or each part of a tuple, so that Numba can type it."""
        if not isinstance(arg, tuple):
            return described(arg)
        parts = [self.argument(part) for part in arg]
        if own_classes.is_named_tuple(type(arg)):
            return ("named", self.kind(type(arg)), parts)
        return ("tuple", parts)

    def kind(self, kind: type) -> int:
        """Return the number of a learner's class, which is packed on first use."""
        if kind not in self._known:
            made = own_classes.written(kind, lambda v: self._item(kind.__name__, v))
            self._known[kind] = len(self.classes)
            self.classes.append(made)
        return self._known[kind]

    def function(self, fn: FunctionType, compiled: bool) -> int:
        """Return the number of a function, which is packed on first use.

        compiled: whether it is a device function.
        """
        if fn in self._numbers:
            return self._numbers[fn]
        number = self._numbers[fn] = len(self.functions)
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        free = {name: cell.cell_contents for name, cell in cells}
        parcel: Parcel = {
            "name": fn.__name__,
            "code": marshal.dumps(fn.__code__),
            "compiled": compiled,
            "signatures": [],
        }
        self.functions.append(parcel)
        what = f"a default of {fn.__name__}"
        parcel["defaults"] = [self._item(what, d) for d in fn.__defaults__ or ()]
        known = sorted(global_names(fn.__code__) & fn.__globals__.keys())
        named = {name: fn.__globals__[name] for name in known}
        parcel["globals"] = {name: self._item(name, v) for name, v in named.items()}
        parcel["free"] = {name: self._item(name, v) for name, v in free.items()}
        return number

    def _item(self, name: str, value: Any) -> Item:
        """Return the value of `name` in the form in which it is sent.

        Raises `Unpackable` for a value that cannot be sent.
        """
        inner = meaning.python_function(value)
        if inner is not None:
            number = self.function(inner, True)
            self.functions[number]["signatures"] = declared(value)
            return ("function", number)
        operation = registry.of(value)
        if operation is not None:
            if operation.effect in _LATER:
                self.needs = max(self.needs, operation.needs)
            return ("attribute", "weft.intrinsics", operation.name)
        if isinstance(value, ModuleType):
            return ("module", meaning.public_module(value.__name__))
        of_cuda = meaning.cuda_name(value)
        if of_cuda:
            return ("attribute", "numba.cuda", of_cuda)
        if isinstance(value, FunctionType) and not numerical(value.__module__):
            return ("function", self.function(value, False))
        if own_classes.can_be_written(value) and is_own(value):
            return ("class", self.kind(value))
        if isinstance(value, enum.Enum) and is_own(type(value)):
            return ("member", self.kind(type(value)), self._item(name, value.value))
        if isinstance(value, tuple):
            parts = [self._item(name, part) for part in value]
            if own_classes.is_named_tuple(type(value)):
                return ("record", self.kind(type(value)), parts)
            if type(value) is tuple:
                return ("parts", parts)
        if isinstance(value, np.ndarray) and value.nbytes > MOST:
            # sent only for its shape
            return ("zeros", pickle.dumps(value.dtype), value.shape)
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__ == "__main__":
            raise Unpackable(f"`{name}` is of a class of yours, {kind.__name__}")
        return ("value", pickled(value, f"`{name}`"))


def is_own(kind: type) -> bool:
    """Return whether a class comes from outside `builtins`, NumPy, Numba and `weft`."""
    return not numerical(kind.__module__) and kind.__module__ != "builtins"


def numerical(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("numpy", "numba", "math", "weft")


def pickled(value: Any, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:
        raise Unpackable(f"{what}, a {type(value).__name__}, cannot be sent") from None
