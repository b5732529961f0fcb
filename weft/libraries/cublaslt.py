"""cuBLASLt, thinly: the part of `nvmath.bindings.cublasLt` that the course uses."""

from typing import Any

import numpy as np

from weft.libraries.binding import FUNCTIONS, function_named
from weft.libraries.binding import cuBLASLtError as cuBLASLtError
from weft.libraries.enumerations import Epilogue as Epilogue
from weft.libraries.enumerations import MatmulDescAttribute as MatmulDescAttribute
from weft.libraries.enumerations import (
    MatmulPreferenceAttribute as MatmulPreferenceAttribute,
)
from weft.libraries.enumerations import MatrixLayoutAttribute as MatrixLayoutAttribute
from weft.libraries.enumerations import Order as Order
from weft.libraries.enumerations import PointerMode as PointerMode

# One result of the heuristic: an algorithm of 64 opaque bytes, and what is known of it.
matmul_heuristic_result_dtype = np.dtype(
    [
        ("algo", "<u8", (8,)),
        ("workspace_size", "<u8"),
        ("state", "<i4"),
        ("waves_count", "<f4"),
        ("reserved", "<i4", (4,)),
    ]
)


def __getattr__(name: str) -> Any:
    """A function of C, by its name in `prototypes`."""
    return function_named("cublasLt", name, __name__)


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS["cublasLt"]]
