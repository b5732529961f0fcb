"""The simulator by itself: without lessons, PyTorch, Jupyter and Numba."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import types as numbas  # isort: skip
from weft import meaning
from weft.simulator.stand_in import arrays, types

ROOT = Path(__file__).parents[1]

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        packages = ("numba", "numba_cuda", "numba_cuda_mlir", "torch", "IPython",
                    "ipywidgets", "anywidget", "matplotlib", "filelock")
        if name.partition(".")[0] in packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def said(code: str, *, without: bool = True, **environment: str) -> str:
    """What a program prints, in a process without Numba and the others."""
    simulated = {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(ROOT)}
    clean = {k: v for k, v in os.environ.items() if k != meaning.SIMULATES}
    done = subprocess.run(
        [sys.executable, "-c", (BLOCKED if without else "") + code],
        cwd=ROOT, capture_output=True, text=True,
        env=clean | simulated | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_file(tmp_path: Path, code: str, **options: Any) -> str:
    """The same for a program in a file, whose kernels have lines."""
    file = tmp_path / "kernels.py"
    file.write_text(code, encoding="utf-8")
    run = f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')"
    return said(run, **options)


def test_importing_the_simulator_imports_no_numba() -> None:
    code = """
import sys
import weft.simulator, weft.sanitizer
from weft.simulator import Fault, LaunchError, record, simulate
print("numba" in sys.modules)
from numba import cuda
from weft.simulator.host import Launcher
kernel = cuda.jit(lambda x: None)
print(type(kernel[1, 1]) is Launcher)
"""
    assert said(code, without=False) == "False\nTrue\n"


def test_what_the_rooms_of_the_simulator_need() -> None:
    """Of the package, the ground, the intrinsics, and what `import weft` loads."""
    code = """
import sys
from weft.simulator import record, install
install()
from numba import cuda
rooms = {m.split(".")[1] for m in sys.modules if m.startswith("weft.")}
print(*sorted(rooms))
"""
    assert set(said(code).split()) == {
        *("backend", "code_objects", "device", "effort", "intrinsics", "meaning"),
        *("originals", "own_classes", "places", "python_errors", "simulator"),
        *("tracebacks", "versions", "wording"),
    }


KERNELS = """
import weft.simulator

weft.simulator.install()

import numba
import numpy as np
from numba import cuda, float32, int32, njit
from numba.cuda import libdevice

HALF = float32(0.5)

@cuda.jit(device=True)
def twice(x):
    return float32(2) * x

@njit
def above(a, b):
    return a + b

