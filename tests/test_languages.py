"""Fifteen kernels in five languages: one check accepts them, and refuses a mistake."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import tile_programs
from weft.device import for_triton
from weft.triton_programs import machine_code

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[1] / "book" / "recordings" / "36_languages"
sys.path.insert(0, str(FOLDER))

import languages  # noqa: E402
import record  # noqa: E402
from languages import LANGUAGES, MISTAKES, SMALL, TASKS, Program  # noqa: E402

RECORDED = FOLDER / "languages.json"
without_triton = pytest.mark.skipif(
    bool(for_triton.missing()), reason="Triton does not run here"
)


def every() -> list[Program]:
    return [Program(language, task) for language, task in MISTAKES]


def test_all_constants_and_mistakes_are_in_the_files():
    found = {program.source for program in languages.programs()}
    wrong = {Program(p.language, p.task, wrong=True).source for p in every()}
    assert len(every()) == len(LANGUAGES) * len(TASKS) == 15
    assert len(found) == 15 + sum(map(len, languages.CHOICES.values()))
    assert len(wrong) == 15
    assert not found & wrong


def test_lines_of_code_are_counted_without_comments_and_imports(tmp_path):
    path = tmp_path / "few.py"
    path.write_text(
        '"""About."""\n\nimport os\nfrom os import (\n    path,\n)\n\n'
        '# why\ndef f(\n    x,\n):\n    """More.\n\n    About."""\n    return (x\n'
        '        + 1)  # why\n\n\nNAME = """two\nlines"""\n'
    )
    assert languages.code_lines(path) == 7
    path = tmp_path / "few.cu"
    path.write_text("// about\n#include <x>\n\nint f()\n{\n    return 1;  // why\n}\n")
    assert languages.code_lines(path) == 4


def loaded(program: Program, folder: Path) -> Any:
    """A program's `bind`, with few blocks, as the simulator runs all of them."""
    bind = languages.loaded(program, folder)
    if "BLOCKS" in bind.__globals__:
        bind.__globals__["BLOCKS"] = 2
    return bind


@pytest.mark.parametrize("task", TASKS)
def test_the_check_accepts_numba_and_refuses_a_mistake(task, tmp_path):
    right = loaded(Program("numba", task), tmp_path)
    assert languages.faults(task, right, "cpu") == []
    wrong = loaded(Program("numba", task, wrong=True), tmp_path)
    assert "are wrong" in languages.faults(task, wrong, "cpu")[0]


@without_triton
def test_the_check_accepts_triton_and_refuses_a_mistake():
    """In Triton's interpreter, which is chosen before Triton is imported."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / "languages.py"), "triton"],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    for right, wrong in zip(lines[::2], lines[1::2], strict=True):
        assert right.endswith(" []"), right
        assert "are wrong" in wrong, wrong


ARRAYS: dict[str, dict[str, Any]] = {
    "sum": {
        "launch": lambda n: ((2,), {"TILE": 2048}),
        "out": lambda x: np.zeros(1, np.float32),
    },
    "softmax": {"launch": lambda rows, cols: ((rows,), {"WIDTH": 4096})},
    "gemm": {
        "launch": lambda m, n, k: (
            (-(-m // 128) * -(-n // 256),),
            {"TM": 128, "TN": 256, "TK": 64},
        )
    },
}


def verdict_of(task: str, program: Program, folder: Path) -> Any:
    """The verdict of weft's check, with the reference and the inputs of ours."""
    bind = languages.loaded(program, folder)
    (kernel,) = (
        value for value in bind.__globals__.values() if hasattr(value, "_pyfunc")
    )

    def spec(*given: Any) -> Any:
        exact, _ = languages.reference(task, *map(torch.as_tensor, given))
        return exact.numpy().astype(np.float32)

    def made(rng: Any, *size: int) -> tuple[Any, ...]:
        given = languages.inputs(task, size, "cpu", "float16")
        return tuple(each.numpy() for each in given)

    return weft.check(
        kernel,
        spec=spec,
        inputs=made,
        sizes=list(SMALL[task]),
        tolerance=1e-2 if task == "gemm" else 1e-4,
        **ARRAYS[task],
    )


