"""cuRAND's host API, thinly: the part of `nvmath.bindings.curand` that is used here."""

from typing import Any

from weft.libraries.binding import FUNCTIONS, function_named
from weft.libraries.binding import cuRANDError as cuRANDError
from weft.libraries.enumerations import Ordering as Ordering
from weft.libraries.enumerations import RandStatus
from weft.libraries.enumerations import RngType as RngType

Status = RandStatus


def __getattr__(name: str) -> Any:
    """A function of C, by its name in `prototypes`."""
    return function_named("curand", name, __name__)


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS["curand"]]
