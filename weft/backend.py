"""The only module that knows how Numba works inside.

The rest of the package uses what Numba documents, such as `cuda.jit`, `cuda.to_device`
and `cuda.compile_ptx`. What it needs beyond that is here, behind plain functions, so
that another version or another compiler changes this file alone. Works with numba-cuda
0.22.2 to 0.30.4, with and without its simulator; importing it imports neither Numba nor
NumPy.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def simulating() -> bool:
    """Whether Numba runs as a simulator in this process."""
    config: Any = import_module("numba").config
    return bool(config.ENABLE_CUDASIM)


def do_without_cudart() -> None:
    """Let `numba.cuda` be imported as a simulator where there is no libcudart.

    While it is imported, numba-cuda 0.30 asks CUDA's runtime library for its version,
    which decides about debug information, and fails if it cannot load the library.
    """
    try:
        runtime: Any = import_module("cuda.bindings.runtime")
        version = runtime.getLocalRuntimeVersion
    except (ImportError, AttributeError):  # an older Numba does not ask
        return
    try:
        version()
    except Exception:  # of a class that differs from version to version
        runtime.getLocalRuntimeVersion = lambda: (0, 0)  # status, version


# Kernels


def python_function(value: Any) -> FunctionType | None:
    """The Python function inside what a decorator of Numba made, None otherwise."""
    if not type(value).__module__.startswith("numba"):
        return None
    inner = getattr(value, "py_func", None)
    return inner if isinstance(inner, FunctionType) else None


def is_kernel(value: Any) -> bool:
    """Whether `@cuda.jit` made it: a kernel or a device function."""
    return python_function(value) is not None and "cuda" in type(value).__module__


def is_device_function(value: Any) -> bool:
    """Whether it is marked `device=True`: Numba does not launch it."""
    if getattr(value, "_device", False):  # in Numba's simulator
        return True
    return bool(_options(value).get("device"))


def uses_fastmath(kernel: Any) -> bool:
    """Whether it is marked `fastmath=True`."""
    if getattr(kernel, "_fastmath", False):  # in Numba's simulator
        return True
    return bool(_options(kernel).get("fastmath"))


def _options(kernel: Any) -> Mapping[str, Any]:
    """What `@cuda.jit` was given; empty in Numba's simulator."""
    return getattr(kernel, "targetoptions", None) or {}


@dataclass(frozen=True)
class Options:
    """What `@cuda.jit` was told of a kernel's launches.

    signatures: those that were written down, as they were; empty where Numba may
    compile for any arguments. launch_bounds, max_registers: as given.
    """

    signatures: tuple[Any, ...] = ()
    launch_bounds: Any = None
    max_registers: Any = None


def options_of(kernel: Any) -> Options:
    """What `@cuda.jit` was told of a kernel."""
    noted = getattr(kernel, "_weft_options", None)  # see `simulators_jit`
    if isinstance(noted, Options):
        return noted
    given = _options(kernel)
    fixed = getattr(kernel, "_can_compile", True) is False
    return Options(
        tuple(getattr(kernel, "overloads", ())) if fixed else (),
        given.get("launch_bounds"),
        given.get("max_registers"),
    )


def is_signature(value: Any) -> bool:
    """Whether it is one signature: a string, a tuple of types, or `void(...)`."""
    return bool(_signatures().is_signature(value))


def signature_types(signature: Any) -> tuple[tuple[Any, ...], Any]:
    """The types of a signature's arguments, and of what it returns: None for nothing.

    Raises whatever its text raises.
    """
    arguments, returned = _signatures().normalize_signature(signature)
    nothing = returned is None or str(returned) in ("none", "void")
    return tuple(arguments), None if nothing else returned


def _signatures() -> Any:
    try:
        return import_module("numba.cuda.core.sigutils")
    except ImportError:  # numba-cuda before 0.24
        return import_module("numba.core.sigutils")


def array_type(dtype: "np.dtype[Any]", ndim: int, layout: str) -> Any:
    """Numba's type of an array on the device."""
    numba: Any = import_module("numba")
    return numba.types.Array(numba.from_dtype(dtype), ndim, layout)


