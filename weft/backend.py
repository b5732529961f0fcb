"""Access to the internals of Numba's compiler, its drivers and its simulator.

The rest of the package uses what Numba documents, such as `cuda.jit`, `cuda.to_device`
and `cuda.compile_ptx`. What it needs beyond that is here, behind plain functions, or in
`weft.meaning`, which says what Numba's objects are. Only these two modules depend on
Numba's version and compiler. This module works with numba-cuda 0.22.2 to 0.30.4, with
and without its simulator, and does not import Numba.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft import meaning


def do_without_cudart() -> None:
    """Let `numba.cuda` be imported as a simulator even if there is no libcudart.

    During its import, numba-cuda 0.30 asks CUDA's runtime library for its version,
    which affects only debug information, and fails if the library cannot be loaded.
    """
    try:
        runtime: Any = import_module("cuda.bindings.runtime")
        version = runtime.getLocalRuntimeVersion
    except (ImportError, AttributeError):  # an older Numba does not ask
        return
    try:
        version()
    except Exception:  # its class differs from version to version
        runtime.getLocalRuntimeVersion = lambda: (0, 0)  # status, version


# Compiled kernels


def allow_shared(kernel: Any, size: int) -> None:
    """Allow launches of a compiled kernel to use up to `size` bytes of shared memory.

    Without this call the limit is 48 KB. Raises RuntimeError if the driver refuses
    because the GPU has less. Source: CUDA Driver API, `cuKernelSetAttribute`.
    """
    driver: Any = import_module("cuda.bindings.driver")
    attribute = driver.CUfunction_attribute
    most = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    device = driver.CUdevice(import_module("numba.cuda").get_current_device().id)
    for compiled in kernel.overloads.values():
        handle = int(compiled._codelibrary.get_cufunc().handle)
        said = driver.cuKernelSetAttribute(most, size, driver.CUkernel(handle), device)
        code = said[0] if isinstance(said, tuple) else said
        if int(code):
            raise RuntimeError(f"{size:,} bytes of shared memory in a block: {code}")


def launching_method() -> tuple[Any, str]:
    """Return the class whose method launches kernels on a GPU, and the method's name.

    The method is called with the kernel's arguments, and then with the values that
    `launch_configuration` reads.
    """
    return import_module("numba.cuda.dispatcher").CUDADispatcher, "call"


def launch_configuration(given: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Return a launch's grid, block, stream and number of bytes of shared memory.

    given: these four values up to numba-cuda 0.22; later, one object with them.
    """
    if len(given) == 1:
        config = given[0]
        return config.griddim, config.blockdim, config.stream, config.sharedmem
    grid, block, stream, shared = given
    return grid, block, stream, shared


def handle_of(kernel: Any, types: tuple[Any, ...]) -> int:
    """Return the driver's handle of a compiled kernel: a CUkernel or a CUfunction.

    The handle is valid as long as the kernel exists; being a number, it does not keep
    the kernel alive.
    """
    library = kernel.overloads[types]._codelibrary
    return int(library.get_cufunc().handle)


# Numba's simulator


def replace_simulator(
    launcher: Callable[[Any, Any], Any],
    called: Callable[..., Any],
    for_all: Callable[..., Any],
    most_blocks: int,
    members: Mapping[str, Any],
    attributes: Mapping[str, Any],
) -> None:
    """Replace Numba's simulator with another.

    launcher: given a kernel and `(grid, block)`, returns a function of the kernel's
    arguments. called: the function that runs if a kernel is called without a
    configuration. for_all: a kernel's method `forall`. most_blocks: the largest number
    of blocks in a cooperative launch. members: attributes to set in `numba.cuda`.
    attributes: attributes to set on devices.
    """
    stock: Any = import_module("numba.cuda.simulator.kernel")
    kernel = stock.FakeCUDAKernel
    kernel.__getitem__ = lambda kernel, config: launcher(kernel, config)
    kernel.configure = lambda kernel, *config: launcher(kernel, config)
    kernel.__call__ = called
    kernel.forall = for_all
    stock.FakeOverload.max_cooperative_grid_blocks = lambda _, block: most_blocks
    cuda = import_module("numba.cuda")
    for name, value in members.items():
        setattr(cuda, name, value)
    devices: Any = import_module("numba.cuda.simulator.cudadrv.devices")
    for name, value in attributes.items():
        setattr(devices.FakeCUDADevice, name, value)


def simulators_jit(options: Collection[str]) -> Callable[..., Any]:
    """Return a `cuda.jit` that passes only `options` on to Numba's simulator.

    The other options are accepted; those that concern launches are kept for
    `meaning.options_of`.
    """
    stock = import_module("numba.cuda.simulator.api").jit

    def jit(func_or_sig: Any = None, **given: Any) -> Any:
        """Call Numba's own `jit` without the options that only a compiler needs."""
        told = meaning.told(func_or_sig, given, meaning.NUMBA.is_signature)

        def noted(kernel: Any) -> Any:
            kernel._weft_options = told
            return kernel

        known = {k: v for k, v in given.items() if k in options}
        made = stock(func_or_sig, **known)
        if meaning.is_kernel(made):
            return noted(made)
        return lambda function: noted(made(function))

    return jit


def names_of_the_host() -> dict[str, Any]:
    """Return members of `numba.cuda` that the simulator lacks, by name."""
    numba: Any = import_module("numba")
    cuda: Any = import_module("numba.cuda")
    errors = import_module("numba.cuda.simulator.cudadrv.error")
    found = {
        "literal_unroll": numba.literal_unroll,
        "managed_array": getattr(cuda, "mapped_array", None),
        "CudaSupportError": getattr(errors, "CudaSupportError", None),
        "profile_start": lambda: None,
        "profile_stop": lambda: None,
        "profiling": nullcontext,
    }
    return {
        name: value
        for name, value in found.items()
        if value is not None and not hasattr(cuda, name)
    }


def simulators_array(data: np.ndarray[Any, Any]) -> Any:
    """Return a device array of Numba's simulator over the memory of `data`."""
    devicearray: Any = import_module("numba.cuda.simulator.cudadrv.devicearray")
    return devicearray.FakeCUDAArray(data)


# Compiling


def pretend_device(capability: tuple[int, int]) -> SimpleNamespace:
    """Let Numba compile for this compute capability, whether or not there is a GPU.

    Overloads such as `max` ask the current device for its capability. To change the
    capability later, set `compute_capability` of the result.
    """
    device = SimpleNamespace(compute_capability=capability)
    dispatcher: Any = import_module("numba.cuda.dispatcher")
    dispatcher.get_current_device = lambda: device
    return device


def target_capability() -> tuple[int, int] | None:
    """Return the compute capability of the compilation in progress, or None.

    Versions of numba-cuda before 0.22 keep it in another module.
    """
    for module in ("numba.cuda.core.targetconfig", "numba.core.targetconfig"):
        try:
            flags = import_module(module).ConfigStack().top_or_none()
        except ImportError:
            continue
        found = getattr(flags, "compute_capability", None)
        if found is not None:
            return int(found[0]), int(found[1])
    return None


def intrinsic_tools() -> SimpleNamespace:
    """Return the tools for writing an intrinsic: `intrinsic`, `types`, `cgutils`, `ir`.

    Also returns `TypingError`, which is raised to refuse arguments.
    """
    return SimpleNamespace(
        intrinsic=import_module("numba.cuda.extending").intrinsic,
        types=import_module("numba.cuda.types"),
        cgutils=import_module("numba.cuda.cgutils"),
        ir=import_module("llvmlite.ir"),
        TypingError=import_module("numba.core.errors").TypingError,
    )
