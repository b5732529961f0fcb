"""Python functions for C functions, made from their prototypes.

Names and parameters are those of `nvmath.bindings`: numbers and addresses go in, a
status other than 0 becomes an exception, and a value that C returns through a pointer
is returned.
"""

import ctypes
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from weft.libraries.headers import HEADERS, TYPES, Header, Prototype
from weft.libraries.loading import function, said


class LibraryError(Exception):
    """A library function has returned a status other than 0."""

    header: Header

    def __init__(self, status: int, symbol: str = "", note: str = "") -> None:
        statuses = self.header.statuses
        name = f"no status of {self.header.title}"
        if status in statuses.__members__.values():
            name = f"{self.header.prefix}{statuses(status).name}"
        came = f" from {symbol}" if symbol else ""
        super().__init__(f"{name} ({status}){came}{note and f': {note}'}")
        self.status = status


@cache
def error_of(library: str) -> type[LibraryError]:
    """Return the library's own error class, such as `cuBLASError`."""
    title = HEADERS[library].title
    parts = {
        "header": HEADERS[library],
        "__doc__": f"{title} has refused a call, or could not do it.",
        "__module__": f"weft.libraries.{library.lower()}",
    }
    return type(f"{title}Error", (LibraryError,), parts)


def content(library: str, module: str) -> tuple[Callable[[str], Any], Any]:
    """Return `__getattr__` and `__dir__` for the module of a library.

    They provide the library's error, enumerations, structures and C functions.
    """
    header, error = HEADERS[library], f"{HEADERS[library].title}Error"

    def found(name: str) -> Any:
        if name == error:
            return error_of(library)
        if name in header.names:
            return header.names[name]
        if name in header.functions:
            return bound(library, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return found, lambda: [error, *header.names, *header.functions]


@cache
def bound(name: str, each: str) -> Callable[..., Any]:
    """Return the function `each` of the library `name` as a Python function."""
    prototype = HEADERS[name].functions[each]
    names = [parameter for _, parameter in prototype.parameters]
    signature = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )

    def call(*args: Any, **named: Any) -> Any:
        if named or len(args) != len(names):
            args = signature.bind(*args, **named).args
        return called(name, prototype, args)

    call.__name__ = call.__qualname__ = each
    call.__doc__ = f"See `{prototype.symbol.removesuffix('_v2')}`."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def called(name: str, prototype: Prototype, values: tuple[Any, ...]) -> Any:
    """Call a C function, and return its result, or None if it has none.

    Raises the library's error if the status is not 0.
    """
    args = [checked(v, *p) for v, p in zip(values, prototype.parameters, strict=True)]
    result = None
    if prototype.returns:
        result = TYPES[prototype.returns]()
        at = 0 if prototype.result_first else len(args)
        args.insert(at, ctypes.addressof(result))
    status = function(name, prototype)(*args)
    if status:
        raise error_of(name)(status, prototype.symbol, said(name))
    return (result.value or 0) if result is not None else None


def checked(value: Any, kind: str, parameter: str) -> Any:
    """Return `value` in a form for ctypes. Raises TypeError if it does not fit."""
    if kind == "float":
        return float(value)
    if kind == "ints":
        if value is not None and not hasattr(value, "__len__"):
            raise TypeError(
                f"{parameter} is {type(value).__name__}, and C takes an array of int: "
                "write a list, with one number per dimension"
            )
        return None if value is None else (ctypes.c_int * len(value))(*value)
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        wanted = "an address, an int" if kind == "address" else "an int"
        hint = ": write .data_ptr()" if hasattr(value, "data_ptr") else ""
        if parameter == "algo" and kind == "address":
            hint = ": write .ctypes.data of the array that holds the algorithms"
        if isinstance(value, float) and parameter in ("alpha", "beta"):
            hint = (
                ": the library reads the scalar from memory. Make a ctypes.c_float "
                "and pass ctypes.addressof(it)"
            )
        raise TypeError(
            f"the argument for {parameter} is {type(value).__name__}, and C takes "
            f"{wanted}{hint}"
        ) from None
