"""What labs need of a machine: one place says it, and code and text agree with it."""

import re
import sys
from pathlib import Path

import pytest

import weft
from weft import device, lesson
from weft.device import Device, needs, tools
from weft.device.needs import GpuNeeds
from weft.device.report import examine
from weft.lesson import running, syllabus
from weft.lesson.onward import Header

ROOT = Path(__file__).parents[1]
LABS = syllabus.names()
USES = {  # what a chapter's code has where it needs a tool
    "gcc": r"torch\.compile\b|^\s*import triton\b",
    "Python.h": r"torch\.compile\b|^\s*import triton\b",
    "g++": r"\bload_inline\(",
    "ninja": r"\bload_inline\(",
    "onnx": r"\bimport onnx",
}
T4 = Device(True, name="Tesla T4", capability=(7, 5), sms=40, memory=15_843_721_216)
H200 = Device(True, name="NVIDIA H200", capability=(9, 0), sms=132, memory=150 * 10**9)

each_lab = pytest.mark.parametrize("lab", LABS)


def code(lab: str) -> str:
    return "\n".join(p.read_text() for p in (ROOT / "chapters" / lab).glob("*.py"))


def header(lab: str) -> str:
    """What a lab says it needs, in one line."""
    text = (ROOT / "chapters" / lab / "lab.py").read_text()
    found = re.search(r"# \*\*You need\*\*(.*?)\n# %%", text, re.DOTALL)
    return " ".join(found[1].replace("\n#", " ").split()) if found else ""


@each_lab
@pytest.mark.parametrize("tool", USES)
def test_a_lab_names_the_tools_that_its_code_uses(lab, tool):
    uses = re.search(USES[tool], code(lab), re.MULTILINE) is not None
    assert (tool in tools.of_lab(lab, on_gpu=True)) >= uses


@each_lab
def test_a_lab_tells_its_reader_what_it_needs_of_a_gpu(lab):
    gpu, text = syllabus.load(lab).gpu, header(lab)
    said = re.findall(r"compute capability (\d+)\.(\d)", text)
    lowest = [(int(major), int(minor)) for major, minor in said]
    assert gpu.capability in {(0, 0), *lowest}
    if (8, 0) in lowest and "7.5 or higher" not in text:
        assert gpu.capability >= (8, 0)
    room = [int(n) for n in re.findall(r"(\d+) GB of (?:\w+ )?(?:GPU )?memory", text)]
    assert gpu.memory in room or not (gpu.memory or room)


def test_every_tool_is_needed_by_some_lab():
    used = {name for lab in LABS for name in tools.of_lab(lab, on_gpu=True)}
    assert used == set(tools.TOOLS)


@pytest.mark.parametrize(
    ("needs", "gpu", "reason"),
    [
        (GpuNeeds(), T4, ""),
        (
            GpuNeeds(capability=(8, 0)),
            T4,
            "it needs compute capability 8.0 or higher; the Tesla T4 has 7.5",
        ),
        (
            GpuNeeds(capability=(9, 0), below=(10, 0)),
            Device(True, name="NVIDIA B200", capability=(10, 0)),
            "it needs compute capability 9.0 to below 10.0; the NVIDIA B200 has 10.0",
        ),
        (
            GpuNeeds(memory=16),
            Device(True, name="NVIDIA RTX 4060", memory=8_585_740_288),
            "it needs 16 GB of memory; the NVIDIA RTX 4060 has 8.59 GB",
        ),
        (GpuNeeds(count=2), H200, "it needs 2 GPUs; this machine has 1"),
        (
            GpuNeeds(sms=22, sms_from=(8, 0)),
            Device(True, name="RTX 3050", capability=(8, 6), sms=20),
            "it needs 22 multiprocessors; the RTX 3050 has 20",
        ),
    ],
)
def test_a_gpu_that_is_not_enough_is_refused_with_the_reason(needs, gpu, reason):
    assert needs.unmet(gpu) == reason


def test_a_t4_skips_what_it_cannot_run():
    skips = running.plan(LABS, T4)["skips"]
    numbers = {lab[:2] for lab in skips}
    assert {"22", "24", "28", "29", "33"} <= numbers
    assert not {"05", "13", "16", "32"} & numbers
    assert skips["29_triton"].endswith("8.0 or higher; the Tesla T4 has 7.5")


def test_one_h200_skips_only_what_takes_two():
    assert list(running.plan(LABS, H200)["skips"]) == ["28_multi_gpu"]


