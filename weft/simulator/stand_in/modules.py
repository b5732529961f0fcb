"""The modules of the stand-in, `numba` and `numba.cuda`, and their installation."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from weft.simulator import host
from weft.simulator.faults import Fault
from weft.simulator.limits import WARP
from weft.simulator.stand_in import arrays, kernels, types
from weft.simulator.stand_in.vectors import VECTORS


class Stream:
    """A stream whose work is complete as soon as the call that queues it returns."""

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle

    def synchronize(self) -> None: ...

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        """Call `callback(stream, status, arg)` at once."""
        callback(self, 0, arg)

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator["Stream"]:
        yield self


class Device(SimpleNamespace):
    """The simulated GPU, with an H200's attributes."""

    id = 0

    def reset(self) -> None: ...


class Devices(list[Device]):
    """`cuda.gpus`, a list that holds only the simulated GPU."""

    @property
    def current(self) -> Device:
        return self[0]


class CudaError(Exception):
    """An exception only for `except` clauses: the simulator raises `Fault` instead."""


class CompilerError(Exception):
    """An exception only for `except` clauses: nothing is compiled here."""


class CompilerWarning(Warning):
    """A warning that is never issued: it exists so that warning filters can name it."""


def _declared(*_: Any, **__: Any) -> Any:
    """Raise `Fault`: functions that are compiled elsewhere cannot run here."""
    raise Fault(
        "type",
        "cuda.declare_device names a function that is linked to the kernel",
        "The simulator runs Python alone.",
    )


@contextlib.contextmanager
def _nothing(*_: Any, **__: Any) -> Iterator[None]:
    yield


def _cuda_members() -> dict[str, Any]:
    """Return the names that a file can import from `numba.cuda`."""
    device = Device(**{k: v for k, v in host.ATTRIBUTES.items() if k != "id"})
    gpus = Devices([device])
    context = SimpleNamespace(
        device=device,
        get_memory_info=lambda: SimpleNamespace(free=1 << 62, total=1 << 62),
        synchronize=lambda: None,
        reset=lambda: None,
    )
    return {
        **types.TYPES,
        **VECTORS,
        **host.stubs(known=("warpsize",)),
        "warpsize": WARP,
        "jit": kernels.jit,
        "declare_device": _declared,
        "to_device": arrays.to_device,
        "device_array": arrays.device_array,
        "device_array_like": arrays.device_array_like,
        "mapped_array": arrays.device_array,
        "mapped_array_like": arrays.device_array_like,
        "managed_array": arrays.device_array,
        "pinned_array": arrays.host_array,
        "pinned_array_like": arrays.host_array_like,
        "pinned": arrays.pinned,
        "as_cuda_array": arrays.as_cuda_array,
        "is_cuda_array": host.is_cuda_array,
        "In": arrays.In,
        "Out": arrays.Out,
        "InOut": arrays.InOut,
        "stream": Stream,
        "default_stream": Stream,
        "legacy_default_stream": Stream,
        "per_thread_default_stream": Stream,
        "external_stream": Stream,
        "event": host.Event,
        "event_elapsed_time": lambda begin, end: begin.elapsed_time(end),
        "synchronize": lambda: None,
        "close": lambda: None,
        "defer_cleanup": _nothing,
        "profiling": _nothing,
        "profile_start": lambda: None,
        "profile_stop": lambda: None,
        "is_available": lambda: True,
        "is_float16_supported": lambda: True,
        "is_bfloat16_supported": lambda: False,
        "is_supported_version": lambda: True,
        "detect": lambda: True,
        "gpus": gpus,
        "list_devices": lambda: gpus,
        "get_current_device": lambda: device,
        "select_device": lambda number=0: device,
        "current_context": lambda number=0: context,
        "require_context": lambda function: function,
        "CudaSupportError": CudaError,
        "literal_unroll": lambda sequence: sequence,
    }


_ERRORS: dict[str, Any] = {
    "NumbaError": CompilerError,
    "TypingError": CompilerError,
    "LoweringError": CompilerError,
    "NumbaWarning": CompilerWarning,
    "NumbaPerformanceWarning": CompilerWarning,
    "NumbaDeprecationWarning": CompilerWarning,
    "NumbaPendingDeprecationWarning": CompilerWarning,
}


def _typeof(value: Any) -> Any:
    """Return the type of a value or an array. Raises ValueError if it has none."""
    memory = getattr(value, "_ary", value)
    if not getattr(memory, "shape", ()):
        return types.value_type(memory)
    flags = memory.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return types.array_type(memory.dtype, memory.ndim, layout)


def _package_members() -> dict[str, Any]:
    """Return, by name, what a file can import from `numba` apart from modules."""
    return {
        **types.TYPES,
        **_ERRORS,
        "__version__": "0",
        "jit": kernels.njit,
        "njit": kernels.njit,
        "prange": range,
        "typeof": _typeof,
        "from_dtype": lambda dtype: types._named(dtype.name),
        "literal_unroll": lambda sequence: sequence,
    }


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    """Make a module of the stand-in. Its `__path__` stops Python looking for files."""
    made = ModuleType(name, f"A stand-in for {name}, by weft.simulator.")
    spec = made.__spec__ = ModuleSpec(name, None, is_package=True)
    made.__path__ = spec.submodule_search_locations or []
    vars(made).update(members)

    def missing(attribute: str) -> Any:
        raise AttributeError(
            f"the stand-in for {name} has no {attribute}: "
            "the simulator without Numba has what kernels and their launches use"
        )

    vars(made).setdefault("__getattr__", missing)
    return made


def _libdevice(name: str) -> Any:
    """Return a function of libdevice, which only kernels may call."""
    if name.startswith("__"):
        raise AttributeError(name)
    return host.Stub(name)


def modules(package: str = "numba") -> dict[str, ModuleType]:
    """Return the stand-in's modules by name, each an attribute of its parent."""
    config = {"ENABLE_CUDASIM": True, "CUDA_DEBUGINFO_DEFAULT": False}
    members: dict[str, dict[str, Any]] = {
        "": {"__weft__": True, **_package_members()},
        "types": {**types.TYPES, "Array": types.Array, "Number": types.Number},
        "core": {},
        "core.types": types.TYPES,
        "core.errors": _ERRORS,
        "core.config": config,
        "cuda": _cuda_members(),
        "cuda.libdevice": {"__getattr__": _libdevice},
        "cuda.types": types.TYPES,
    }
    made = {
        f"{package}.{name}".rstrip("."): _module(f"{package}.{name}".rstrip("."), some)
        for name, some in members.items()
    }
    for name, module in made.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(made[parent], child, module)
    made[package].config = made[f"{package}.core.config"]  # type: ignore[attr-defined]
    made[package].errors = made[f"{package}.core.errors"]  # type: ignore[attr-defined]
    return made


def provide(package: str) -> None:
    """Make an import of `package`, such as `numba`, find the stand-in."""
    sys.modules.update(modules(package))