def value_type(value: Any) -> Any:
    """Numba's type of a value. Raises ValueError for what it does not know."""
    numba: Any = import_module("numba")
    return numba.typeof(value)


def converts(given: Any, declared: Any) -> bool:
    """Whether a launch passes an argument of one type for a parameter of another.

    Where a signature is declared Numba converts numbers, but no float to an integer,
    and of arrays only how they lie in memory.
    """
    types: Any = import_module("numba.types")
    if isinstance(given, types.Float) and isinstance(declared, types.Integer):
        return False
    context: Any = import_module("numba.core.typing")
    return context.Context().can_convert(given, declared) is not None


def allow_shared(kernel: Any, size: int) -> None:
    """Let launches of a kernel that Numba has compiled pass up to `size` bytes.

    Without it they are limited to 48 KB of shared memory. Raises RuntimeError where the
    driver refuses, because the GPU has less. CUDA Driver API, `cuKernelSetAttribute`.
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
    """The class whose method launches kernels on a GPU, and the method's name.

    It is called with the arguments, and then with what `launch_configuration` reads.
    """
    return import_module("numba.cuda.dispatcher").CUDADispatcher, "call"


def launch_configuration(given: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Grid, block, stream and shared bytes of a launch.

    given: these four up to numba-cuda 0.22, one object that has them later.
    """
    if len(given) == 1:
        config = given[0]
        return config.griddim, config.blockdim, config.stream, config.sharedmem
    grid, block, stream, shared = given
    return grid, block, stream, shared


def handle_of(kernel: Any, types: tuple[Any, ...]) -> int:
    """The driver's number for a compiled kernel: a CUkernel, or an older CUfunction.

    It stays valid for as long as the kernel exists, which the number does not ensure.
    """
    library = kernel.overloads[types]._codelibrary
    return int(library.get_cufunc().handle)


# What a kernel names


def is_numba(value: Any) -> bool:
    """Whether Numba defines the type of `value`."""
    return type(value).__module__.partition(".")[0] == "numba"


def is_number_type(value: Any) -> bool:
    """Whether it is a number type such as `float32`."""
    return isinstance(value, import_module("numba.types").Number)


def is_type(value: Any) -> bool:
    """Whether it is a number type or a vector type, such as `float32x4`."""
    return hasattr(value, "bitwidth") or hasattr(value, "num_elements")


def as_dtype(dtype: Any) -> "np.dtype[Any]":
    """The NumPy dtype of a Numba type, a NumPy dtype or a Python type."""
    if hasattr(dtype, "bitwidth") or type(dtype).__module__.startswith("numba"):
        dtype = import_module("numba.np.numpy_support").as_dtype(dtype)
    found: np.dtype[Any] = import_module("numpy").dtype(dtype)
    return found


def public_module(name: str) -> str:
    """The documented name of a module: the simulator's are `numba.cuda`.

    >>> public_module("numba.cuda.simulator"), public_module("math")
    ('numba.cuda', 'math')
    """
    return "numba.cuda" if name.startswith("numba.cuda.sim") else name


def is_cuda(module: ModuleType) -> bool:
    return module.__name__ in ("numba.cuda", "numba.cuda.simulator")


def is_libdevice(module: ModuleType) -> bool:
    return module.__name__.endswith("cuda.libdevice")


def cuda_name(value: Any) -> str:
    """The name under which `numba.cuda` holds `value`, '' if it does not."""
    if not (type(value).__module__ + getattr(value, "__module__", "")).count("cuda"):
        return ""
    members = vars(import_module("numba.cuda"))
    return next((name for name, member in members.items() if member is value), "")


def stub_name(value: Any) -> str:
    """The name of something imported from `numba.cuda`, '' for anything else.

    Unlike `cuda_name` it takes no search, and knows submodules: `threadIdx`, `atomic`,
    `shared`.
    """
    module = getattr(value, "__module__", "") or ""
    if not module.startswith("numba") or "cuda" not in module:
        return ""
    return getattr(value, "__name__", None) or getattr(value, "_name", None) or ""


# Arguments


