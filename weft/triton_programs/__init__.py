"""Triton programs, checked in Triton's own interpreter with every access traced.

Triton is a separate package, for Linux only. PyTorch's CUDA builds include it. It is
imported only when it is needed.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.device.for_triton import VERSION, missing

if TYPE_CHECKING:
    from weft.triton_programs.compiled import MachineCode, machine_code

__all__ = ["VERSION", "MachineCode", "machine_code", "missing"]


def __getattr__(name: str) -> Callable[..., Any]:
    """Import `MachineCode` or `machine_code` when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from weft.triton_programs import compiled

    found: Callable[..., Any] = getattr(compiled, name)
    return found
