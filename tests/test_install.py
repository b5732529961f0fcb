"""install.py, lab.py and the Makefile: every case of a fresh machine, no download."""

import ast
import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections import namedtuple
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import install
import lab
from installing import (
    Stop,
    builds,
    bytecode,
    engines,
    fetching,
    pins,
    settings,
    torch_build,
    updating,
)
from installing.engines import Engine
from installing.environment import Environment, hash_of
from weft.device import for_triton

ROOT = Path(__file__).parents[1]
FILES = settings.files
PYTHONS = [f"{major}.{minor}" for major, minor in install.PYTHONS]
CPU_WHEEL = {"version": "2.13.0+cpu", "requires_dist": ["filelock", "sympy>=1.13.3"]}
CUDA_WHEEL = {
    "version": "2.13.0",
    "requires_dist": [
        "filelock",
        'cuda-toolkit[cublas]==13.0.3; platform_system == "Linux"',
        'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"',
    ],
}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("VARIANT", "PYTHON", "TORCH_INDEX", "XDG_CONFIG_DIRS"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(settings, "files", list)
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def course(tmp_path):
    """A course with the requirement files alone."""
    for name in (pins.LEARNER, pins.FULL, pins.DEV, pins.CONSTRAINTS):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def run(course, **options):
    return updating.install(course, compiling=False, **options)


def put(environment, name, text="x = 1\n"):
    """Put a package into an environment: one file, and what pip notes about it."""
    info = environment.packages / f"{name}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "INSTALLER").touch()
    (environment.packages / f"{name}.py").write_text(text)
    digest = hash_of(environment.packages / f"{name}.py", "sha256=")
    lines = [f"{name}.py,{digest},{len(text)}", f"{name}.pyc,,"]
    (info / "RECORD").write_text("\n".join(lines) + "\n")


@pytest.fixture
def machine(monkeypatch):
    """Stands for the driver, for pip and for venv; `machine.log` says what was done."""

    machine = SimpleNamespace(cuda=None, fail_at=None, log=[])
    machine.wheels = {  # index ("" is pip's own) -> metadata of the torch there
        torch_build.TORCH_WHEELS + "cpu": CPU_WHEEL,
        torch_build.TORCH_WHEELS + "cu126": {"version": "2.13.0+cu126"},
        torch_build.TORCH_WHEELS + "cu129": {"version": "2.13.0+cu129"},
        "": CUDA_WHEEL,
    }

    def make(environment, record):
        machine.log.append(("venv", record["build"]))
        shutil.rmtree(environment.folder, ignore_errors=True)
        (environment.folder / "bin").mkdir(parents=True)
        environment.python.touch(0o755)
        (environment.folder / "lib/python3.11/site-packages/pip").mkdir(parents=True)
        put(environment, f"pip-{fetching.PIP}")
        environment.write(record)

    def install(engine, *arguments):
        machine.log.append(("pip", *arguments))
        if machine.fail_at and machine.fail_at in arguments:
            raise Stop("interrupted")
        if "--no-deps" in arguments:
            put(engine.environment, f"torch-2.13.0{'' if machine.cuda else '+cpu'}")
        files = [Path(word).name for word in arguments if "requirements" in word]
        for name in pins.named(ROOT, files, "linux"):
            if not engine.environment.version(name):
                put(engine.environment, f"{name.replace('-', '_')}-1.0")

    def ask_pip(python, arguments):
        index = arguments[1] if "--index-url" in arguments else ""
        wheel = machine.wheels.get(index)
        url = f"{index}/torch.whl"
        return wheel and {"metadata": wheel, "download_info": {"url": url}}

    monkeypatch.setattr(updating, "cuda_of_driver", lambda: machine.cuda)
    monkeypatch.setattr(Environment, "make", make)
    monkeypatch.setattr(Engine, "reach", lambda engine: None)
    monkeypatch.setattr(Engine, "start", lambda engine: None)
    monkeypatch.setattr(Engine, "install", install)
    monkeypatch.setattr(Engine, "check", lambda engine, names: None)
    monkeypatch.setattr(engines, "ask_pip", ask_pip)
    return machine


# Which packages?


@pytest.mark.parametrize(
    ("cuda", "build"),
    [
        (None, "cpu"),
        ((11, 4), "cpu"),
        ((12, 0), "cu126"),
        ((12, 4), "cu126"),
        ((12, 8), "cu129"),
        ((12, 9), "cu129"),
        ((13, 0), "cu130"),
        ((14, 1), "cu130"),
    ],
)
def test_the_driver_chooses_the_build(cuda, build):
    assert builds.choose_build(cuda)[0] == build


def test_an_old_driver_is_told_what_to_update():
    build, why = builds.choose_build((11, 4))
    assert build == "cpu"
    assert "CUDA 11.4" in why
    assert "update the driver to 580" in why


@pytest.mark.parametrize(
    ("cuda", "asked", "build"),
    [
        ((13, 0), "cpu", "cpu"),
        (None, "cu12", "cu126"),
        ((13, 0), "cu12", "cu126"),
        (None, "cu13", "cu130"),
    ],
)
def test_variant_overrides_the_driver(cuda, asked, build):
    assert builds.choose_build(cuda, asked)[0] == build


def test_an_unknown_variant_is_refused():
    with pytest.raises(Stop, match="VARIANT=cuda is not one of"):
        builds.choose_build(None, "cuda")


def test_no_device_file_means_no_driver_even_with_libcuda_installed(monkeypatch):
    monkeypatch.setattr(builds, "GPU_DEVICES", ("/nowhere/nvidiactl",))
    monkeypatch.setattr(builds.ctypes, "CDLL", lambda name: pytest.fail("loaded"))
    assert builds.cuda_of_driver() is None


def test_the_driver_is_asked_for_its_cuda_version(monkeypatch):
    class Driver:
        @staticmethod
        def cuDriverGetVersion(version):
            version._obj.value = 12080
            return 0

    monkeypatch.setattr(builds, "GPU_DEVICES", (os.devnull,))
    monkeypatch.setattr(builds.ctypes, "CDLL", lambda name: Driver)
    assert builds.cuda_of_driver() == (12, 8)


@pytest.mark.parametrize(
    ("wheel", "kind"),
    [
        (CPU_WHEEL, "cpu"),
        (CUDA_WHEEL, "cu13"),
        ({"version": "2.13.0+cu126"}, "cu12"),
        ({"version": "2.13.0", "requires_dist": ["nvidia-nccl-cu12==2.2"]}, "cu12"),
        ({"version": "2.13.0", "requires_dist": ["filelock"]}, "cpu"),
    ],
)
def test_the_kind_of_a_wheel_is_read_from_its_metadata(wheel, kind):
    assert torch_build.kind_of(wheel) == kind


# What is installed, and in which order?


def test_without_a_gpu_only_the_runtime_of_cuda_is_installed(machine, course):
    assert run(course)
    (_, build), torch, rest = machine.log
    assert build == "cpu"
    assert {"--no-deps", "torch==2.13.0", torch_build.TORCH_WHEELS + "cpu"} <= set(
        torch
    )
    assert {"numba-cuda==0.30.4", "torch==2.13.0+cpu"} <= set(rest)
    assert not [word for word in rest if "[cu1" in word]
    cuda = [word.partition("==")[0] for word in rest if word.startswith("nvidia-")]
    compilers = ["nvidia-cuda-nvrtc", "nvidia-nvvm"]  # a grader's verdicts need them
    assert cuda == ["nvidia-cuda-runtime", *compilers]


def test_pips_own_index_serves_where_pytorchs_is_out_of_reach(machine, course):
    machine.wheels = {"": CPU_WHEEL}
    assert run(course)
    assert "--index-url" not in machine.log[1]


def test_a_cuda_wheel_is_never_taken_for_a_machine_without_gpu(machine, course):
    del machine.wheels[torch_build.TORCH_WHEELS + "cpu"]
    with pytest.raises(Stop) as stop:
        run(course)
    assert [what for what, *_ in machine.log] == ["venv"]  # pip was never run
    assert "has the cu13 build" in str(stop.value)
    assert "TORCH_INDEX=" in str(stop.value)
    assert "VARIANT=" in str(stop.value)


def test_a_mirror_of_pytorchs_index_can_be_named(machine, course, monkeypatch):
    monkeypatch.setenv("TORCH_INDEX", "https://mirror.example/whl/cpu")
    machine.wheels["https://mirror.example/whl/cpu"] = CPU_WHEEL
    assert run(course)
    assert "https://mirror.example/whl/cpu" in machine.log[1]


def test_a_wheel_on_this_disk_needs_no_index(monkeypatch, tmp_path):
    url = "file:///media/wheels/torch-2.13.0+cpu-cp311-linux_x86_64.whl"
    found = {"metadata": CPU_WHEEL, "download_info": {"url": url}}
    monkeypatch.setattr(engines, "ask_pip", lambda python, arguments: found)
    assert torch_build.find_torch(tmp_path, "cpu", "2.13.0") == [url]


@pytest.mark.parametrize(
    ("cuda", "index", "extra"),
    [
        ((12, 4), torch_build.TORCH_WHEELS + "cu126", "numba-cuda[cu12]==0.30.4"),
        ((12, 8), torch_build.TORCH_WHEELS + "cu129", "numba-cuda[cu12]==0.30.4"),
        ((13, 0), None, "numba-cuda[cu13]==0.30.4"),
    ],
)
def test_a_gpu_gets_what_its_driver_needs(machine, course, cuda, index, extra):
    machine.cuda = cuda
    assert run(course)
    _, torch, rest = machine.log
    assert index in torch if index else "--index-url" not in torch
    assert extra in rest


def test_author_packages_only_when_asked_for(machine, course):
    run(course)
    assert str(course / "requirements-dev.txt") not in machine.log[-1]
    run(course, dev=True)
    assert str(course / "requirements-dev.txt") in machine.log[-1]


# Again, and again


def test_a_second_run_does_nothing(machine, course):
    assert run(course, dev=True)
    machine.log.clear()
    assert not run(course, dev=True)
    assert not run(course)  # an author has what a learner needs
    assert machine.log == []


def forbid_writing(monkeypatch):
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK and access(path, mode)
    )


