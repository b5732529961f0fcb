"""cuTile's kernels on a machine without cuTile's compiler: compiled elsewhere.

python cubins.py FOLDER compiles them for `sm_90`; it needs no GPU, but `cuda-tile` and
its compiler, `nvidia-cuda-tileiras`, `nvidia-cuda-nvcc` and `nvidia-nvvm` of one
version. As `ct.launch` does, it compiles each kernel once for arrays whose sizes and
strides are multiples of 16 and once for any. `stand_in` takes the place of `cuda.tile`
where the folder is used.
"""

import ctypes
import inspect
import json
import struct
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from languages import TASKS, Program, loaded, programs

from weft.launching import driver_call
from weft.tile_programs.compiled import read

PACKAGES = ("cuda-tile", "nvidia-cuda-tileiras", "nvidia-cuda-nvcc", "nvidia-nvvm")
KINDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "sum": ("float32", (1, 1)),
    "softmax": ("float32", (2, 2)),
    "gemm": ("bfloat16", (2, 2, 2)),
}
ENTRY = "tile_kernel"


# Compiling


def array(kind: str, rank: int, multiples: bool) -> Any:
    """Return what the compiler may assume of a contiguous array."""
    import cuda.tile as ct
    from cuda.tile import compilation

    known: dict[str, Any] = {}
    if multiples:
        strides = (16,) * (rank - 1) + (1,)
        known = {"shape_divisible_by": 16, "stride_divisible_by": strides}
    return compilation.ArrayConstraint(
        getattr(ct, kind),
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        stride_constant=(None,) * (rank - 1) + (1,),
        base_addr_divisible_by=16,
        **known,
    )


def compiled(program: Program, folder: Path, multiples: bool) -> None:
    """Compile a program's kernel into a folder."""
    import cuda.tile as ct
    from cuda.tile import compilation

    with tempfile.TemporaryDirectory() as sources:
        loaded(program, Path(sources))
        module = sys.modules[program.name]
        (kernel,) = (v for v in vars(module).values() if isinstance(v, ct.kernel))
        kind, ranks = KINDS[program.task]
        about = [array(kind, rank, multiples) for rank in ranks]
        if program.task == "sum":  # one number is no multiple of 16
            about[1] = array(kind, 1, False)
        for name in list(inspect.signature(kernel._pyfunc).parameters)[len(ranks) :]:
            value = getattr(module, name)
            about.append(compilation.ConstantConstraint(value))
        version = compilation.CallingConvention.cutile_python_v1()
        signature = compilation.KernelSignature(about, version, symbol=ENTRY)
        target = folder / file_name(program.name, multiples)
        compilation.export_kernel(
            *(kernel, [signature], str(target)),
            gpu_code="sm_90",
            output_format="cubin",
        )


def file_name(name: str, multiples: bool) -> str:
    return f"{name}.{'multiples' if multiples else 'any'}.cubin"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    made = [p for p in programs() if p.language == "cutile"]
    made += [Program("cutile", task, wrong=True) for task in TASKS]
    for program in made:
        for multiples in (True, False):
            compiled(program, folder, multiples)
            print(file_name(program.name, multiples), flush=True)
    versions = {package: metadata.version(package) for package in PACKAGES}
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")


# Launching


def stand_in(folder: Path, name: str) -> ModuleType:
    """Return a module like `cuda.tile`, whose `launch` launches a compiled kernel."""
    functions: dict[bool, tuple[Callable[..., None], int]] = {}

    def launch(stream: Any, grid: tuple[int, ...], kernel: Any, given: Any) -> None:
        tensors = [each for each in given if hasattr(each, "data_ptr")]
        multiples = all(
            size % 16 == 0
            for tensor in tensors
            if tensor.numel() > 1
            for size in (*tensor.shape, *tensor.stride()[:-1])
        )
        if multiples not in functions:
            functions[multiples] = function(folder / file_name(name, multiples))
        call, threads = functions[multiples]
        buffer = packed(tensors)
        size = ctypes.c_size_t(len(buffer))
        addresses = ctypes.addressof(buffer), ctypes.addressof(size)
        # what cuda.h calls CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END
        extra = (ctypes.c_void_p * 5)(1, addresses[0], 2, addresses[1], 0)
        call(grid, threads, 0, extra)

    module: Any = ModuleType("cuda.tile")
    module.launch = launch
    module.Constant = {int: int}
    module.PaddingMode = SimpleNamespace(ZERO=0, NEG_INF=0)
    module.cdiv = lambda a, b: -(-a // b)
    module.kernel = lambda f=None, **options: f or (lambda function: function)
    found: ModuleType = module
    return found


def function(path: Path) -> tuple[Callable[..., None], int]:
    """Load a cubin; return what launches it, and the threads its blocks must have."""
    cubin, module, handle = path.read_bytes(), ctypes.c_void_p(), ctypes.c_void_p()
    threads = threads_of(cubin, path.name)
    driver = ctypes.CDLL("libcuda.so.1")
    error = driver.cuModuleLoadData(
        ctypes.byref(module), cubin
    ) or driver.cuModuleGetFunction(ctypes.byref(handle), module, ENTRY.encode())
    if error:
        raise RuntimeError(f"the driver does not load {path.name}: CUDA error {error}")
    assert handle.value is not None
    return driver_call(handle.value), threads


def threads_of(cubin: bytes, name: str) -> int:
    """Return the threads that a kernel's blocks must have. Raises ValueError."""
    threads = read(cubin, (9, 0), ENTRY).threads
    if not 32 <= threads <= 1024 or threads % 32:
        raise ValueError(f"{name} asks for blocks of {threads} threads")
    return threads


def packed(tensors: list[Any]) -> Any:
    """Pack a launch's parameters: of each tensor, its address, shape and strides."""
    form, values = "", []
    for tensor in tensors:
        form += "Q" + 2 * tensor.dim() * "i"
        values += [tensor.data_ptr(), *tensor.shape, *tensor.stride()]
    return ctypes.create_string_buffer(
        struct.pack(form, *values), struct.calcsize(form)
    )


if __name__ == "__main__":
    main()
