"""An exercise in calling a C library, and conversions to double precision."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.checking.cases import as_tuple
from weft.checking.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class LibraryExercise(Exercise):
    """An exercise in which a function calls one of NVIDIA's libraries.

    library: the library's name, such as "cublas".
    inputs: `(rng, *size)` → PyTorch tensors on the CPU, NumPy arrays and plain values.
        A tensor that is a view goes to the device with all of its storage.
    given: `(on, *arrays)` → the function's arguments. `on` has a `handle` of cuBLAS or
        cuDNN, a `light_handle` of cuBLASLt, a `stream` on which the data are made,
        `workspace(n)` and the `library` itself, as `ctypes.CDLL` loads it.
    result: the parameter that receives the array for the result, or its address.
    spec: a NumPy function of the inputs, which it gets in double precision.
    refuses: a C function, such as "cublasGemmEx", that fails in an additional run, in
        which the learner's function must raise an exception.
    full: the size on a GPU, by default the last of `sizes`.
    lines: how many lines of Python one call may run; see `weft.checking.step_limit`.
    """

    needs: ClassVar[tuple[str, ...]] = ("spec", "inputs", "sizes", "given", "result")

    library: str = ""
    given: Any = None
    result: str = ""
    refuses: str = ""
    full: Any = None
    lines: int | None = None

    def expected(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        exact = as_tuple(self.spec(*map(in_double, given)))
        return tuple(map(np.asarray, exact))


def wide(tensor: Any) -> Any:
    """Convert a tensor to double precision, real or complex."""
    if tensor.is_complex():
        return tensor.resolve_conj().cdouble()
    return tensor.double()


def in_double(value: Any) -> Any:
    """Convert a tensor, or a float or complex array, to NumPy in double precision.

    Any other value is returned unchanged.
    """
    if hasattr(value, "untyped_storage"):
        return wide(value).numpy().copy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    return value
