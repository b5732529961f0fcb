"""Functions that launch kernels, run with a stand-in for PyTorch's C++ headers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from weft import check  # isort: skip
from weft.c import cell  # isort: skip
from weft.cuda_cpp import extension, hosted  # isort: skip
from weft.simulator.memory.arrays import poison  # isort: skip

ROOT = Path(__file__).parents[1]
ANSWERS = ROOT / "chapters" / "32_extensions" / "answers" / "bias_relu"
TWICE = """\
#include <ATen/core/Tensor.h>

__global__ void twice_kernel(const float *x, float *out, int64_t n)
{
    int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;

    if (i < n)
        out[i] = 2 * x[i];
}

at::Tensor twice(const at::Tensor &x)
{
    TORCH_CHECK(x.is_cuda(), "not on a GPU");
    c10::cuda::CUDAGuard guard(x.device());
    at::Tensor given = x.contiguous(), out = at::empty_like(given);
    int64_t n = given.numel();
    if (n > 0) {
        twice_kernel<<<(n + 31) / 32, 32, 0, c10::cuda::getCurrentCUDAStream()>>>(
            given.const_data_ptr<float>(), out.mutable_data_ptr<float>(), n);
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return out;
}
"""


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def long(*values):
    """Return parameters of the long tier: wrong answers of the lab are like these."""
    return pytest.param(*values, marks=pytest.mark.long)


def judged(*changes, **more):
    """The verdict on the function, with some of its text replaced."""
    text = TWICE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    written, _ = cell("c", "twice.cu", text)
    arguments = {
        "prototype": "void twice_kernel(const float *x, float *out, int64_t n)",
        "host": "at::Tensor twice(const at::Tensor &x)",
        "spec": lambda x: 2 * x,
        "inputs": lambda rng, n: (rng.random(n, np.float32),),
        "call": lambda x, out: (x, out, np.int64(x.size)),
        "sizes": [0, 70],
        "launch": lambda n: (-(-n // 32), 32),
        "unseen": False,
    }
    return check(written, **arguments | more)


def test_a_launch_becomes_a_call_on_its_own_line():
    text = (
        "a();\nf<float, int><<<n / 2,\n   32>>>(x, 1 << 3);\nns::g <<< 1, 2 >>> (y);\n"
    )
    said = hosted.launches_called(text)
    assert said.splitlines() == [
        "a();",
        "weft_launch(2, n / 2,",
        "   32).of(f<float, int>)(x, 1 << 3);",
        "weft_launch(4,  1, 2 ).of(ns::g ) (y);",
    ]
    assert hosted.launches_called("x << 3; // <<<") == "x << 3; // <<<"


def test_right_and_what_is_said_of_it():
    verdict = judged()
    assert verdict, verdict
    assert verdict.facts[-1].endswith("2 kinds of wrong inputs are refused")


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ([("(n + 31) / 32, 32", "1, 32 * n")], "launch", "at most 1024"),
        ([("n > 0", "n > 1000")], "unwritten", "has launched no kernel"),
        ([("at::empty_like(given)", "at::Tensor()")], "exception", "undefined"),
        long([("2 * x[i]", "3 * x[i]")], "wrong-value", "1.5 times"),
        long([("n);\n        C10", "n - 1);\n        C10")], "unwritten", "1 of 70"),
        long([("(n + 31) / 32, 32", "1, 32")], "unwritten", "38 of 70"),
        long(
            [("0, c10::cuda::getCurrent", "0, c10::cuda::getDefault")],
            "stream",
            "default",
        ),
        long([("return out;", "return out.to(at::kDouble);")], "dtype", "float64"),
        long([("return out;", "return at::empty({3, 4});")], "shape", "(3, 4)"),
        long([("2 * x[i]", "2 * x[i + n]")], "out-of-bounds", "70 elements"),
        long(
            [("given.const_data_ptr<float>", "(float *)given.data_ptr<double>")],
            "exception",
            "expected scalar type Double but found Float",
        ),
    ],
)
def test_what_goes_wrong(changes, kind, says):
    verdict = judged(*changes)
    assert verdict.kind == kind, verdict
    assert says in f"{verdict.message} {verdict.explanation}", verdict


@pytest.mark.parametrize(
    ("launch", "kind", "says"),
    [
        (
            "32, (n + 31) / 32",
            "launch",
            "With the two numbers swapped, 1,563 blocks of 32",
        ),
        ("1, n", "launch", "has 1 block of 50,000 threads."),
        (
            "(n < 64 * 32 ? n / 32 + 1 : 64), 32",
            "unwritten",
            "47,952 of 50,000 elements",
        ),
    ],
)
def test_a_large_launch_is_judged_without_a_gpu(launch, kind, says):
    verdict = judged(("(n + 31) / 32, 32", launch), full=50_000)
    assert (verdict.kind, verdict.when, verdict.line) == (kind, "size 50,000", 19)
    assert says in f"{verdict.message} {verdict.explanation}", verdict


def test_a_large_launch_runs_its_threads_only_if_they_are_few(monkeypatch):
    ran = []
    run = hosted.programs.run
    monkeypatch.setattr(hosted.programs, "run", lambda *a: ran.append(a[1]) or run(*a))
    assert judged(full=50_000)
    assert max(map(len, ran)) < 10_000
    loop = "for (; i < n; i += int64_t(gridDim.x) * blockDim.x)"
    assert judged(("if (i < n)", loop), ("(n + 31) / 32, 32", "8, 32"), full=50_000)
    assert max(map(len, ran)) > 200_000


def test_numbers_reach_the_function_with_their_types():
    changes = [
        ("at::Tensor &x)\n{", "at::Tensor &x, double a, int64_t k)\n{"),
        ("2 * x[i];", "float(a) * x[i] + k;"),
        (
            "int64_t n)\n{\n    int64_t i",
            "float a, int64_t k, int64_t n)\n{\n    int64_t i",
        ),
        ("mutable_data_ptr<float>(), n)", "mutable_data_ptr<float>(), a, k, n)"),
    ]
    verdict = judged(
        *changes,
        prototype="void twice_kernel(const float *x, float *out, float a, int64_t k, "
        "int64_t n)",
        host="at::Tensor twice(const at::Tensor &x, double a, int64_t k)",
        inputs=lambda rng, n: (rng.random(n, np.float32), 2.5, 3),
        spec=lambda x, a, k: a * x + k,
        call=lambda x, a, k, out: (
            x,
            out,
            np.float32(a),
            np.int64(k),
            np.int64(x.size),
        ),
    )
    assert verdict, verdict


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
def test_gaps_between_strides_hold_what_no_tensor_holds(kind):
    found = hosted.strided(np.arange(3, dtype=kind))
    assert found.tolist() == [0, 1, 2]
    gaps = np.empty(6, kind)
    poison(gaps, "global")
    assert np.array_equal(found.base[1::2], gaps[1::2], equal_nan=kind[0] == "f")


def test_a_tensor_of_the_stand_in_keeps_its_strides_as_pytorch_does():
    """What is stored column by column, and copied as it is, is right as a whole."""
    two = {
        "inputs": lambda rng, m, n: (rng.random((m, n), np.float32),),
        "sizes": [(0, 3), (5, 7)],
        "launch": lambda m, n: (-(-m * n // 32), 32),
    }
    same_order = (
        "x.contiguous(), out = at::empty_like(given)",
        "x, out = at::empty_like(x)",
    )
    assert judged(same_order, **two)
    torch = pytest.importorskip("torch")
    x = torch.empty(7, 5).T
    assert torch.empty_like(x).stride() == x.stride()


def test_an_extension_needs_a_gpu_and_its_tools():
    assert not extension.possible()


HEADERS = "-I{0} -I{0}/torch/csrc/api/include"


@pytest.mark.long
@pytest.mark.parametrize(
    "path", sorted(ANSWERS.glob("right_*.cu")), ids=lambda p: p.stem
)
def test_right_answers_compile_with_pytorchs_own_headers(path, tmp_path):
    torch = pytest.importorskip("torch")
    include = Path(torch.__file__).parent / "include"
    nvcc = shutil.which("nvcc")
    if nvcc is None or not (include / "c10" / "cuda" / "CUDAGuard.h").exists():
        pytest.skip("no nvcc, or a PyTorch without the headers of its CUDA part")
    # A build for the CPU lacks one header, which says how the CUDA part was built.
    macros = tmp_path / "c10" / "cuda" / "impl" / "cuda_cmake_macros.h"
    macros.parent.mkdir(parents=True)
    macros.write_text("#pragma once\n")
    found_in = [f"-I{tmp_path}", *HEADERS.format(include).split()]
    options = ["-std=c++20", "-arch=sm_90", "-w", "-c", "-o", str(tmp_path / "out.o")]
    done = subprocess.run(
        [nvcc, *options, *found_in, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.long
def test_the_pages_operators_for_the_cpu_compile_and_are_right(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    if not (shutil.which("g++") and shutil.which("ninja")):
        pytest.skip("no compiler for extensions")
    from torch.utils.cpp_extension import load_inline

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    source = (ROOT / "book/recordings/32_extensions/aten.cpp").read_text("utf-8")
    load_inline("lab32_cpu", source, no_implicit_headers=True, is_python_module=False)
    ops = torch.ops.lab32_cpu
    x = torch.randn(100, 7, dtype=torch.float64).T
    assert torch.allclose(ops.row_sums(x), x.sum(1))
    y = ops.poly(x.float(), 0.5, 2.0)
    assert torch.allclose(y, (0.5 * x.float() ** 2 + 2) * x.float())
    assert y.stride() == x.stride()
    with pytest.raises(NotImplementedError, match='"row_sums" not implemented for'):
        ops.row_sums(x.int())
