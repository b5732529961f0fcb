"""What `weft.device` says of machines that are not here: the driver is a fake."""

import ast
import ctypes
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from counting import lines_run

from weft import device, store, timing
from weft.device import Device, rates, report, toolkit, tools
from weft.device.toolkit import Toolkit
from weft.errors import LearnerError

CU13 = Toolkit(*(Path("/x") / f for f in ("libnvrtc.so.13", "libnvvm.so.4", "l.bc")))
CU12 = Toolkit(*(Path("/x") / f for f in ("libnvrtc.so.12", "libnvvm.so.4", "l.bc")))
H200 = Device(True, "", "", "NVIDIA H200", (9, 0), 132, 150 * 10**9, 60 << 20, (13, 0))


def driver(init=0, version=13000, count=1, name="NVIDIA H200", capability=(9, 0)):
    """Return a stand-in for libcuda that gives these answers."""

    def give(value):
        def function(to, *_):
            to._obj.value = value
            return 0

        return function

    def get_name(buffer, size, handle):
        buffer.value = name.encode()
        return 0

    attributes = {75: capability[0], 76: capability[1], 16: 132, 38: 60 << 20}

    def get_attribute(to, which, handle):
        to._obj.value = attributes[which]
        return 0

    return SimpleNamespace(
        cuInit=lambda flags: init,
        cuDriverGetVersion=give(version),
        cuDeviceGetCount=give(count),
        cuDeviceGet=give(0),
        cuDeviceGetName=get_name,
        cuDeviceTotalMem_v2=give(150 * 10**9),
        cuDeviceGetAttribute=get_attribute,
    )


def find(environ=None, pieces=CU13, missing=(), load=None, **answers):
    return device.find(
        load or (lambda: driver(**answers)),
        environ or {},
        lambda: pieces,
        lambda module: module not in missing,
    )


def no_library():
    raise OSError("libcuda.so.1: cannot open shared object file")


def test_a_usable_gpu_is_described():
    gpu = find()
    assert gpu.usable
    assert gpu.reason == ""
    assert gpu == H200
    assert gpu.line == "NVIDIA H200 (sm_90, 132 SMs)"
    assert find(count=2).count == 2


def test_without_a_driver_it_says_what_to_install():
    gpu = find(load=no_library)
    assert not gpu.usable
    assert gpu.reason.startswith("No NVIDIA driver here. If this machine has a GPU")
    assert "simulator" in gpu.reason
    assert gpu.line == "simulator (no NVIDIA driver here)"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (100, "--gpus all"),
        (999, "restart the machine"),
        (804, "LD_LIBRARY_PATH"),
        (803, "updated while it was running"),
        (34, "stub"),
        (7777, "error 7777"),
    ],
)
def test_each_answer_of_the_driver_has_an_explanation(answer, words):
    gpu = find(init=answer)
    assert not gpu.usable
    assert words in gpu.reason
    assert gpu.reason.endswith("The labs run in the simulator meanwhile.")


def test_hidden_by_cuda_visible_devices():
    gpu = find(init=100, environ={"CUDA_VISIBLE_DEVICES": ""})
    assert "CUDA_VISIBLE_DEVICES=''" in gpu.why


def test_a_driver_that_is_too_old_names_both_versions(monkeypatch):
    monkeypatch.setattr("weft.device.gpu.driver_version", lambda: "470.223.02")
    gpu = find(version=11040)
    assert gpu.reason.startswith(
        "NVIDIA driver 470.223.02 supports CUDA 11.4. The labs need CUDA 12 "
        "(driver 525 or newer)"
    )


def test_an_old_gpu_is_named_with_its_capability():
    gpu = find(name="Tesla P100", capability=(6, 0))
    assert not gpu.usable
    assert "the Tesla P100 has compute capability 6.0" in gpu.why
    assert "7.5" in gpu.advice


def test_a_t4_will_do():
    assert find(name="Tesla T4", capability=(7, 5)).usable


def test_missing_compilers_are_named_with_the_command():
    gpu = find(pieces=Toolkit(nvrtc=CU13.nvrtc, libdevice=CU13.libdevice))
    assert not gpu.usable
    assert gpu.why == "CUDA's nvvm, which compiles kernels, is not installed"
    assert 'pip install "numba-cuda[cu13]"' in gpu.advice


def test_compilers_newer_than_the_driver():
    gpu = find(version=12080)
    assert "CUDA 13's" in gpu.why
    assert "CUDA 12.8" in gpu.why
    assert 'numba-cuda[cu12]"' in gpu.advice
    assert find(version=12080, pieces=CU12).usable


def test_numba_cuda_itself_is_missing():
    gpu = find(missing=("numba_cuda",))
    assert gpu.why == "the package numba-cuda is not installed"


