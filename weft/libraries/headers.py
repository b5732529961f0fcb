"""The parts of the libraries' headers that the course uses, from `headers.toml`.

Each library is an object: `cublas.ComputeType` is an enumeration, and
`cublas.functions` maps the Python names of C functions to their prototypes.
"""

import ctypes
import re
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "size": ctypes.c_size_t,
    "address": ctypes.c_void_p,
    "ints": ctypes.c_void_p,  # the address of an array of int, or null
    "float": ctypes.c_float,
}


@dataclass(frozen=True)
class Prototype:
    """One function: its names in Python and in C, and its parameters in order.

    returns: the type of the result that C returns through a pointer, or "". That
    pointer is the first parameter of `…Create` and `…CreateGenerator`, and otherwise
    the last.
    """

    name: str
    symbol: str
    parameters: tuple[tuple[str, str], ...]
    returns: str = ""

    @property
    def result_first(self) -> bool:
        """Whether the pointer to the result is the first parameter in C."""
        return self.symbol.endswith(("Create", "CreateGenerator"))

    @property
    def in_c(self) -> tuple[tuple[str, str], ...]:
        """The parameters in C's order, including the pointer to any result."""
        result = (("address", "result"),) if self.returns else ()
        if self.result_first:
            return result + self.parameters
        return self.parameters + result

    @property
    def argtypes(self) -> list[Any]:
        """The ctypes types of the C parameters, for a function's `argtypes`."""
        return [TYPES[kind] for kind, _ in self.in_c]


def parsed(name: str, text: str) -> Prototype:
    """Parse the prototype of `name` from `symbol(type parameter, …) -> type`."""
    match = re.fullmatch(r"(\w+)\((.*?)\)(?: -> (\w+))?", text)
    if match is None:
        raise ValueError(f"no prototype: {text}")
    symbol, inside, returns = match.groups()
    pairs = [each.split() for each in inside.split(", ") if each]
    parameters = tuple((kind, parameter) for kind, parameter in pairs)
    return Prototype(name, symbol, parameters, returns or "")


def enumeration(library: str, name: str, members: dict[str, Any]) -> type[IntEnum]:
    """Make an enumeration of `members`; the entry `doc` becomes its docstring."""
    doc = members.pop("doc")
    made = IntEnum(name, members, module=f"weft.libraries.{library.lower()}")  # type: ignore[misc]
    made.__doc__ = doc
    return made


class Header:
    """One library's functions and, as attributes, its enumerations and structures.

    title: the library's name as NVIDIA writes it. statuses: the enumeration of statuses
    that its functions return. attribute_types: the element types of cuDNN's attributes.
    """

    def __init__(self, library: str, tables: dict[str, Any], included: Any) -> None:
        self.library, self.title = library, str(tables.get("title", ""))
        functions = tables.get("functions", {})
        self.functions = {name: parsed(name, text) for name, text in functions.items()}
        self.names: dict[str, Any] = dict(included.names) if included else {}
        self.attribute_types: dict[str, str] = {}
        for name, members in tables.get("enumerations", {}).items():
            typed = {k: v for k, v in members.items() if isinstance(v, list)}
            self.attribute_types |= {k: kind for k, (_, kind) in typed.items()}
            members |= {k: number for k, (number, _) in typed.items()}
            self.names[name] = enumeration(library, name, members)
        for name, fields in tables.get("structures", {}).items():
            self.names[name] = np.dtype([tuple(each) for each in fields])
        self.prefix = str(tables.get("prefix", ""))
        self.statuses: type[IntEnum] = self.names.get(tables.get("status", ""), IntEnum)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["names"][name]
        except KeyError:
            raise AttributeError(f"{self.library} has no {name!r}", name=name) from None


HEADERS: dict[str, Header] = {}
for _library, _tables in tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
).items():
    _included = HEADERS.get(_tables.get("includes", ""))
    HEADERS[_library] = Header(_library, _tables, _included)

cublas, cublasLt, cudnn = (HEADERS[each] for each in ("cublas", "cublasLt", "cudnn"))
cufft, curand = HEADERS["cufft"], HEADERS["curand"]
CudaType: Any = HEADERS["cuda"].CudaType