def test_a_second_user_of_a_complete_copy_changes_nothing(machine, course, monkeypatch):
    assert run(course)
    forbid_writing(monkeypatch)
    monkeypatch.setattr(
        Environment, "write", lambda *_: pytest.fail("written all the same")
    )
    assert not run(course)


def test_a_second_user_of_an_incomplete_copy_is_told_whom_to_ask(
    machine, course, monkeypatch
):
    forbid_writing(monkeypatch)
    with pytest.raises(Stop) as stopped:
        run(course)
    assert f"belongs to {course.owner()}" in str(stopped.value)
    assert not (course / ".venv").exists()


@pytest.mark.parametrize("what", ["a file", "a file's text", "the package", "RECORD"])
def test_a_damaged_package_is_noticed_and_repaired(machine, course, capsys, what):
    run(course)
    machine.log.clear()
    packages = Environment(course).packages
    if what == "a file":
        (packages / "torch-2.13.0+cpu.py").unlink()
    elif what == "a file's text":
        (packages / "torch-2.13.0+cpu.py").write_text("")
    elif what == "RECORD":
        (packages / "torch-2.13.0+cpu.dist-info" / "RECORD").unlink()
    else:
        shutil.rmtree(packages / "torch-2.13.0+cpu.dist-info")
    assert run(course)
    assert "Repairing what is damaged in .venv: torch-2.13.0+cpu" in (
        capsys.readouterr().out
    )
    assert any("--no-deps" in step for step in machine.log), "torch is not installed"
    assert (packages / "torch-2.13.0+cpu.py").read_text() == "x = 1\n"
    assert not run(course)


