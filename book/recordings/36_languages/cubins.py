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
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from languages import TASKS, Program, loaded, programs

from weft.tile_programs.compiled import read

PACKAGES = ("cuda-tile", "nvidia-cuda-tileiras", "nvidia-cuda-nvcc", "nvidia-nvvm")
KINDS = {"sum": ("float32", (1, 1)), "softmax": ("float32", (2, 2))}
KINDS["gemm"] = "bfloat16", (2, 2, 2)
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
    functions: dict[bool, tuple[Any, int]] = {}

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
        run(*functions[multiples], stream.cuda_stream, grid, tensors)

    module: Any = ModuleType("cuda.tile")
    module.launch = launch
    module.Constant = {int: int}
    module.PaddingMode = SimpleNamespace(ZERO=0, NEG_INF=0)
    module.cdiv = lambda a, b: -(-a // b)
    module.kernel = lambda f=None, **options: f or (lambda function: function)
    found: ModuleType = module
    return found


def function(path: Path) -> tuple[Any, int]:
    """Load a cubin; return its kernel and how many threads its blocks must have."""
    driver, module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    cubin, kernel = path.read_bytes(), ctypes.c_void_p()
    for status in (
        driver.cuModuleLoadData(ctypes.byref(module), cubin),
        driver.cuModuleGetFunction(ctypes.byref(kernel), module, ENTRY.encode()),
    ):
        if status:
            raise RuntimeError(f"{path.name}: CUDA error {status}")
    return kernel, read(cubin, (9, 0), ENTRY).threads


def run(
    kernel: Any, threads: int, stream: int, grid: tuple[int, ...], tensors: list[Any]
) -> None:
    """Launch a kernel on tensors: of each, its address, its shape and its strides."""
    values: list[Any] = []
    for tensor in tensors:
        values.append(ctypes.c_uint64(tensor.data_ptr()))
        values += [ctypes.c_int32(n) for n in (*tensor.shape, *tensor.stride())]
    pointers = (ctypes.c_void_p * len(values))(
        *(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values)
    )
    x, y, z = (*grid, 1, 1)[:3]
    status = ctypes.CDLL("libcuda.so.1").cuLaunchKernel(
        *(kernel, x, y, z, threads, 1, 1, 0, ctypes.c_void_p(stream), pointers, None)
    )
    if status:
        raise RuntimeError(f"CUDA error {status}")


if __name__ == "__main__":
    main()
