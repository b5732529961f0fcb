"""Launching a compiled kernel on tensors without Numba's part of a launch.

Numba looks at every argument of every launch, wraps tensors in its own arrays and
builds a list of parameters. Here everything that depends only on the types is done
once. Each launch then only writes addresses, sizes and numbers into a buffer, and
passes it to the driver's `cuLaunchKernel`, on PyTorch's current stream.

    launch = weft.prepare(kernel)          # kernel: @cuda.jit with one signature
    launch((blocks, 1), 256, x, 0.5, out)  # a grid, a block, the arguments

A launch costs about a fifth of Numba's. It checks only that each tensor has the right
dtype, device and layout.
"""

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

from weft import backend, meaning
from weft.errors import LearnerError
from weft.torch_stream import current_stream

Launch = Callable[..., None]

NUMBERS = {  # Numba's types, and how `struct` packs them
    **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
    **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"},
    **{"float32": "f", "float64": "d", "bool": "?"},
}


def prepare(kernel: Any, cluster: int = 1, early: bool = False) -> Launch:
    """Return a function that launches a kernel: `launch(grid, block, *arguments)`.

    kernel: made by `@cuda.jit` with one signature, of contiguous arrays and numbers.
    Arrays are passed as contiguous tensors on the current device, a vector as a tensor
    of any shape. The keyword argument `shared` gives the bytes of dynamic shared
    memory. In the simulator, launches go through Numba.

    cluster: how many neighbouring blocks along x form a cluster, a power of 2; requires
    compute capability 9.0. early: let blocks begin while the previous kernel in the
    stream still runs, even in a CUDA graph (programmatic dependent launch, compute
    capability 9.0). The kernel must call `griddep_wait` before it accesses global
    memory that earlier kernels have written or read.

    Raises LearnerError unless the kernel has exactly one signature and, on a GPU, takes
    only contiguous arrays and numbers.
    """
    types = signature_of(kernel)
    if meaning.simulating():

        def simulated(grid: Any, block: Any, *given: Any, shared: int = 0) -> None:
            flat = [
                x.detach().view(-1) if getattr(each, "ndim", 0) == 1 else x
                for x, each in zip(given, types, strict=True)
            ]
            with meaning.clustered(cluster):
                kernel[grid, block, current_stream(), shared](*flat)

        return simulated
    handle = backend.handle_of(kernel, types)
    return compiled_launch(types, driver_call(handle, cluster, early))


def signature_of(kernel: Any) -> tuple[Any, ...]:
    """Return the types of a kernel's arguments.

    Raises LearnerError unless the kernel has exactly one signature.
    """
    found = meaning.options_of(kernel).signatures
    if len(found) != 1:
        raise LearnerError(
            f"prepare needs a kernel with one signature, and {kernel.__name__} has "
            f'{len(found)}: write @cuda.jit("void(float32[::1], float32)")'
        )
    return meaning.typing_of(kernel).signature_types(found[0])[0]


def compiled_launch(types: Sequence[Any], call: Callable[..., None]) -> Launch:
    """Return a launch function generated for arguments of the given `types`.

    call: a function of `(grid, block, shared, extra)` that launches with the parameters
    to which `extra` points, as `cuLaunchKernel` takes them.
    """
    names = [f"a{k}" for k in range(len(types))]
    parts = [_packed(name, each) for name, each in zip(names, types, strict=True)]
    form = "".join(formats for formats, _, _ in parts)
    values = ", ".join(value for _, value, _ in parts)
    checks = "".join(check for _, _, check in parts)
    text = (
        f"def launch(grid, block, {', '.join(names)}, shared=0):\n{checks}"
        f"    pack_into(own.buffer, 0, {values})\n"
        "    call(grid, block, shared, own.extra)\n"
    )
    scope = {
        "own": _Buffer(struct.calcsize(form)),
        "pack_into": struct.Struct(form).pack_into,
        "call": call,
        "refuse": _refuse,
        **_dtypes(types),
    }
    exec(compile(text, "<launch>", "exec"), scope)
    launch: Launch = scope["launch"]
    return launch


