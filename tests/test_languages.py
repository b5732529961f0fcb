"""Fifteen kernels in five languages: one check accepts them, and refuses a mistake."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft import tile_programs
from weft.device import for_triton
from weft.tile_programs.compiled import MachineCode
from weft.triton_programs import machine_code

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[1] / "book" / "recordings" / "36_languages"
sys.path.insert(0, str(FOLDER))

import cubins  # noqa: E402
import languages  # noqa: E402
import record  # noqa: E402
import verdicts  # noqa: E402
from languages import LANGUAGES, MISTAKES, TASKS, Program  # noqa: E402

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


@pytest.mark.skipif(bool(tile_programs.missing()), reason="cuTile is not installed")
@pytest.mark.parametrize("task", TASKS)
def test_the_check_accepts_cutile_and_refuses_a_mistake(task, tmp_path):
    right = verdicts.verdict(Program("cutile", task), tmp_path)
    assert right, str(right)
    wrong = verdicts.verdict(Program("cutile", task, wrong=True), tmp_path)
    assert not wrong


@without_triton
@pytest.mark.skipif(bool(tile_programs.missing()), reason="cuTile is not installed")
def test_one_mistake_has_one_verdict_in_three_languages():
    found = verdicts.text()
    assert found == (FOLDER / "verdicts.txt").read_text(encoding="utf-8")
    same = "`x[4096]` is never read (nor are 2 others), and this result needs it."
    assert found.count(same) == len(verdicts.SHOWN) == 3


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


class Processes:
    """Stands in for `record.watched`: each process says what it found, and ends."""

    def __init__(self, *ends: tuple[list[str], str, int]) -> None:
        self.ends = list(ends)
        self.asked: list[list[str]] = []

    def __call__(self, command: list[str], log: Path) -> tuple[str, str, int]:
        start = command.index("--judge") + 2
        self.asked.append(command[start : command.index("--folder")])
        names, reason, status = self.ends.pop(0)
        return "".join(f'{{"{name}": "", "s": 1}}\n' for name in names), reason, status


def test_a_kernel_that_hangs_or_destroys_the_context_stops_no_other(
    tmp_path, monkeypatch
):
    names = [program.name for program in record.of_language("numba")]
    processes = Processes(
        (names[:2], "an illegal address", record.LOST),  # said of the second
        ([], "nothing for 45 s", -9),  # the third hangs
        (names[3:], "", 0),
    )
    monkeypatch.setattr(record, "watched", processes)
    begun = record.time.perf_counter()
    found = record.judged_apart("numba", tmp_path, None, begun)
    assert processes.asked == [names, names[2:], names[3:]]
    assert found == dict.fromkeys(names, "") | {names[2]: "stopped: nothing for 45 s"}


def test_a_process_that_says_nothing_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "PATIENCE", 0.2)
    waiting = [sys.executable, "-c", "input()"]
    log = tmp_path / "log"
    process = subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=log.open("w"))
    _, reason, status = record.waited(process, log)
    process.stdin.close()
    assert status < 0
    assert "signal 9" in reason


def test_a_cubin_needs_whole_warps(monkeypatch):
    code = {"cubin": b"", "capability": (9, 0), "name": cubins.ENTRY}
    code |= {"registers": 1, "shared": 0, "local": 0}
    for threads in (0, 1, 48, 2048):
        found = MachineCode(**code, threads=threads)
        monkeypatch.setattr(cubins, "read", lambda *_, found=found: found)
        with pytest.raises(ValueError, match=f"blocks of {threads} threads"):
            cubins.threads_of(b"", "a.cubin")
    monkeypatch.setattr(cubins, "read", lambda *_: MachineCode(**code, threads=384))
    assert cubins.threads_of(b"", "a.cubin") == 384


def test_a_launch_has_addresses_shapes_and_strides():
    x, out = torch.empty(3, 5), torch.empty(1)
    buffer = cubins.packed([x, out])
    assert struct.unpack("QiiiiQii", buffer.raw) == (
        *(x.data_ptr(), 3, 5, 5, 1),
        *(out.data_ptr(), 1, 1),
    )


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
        "mistakes": {f"{k} {t}": "(5,): 1 is wrong" for k in LANGUAGES for t in TASKS}
        | {"cuda gemm": "(3, 1): 2 are wrong; (7, 1): 3 are wrong"},
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
    assert (
        "mistake, gemm, in Numba, Triton, Gluon, cuTile\n  (5,): 1 is wrong\n"
        "mistake, gemm, in CUDA C++\n  (3, 1): 2 are wrong\n  (7, 1): 3 are wrong\n"
    ) in text
    assert max(map(len, text.splitlines())) <= 76


def test_the_recording_is_of_these_kernels():
    if not RECORDED.is_file():
        pytest.skip("not yet measured")
    data = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert data["digest"] == languages.digest()
    text = (FOLDER / "languages.txt").read_text(encoding="utf-8")
    assert text == record.table(data)
    for task in TASKS:  # in all five, the check says the same of the same mistake
        (said,) = {data["mistakes"][f"{language} {task}"] for language in LANGUAGES}
        assert "are wrong" in said
