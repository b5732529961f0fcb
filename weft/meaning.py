"""The meaning of a kernel's names, whichever package its file imports.

Kernels are written for `numba.cuda`, on a GPU or in Numba's simulator, for its
successor `numba_cuda_mlir`, or for our stand-in for either. All of them have number
types, vector types, a module `cuda` and the result of `cuda.jit`, in much the same
form. So a value is identified by its class and attributes, and a package is used only
if it has been imported: this module imports none of them, and needs NumPy only for
dtypes and arrays.

What concerns Numba's compiler and its drivers is in `weft.backend`.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("numba", "numba_cuda_mlir")
STAND_IN = "weft.simulator.stand_in"
SIMULATES = "NUMBA_ENABLE_CUDASIM"  # the environment variable


CLUSTER: ContextVar[int] = ContextVar("cluster", default=1)


@contextmanager
def clustered(size: int) -> Iterator[None]:
    """Simulate kernels in clusters of `size` blocks along x in a `with` statement."""
    before = CLUSTER.set(size)
    try:
        yield
    finally:
        CLUSTER.reset(before)


def package_of(kind: type) -> str:
    """Return a class's package: one of `PACKAGES`, or `STAND_IN`, or '' for others."""
    module = str(kind.__module__)
    if module.startswith(STAND_IN):
        return STAND_IN
    package = module.partition(".")[0]
    return package if package in PACKAGES else ""


def known(value: Any) -> bool:
    """Return whether a value's class belongs to Numba or a similar package."""
    return bool(package_of(type(value)))


def loaded(package: str = "numba") -> Any:
    """Return the module `package` if it has been imported, else None."""
    return sys.modules.get(package)


def installed(package: str = "numba") -> bool:
    """Return whether a package is or could be imported, without importing it."""
    if loaded(package) is not None:
        return True
    with suppress(ImportError, ValueError):
        return find_spec(package) is not None
    return False


def simulating() -> bool:
    """Return whether Numba compiles no kernels for a GPU in this process.

    That is so if Numba runs as a simulator, will do so once it is imported, or is not
    installed.
    """
    numba = loaded()
    if numba is not None:
        return bool(numba.config.ENABLE_CUDASIM)
    if os.environ.get(SIMULATES, "").strip() not in ("", "0"):
        return True
    return not installed()


# Kernels


def python_function(value: Any) -> FunctionType | None:
    """Return the Python function inside an object that Numba decorated, or None."""
    if not package_of(type(value)):
        return None
    inner = getattr(value, "py_func", None)
    return inner if isinstance(inner, FunctionType) else None


def is_kernel(value: Any) -> bool:
    """Return whether `@cuda.jit` made `value`: a kernel or a device function."""
    kind = type(value)
    named = f"{kind.__module__}.{kind.__name__}".lower()
    return python_function(value) is not None and "cuda" in named


def is_device_function(value: Any) -> bool:
    """Return whether a function is a device function, which Numba cannot launch."""
    if getattr(value, "_device", False):  # in a simulator
        return True
    return bool(_options(value).get("device"))


def uses_fastmath(kernel: Any) -> bool:
    """Return whether a kernel is marked `fastmath=True`."""
    if getattr(kernel, "_fastmath", False):  # in a simulator
        return True
    return bool(_options(kernel).get("fastmath"))


def _options(kernel: Any) -> Mapping[str, Any]:
    """Return the options given to `@cuda.jit`, or {} if the kernel has none."""
    return getattr(kernel, "targetoptions", None) or {}


@dataclass(frozen=True)
class Options:
    """The options of `@cuda.jit` that concern launches.

    signatures: those declared, as written; empty if Numba may compile for any
    arguments. launch_bounds, max_registers: the options' values, as written.
    """

    signatures: tuple[Any, ...] = ()
    launch_bounds: Any = None
    max_registers: Any = None


def options_of(kernel: Any) -> Options:
    """Return a kernel's options that concern launches."""
    noted = getattr(kernel, "_weft_options", None)  # see `told`
    if isinstance(noted, Options):
        return noted
    given = _options(kernel)
    fixed = getattr(kernel, "_can_compile", True) is False
    return Options(
        tuple(getattr(kernel, "overloads", ())) if fixed else (),
        given.get("launch_bounds"),
        given.get("max_registers"),
    )