class _Buffer(threading.local):
    """Space for one launch's parameters, and the list that points the driver to it.

    Each thread has its own, because other threads may launch between two lines of
    Python.
    """

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)
        self.size = ctypes.c_size_t(size)
        addresses = ctypes.addressof(self.buffer), ctypes.addressof(self.size)
        # cuda.h: CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END
        self.extra = (ctypes.c_void_p * 5)(1, addresses[0], 2, addresses[1], 0)


def _packed(name: str, each: Any) -> tuple[str, str, str]:
    """Return an argument's format, its values to pack, and the lines that check it."""
    if str(each) in NUMBERS:
        return NUMBERS[str(each)], name, ""
    if not hasattr(each, "ndim") or each.layout != "C":
        raise LearnerError(
            f"prepare knows contiguous arrays and numbers, and {each} is neither: "
            "write float32[::1] for a vector, float32[:, ::1] for a matrix"
        )
    item, dim = meaning.as_dtype(each.dtype).itemsize, each.ndim
    shape = [f"{name}.shape[{k}]" for k in range(dim)] if dim > 1 else [f"n{name}"]
    strides = [f"{name}.stride({k}) * {item}" for k in range(dim - 1)] + [str(item)]
    values = ["0", "0", f"n{name}", str(item), f"{name}.data_ptr()", *shape, *strides]
    other = f" or {name}.dim() != {dim}" if dim > 1 else ""
    check = (
        f"    if {name}.dtype is not {each.dtype} or not {name}.is_cuda "
        f"or not {name}.is_contiguous(){other}:\n"
        f"        refuse({name}, {str(each)!r})\n"
        f"    n{name} = {name}.numel()\n"
    )
    return "q" * len(values), ", ".join(values), check


def _dtypes(types: Sequence[Any]) -> dict[str, Any]:
    """Map the name of each array's element type to the PyTorch dtype of that name."""
    import torch

    found = {str(each.dtype) for each in types if hasattr(each, "ndim")}
    return {name: getattr(torch, name) for name in found}


def _refuse(tensor: Any, wanted: str) -> None:
    where = tensor.device if tensor.is_contiguous() else "not contiguous"
    raise TypeError(
        f"the kernel takes {wanted}, on the GPU; this tensor is "
        f"{tensor.dtype}, of {tensor.dim()} dimensions, {where}"
    )


class _Attribute(ctypes.Structure):
    """A `CUlaunchAttribute`, with its 64-byte union declared as 16 integers."""

    _fields_ = (
        ("id", ctypes.c_uint),
        ("pad", ctypes.c_uint),
        ("value", ctypes.c_uint * 16),
    )


class _Config(ctypes.Structure):
    """The CUDA driver's structure CUlaunchConfig."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7),  # grid, block, shared bytes
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


def driver_call(
    handle: int, cluster: int = 1, early: bool = False
) -> Callable[..., None]:
    """Return a function that launches the kernel with the driver handle `handle`."""
    import torch

    # keeps Python's lock, because a launch is short
    driver = ctypes.PyDLL("libcuda.so.1")
    launch = driver.cuLaunchKernel
    launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
    asked = [_Attribute(CLUSTER_DIMENSION, 0, (cluster, 1, 1))] if cluster > 1 else []
    asked += [_Attribute(EARLY, 0, (1,))] if early else []
    if asked:  # drivers before CUDA 11.8 have no attributes
        with_config = driver.cuLaunchKernelEx
        with_config.argtypes = [ctypes.c_void_p] * 4
    attributes = (_Attribute * len(asked))(*asked)
    internal: Any = torch._C
    stream_of, device = internal._cuda_getCurrentRawStream, torch.cuda.current_device

    def call(grid: Any, block: Any, shared: int, extra: Any) -> None:
        x, y, z = (grid, 1, 1) if type(grid) is int else (*grid, 1, 1)[:3]
        u, v, w = (block, 1, 1) if type(block) is int else (*block, 1, 1)[:3]
        stream = stream_of(device())
        if asked:
            sizes, at = (x, y, z, u, v, w, shared), ctypes.addressof(attributes)
            config = _Config(sizes, stream, at, len(asked))
            error = with_config(ctypes.addressof(config), handle, None, extra)
        else:
            error = launch(handle, x, y, z, u, v, w, shared, stream, None, extra)
        if error:
            raise RuntimeError(f"cuLaunchKernel failed with CUDA error {error}")

    return call