def test_the_simulator_can_be_asked_for():
    def explode():
        raise AssertionError("the driver was asked")

    gpu = find(environ={"WEFT_SIMULATOR": "1"}, load=explode)
    assert gpu.why == "WEFT_SIMULATOR is set"
    assert find(environ={"WEFT_SIMULATOR": "0"}).usable


def test_numbas_own_switch_does_not_hide_a_better_reason():
    switch = {"NUMBA_ENABLE_CUDASIM": "1"}
    assert find(environ=switch).why == "NUMBA_ENABLE_CUDASIM is set"
    assert find(environ=switch, load=no_library).why == "no NVIDIA driver here"


def test_finding_no_gpu_imports_nothing_and_starts_no_program(monkeypatch):
    def absent():
        return ctypes.CDLL("libthere-is-no-such-library.so.1")

    monkeypatch.setattr(subprocess, "Popen", no_program)
    known = set(sys.modules)
    find_it = partial(device.find, absent, {}, toolkit.find, lambda module: True)
    assert lines_run(find_it) < 500  # 49, where the driver's library is not there
    assert set(sys.modules) == known


def no_program(command, **_):
    raise AssertionError(f"a program was started: {command}")


def wheel(site, *files):
    for file in files:
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.skipif("sys.platform == 'win32'", reason="file names of Linux")
def test_toolkit_is_found_in_wheels(tmp_path, monkeypatch):
    wheel(
        tmp_path,
        "nvidia/cu13/lib/libnvrtc.so.13",
        "nvidia/cu13/lib/libnvrtc-builtins.so.13.0",
        "nvidia/cu13/lib/libnvvm.so.4",
        "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
    )
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    found = toolkit.find({})
    assert found.missing == []
    assert found.major == 13
    assert found.nvrtc == tmp_path / "nvidia/cu13/lib/libnvrtc.so.13"


