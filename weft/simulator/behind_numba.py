"""Replace the internals of Numba's own simulator, so that launches run in this one.

`install` adds or replaces what the host side of Numba's simulator lacks or gets wrong:
the launch itself, the options of `cuda.jit`, timed events, external streams and the
attributes of the device.
"""

from importlib import import_module
from typing import Any

from weft import backend
from weft.simulator import host

_JIT_OPTIONS = {"device", "debug", "argtypes", "inline", "restype", "fastmath", "opt"}


def _as_cuda_array(data: Any, sync: bool = True) -> Any:
    """Return a device array over the memory of a NumPy array or a CPU tensor."""
    return backend.simulators_array(host.array_of(data))


def _external_stream(pointer: int) -> Any:
    """Return a stream that holds an external handle for `weft.torch_stream` to read."""
    cuda: Any = import_module("numba.cuda")
    stream = cuda.stream()
    stream.handle = int(pointer)  # Numba has no such attribute
    return stream


def install() -> None:
    """Replace Numba's simulator with this one. Numba must be running as a simulator."""
    cuda: Any = import_module("numba.cuda")
    members: dict[str, Any] = {
        **host.stubs(known=dir(cuda)),
        **backend.names_of_the_host(),
        "jit": backend.simulators_jit(_JIT_OPTIONS),
        "event": host.Event,
        "as_cuda_array": _as_cuda_array,
        "is_cuda_array": host.is_cuda_array,
        "external_stream": _external_stream,
        "default_stream": lambda: _external_stream(0),
        "per_thread_default_stream": lambda: cuda.stream(),
    }
    backend.replace_simulator(
        host.Launcher,
        host.launch_unconfigured,
        host.for_all,
        host.MULTIPROCESSORS,
        members,
        host.ATTRIBUTES,
    )
