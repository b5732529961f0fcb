"""What labs need of a machine: one place says it, and code and text agree with it."""

import re
import sys
from pathlib import Path

import pytest

from weft.device import Device, tools
from weft.lesson import running, syllabus
from weft.lesson.needs import GpuNeeds

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


def test_in_the_simulator_no_launcher_is_compiled(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    nothing = Device(False, "no NVIDIA driver here")
    plan = running.plan(["05_first_kernel", "29_triton"], nothing)
    assert plan["skips"] == {}
    assert plan["stops"] == []


def test_the_headers_are_those_of_this_python():
    assert f"python3.{sys.version_info[1]}" in tools.headers().name
