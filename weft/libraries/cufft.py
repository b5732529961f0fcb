"""cuFFT, thinly: the part of `nvmath.bindings.cufft` that the course uses.

A plan is made in two steps: `create` gives its number, `make_plan_many` says what it
does. Arrays are passed by address; a status other than 0 raises cuFFTError.
"""

from typing import Any

from weft.libraries import enumerations
from weft.libraries.binding import FUNCTIONS, function_named
from weft.libraries.binding import cuFFTError as cuFFTError

Direction = enumerations.FftDirection
Result = enumerations.FftResult
Type = enumerations.FftType


def __getattr__(name: str) -> Any:
    """A function of C, by its name in `prototypes`."""
    return function_named("cufft", name, __name__)


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS["cufft"]]
