"""Addresses of ctypes objects, and which of these objects have since been freed.

`addressof` returns a number, and a number keeps nothing alive: a library that reads
from the address of a freed object may find anything.
"""

import ctypes
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

ADDRESS_OF = ctypes.addressof


class Lent:
    """The addresses that `addressof` has returned in a run."""

    def __init__(self) -> None:
        self._ended: dict[int, str] = {}  # address → the type of what was there
        self._watched: list[weakref.ref[Any]] = []

    def addressof(self, value: Any) -> int:
        """Return the address of `value`, and record when `value` is freed."""
        address, name = ADDRESS_OF(value), type(value).__name__
        self._ended.pop(address, None)
        self._watched.append(
            weakref.ref(value, lambda _: self._ended.__setitem__(address, name))
        )
        return address

    def ended(self, address: int) -> str:
        """Return the type name of the freed object that was at an address, or ""."""
        name = self._ended.get(address, "")
        return "" if name and is_alive(address) else name


def is_alive(address: int) -> bool:
    """Return whether a live ctypes object is at an address."""
    kinds: Any = (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)
    found = (x for x in gc.get_objects() if issubclass(type(x), kinds))
    return any(ADDRESS_OF(x) == address for x in found)


@contextmanager
def noted(lent: Lent, function: FunctionType) -> Iterator[None]:
    """Let `lent` record what `addressof` returns, within a `with` block.

    `addressof` is replaced in ctypes and among the globals of `function`.
    """
    scope = function.__globals__
    names = [name for name, value in scope.items() if value is ADDRESS_OF]
    ctypes.addressof = lent.addressof
    scope.update(dict.fromkeys(names, lent.addressof))
    try:
        yield
    finally:
        ctypes.addressof = ADDRESS_OF
        scope.update(dict.fromkeys(names, ADDRESS_OF))