@pytest.mark.parametrize("cuda", [None, (13, 0)])
def test_programs_that_nobody_runs_are_removed_and_not_missed(
    machine, course, monkeypatch, cuda
):
    def install(engine, *arguments):
        machine_install(engine, *arguments)
        if "--no-deps" not in arguments:
            return
        packages = engine.environment.packages
        put(engine.environment, "nvidia_nvvm-13.0")
        for package, names in files.items():
            (record,) = packages.glob(f"{package}-*.dist-info/RECORD")
            (course / package).hardlink_to(record)  # uv's copy may be the same file
            for name in names:
                (packages / name).parent.mkdir(parents=True, exist_ok=True)
                (packages / name).write_text("x")
                with open(record, "a") as file:
                    file.write(f"{name},,1\n")

    cicc, library = "nvidia/cu13/nvvm/bin/cicc", "nvidia/cu13/lib/libnvvm.so.4"
    tests = "torch/test/atest", "torch/bin/test_api"
    files = {
        "torch": (*tests, "torch/bin/torch_shm_manager"),
        "nvidia_nvvm": (cicc, library),
    }
    machine.cuda = cuda
    machine_install = Engine.install
    monkeypatch.setattr(Engine, "install", install)
    run(course)
    packages = Environment(course).packages
    there = {name for names in files.values() for name in names}
    there = {name for name in there if (packages / name).exists()}
    assert there == {"torch/bin/torch_shm_manager", library} | (
        {cicc} if cuda else set()
    )
    assert all(name in (course / "torch").read_text() for name in tests)
    assert not run(course)


def test_packages_of_ones_own_are_no_damage(machine, course):
    run(course)
    info = Environment(course).packages / "mine-1.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").touch()
    assert not run(course)


def test_a_changed_pin_is_installed_into_the_same_venv(machine, course):
    run(course)
    machine.log.clear()
    with (course / "requirements.txt").open("a") as file:
        file.write("six==1.17.0\n")
    assert run(course)
    assert [what for what, *_ in machine.log] == ["pip"]  # torch is there already


def test_a_new_driver_makes_a_new_venv(machine, course):
    run(course)
    machine.log.clear()
    machine.cuda = (13, 0)
    assert run(course)
    assert machine.log[0] == ("venv", "cu130")


def test_a_gpu_switched_off_today_keeps_its_packages(machine, course):
    machine.cuda = (13, 0)
    run(course)
    machine.log.clear()
    machine.cuda = None
    assert not run(course)
    assert machine.log == []


def test_what_was_asked_for_once_stays(machine, course, monkeypatch):
    monkeypatch.setenv("VARIANT", "cpu")
    machine.cuda = (13, 0)
    run(course)
    machine.log.clear()

    monkeypatch.delenv("VARIANT")
    assert not run(course)
    monkeypatch.setenv("VARIANT", "auto")
    assert run(course)
    assert machine.log[0] == ("venv", "cu130")


def test_another_python_makes_a_new_venv_only_when_named(machine, course, monkeypatch):
    run(course)
    machine.log.clear()
    Version = namedtuple("Version", "major minor micro")
    monkeypatch.setattr(sys, "version_info", Version(3, 13, 0))
    assert not run(course)
    monkeypatch.setenv("PYTHON", "python3.13")
    assert run(course)
    assert machine.log[0][0] == "venv"


def test_a_moved_folder_makes_a_new_venv(machine, course, tmp_path):
    run(course)
    machine.log.clear()
    record = Environment(course).record()
    Environment(course).write({**record, "root": "/elsewhere"})
    assert run(course)
    assert machine.log[0][0] == "venv"


def test_an_interrupted_installation_goes_on(machine, course):
    machine.fail_at = "-c"
    with pytest.raises(Stop):
        run(course)
    half = Environment(course).packages / "sympy-1.14.0.dist-info"
    half.mkdir()  # pip had not come to write its INSTALLER
    machine.fail_at = None
    machine.log.clear()

    assert run(course)
    assert [what for what, *_ in machine.log] == ["pip"]  # neither venv nor torch
    assert not half.exists()
    assert not run(course)