def told(
    first: Any, given: Mapping[str, Any], is_signature: Callable[[Any], bool]
) -> Options:
    """Return the options in a call to `cuda.jit`.

    first, given: the first positional argument, and the keyword arguments.
    """
    signatures: tuple[Any, ...] = ()
    if isinstance(first, list):
        signatures = tuple(first)
    elif first is not None and is_signature(first):
        signatures = (first,)
    return Options(signatures, given.get("launch_bounds"), given.get("max_registers"))


# The types of a signature


class Typing(Protocol):
    """How a kernel's package reads signatures and finds the types of arguments."""

    def is_signature(self, value: Any) -> bool:
        """Return whether a value is one signature: a string, types or `void(...)`."""

    def signature_types(self, signature: Any) -> tuple[tuple[Any, ...], Any]:
        """Return the types of a signature's arguments, and its result's type or None.

        signature: a value that `is_signature` accepts. If it is a string, any error in
        evaluating it propagates.
        """

    def array_type(self, dtype: "np.dtype[Any]", ndim: int, layout: str) -> Any:
        """Return the type of an array on the device."""

    def value_type(self, value: Any) -> Any:
        """Return the type of a value. Raises ValueError if it has none."""

    def converts(self, given: Any, declared: Any) -> bool:
        """Return whether a launch converts an argument's type to a parameter's.

        With a declared signature, Numba converts numbers, except floats to integers. An
        array may differ only in its memory layout.
        """


@dataclass(frozen=True)
class _Compiler:
    """How a package with a compiler reads signatures and finds the types of arguments.

    The fields name its modules. sigutils: all names that its module for signatures has
    had, the newest first.
    """

    sigutils: tuple[str, ...]
    support: str
    types: str
    typing: str

    def _signatures(self) -> Any:
        *newer, last = self.sigutils
        for name in newer:
            with suppress(ImportError):
                return import_module(name)
        return import_module(last)

    def is_signature(self, value: Any) -> bool:
        return bool(self._signatures().is_signature(value))

    def signature_types(self, signature: Any) -> tuple[tuple[Any, ...], Any]:
        arguments, returned = self._signatures().normalize_signature(signature)
        nothing = returned is None or str(returned) in ("none", "void")
        return tuple(arguments), None if nothing else returned

    def array_type(self, dtype: "np.dtype[Any]", ndim: int, layout: str) -> Any:
        item = import_module(self.support).from_dtype(dtype)
        return import_module(self.types).Array(item, ndim, layout)

    def value_type(self, value: Any) -> Any:
        return import_module(f"{self.typing}.typeof").typeof(value)

    def converts(self, given: Any, declared: Any) -> bool:
        types = import_module(self.types)
        if isinstance(given, types.Float) and isinstance(declared, types.Integer):
            return False
        context = import_module(self.typing).Context()
        return context.can_convert(given, declared) is not None


_COMPILERS = {
    "numba": _Compiler(
        # numba-cuda before 0.24 uses Numba's
        ("numba.cuda.core.sigutils", "numba.core.sigutils"),
        "numba.np.numpy_support",
        "numba.types",
        "numba.core.typing",
    ),
    "numba_cuda_mlir": _Compiler(
        ("numba_cuda_mlir.numba_cuda.core.sigutils",),
        "numba_cuda_mlir.numba_cuda.np.numpy_support",
        "numba_cuda_mlir.numba_cuda.types",
        "numba_cuda_mlir.numba_cuda.typing",
    ),
}


NUMBA: Typing = _COMPILERS["numba"]


def typing_of(kernel: Any) -> Typing:
    """Return the typing of the package that made a kernel; by default Numba's."""
    package = package_of(type(kernel))
    if package == STAND_IN:
        own: Typing = kernel.typing
        return own
    return _COMPILERS.get(package, NUMBA)


# Values that a kernel names


def is_number_type(value: Any) -> bool:
    """Return whether a value is a number type such as `float32`."""
    kind = type(value)
    return known(value) and any(base.__name__ == "Number" for base in kind.__mro__)


def is_record_type(value: Any) -> bool:
    """Return whether a value is a structure type, as made by `numba.from_dtype`."""
    kind = type(value)
    return known(value) and any(base.__name__ == "Record" for base in kind.__mro__)


