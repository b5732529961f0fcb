"""cuTile's compiler, as checks use it.

`cuda.tile` translates a kernel into typed instructions of its own. It does so in Python
and needs neither a GPU nor CUDA's compiler. A check uses these instructions, and the
errors that `cuda.tile` reports. If CUDA's tile compiler, `tileiras`, is installed, it
turns the instructions into machine code. That needs no GPU either.
"""

import inspect
import io
import linecache
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np

from weft.places import Place

PACKAGE = "cuda.tile"
LATEST = "V_13_4"  # the instructions that a kernel may use, by CUDA's version


class Refused(Exception):
    """Raised if cuTile's compiler refuses a kernel, with the reason and the places."""

    def __init__(self, reason: str, places: tuple[Place, ...]) -> None:
        super().__init__(reason)
        self.reason, self.places = reason, places


def missing() -> str:
    """Return why tile kernels cannot be checked here, or "" if they can."""
    try:
        found = find_spec(PACKAGE) is not None
    except ModuleNotFoundError:  # not even the package `cuda` exists
        found = False
    if found:
        return ""
    if sys.platform == "darwin":
        return "cuTile is not available for macOS."
    return "cuTile is not installed: run `pip install cuda-tile`."


def is_kernel(thing: Any) -> bool:
    """Return whether an object was made by `@ct.kernel`."""
    return type(thing).__module__.startswith(f"{PACKAGE}.") and (
        function_of(thing) is not None
    )


def function_of(thing: Any) -> FunctionType | None:
    """Return the Python function in a tile kernel, or None if there is none."""
    found = getattr(thing, "_pyfunc", None)
    return found if isinstance(found, FunctionType) else None


def constants(function: FunctionType) -> set[str]:
    """Return the names of a function's parameters annotated as `ct.Constant`."""
    return {
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if "Constant" in str(parameter.annotation)
    }


@dataclass(frozen=True)
class Typed:
    """A kernel as typed instructions.

    parameters: the variables for a launch's arguments; for an array, its address, then
    its shape and its strides, in elements. body: the instructions.
    """

    parameters: tuple[str, ...]
    body: Any


def typed(kernel: Any, given: Sequence[Any]) -> Typed:
    """Translate a kernel for these arguments. Raises `Refused` if cuTile refuses it.

    given: for each parameter, an array with a dtype, a shape and strides (such as a
    PyTorch tensor), a number, or a Python constant.
    """
    from cuda.tile._bytecode import BytecodeVersion
    from cuda.tile._compile import compile_tile
    from cuda.tile._exception import TileError

    try:
        found = compile_tile(
            kernel._annotated_function,
            [_signature(kernel, given, _constraint)],
            bytecode_version=BytecodeVersion[LATEST],
            return_final_ir=True,
            return_cubin=False,
        )
    except TileError as refused:
        places = located(refused.loc)
        raise Refused(refused.message.strip(), places) from None
    body = found.final_ir[0]
    return Typed(tuple(variable.name for variable in body.params), body)


def no_compiler() -> str:
    """Return a clause on why machine code cannot be made here, or "" if it can."""
    from cuda.tile._compile import _find_compiler_bin

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about packages of different versions
            _find_compiler_bin()
    except FileNotFoundError:
        return "there is no tileiras here, CUDA's tile compiler"
    return ""


def machine_code(kernel: Any, given: Sequence[Any], gpu: str, seconds: float) -> bytes:
    """Compile a kernel for these arguments, as a launch with them would.

    given: as for `typed`; arrays need no memory. gpu: such as `sm_90`. seconds: a limit
    for the compiler. Returns an ELF file whose kernel has the Python function's name.
    Raises `Refused` if a compiler refuses the kernel.
    """
    import cuda.tile as ct
    from cuda.tile import compilation
    from cuda.tile._exception import TileError

    signature = _signature(kernel, given, _launched)
    made = io.BytesIO()
    try:
        with warnings.catch_warnings(), ct.compiler_timeout(seconds):
            warnings.simplefilter("ignore")
            compilation.export_kernel(
                kernel, [signature], made, gpu_code=gpu, output_format="cubin"
            )
    except TileError as refused:
        raise Refused(refused.message.strip(), located(refused.loc)) from None
    return made.getvalue()


def _signature(kernel: Any, given: Sequence[Any], about: Callable[[Any], Any]) -> Any:
    """Return a kernel's signature: the compiler's constraints on its arguments.

    about: makes the constraint for an argument that is not a constant.
    """
    from cuda.tile import compilation

    function = function_of(kernel)
    assert function is not None
    fixed = constants(function)
    names = inspect.signature(function).parameters
    told = [
        compilation.ConstantConstraint(value) if name in fixed else about(value)
        for name, value in zip(names, given, strict=True)
    ]
    version = compilation.CallingConvention.cutile_python_v1()
    return compilation.KernelSignature(told, version, symbol=function.__name__)


def _launched(value: Any) -> Any:
    """Return what the compiler may assume about an argument of a launch.

    An array's address is taken to be a multiple of 16 bytes, because PyTorch's
    allocations begin at multiples of 512.
    """
    if not hasattr(value, "shape"):
        return _constraint(value)
    strides = tuple(value.stride())
    return _constraint(
        value,
        stride_constant=tuple(1 if step == 1 else None for step in strides),
        stride_divisible_by=tuple(1 if step == 1 else _even(step) for step in strides),
        shape_divisible_by=tuple(map(_even, value.shape)),
        base_addr_divisible_by=MOST_EVEN,
    )


MOST_EVEN = 16  # the largest factor that a launch checks


def _even(number: int) -> int:
    """Return the largest power of two, up to 16, that divides a number."""
    return math.gcd(number, MOST_EVEN)


def _constraint(value: Any, **known: Any) -> Any:
    """Return the constraint on an argument.

    It has the argument's type and, for an array, the properties in `known`.
    """
    import cuda.tile as ct
    from cuda.tile import compilation

    if not hasattr(value, "shape"):
        scalar = ct.float32 if isinstance(value, float) else ct.int32
        return compilation.ScalarConstraint(scalar)
    return compilation.ArrayConstraint(
        getattr(ct, str(value.dtype).removeprefix("torch.").replace("bool", "bool_")),
        len(value.shape),
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        **known,
    )


def located(loc: Any) -> tuple[Place, ...]:
    """Return the place of `loc`, then those of the calls that led to it."""
    return tuple(_places(loc))


def _places(loc: Any) -> Iterator[Place]:
    calls = False
    while loc is not None and not loc.is_unknown():
        text = linecache.getline(loc.filename or "", loc.line)
        part = ""
        if loc.last_line in (None, loc.line) and loc.end_col is not None:
            part = text.encode()[loc.col : loc.end_col].decode(errors="replace")
        name = getattr(loc.function, "name", None) or ""
        yield Place(name, loc.line, text.strip(), part, loc.filename or "", calls)
        loc, calls = loc.call_site, True


def dtype_of(kind: Any) -> np.dtype[Any]:
    """Return NumPy's type for a tile's numbers: float32 for types that NumPy lacks.

    Pointers are int64.
    """
    name = str(kind).removesuffix("_")
    if name.startswith("pointer"):
        return np.dtype(np.int64)
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(np.float32)


def pointee(kind: Any) -> np.dtype[Any]:
    """Return the NumPy type of what the pointers in a tile point to."""
    from cuda.tile._datatype import PointerInfo

    return dtype_of(PointerInfo(kind.dtype).pointee_dtype)