@cuda.jit("void(float32[:], float32[:])", fastmath=True)
def reverse(x, out):
    tile = cuda.shared.array(64, numba.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = twice(x[i])
    cuda.syncthreads()
    out[i] = above(tile[63 - t] * HALF, int32(1)) - libdevice.fabsf(float32(-1))

x = np.arange(256, dtype=np.float32)
stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
given, out = cuda.to_device(x, stream=stream), cuda.device_array(256, np.float32)
begin.record(stream)
reverse[4, 64, stream](given, out)
end.record(stream)
cuda.synchronize()
print((out.copy_to_host().reshape(4, 64)[:, ::-1] == x.reshape(4, 64)).all())
print(begin.elapsed_time(end) > 0, out.dtype, type(reverse) is type(twice))

@cuda.jit
def types_of(a, b, out):
    out[0] = a + b

wide = np.zeros(1)
types_of.forall(1)(float32(0.1), int32(0), wide)
print(wide[0] == float(np.float32(0.1)))  # float32 + int32 is a float64

y = np.zeros(4, np.float32)

@cuda.jit
def fill(v):
    cuda.atomic.add(v, 0, cuda.float32x4(1, 2, 3, 4).w)

fill[1, 4](cuda.InOut(y))
fill[1, 4](cuda.In(y))
print(y[0])
fill[1, 4](cuda.Out(y))  # adds to what nobody has written
print(y[0])
"""


PRINTED = "True\nTrue float32 True\nTrue\n16.0\nnan\n"


def test_a_file_of_kernels_runs_without_numba(tmp_path: Path) -> None:
    assert run_file(tmp_path, KERNELS) == PRINTED


def test_the_same_file_runs_with_numba(tmp_path: Path) -> None:
    assert run_file(tmp_path, KERNELS, without=False) == PRINTED


def test_the_same_file_runs_for_the_successor(tmp_path: Path) -> None:
    code = KERNELS.replace("install()", 'install("numba_cuda_mlir")')
    code = code.replace("import numba\n", "import numba_cuda_mlir as numba\n")
    code = code.replace("from numba", "from numba_cuda_mlir")
    assert run_file(tmp_path, code) == PRINTED


def test_parts_of_a_device_array_keep_its_stream() -> None:
    array = arrays.to_device(np.arange(5), stream=7)
    assert [part.stream for part in array.split(2)] == [7, 7, 7]
    assert [part.stream for part in array.split(3, stream=8)] == [8, 8]


def test_to_device_need_not_copy() -> None:
    there = arrays.to_device(np.zeros(3))
    assert arrays.to_device(np.ones(3), copy=False, to=there) is there
    assert not there.copy_to_host().any()
    assert arrays.to_device(np.ones((2, 3)), copy=False).shape == (2, 3)


RACE = """
import weft.simulator
from weft.sanitizer import refuse

weft.simulator.install(check=refuse)

import numpy as np
from numba import cuda, float32

@cuda.jit
def reverse(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[63 - t]

@cuda.jit
def unset(out):
    local = cuda.local.array(2, float32)
    out[0] = local[1]

@cuda.jit
def past_the_end(out):
    out[cuda.grid(1) + 1] = 0

@cuda.jit
def right(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]

@cuda.jit
def adds(out):
    out[cuda.grid(1)] += 1

x = np.ones(64, np.float32)
right[2, 32](x, cuda.Out(x.copy()))
adds[1, 64](cuda.InOut(x))
for kernel, *args in ((reverse, x, x.copy()), (unset, x), (past_the_end, x),
                      (adds, cuda.Out(x))):
    try:
        kernel[1, 64 if kernel is not unset else 1](*args)
    except weft.simulator.Fault as fault:
        print(fault.kind, *sorted(place.line for place in fault.places))
"""


@pytest.mark.parametrize("without", [True, False])
def test_every_launch_is_checked(without: bool, tmp_path: Path) -> None:
    printed = run_file(tmp_path, RACE, without=without)
    assert printed.splitlines() == [
        "race 14 15", "uninitialised 20", "out-of-bounds 24", "uninitialised 32",
    ]  # fmt: skip


def test_numba_that_compiles_is_not_replaced() -> None:
    code = """
import sys
from types import ModuleType, SimpleNamespace
import weft.simulator
numba = sys.modules["numba"] = ModuleType("numba")
numba.config = SimpleNamespace(ENABLE_CUDASIM=False)
sys.modules["numba_cuda_mlir"] = ModuleType("numba_cuda_mlir")
for package in ("numba", "numba_cuda_mlir", "cupy"):
    try:
        weft.simulator.install(package)
    except (ImportError, ValueError) as error:
        print(type(error).__name__, str(error).split(",")[0])
print(sys.modules["numba"] is numba)
"""
    assert said(code).splitlines() == [
        "ImportError numba has been imported already",
        "ImportError numba_cuda_mlir has been imported already",
        "ValueError package is numba or numba_cuda_mlir",
        "True",
    ]


def test_what_the_stand_in_lacks_is_an_import_error() -> None:
    code = """
import weft.simulator
weft.simulator.install()
weft.simulator.install()
for line in ("from numba import vectorize", "import numba.cuda.random"):
    try:
        exec(line)
    except ImportError as error:
        print(error.name)
import numba
try:
    numba.vectorize
except AttributeError as error:
    print(error)
"""
    *names, message = said(code).splitlines()
    assert names == ["numba", "numba.cuda.random"]
    assert message.startswith("the stand-in for numba has no vectorize")


# Types: as Numba has them


def without_numpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of types in a process that has no NumPy."""
    spec = spec_from_file_location("types_alone", types.__file__)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "types_alone", made)
    spec.loader.exec_module(made)
    monkeypatch.delitem(sys.modules, "numpy")
    return made


def test_conversions_need_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = without_numpy(monkeypatch)
    for name in ("float16", "float32", "float64", "int8", "uint16", "complex64"):
        kind = getattr(np, name)
        for value in (0.1, 2.9, 100, 1 / 3):
            found = alone.NUMBERS[name](value)
            assert found == kind(value).item()
            assert type(found) is type(kind(value).item())
    assert alone.NUMBERS["float32"](-1e300) == float("-inf")
    with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
        alone.NUMBERS["int8"](300)


def test_conversions_give_numbers_of_numpys() -> None:
    """A constant of a kernel's module has its own type in the kernel."""
    assert type(types.TYPES["float32"](0.1)) is np.float32
    assert type(types.TYPES["i8"](3.7)) is np.int64


NAMES = [name for name in types.TYPES if isinstance(types.TYPES[name], types.Number)]
DISTINCT = [*types.NUMBERS, "boolean"]


@pytest.mark.parametrize("name", types.TYPES)
def test_names_mean_what_they_mean_to_numba(name: str) -> None:
    theirs = getattr(numbas, name)
    assert str(types.TYPES[name]) == str(theirs)
    if name in NAMES:
        assert types.TYPES[name].bitwidth == theirs.bitwidth
    assert meaning.is_number_type(types.TYPES[name]) == meaning.is_number_type(theirs)


def test_arguments_convert_as_with_numba() -> None:
    for one, two in product(DISTINCT, repeat=2):
        ours = types.converts(types.TYPES[one], types.TYPES[two])
        theirs = meaning.NUMBA.converts(getattr(numbas, one), getattr(numbas, two))
        assert ours == theirs, (one, two)
    arrays = [("float32", 1, "C"), ("float32", 2, "C"), ("float32", 2, "F")]
    arrays += [("float32", 2, "A"), ("int32", 2, "C")]
    for first, second in product(arrays, repeat=2):
        given = [types.array_type(np.dtype(d), *rest) for d, *rest in (first, second)]
        like = [
            meaning.NUMBA.array_type(np.dtype(d), *rest) for d, *rest in (first, second)
        ]
        assert types.converts(*given) == meaning.NUMBA.converts(*like), (first, second)


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], int32)",
        "void(float64[:, ::1], i4[::1, :], boolean)",
        "float32(float32, uint8)",
        "(f4[:], c8)",
    ],
)
def test_signatures_are_read_as_by_numba(signature: str) -> None:
    def shown(typing: Any) -> tuple[list[str], str]:
        arguments, returned = typing.signature_types(signature)
        return [str(argument) for argument in arguments], str(returned)

    assert types.is_signature(signature)
    assert shown(types) == shown(meaning.NUMBA)


@pytest.mark.parametrize(
    "value", [1, 1 << 63, -5, 0.5, True, 1j, np.float32(1), np.uint8(1), (1, 0.5)]
)
def test_values_have_the_types_that_numba_gives_them(value: Any) -> None:
    assert str(types.value_type(value)) == str(meaning.NUMBA.value_type(value))
