"""Python functions for functions of C, made from their prototypes.

Names and parameters are those of `nvmath.bindings`: numbers and addresses go in, a
status other than 0 becomes an exception, and what C returns through a pointer is
returned.
"""

import ctypes
import inspect
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any

from weft.libraries.cudnn_enumerations import Status as DnnStatus
from weft.libraries.enumerations import FftResult, RandStatus, Status
from weft.libraries.loading import function, said
from weft.libraries.prototypes import FUNCTIONS as FUNCTIONS
from weft.libraries.prototypes import TYPES, Prototype


class LibraryError(Exception):
    """A function of a library has returned a status other than 0."""

    prefix = ""
    library = "cuBLAS"
    statuses: type[IntEnum] = Status

    def __init__(self, status: int, symbol: str = "", note: str = "") -> None:
        known = status in self.statuses.__members__.values()
        name = f"no status of {self.library}"
        if known:
            name = f"{self.prefix}{self.statuses(status).name}"
        came = f" from {symbol}" if symbol else ""
        super().__init__(f"{name} ({status}){came}{note and f': {note}'}")
        self.status = status


class cuBLASError(LibraryError):
    """cuBLAS has refused a call, or could not do it."""

    prefix = "CUBLAS_STATUS_"


class cuBLASLtError(LibraryError):
    """cuBLASLt has refused a call, or could not do it."""

    prefix = "CUBLAS_STATUS_"


class cuFFTError(LibraryError):
    """cuFFT has refused a call, or could not do it."""

    prefix, library, statuses = "CUFFT_", "cuFFT", FftResult


class cuRANDError(LibraryError):
    """cuRAND has refused a call, or could not do it."""

    prefix, library, statuses = "CURAND_STATUS_", "cuRAND", RandStatus


class cuDNNError(LibraryError):
    """cuDNN has refused a call, or could not do it."""

    prefix, library, statuses = "CUDNN_STATUS_", "cuDNN", DnnStatus


ERRORS = {
    "cublas": cuBLASError,
    "cublasLt": cuBLASLtError,
    "cufft": cuFFTError,
    "curand": cuRANDError,
    "cudnn": cuDNNError,
}


@cache
def function_named(library: str, name: str, module: str) -> Callable[..., Any]:
    """A function of a library, for the module that has it. Raises AttributeError."""
    if name not in FUNCTIONS[library]:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return bound(library, name)


def bound(name: str, each: str) -> Callable[..., Any]:
    """The function `each` of the library `name` as a function of Python."""
    prototype = FUNCTIONS[name][each]
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
    """Call a function of C. Raises the library's error for a status other than 0."""
    args = [checked(v, *p) for v, p in zip(values, prototype.parameters, strict=True)]
    result = None
    if prototype.returns:
        result = TYPES[prototype.returns]()
        at = 0 if prototype.result_first else len(args)
        args.insert(at, ctypes.addressof(result))
    status = function(name, prototype)(*args)
    if status:
        raise ERRORS[name](status, prototype.symbol, said(name))
    return (result.value or 0) if result is not None else None


def checked(value: Any, kind: str, parameter: str) -> Any:
    """`value` as ctypes will take it. Raises TypeError for what is no number."""
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
            f"{parameter} is {type(value).__name__}, and C takes {wanted}{hint}"
        ) from None
