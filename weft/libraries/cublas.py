"""cuBLAS, thinly: the part of `nvmath.bindings.cublas` that the course uses.

Every function is one of C's. Matrices and scalars are passed by address; a status
other than 0 raises cuBLASError.
"""

from typing import Any

from weft.libraries.binding import FUNCTIONS, function_named
from weft.libraries.binding import cuBLASError as cuBLASError
from weft.libraries.enumerations import ComputeType as ComputeType
from weft.libraries.enumerations import GemmAlgo as GemmAlgo
from weft.libraries.enumerations import Math as Math
from weft.libraries.enumerations import Operation as Operation
from weft.libraries.enumerations import PointerMode as PointerMode
from weft.libraries.enumerations import Status as Status


def __getattr__(name: str) -> Any:
    """A function of C, by its name in `prototypes`."""
    return function_named("cublas", name, __name__)


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS["cublas"]]