def test_weft_and_the_lab_settings_are_in_place(machine, course):
    run(course)
    environment = Environment(course)
    assert (environment.packages / "weft.pth").read_text().strip() == str(course)
    settings = environment.folder / "share/jupyter/lab/settings/overrides.json"
    cells = json.loads(settings.read_text())["@jupyterlab/notebook-extension:tracker"]
    assert cells["codeCellConfig"]["lineNumbers"]


def test_without_a_network_nothing_is_taken_away(machine, course, monkeypatch):
    run(course)
    torch = Environment(course).packages / "torch-2.13.0+cpu.py"
    torch.unlink()

    def reach(engine):
        raise Stop("no network")

    monkeypatch.setattr(Engine, "reach", reach)
    with pytest.raises(Stop, match="no network"):
        run(course)
    assert torch.with_name("torch-2.13.0+cpu.dist-info").exists()


def test_damage_of_the_same_size_is_found_by_hash_alone(machine, course, capsys):
    run(course)
    file = Environment(course).packages / "torch-2.13.0+cpu.py"
    file.write_text("x = 2\n")
    assert not run(course)
    assert run(course, by_hash=True)
    assert "Repairing what is damaged in .venv: torch" in capsys.readouterr().out
    assert file.read_text() == "x = 1\n"
    assert not run(course, by_hash=True)


def test_the_hash_is_the_one_that_wheels_note():
    name = "filelock" if sys.prefix != sys.base_prefix else "pip"
    distribution = metadata.distribution(name)
    files = [file for file in distribution.files if file.hash and file.suffix == ".py"]
    for file in files[:3]:
        noted = f"{file.hash.mode}={file.hash.value}"
        assert hash_of(str(file.locate()), noted) == noted


def test_two_installers_at_once_work_one_after_the_other(machine, course, capsys):
    with updating.alone(course):
        second = threading.Thread(target=run, args=(course,))
        second.start()
        for _ in range(200):
            if "waiting for it" in capsys.readouterr().out:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the second did not say that it waits")
        assert machine.log == []
    second.join(30)
    assert machine.log[0] == ("venv", "cpu")
    assert not run(course)


def test_packages_that_do_not_fit_together_are_not_done(machine, course, monkeypatch):
    def check(engine, names):
        raise Stop("torch requires sympy, which is not installed.")

    monkeypatch.setattr(Engine, "check", check)
    with pytest.raises(Stop, match="requires sympy"):
        run(course)
    assert "learner" not in Environment(course).record()


def test_packages_that_went_elsewhere_are_missed(machine, course, monkeypatch):
    install = Engine.install

    def elsewhere(engine, *arguments):
        if "--no-deps" in arguments:
            install(engine, *arguments)

    monkeypatch.setattr(Engine, "install", elsewhere)
    with pytest.raises(Stop, match=r"numba, numba-cuda, .* did not get into"):
        run(course)
    assert "learner" not in Environment(course).record()


def test_what_pip_finds_missing_is_shown(index, course):
    environment = made(course)
    environment.python.unlink()
    environment.python.write_text("#!/bin/sh\necho torch 2 requires sympy\nexit 1\n")
    environment.python.chmod(0o755)
    (environment.folder / "tmp").mkdir()
    with pytest.raises(Stop, match="torch 2 requires sympy"):
        Engine(environment).check({"torch"})
    Engine(environment).check({"numpy"})  # torch is not the course's, say


def test_a_python_that_others_may_not_run_is_named(machine, course, monkeypatch):
    run(course)
    python = Environment(course).python
    python.unlink()
    python.symlink_to("/home/anna/.pyenv/bin/python3")
    forbid_writing(monkeypatch)
    with pytest.raises(Stop) as stop:
        run(course)
    assert "/home/anna/.pyenv/bin/python3" in str(stop.value)
    assert f"Ask {course.owner()} to run `make lab PYTHON=" in str(stop.value)


# Bytecode


def test_all_packages_are_compiled_and_that_is_noted(tmp_path):
    packages = tmp_path / "test" / "site-packages"
    (packages / "numpy" / "tests").mkdir(parents=True)
    (packages / "good.py").write_text("x = 1\n")
    (packages / "template.py").write_text("x = {{ x }} }\n")
    (packages / "numpy" / "tests" / "test_it.py").write_text("x = 1\n")
    bytecode.compile_all(Path(sys.executable), packages, tmp_path / "compiled", 1)
    assert len(list(packages.glob("__pycache__/good.*.pyc"))) == 1
    assert not list(packages.glob("numpy/tests/__pycache__/*"))
    assert (tmp_path / "compiled").exists()


def test_an_installation_compiles_unless_it_is_left_to_jupyterlab(
    machine, course, monkeypatch
):
    compiled = []
    monkeypatch.setattr(bytecode, "compile_all", lambda *_: compiled.append(1))
    updating.install(course, compiling=False)
    assert not compiled
    updating.install(course, dev=True)
    assert compiled


def test_new_packages_are_compiled_anew(machine, course):
    run(course)
    Environment(course).compiled.touch()
    run(course, dev=True)
    assert not Environment(course).compiled.exists()