@pytest.mark.skipif(bool(tile_programs.missing()), reason="cuTile is not installed")
@pytest.mark.parametrize("task", TASKS)
def test_the_check_accepts_cutile_and_refuses_a_mistake(task, tmp_path):
    right = verdict_of(task, Program("cutile", task), tmp_path)
    assert right, str(right)
    wrong = verdict_of(task, Program("cutile", task, wrong=True), tmp_path)
    assert not wrong


def tensors(task: str) -> list[Any]:
    """What a program is bound to, of the sizes that are measured, without memory."""
    if task == "gemm":
        return [torch.empty(8192, 8192, dtype=torch.bfloat16, device="meta")] * 3
    if task == "softmax":
        return [torch.empty(16384, 4096, device="meta")] * 2
    return [torch.empty(1 << 28, device="meta"), torch.empty(1, device="meta")]


@without_triton
@pytest.mark.parametrize("task", TASKS)
def test_gluon_compiles_to_the_same_loads_and_products_as_triton(
    task, tmp_path, monkeypatch
):
    import triton
    from triton.compiler import ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource

    def compiling(program: Any, grid: Any) -> Callable[..., Any]:
        return lambda *given, **options: codes.append(
            machine_code(program, *given, **options)
        )

    codes: list[Any] = []
    monkeypatch.setattr(triton.runtime.jit.KernelInterface, "__getitem__", compiling)
    for language, source in (("gluon", GluonASTSource), ("triton", ASTSource)):
        monkeypatch.setattr(triton.compiler, "ASTSource", source)
        languages.loaded(Program(language, task), tmp_path)(*tensors(task))()
    counts = [code.count("ld.global", "st.global", "wgmma.mma") for code in codes]
    assert counts[0] == counts[1]
    expected = {
        "sum": "ld.global.v4",
        "softmax": "st.global.v4",
        "gemm": "wgmma.mma_async.sync.aligned.m64n256k16",
    }
    assert any(name.startswith(expected[task]) for name in counts[0]), counts


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
@pytest.mark.parametrize("task", TASKS)
def test_cuda_compiles(task, tmp_path):
    library = languages.built(Program("cuda", task), tmp_path)
    assert b"launch" in library.read_bytes()


def row(kind: str, name: str, ms: float | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"case": "sum", "kind": kind, "name": name}
    if ms is None:
        return found | {"error": "wrong"}
    return found | {"ms": ms, "spread": ms / 100, "value": 1 / ms, "unit": "TB/s"}


def test_a_table_has_the_fastest_library_and_the_best_constants():
    data = {
        "device": {"name": "NVIDIA H200", "cpu": "a CPU", "driver": "580"},
        "versions": {"torch": "2.11", "triton": "3.6.0"},
        "date": "2026-11-28",
        "lines": {f"{k} {t}": 10 for k in LANGUAGES for t in TASKS},
        "rows": [
            row("library", "torch.sum", 0.30),
            row("library", "CUB", 0.25),
            row("numba", "Numba", 0.5) | {"constants": "A, B = 1, 2  # why"},
            row("numba", "Numba, choice 0", 0.4) | {"constants": "A, B = 1, 3"},
            row("cuda", "CUDA C++") | {"constants": "A = 1, B = 2;"},
        ],
    }
    text = record.table(data)
    assert re.search(r"^Numba +10 +2\.5 +1\.0% +62\.5%$", text, re.M)
    assert re.search(r"^CUDA C\+\+ +10 +failed$", text, re.M)
    assert re.search(r"^CUB +4 +1\.0% +100\.0%$", text, re.M)
    assert re.search(r"^Numba: 1, 2 +2$", text, re.M)
    assert re.search(r"^CUDA C\+\+: 1, 2 +failed$", text, re.M)
    assert max(map(len, text.splitlines())) <= 76


def test_the_recording_is_of_these_kernels():
    if not RECORDED.is_file():
        pytest.skip("not yet measured")
    data = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert data["digest"] == languages.digest()
    text = (FOLDER / "languages.txt").read_text(encoding="utf-8")
    assert text == record.table(data)
    assert all("are wrong" in said for said in data["mistakes"].values())