def is_type(value: Any) -> bool:
    """Return whether a value is a number type, or a vector type such as `float32x4`."""
    return hasattr(value, "bitwidth") or hasattr(value, "num_elements")


def vector_name(value: Any) -> str:
    """Return the name of a vector type that is not a class, such as MLIR's, or ''."""
    return value.name if type(value).__name__ == "VectorType" else ""


def as_dtype(dtype: Any) -> "np.dtype[Any]":
    """Return the NumPy dtype of a Numba type, a NumPy dtype or a Python type."""
    import numpy as np

    package = package_of(type(dtype))
    if package == STAND_IN:
        dtype = dtype.name
    elif package or hasattr(dtype, "bitwidth"):
        support = _COMPILERS[package or "numba"].support
        dtype = import_module(support).as_dtype(dtype)
    found: np.dtype[Any] = np.dtype(dtype)
    return found


def public_module(name: str) -> str:
    """Return a module's documented name: `numba.cuda` for the simulator's modules.

    >>> public_module("numba.cuda.simulator"), public_module("math")
    ('numba.cuda', 'math')
    """
    return "numba.cuda" if name.startswith("numba.cuda.sim") else name


def is_module_of_types(module: ModuleType) -> bool:
    """Return whether a module is `numba.types`, or MLIR's module of types."""
    return module.__name__ in ("numba.types", "numba_cuda_mlir.types")


def is_cuda(module: ModuleType) -> bool:
    """Return whether a module is Numba's or MLIR's `cuda`, or Numba's simulator."""
    return module.__name__ in CUDA or module.__name__ == "numba.cuda.simulator"


def is_libdevice(module: ModuleType) -> bool:
    return module.__name__.endswith("cuda.libdevice")


CUDA = tuple(f"{package}.cuda" for package in PACKAGES)


def cuda_member(name: str) -> Any:
    """Return `name` from the first imported `cuda` module that has it, or None."""
    modules = [module for module in map(loaded, CUDA) if module is not None]
    members = (getattr(module, name, None) for module in modules)
    return next((member for member in members if member is not None), None)


def cuda_name(value: Any) -> str:
    """Return the name under which an imported `cuda` module has `value`, or ''."""
    if not (type(value).__module__ + getattr(value, "__module__", "")).count("cuda"):
        return ""
    members = (vars(module) for module in map(loaded, CUDA) if module is not None)
    names = (name for some in members for name in some if some[name] is value)
    return next(names, "")


def stub_name(value: Any) -> str:
    """Return the name of an object imported from `numba.cuda`, or ''.

    Unlike `cuda_name`, this needs no search, and it also covers submodules:
    `threadIdx`, `atomic`, `shared`.
    """
    module = str(getattr(value, "__module__", "") or "")
    if not module.startswith("numba") or "cuda" not in module:
        return ""
    name = getattr(value, "__name__", None) or getattr(value, "_name", None)
    return str(name or "")


# Arguments


def simulated_array(value: Any) -> "np.ndarray[Any, Any] | None":
    """Return the memory of a simulator's device array, or None for anything else."""
    inner = getattr(value, "_ary", None)
    if inner is None:
        return None
    import numpy as np

    return inner if isinstance(inner, np.ndarray) else None


def is_hint(arg: Any) -> bool:
    """Return whether an argument is a `cuda.In`, `cuda.Out` or `cuda.InOut`."""
    return type(arg).__name__ in ("In", "Out", "InOut") and hasattr(arg, "value")


def is_out(arg: Any) -> bool:
    """Return whether an argument is a `cuda.Out`, whose contents no kernel sees."""
    return is_hint(arg) and type(arg).__name__ == "Out"


def without_hint(arg: Any) -> Any:
    """Unwrap `cuda.In`, `cuda.Out` or `cuda.InOut`; keep other arguments."""
    return arg.value if is_hint(arg) else arg


def transferred(arg: Any, back: list[Callable[[], Any]]) -> Any:
    """Return the array that a simulator gets for a `cuda.In`, `Out` or `InOut`.

    Returns other arguments unchanged. back: receives functions to call after the
    launch.
    """
    return arg.to_device(back) if is_hint(arg) else arg
