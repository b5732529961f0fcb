"""What the names of a kernel stand for, whichever package its file imports."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, njit, types  # isort: skip
from weft import meaning
from weft.simulator import LaunchError, simulate

ROOT = Path(__file__).parents[1]


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = float32(2) * x[i]


@cuda.jit(device=True, fastmath=True)
def square(x):
    return x * x


def test_kernels_are_told_from_other_functions() -> None:
    assert meaning.python_function(double).__name__ == "double"
    assert meaning.is_kernel(double)
    assert not meaning.is_device_function(double)
    assert not meaning.uses_fastmath(double)
    assert meaning.is_device_function(square)
    assert meaning.uses_fastmath(square)
    assert not meaning.is_kernel(njit(lambda x: x))
    assert meaning.python_function(len) is None


def test_types_and_names() -> None:
    assert meaning.is_number_type(float32)
    assert not meaning.is_number_type(np.float32)
    assert meaning.is_type(float32)
    assert meaning.as_dtype(types.int16) == meaning.as_dtype(np.int16) == np.int16
    assert meaning.cuda_name(cuda.to_device) == "to_device"
    assert meaning.cuda_name(double) == meaning.stub_name(len) == ""
    assert meaning.is_cuda(cuda)
    assert meaning.public_module(cuda.__name__) == "numba.cuda"


def test_arguments_with_a_hint() -> None:
    x = np.arange(3, dtype=np.float32)
    assert meaning.without_hint(cuda.In(x)) is meaning.without_hint(x) is x
    assert meaning.simulated_array(x) is None
    assert meaning.simulated_array(cuda.to_device(x)).tolist() == [0, 1, 2]


# Numba's successor: classes and attributes as in numba-cuda-mlir 0.6


class Number:
    __module__ = "numba_cuda_mlir.numba_cuda.types.abstract"


class Float(Number):
    __module__ = "numba_cuda_mlir.numba_cuda.types.scalars"

    def __init__(self, bitwidth: int) -> None:
        self.bitwidth = bitwidth


class VectorType:
    __module__ = "numba_cuda_mlir.type_defs.vector_types"
    name = "float32x4"


class MLIRDispatcher:
    __module__ = "numba_cuda_mlir.descriptor"

    def __init__(self, py_func: Any, **targetoptions: Any) -> None:
        self.py_func, self.targetoptions = py_func, targetoptions
        self.overloads: dict[Any, Any] = {}
        self._can_compile = True


def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Put modules with these objects where the successor's are. Returns its `cuda`."""
    support = ModuleType("numba_cuda_mlir.numba_cuda.np.numpy_support")
    support.as_dtype = lambda kind: np.dtype(f"f{kind.bitwidth // 8}")
    cuda = ModuleType("numba_cuda_mlir.cuda")
    cuda.float32, cuda.float32x4 = Float(32), VectorType()
    above = ("numba_cuda_mlir", "numba_cuda_mlir.numba_cuda")
    for module in (
        *map(ModuleType, (*above, "numba_cuda_mlir.numba_cuda.np")),
        support,
        cuda,
    ):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return cuda


def test_the_objects_of_the_successor_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mlir = package(monkeypatch)
    helper = MLIRDispatcher(lambda x: x, device=True, fastmath=True)
    kernel = MLIRDispatcher(lambda x: None, device=False, launch_bounds=(64, 2))
    assert meaning.is_kernel(kernel)
    assert not meaning.is_device_function(kernel)
    assert meaning.is_device_function(helper)
    assert meaning.uses_fastmath(helper)
    assert meaning.options_of(kernel) == meaning.Options((), (64, 2), None)
    assert meaning.is_cuda(mlir)
    assert meaning.is_number_type(mlir.float32)
    assert meaning.as_dtype(mlir.float32) == np.float32
    assert meaning.vector_name(mlir.float32x4) == "float32x4"
    assert meaning.stub_name(len) == ""


def test_a_kernel_of_the_successor_is_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = package(monkeypatch)
    single = cuda.float32

    def half(x):
        return x * single(0.5)

    helper = MLIRDispatcher(half, device=True)

    def reversed_halves(x, out):
        tile = cuda.shared.array(32, single)
        t = cuda.threadIdx.x
        tile[t] = helper(x[t])
        cuda.syncthreads()
        out[t] = tile[31 - t] + cuda.float32x4(0, 0, 0, 1).w

    kernel = MLIRDispatcher(reversed_halves, launch_bounds=32)
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    simulate(kernel, (1, 32), (x, out))
    assert (out == x[::-1] / 2 + 1).all()
    with pytest.raises(LaunchError, match="compiled for at most 32"):
        simulate(kernel, (1, 64), (x, out))


INSTALLED = """
import numpy as np
from numba_cuda_mlir import cuda
from numba_cuda_mlir.cuda import float32, libdevice
from weft import meaning
from weft.simulator import simulate

@cuda.jit(device=True)
def half(x):
    return libdevice.fabsf(x) * float32(0.5)

@cuda.jit(launch_bounds=(32, 1))
def halves(x, out):
    t = cuda.grid(1)
    out[t] = half(x[t])

x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
simulate(halves, (1, 32), (-x, out))
assert (out == x / 2).all() and meaning.options_of(halves).launch_bounds == (32, 1)
print(meaning.typing_of(halves).signature_types("void(float32[:], int32)")[1])
"""


@pytest.mark.skipif(
    find_spec("numba_cuda_mlir") is None, reason="numba-cuda-mlir is not installed"
)
def test_numba_cuda_mlir_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED],
        cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "None\n", done.stderr