def test_compiling_waits_for_jupyterlab(tmp_path):
    (tmp_path / f"jpserver-{os.getpid()}.json").touch()
    assert bytecode.serves(os.getpid(), tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not bytecode.serves(gone.pid, tmp_path)


def test_lab_py_compiles_once_and_only_what_it_may(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(bytecode.subprocess, "Popen", lambda *a, **_: started.append(a))
    folder = tmp_path / ".venv"
    bytecode.compile_later(tmp_path)
    assert not started, "there is no environment"
    folder.mkdir()
    bytecode.compile_later(tmp_path)
    assert len(started) == 1
    (folder / "compiled").touch()
    bytecode.compile_later(tmp_path)
    assert len(started) == 1


# What is refused, and how it is said


def test_an_old_python_can_read_what_it_is_told():
    text = (ROOT / "install.py").read_text()
    new = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.arg)
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, new[:3])
        assert not (isinstance(node, ast.arg) and node.annotation)
    assert text.isascii()
    for path in (ROOT / "installing").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("version", [(2, 7), (3, 8), (3, 10), (3, 15)])
def test_a_wrong_python_is_told_which_to_get(version, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (*version, 1, "final", 0))
    assert install.main([]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.11, 3.12, 3.13 or 3.14" in said
    assert f"is Python {version[0]}.{version[1]}." in said
    assert "make lab PYTHON=python3.12" in said


def test_windows_is_told_of_wsl(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")
    assert install.main([]) == 1
    assert "wsl --install" in capsys.readouterr().err


@pytest.mark.parametrize("old", ["python2.7", "python3.6", "python3.9"])
def test_an_old_python_says_so_itself(old):
    python = shutil.which(old)
    if not python or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no {old} here")
    done = subprocess.run(
        [python, ROOT / "install.py"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1
    assert f"is Python {old[len('python') :]}." in done.stderr


def test_the_supported_pythons_are_the_same_everywhere():
    """Where to look when one is added; CONTRIBUTING.md, "Packages"."""
    low, high = install.PYTHONS[0], install.PYTHONS[-1]
    oldest, newest, after = PYTHONS[0], PYTHONS[-1], f"3.{high[1] + 1}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={oldest},<{after}"
    languages = [c for c in project["classifiers"] if "Language" in c]
    assert [c.rpartition(" ")[2] for c in languages] == PYTHONS
    makefile = (ROOT / "Makefile").read_text()
    found = re.search(r"exit\(not (.*) <= .* < (.*)\)\n", makefile)
    assert found.groups() == tuple(f"({v.replace('.', ', ')})" for v in (oldest, after))
    ci = (ROOT / ".github/workflows/ci.yml").read_text()
    assert f"python: {json.dumps(PYTHONS)}" in ci
    readme = (ROOT / "README.md").read_text()
    assert f"Python {', '.join(PYTHONS[:-1])} or {newest}" in readme
    report = (ROOT / "weft/device/report.py").read_text()
    assert f"{low} <= sys.version_info[:2] <= {high}" in report


def test_a_full_disk_is_noticed_before_anything_is_made(machine, course, monkeypatch):
    usage = namedtuple("usage", "free")(1.2e9)
    monkeypatch.setattr(updating.shutil, "disk_usage", lambda where: usage)
    with pytest.raises(Stop) as stop:
        run(course)
    assert f"2.6 GB needed and 1.2 GB free in {course}" in str(stop.value)
    with pytest.raises(Stop, match=r"4\.4 GB needed"):
        run(course, dev=True)
    assert machine.log == []


def test_what_is_installed_already_counts_as_space(machine, course, monkeypatch):
    usage = namedtuple("usage", "free")(1.2e9)
    monkeypatch.setattr(updating.shutil, "disk_usage", lambda where: usage)
    monkeypatch.setattr(updating, "folder_size", lambda folder: 2.1e9)
    assert run(course)


def test_somebody_elses_venv_is_left_alone(course):
    precious = course / ".venv" / "precious"
    precious.parent.mkdir()
    precious.touch()
    with pytest.raises(Stop, match="Move it away"):
        Environment(course).make({})
    assert precious.exists()


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("OSError: [Errno 28] No space left on device", "Free some space"),
        ("NameResolutionError: Failed to resolve 'pypi.org'", "Check the network"),
        ("ERROR: ResolutionImpossible", "Run make again"),
    ],
)
def test_a_failure_of_pip_ends_in_what_to_do(words, advice):
    assert advice in engines.explain(["Collecting torch", words], Path("install.log"))


# uv and pip themselves


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index on this machine, with a pip and a uv that note what they do."""
    folder = tmp_path / "index" / "simple"
    pip = f"pip-{fetching.PIP}-py3-none-any.whl"
    uv = f"uv-{fetching.UV}-py3-none-any.whl"
    note = "pathlib.Path(sys.prefix, 'pip-ran').write_text(' '.join(sys.argv[1:]))"
    program = '#!/bin/sh\necho "$@" >> "$(dirname "$0")/../uv-ran"\n'
    for name, file, text in (
        (pip, "pip/__main__.py", f"import pathlib, sys\n{note}"),
        (uv, f"uv-{fetching.UV}.data/scripts/uv", program),
    ):
        page = folder / name.partition("-")[0]
        page.mkdir(parents=True)
        with zipfile.ZipFile(page / name, "w") as wheel:
            wheel.writestr(file, text)
        (page / "index.html").write_text(f'<a href="{name}#sha256=0">{name}</a>')
    sha256 = {
        name: hashlib.sha256((folder / name.partition("-")[0] / name).read_bytes())
        for name in (pip, uv)
    }
    monkeypatch.setattr(fetching, "PIP_SHA256", sha256[pip].hexdigest())
    wheel = {(sys.platform, "here"): ("any", sha256[uv].hexdigest())}
    monkeypatch.setattr(fetching, "UV_WHEELS", wheel)
    monkeypatch.setattr(fetching.platform, "machine", lambda: "here")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path / "index"))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(
            settings, "PYPI", f"http://127.0.0.1:{server.server_port}/simple"
        )
        yield server
        server.shutdown()


def made(course):
    environment = Environment(course)
    environment.make({"build": "cpu"})
    return environment


def ran(environment, what):
    file = environment.folder / f"{what}-ran"
    return file.read_text() if file.exists() else ""


def test_uv_installs_where_pip_has_no_configuration(index, course):
    engine = Engine(made(course))
    engine.start()
    engine.install("numpy==2.4.6")
    said = ran(engine.environment, "uv").splitlines()
    assert f"pip-{fetching.PIP}-py3-none-any.whl" in said[0]
    assert said[1].endswith("numpy==2.4.6")
    assert all("pip install --no-config" in line for line in said)
    assert not ran(engine.environment, "pip")
    engine.finish()
    assert not (engine.environment.folder / "tmp").exists()


@pytest.mark.parametrize("how", ["a variable", "a file"])
def test_pip_installs_where_it_is_told_where_packages_are(
    index, course, monkeypatch, tmp_path, how
):
    if how == "a variable":
        monkeypatch.setenv("PIP_FIND_LINKS", "/media/wheels")
    else:
        file = tmp_path / "pip.conf"
        file.write_text("[install]\nextra_index_url = https://mirror.example/simple\n")
        monkeypatch.setattr(settings, "files", lambda: [file])
    engine = Engine(made(course))
    engine.start()
    assert not engine.uv
    assert "--no-index --no-compile" in ran(engine.environment, "pip")


def test_pip_goes_on_where_uv_fails(index, course, capsys, monkeypatch):
    engine = Engine(made(course))
    engine.start()
    engine.uv.write_text("#!/bin/sh\necho no wheel; exit 1\n")
    commands = []
    run = Engine._run
    monkeypatch.setattr(
        Engine,
        "_run",
        lambda self, *words: (
            (commands.append(words) or (True, []))
            if "-m" in words
            else run(self, *words)
        ),
    )
    engine.install("numpy==2.4.6")
    assert commands[0][1:] == ("-m", "pip", "install", "--no-compile", "numpy==2.4.6")
    assert "uv failed, so pip goes on" in capsys.readouterr().out
    assert "no wheel" in engine.log.read_text()
    assert not engine.uv, "uv is asked again"


def test_a_uv_that_does_not_start_is_none(index, course):
    engine = Engine(made(course))
    engine.start()
    engine.uv.write_bytes(b"\x7fELF")
    done, last = engine._run(str(engine.uv))
    assert not done
    assert "Exec format error" in last[0]


def test_a_full_disk_is_no_reason_to_try_pip(index, course):
    engine = Engine(made(course))
    engine.start()
    engine.uv.write_text("#!/bin/sh\necho No space left on device; exit 1\n")
    with pytest.raises(Stop, match="The disk filled up"):
        engine.install("numpy==2.4.6")


def test_a_uv_for_another_machine_or_with_another_digest_is_not_used(
    index, course, monkeypatch
):
    monkeypatch.setattr(
        fetching, "UV_WHEELS", {(sys.platform, "here"): ("any", "0" * 64)}
    )
    engine = Engine(made(course))
    engine.start()
    assert not engine.uv
    assert "SHA-256 differs" in engine.log.read_text()
    monkeypatch.setattr(fetching.platform, "machine", lambda: "s390x")
    with pytest.raises(OSError, match="no uv for linux on s390x"):
        fetching.uv_program(course)


@pytest.mark.parametrize("wheel", fetching.UV_WHEELS.values())
def test_every_uv_is_named_and_has_a_digest(wheel):
    suffix, sha256 = wheel
    assert re.fullmatch(r"(manylinux|macosx)_\d+_\d+_\w+[\w.]*", suffix)
    assert re.fullmatch("[0-9a-f]{64}", sha256)


def test_a_wheel_that_is_not_pips_is_not_installed(index, course, monkeypatch):
    monkeypatch.setattr(fetching, "PIP_SHA256", "0" * 64)
    environment = made(course)
    with pytest.raises(OSError, match="SHA-256 differs"):
        fetching.pip_wheel(environment.folder)
    assert not list(environment.folder.glob("*.whl"))


def test_ensurepip_serves_where_pip_cannot_be_fetched(course, monkeypatch):
    commands = []
    monkeypatch.setattr(fetching, "index_answers", lambda: True)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    engine = Engine(made(course))
    monkeypatch.setattr(engines, "run", lambda words: commands.append(words))
    monkeypatch.setattr(engine, "install", lambda *words: commands.append(words))
    engine.start()
    assert commands[0][1:] == ["-m", "ensurepip"]
    assert commands[1] == (f"pip=={fetching.PIP}",)


def test_without_pip_or_ensurepip_apt_is_named(course, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    engine = Engine(made(course))
    monkeypatch.setattr(engines, "run", no_ensurepip)
    with pytest.raises(Stop, match="sudo apt install python3-venv"):
        engine.start()


def no_ensurepip(words):
    raise Stop("no module named ensurepip")


def test_the_pip_that_came_with_python_is_replaced(index, course, monkeypatch):
    environment = made(course)
    put(environment, "pip-23.0.1")
    engine = Engine(environment)
    asked = []
    monkeypatch.setattr(engine, "install", lambda *words: asked.append(words))
    engine.start()
    assert asked == [(f"pip=={fetching.PIP}",)]


def test_without_a_network_it_says_so_at_once(course, monkeypatch):
    monkeypatch.setattr(settings, "PYPI", "http://127.0.0.1:9/simple")
    with pytest.raises(Stop, match="Check the network") as stop:
        Engine(Environment(course)).reach()
    assert "http://127.0.0.1:9/simple" in str(stop.value)


def test_a_name_server_that_is_silent_is_not_waited_for(monkeypatch):
    silence = threading.Event()
    monkeypatch.setattr(fetching, "PATIENCE", 0.1)
    monkeypatch.setattr(
        fetching, "_opened", lambda *_: silence.wait(30) and io.BytesIO()
    )
    assert not fetching.index_answers()
    silence.set()


def test_pip_is_impatient_where_its_index_is_silent(course, monkeypatch):
    monkeypatch.setattr(fetching, "index_answers", lambda: False)
    monkeypatch.setenv("PIP_FIND_LINKS", "/media/wheels")
    environment = made(course)
    put(environment, f"pip-{fetching.PIP}")
    engine = Engine(environment)
    engine.reach()
    engine.start()
    commands = []
    monkeypatch.setattr(
        Engine, "_run", lambda self, *words: commands.append(words) or (True, [])
    )
    engine.install("numpy")
    assert {"--retries", "--timeout"} <= set(commands[0])


# Whose settings count


@pytest.mark.parametrize(
    "name", ["PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_USER", "PIP_REQUIRE_HASHES"]
)
def test_a_setting_that_would_leave_packages_out_is_taken_back(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    assert settings.environment()[name] == "0"


@pytest.mark.parametrize(
    "name",
    "PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_REPORT PYTHONPATH PYTHONHOME "
    "PYTHONDONTWRITEBYTECODE UV_INDEX_URL".split(),
)
def test_a_setting_that_leads_elsewhere_is_dropped(name, monkeypatch):
    monkeypatch.setenv(name, "/elsewhere")
    assert name not in settings.environment()


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "PIP_CERT", "HTTPS_PROXY", "PATH"])
def test_the_way_to_the_packages_is_kept(name, monkeypatch):
    monkeypatch.setenv(name, "/there")
    assert settings.environment()[name] == "/there"


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("[global]\nindex-url = https://mirror.example/simple\n", True),
        ("[global]\nbreak-system-packages = true\n", False),
        ("[install]\nuser = true\n", False),
        ("no configuration", False),
    ],
)
def test_only_settings_about_sources_make_pip_the_engine(
    text, sources, monkeypatch, tmp_path
):
    (tmp_path / "pip.conf").write_text(text)
    monkeypatch.setattr(settings, "files", lambda: [tmp_path / "pip.conf"])
    assert settings.has_sources() is sources


def test_pips_files_are_those_that_pip_reads(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "files", FILES)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", "/opt/xdg")
    assert settings.files() == [
        Path("/opt/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        Path.home() / ".pip/pip.conf",
        tmp_path / "pip/pip.conf",
    ]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert settings.files() == []


def test_the_index_of_pips_configuration_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "files", FILES)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://mirror.example/simple\n"
    )
    assert settings.package_index() == "https://mirror.example/simple"


# The requirement files


def pinned_in(name):
    lines = (ROOT / name).read_text().splitlines()
    bare = [re.split(r"\s*[#;]", line)[0].strip() for line in lines]
    return dict(line.split("==") for line in bare if line)


def test_every_requirement_is_pinned_and_the_constraints_agree():
    constraints = pinned_in("constraints.txt")
    wanted = {**pinned_in("requirements.txt"), **pinned_in("requirements-dev.txt")}
    wanted |= pinned_in("requirements-hub.txt")
    for name, version in wanted.items():
        assert constraints[name.lower()] == version, name


def test_the_full_list_has_what_the_course_names():
    names = "jupyterlab jupyter-book numba numba-cuda torch ipywidgets nbval anywidget"
    assert set(names.split()) <= pinned_in("requirements.txt").keys()
    assert pinned_in("requirements.txt")["jupyter-book"] == "1.0.4.post1"
    assert pinned_in("requirements.txt")["sphinx-book-theme"] == "1.1.4"


def test_a_learners_list_is_part_of_the_full_one():
    learner = pins.named(ROOT, [pins.LEARNER])
    assert set(learner) < set(pins.named(ROOT, [pins.FULL]))
    assert not {"nbval", "jupyter-book", "triton"} & set(learner)
    assert "==" not in (ROOT / pins.LEARNER).read_text().replace('"=="', "")


def test_packages_are_named_for_their_platform(tmp_path):
    lines = ["a==1  # why", 'b; sys_platform == "linux"', "", "# none"]
    lines.append('c-d==2; sys_platform != "darwin"')
    (tmp_path / "r.txt").write_text("\n".join(lines))
    assert pins.named(tmp_path, ["r.txt"], "linux") == ["a", "b", "c-d"]
    assert pins.named(tmp_path, ["r.txt"], "darwin") == ["a"]


def test_triton_is_the_one_that_pytorch_brings_and_for_linux_alone():
    line = re.search("^triton.*", (ROOT / "requirements.txt").read_text(), re.M)[0]
    requirement = Requirement(line.partition("#")[0])
    assert str(requirement.specifier) == f"=={for_triton.VERSION}"
    assert requirement.marker.evaluate({"sys_platform": "linux"})
    assert not requirement.marker.evaluate({"sys_platform": "darwin"})


def test_the_constraints_leave_the_cuda_version_open():
    by_machine = re.compile("nvidia-|cuda-bindings")
    assert not [name for name in pinned_in("constraints.txt") if by_machine.match(name)]


@pytest.mark.parametrize("python", [pins.OLDEST_PYTHON, "3.12.0", "3.13.0", "3.14.0"])
def test_every_pin_is_for_every_python(python):
    for name, version in pinned_in("constraints.txt").items():
        with contextlib.suppress(metadata.PackageNotFoundError):
            package = metadata.metadata(name)
            if package["Version"] == version:
                assert python in SpecifierSet(package.get("Requires-Python", "")), name


def test_the_installed_packages_fit_together():
    check = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout


# lab.py


@pytest.mark.parametrize(
    ("environment", "platform", "seen"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "linux", False),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "10.0.0.1 22"}, "linux", False),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", False),
    ],
)
def test_a_browser_opens_only_where_someone_sees_it(
    environment, platform, seen, monkeypatch
):
    monkeypatch.setattr(lab.webbrowser, "get", lambda: "a browser")
    assert lab.has_browser(environment, platform) is seen


def test_a_screen_without_a_browser_is_no_browser(monkeypatch):
    def get():
        raise lab.webbrowser.Error

    monkeypatch.setattr(lab.webbrowser, "get", get)
    assert not lab.has_browser({"DISPLAY": ":0"}, "linux")


def test_jupyterlab_opens_on_the_first_lab_and_sees_the_course(tmp_path):
    words = lab.command(tmp_path, browser=True, as_root=False)
    assert f"--ServerApp.root_dir={tmp_path}" in words
    assert "--LabApp.default_url=/lab/tree/labs" in words
    assert not {"--no-browser", "--allow-root"} & set(words)

    (tmp_path / "labs").mkdir()
    (tmp_path / lab.FIRST_LAB).touch()
    words = lab.command(tmp_path, browser=False, as_root=True)
    assert "--LabApp.default_url=/lab/tree/labs/00_start_here.ipynb" in words
    assert {"--no-browser", "--allow-root"} <= set(words)


def test_jupyterlab_starts_without_the_slowest_of_its_imports(tmp_path):
    words = lab.command(tmp_path, browser=False, as_root=True)
    traced = subprocess.run(
        [words[0], "-X", "importtime", *words[1:], "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert traced.stdout.strip() == metadata.version("jupyterlab")
    assert "jsonschema" in traced.stderr
    assert "rfc3987_syntax.syntax_helpers" not in traced.stderr


def test_whoever_may_not_write_gets_labs_of_their_own(tmp_path):
    course, home = tmp_path / "course", tmp_path / "home"
    (course / "labs").mkdir(parents=True)
    for name in ("00_start_here", "05_first_kernel"):
        (course / "labs" / f"{name}.ipynb").write_text("new")
    (home / "labs").mkdir(parents=True)
    mine = home / "labs" / "05_first_kernel.ipynb"
    mine.write_text("edited")
    assert lab.own_copies(course, home) == home
    assert mine.read_text() == "edited"
    assert (home / "labs" / "00_start_here.ipynb").read_text() == "new"


# The Makefile


def make(folder, *arguments, **environment):
    done = subprocess.run(
        [shutil.which("make"), "-f", str(ROOT / "Makefile"), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_alone_says_what_there_is():
    said = make(ROOT)
    for target in ("lab", "repair", "test", "book", "update", "clean"):
        assert re.search(rf"^  make {target}  +\S", said, re.MULTILINE)


@pytest.mark.parametrize("suitable", ["python3", "python3.13", "python3.11"])
def test_make_finds_a_suitable_python(tmp_path, suitable):
    for name in ("python3", *(f"python{version}" for version in PYTHONS)):
        fake = tmp_path / name
        fake.write_text(f"#!/bin/sh\nexit {0 if name == suitable else 1}\n")
        fake.chmod(0o755)
    said = make(ROOT, "-n", "learner", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert f"{suitable} install.py" in said


def test_make_takes_the_python_it_is_told():
    assert "python3.12 install.py" in make(ROOT, "-n", "learner", "PYTHON=python3.12")


def test_make_clean_keeps_labs_and_progress(tmp_path):
    kept = ["labs/05_first_kernel.ipynb", "labs/my_05_first_kernel.ipynb"]
    kept += [".weft/progress.json", "solutions/05.py", "weft/check.py"]
    kept += ["pipeline/labs.py", "book/index.md", "tests/test_a.py"]
    gone = [
        ".venv/bin/python",
        ".venv/weft-install.json",
        "_build/html/index.html",
        "weft/__pycache__/a.pyc",
    ]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    make(tmp_path, "clean")
    assert all((tmp_path / name).exists() for name in kept)
    assert not any((tmp_path / name).exists() for name in gone)


def test_make_clean_leaves_an_environment_of_ones_own(tmp_path):
    mine = tmp_path / ".venv" / "bin" / "python"
    mine.parent.mkdir(parents=True)
    mine.touch()
    for name in ("weft", "pipeline", "book", "tests"):
        (tmp_path / name).mkdir()
    said = make(tmp_path, "clean")
    assert mine.exists()
    assert ".venv was not made by this course" in said