def simulated_array(value: Any) -> "np.ndarray[Any, Any] | None":
    """The memory of a device array of Numba's simulator, None for anything else."""
    inner = getattr(value, "_ary", None)
    return inner if isinstance(inner, import_module("numpy").ndarray) else None


def without_hint(arg: Any) -> Any:
    """What `cuda.In`, `cuda.Out` or `cuda.InOut` holds; other arguments as they are."""
    hinted = type(arg).__name__ in ("In", "Out", "InOut") and hasattr(arg, "value")
    return arg.value if hinted else arg


def transferred(arg: Any, back: list[Callable[[], Any]]) -> Any:
    """Follow `cuda.In`, `cuda.Out` and `cuda.InOut` in the simulator.

    `back` gets what has to be called after the launch. Other arguments stay as they
    are. The class of the hints is in `numba.cuda.args` up to numba-cuda 0.24, and in
    `numba.cuda.simulator.args` later; the simulator's kernels use the right one.
    """
    hint: Any = import_module("numba.cuda.simulator.kernel").ArgHint
    return arg.to_device(back) if isinstance(arg, hint) else arg


# Numba's simulator


def replace_simulator(
    launcher: Callable[[Any, Any], Any],
    called: Callable[..., Any],
    for_all: Callable[..., Any],
    most_blocks: int,
    members: Mapping[str, Any],
    attributes: Mapping[str, Any],
) -> None:
    """Replace Numba's simulator by another.

    launcher: gives for a kernel and `[grid, block]` what is called with the arguments.
    called: what a kernel does that is called without a configuration. for_all: its
    `forall`. most_blocks: of a cooperative launch. members: of `numba.cuda`.
    attributes: of the current device.
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
    """`cuda.jit` of Numba's simulator, which takes these of its options.

    The others are accepted. What they say of launches is kept, see `options_of`.
    """
    stock = import_module("numba.cuda.simulator.api").jit

    def jit(func_or_sig: Any = None, **given: Any) -> Any:
        """Numba's own; options that only a compiler needs are accepted."""
        signatures: tuple[Any, ...] = ()
        if isinstance(func_or_sig, list):
            signatures = tuple(func_or_sig)
        elif func_or_sig is not None and is_signature(func_or_sig):
            signatures = (func_or_sig,)
        told = Options(
            signatures, given.get("launch_bounds"), given.get("max_registers")
        )

        def noted(kernel: Any) -> Any:
            kernel._weft_options = told
            return kernel

        known = {k: v for k, v in given.items() if k in options}
        made = stock(func_or_sig, **known)
        if is_kernel(made):
            return noted(made)
        return lambda function: noted(made(function))

    return jit


def names_of_the_host() -> dict[str, Any]:
    """What a host imports from `numba.cuda` on a GPU, and the simulator lacks."""
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


def simulators_array(data: "np.ndarray[Any, Any]") -> Any:
    """A device array of Numba's simulator over the memory of `data`."""
    devicearray: Any = import_module("numba.cuda.simulator.cudadrv.devicearray")
    return devicearray.FakeCUDAArray(data)


# Compiling


def pretend_device(capability: tuple[int, int]) -> SimpleNamespace:
    """Let Numba compile without a GPU; change `compute_capability` of the result.

    Overloads such as `max` ask the current device for its capability.
    """
    device = SimpleNamespace(compute_capability=capability)
    dispatcher: Any = import_module("numba.cuda.dispatcher")
    dispatcher.get_current_device = lambda: device
    return device


def target_capability() -> tuple[int, int] | None:
    """The compute capability for which Numba compiles now, None between compilations.

    Numba before 0.22 keeps it elsewhere; then it is that of the current device.
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
    """What it takes to write an intrinsic: `intrinsic`, `types`, `cgutils`, `ir`.

    And `TypingError`, which refuses arguments.
    """
    return SimpleNamespace(
        intrinsic=import_module("numba.cuda.extending").intrinsic,
        types=import_module("numba.cuda.types"),
        cgutils=import_module("numba.cuda.cgutils"),
        ir=import_module("llvmlite.ir"),
        TypingError=import_module("numba.core.errors").TypingError,
    )