def test_a_runner_without_a_compiler_is_told_what_would_stop(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(tools, "headers", lambda: Path("/nowhere"))
    plan = running.plan(["04_c_for_python", "29_triton"], H200)
    assert [text.split(":")[0] for text in plan["stops"]] == [
        "no gcc",
        "no Python.h",
        "no make",
    ]
    assert "labs 04 and 29 need it" in plan["stops"][0]
    assert [text.split(":")[0] for text in plan["lacks"]] == ["no gdb"]


def test_a_lab_that_is_skipped_needs_no_tools(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert running.plan(["29_triton"], T4)["stops"] == []


def test_the_doctor_names_the_labs_that_a_gpu_cannot_run():
    unmet = needs.unmet(LABS, T4)
    assert unmet == {
        reason: [lab for lab in LABS if needs.of_lab(lab).unmet(T4) == reason]
        for reason in unmet
    }
    row = next(i for i in examine(False, gpu=T4).items if "cannot run" in i.what)
    assert "needs compute capability 8.0 or higher; the Tesla T4 has 7.5" in row.found
    assert "29" in row.found
    assert "WEFT_SIMULATOR" in row.note
    rows = [i.what for i in examine(False, gpu=H200).items]
    assert "labs it cannot run" in rows  # the one for several GPUs
    nothing = Device(False, "no NVIDIA driver here")
    assert "labs it cannot run" not in {
        i.what for i in examine(False, gpu=nothing).items
    }


@each_lab
def test_both_readers_of_a_lesson_agree(lab):
    assert needs.of_lab(lab) == syllabus.load(lab).gpu


def first_cell(monkeypatch, capsys, name, gpu):
    """What the first cell of a lab prints on a machine with this GPU."""
    monkeypatch.setattr(device, "find", lambda: gpu)
    lesson.lab(name)
    return capsys.readouterr().out.strip().splitlines()


def test_the_first_cell_says_that_a_gpu_is_not_enough(monkeypatch, capsys):
    title, lacks = first_cell(monkeypatch, capsys, "19_gemm_registers", T4)
    assert title.startswith("19 · ")
    assert lacks.startswith(
        "This GPU cannot run the whole lab: it needs compute capability 8.0 or higher; "
        "the Tesla T4 has 7.5. Restart the kernel, run `%env WEFT_SIMULATOR=1`"
    )
    assert len(first_cell(monkeypatch, capsys, "19_gemm_registers", H200)) == 1
    nothing = Device(False, "no NVIDIA driver here")
    assert len(first_cell(monkeypatch, capsys, "19_gemm_registers", nothing)) == 1


def test_the_first_cell_says_which_compiler_is_missing(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    _, *lacks = first_cell(monkeypatch, capsys, "32_extensions", H200)
    assert lacks[0].startswith(
        "There is no gcc here, and lab 32 needs it: it compiles C"
    )
    assert lacks[0].endswith("to install: `sudo apt install gcc`.")


def test_the_header_of_a_lab_shows_what_the_machine_lacks():
    shown = Header(syllabus.load("05_first_kernel"), "a GPU", 0, lacks=("No `gcc`.",))
    assert "No <code" in shown._repr_html_()
    assert str(shown).splitlines() == ["05 · Your first kernel · a GPU", "No `gcc`."]


def test_lab_32_leaves_out_what_it_cannot_build(monkeypatch, capsys, tmp_path):
    """Its measured rows belong to the same code, with and without the tools."""
    for name in ("nvcc", "g++"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(device, "find", lambda: H200)
    assert not weft.has_tools("g++", "ninja")
    said = "Skipped: no ninja here. To install it: `pip install ninja`\n"
    assert capsys.readouterr().out == said
    (tmp_path / "nvcc").unlink()  # the cell itself says that there is no nvcc
    assert weft.has_tools("g++", "ninja")
    monkeypatch.setattr(device, "find", lambda: Device(False))
    assert weft.has_tools("g++", "ninja")
    cells = (ROOT / "chapters" / "32_extensions" / "lab.py").read_text()
    assert 'if weft.has_tools("g++", "ninja"):\n    BUILT = measure.built()' in cells


def test_in_the_simulator_no_launcher_is_compiled(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    nothing = Device(False, "no NVIDIA driver here")
    plan = running.plan(["05_first_kernel", "29_triton"], nothing)
    assert plan["skips"] == {}
    assert plan["stops"] == []


def test_the_headers_are_those_of_this_python():
    assert f"python3.{sys.version_info[1]}" in tools.headers().name