@pytest.mark.skipif("sys.platform == 'win32'", reason="file names of Linux")
def test_toolkit_is_found_in_the_wheels_of_cuda_12_and_in_cuda_home(
    tmp_path, monkeypatch
):
    site, home = tmp_path / "site", tmp_path / "cuda"
    wheel(site, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    wheel(home, "nvvm/lib64/libnvvm.so.4", "nvvm/libdevice/libdevice.10.bc")
    monkeypatch.setattr("sys.path", [str(site)])
    found = toolkit.find({"CUDA_HOME": str(home)})
    assert found.major == 12
    assert found.nvvm == home / "nvvm/lib64/libnvvm.so.4"
    assert found.libdevice == home / "nvvm/libdevice/libdevice.10.bc"


def examine(gpu, pieces=CU13, versions=None, which=lambda name: None, measure=False):
    present = dict.fromkeys(report.PACKAGES, "1.2.3") | (versions or {})
    return report.examine(
        measure, gpu=gpu, pieces=pieces, versions=present, which=which
    )


def line(found, what):
    return next(i for i in found.items if i.what == what)


def test_doctor_on_a_good_machine(monkeypatch):
    monkeypatch.setattr(report, "driver_version", lambda: "580.159.03")
    found = examine(H200, which=lambda name: f"/bin/{name}")
    assert found.missing == []
    assert line(found, "driver").found == "580.159.03, supports CUDA 13.0"
    assert "NVIDIA H200" in found.summary
    assert "wgmma" in line(found, "sm_90 can run").found


def test_doctor_says_who_needs_a_missing_tool_and_how_to_install_it(monkeypatch):
    monkeypatch.setattr(tools, "headers", lambda: Path("/nowhere"))
    found = examine(H200)
    gcc, headers = line(found, "gcc"), line(found, "Python.h")
    assert gcc.state == headers.state == "missing"
    assert gcc.note.startswith("Labs 02, 04, 05, ")
    assert "`sudo apt install gcc`" in gcc.note
    assert f"python3.{sys.version_info[1]}-dev" in headers.note
    assert line(found, "nvcc").state == "info"
    assert "Labs 03 and 32 need it for a part" in line(found, "nvcc").note
    assert "ninja" not in {i.what for i in found.items}  # nothing to build without nvcc


def test_doctor_misses_no_compiler_where_only_c_cells_would_use_it():
    found = examine(find(load=no_library), pieces=Toolkit())
    assert line(found, "gcc").note.startswith("Lab 04 needs it: ")
    assert line(found, "gcc").state == "info"
    assert "Python.h" not in {i.what for i in found.items}


def test_ninja_is_missed_beside_nvcc():
    found = examine(H200, which=lambda name: None if name == "ninja" else f"/{name}")
    assert line(found, "ninja").note.startswith("Lab 32 needs it for a part ")
    assert line(found, "ninja").state == "info"


def test_doctor_says_what_a_t4_cannot(monkeypatch):
    monkeypatch.setattr(report, "driver_version", lambda: "550")
    found = examine(Device(True, "", "", "Tesla T4", (7, 5), 40, cuda=(12, 4)))
    cannot = line(found, "sm_75 cannot")
    assert "Triton" in cannot.found
    assert "bf16" in cannot.found
    assert cannot.state == "info"
    assert "fp16 tensor cores" in line(found, "sm_75 can run").found


def test_doctor_on_blackwell_knows_that_wgmma_is_hoppers():
    can, cannot = report.permits((10, 0))
    assert any("TMA" in f for f in can)
    assert any("wgmma" in f for f in cannot)


def test_doctor_without_a_gpu_is_calm():
    found = examine(find(load=no_library), pieces=Toolkit(), versions={"triton": ""})
    assert found.missing == []
    assert "simulator" in found.summary
    note = line(found, "CUDA compilers").note
    assert "how much double precision" in note
    assert "pip install nvidia-cuda-nvrtc nvidia-nvvm" in note


@pytest.mark.parametrize(
    ("versions", "what", "words"),
    [
        ({"numpy": "2.5.0"}, "numpy", "numpy<2.5"),
        ({"torch": ""}, "torch", "pip install torch"),
        ({"torch": "2.13.0+cpu"}, "torch", "without CUDA"),
        ({"triton": ""}, "triton", "29_triton"),
    ],
)
def test_doctor_says_which_labs_a_missing_piece_affects(versions, what, words):
    item = line(examine(H200, versions=versions), what)
    assert item.state == "missing"
    assert words in item.note


def test_doctor_shows_itself_as_text_and_as_html():
    found = examine(find(init=999), versions={"torch": ""})
    text, page = repr(found), found._repr_html_()
    assert "✗ torch" in text
    assert "<table" in page
    assert "<script" not in page
    assert "http" not in page.replace("https://pytorch.org", "")
    assert "<code>sudo rmmod" in page


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder outside the working copy, with the store below; no GPU."""
    monkeypatch.setattr(rates, "find", lambda: Device(False, "no GPU"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def test_ceilings_are_measured_once_and_kept(home, monkeypatch):
    calls = []

    def measure():
        calls.append(1)
        return 2e10, 3e11, float("nan"), ""

    monkeypatch.setattr(rates, "_measure_cpu", measure)
    first = device.ceilings()
    assert (first.copy, first.fp32, first.on_gpu) == (2e10, 3e11, False)
    second = device.ceilings()
    assert (second.copy, second.date) == (first.copy, first.date)
    assert calls == [1]
    device.ceilings(again=True)
    assert calls == [1, 1]
    assert (home / "cache" / "weft" / "ceilings.json").is_file()


def test_ceilings_survive_a_broken_cache(home, monkeypatch):
    monkeypatch.setattr(rates, "_measure_cpu", lambda: (1.0, 2.0, float("nan"), ""))
    path = store.place("ceilings.json", cache=True)
    path.parent.mkdir(parents=True)
    path.write_text('{"oops": ')
    assert device.ceilings().copy == 1.0
    path.write_text(f'{{"{rates.cpu_name()}": {{"copy": "fast"}}}}')
    assert device.ceilings().copy == 1.0


def test_roof_is_the_slower_of_the_two():
    machine = rates.Ceilings("x", True, copy=4e12, fp32=5e13)
    assert machine.roof(flops=0, bytes=4e9) == pytest.approx(1.0)
    assert machine.roof(flops=1e12, bytes=4e9) == pytest.approx(20.0)


def test_doctor_reports_that_nothing_could_be_measured(monkeypatch):
    def refuse(again=False):
        raise LearnerError("timing needs PyTorch")

    monkeypatch.setattr(rates, "of_this_machine", refuse)
    item = line(examine(H200, measure=True), "measured")
    assert item.state == "missing"
    assert "PyTorch" in item.note


def test_the_store_is_in_the_working_copy(tmp_path, monkeypatch):
    (tmp_path / "weft").mkdir()
    (tmp_path / "_toc.yml").touch()
    deep = tmp_path / "labs" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert store.place("progress.json") == tmp_path / ".weft" / "progress.json"


def test_the_timer_refuses_a_pytorch_without_cuda():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this PyTorch can use the GPU")
    with pytest.raises(LearnerError, match=r"pytorch\.org/get-started"):
        timing.EventStopwatch()


def test_the_device_knows_nothing_of_benchmarks():
    folder = Path(device.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [getattr(node, "module", None) or ""]
            names += [f"{names[0]}.{n.name}" for n in getattr(node, "names", [])]
            assert not any("weft.bench" in name for name in names), path.name
