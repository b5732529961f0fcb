"""install.py, lab.py and the Makefile: every case of a fresh machine, no download."""

import ast
import contextlib
import hashlib
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
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
from weft.device import for_triton

ROOT = Path(__file__).parents[1]
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
    for name in ("VARIANT", "PYTHON", "TORCH_INDEX", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def course(tmp_path):
    """A course with the requirement files alone."""
    for name in ("requirements.txt", "requirements-dev.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "install.py", tmp_path)
    return tmp_path


@pytest.fixture
def machine(monkeypatch):
    """Stands for the driver, for pip and for venv; `machine.log` says what was done."""

    machine = SimpleNamespace(cuda=None, fail_at=None, log=[])
    machine.wheels = {  # index ("" is pip's own) -> metadata of the torch there
        install.TORCH_WHEELS + "cpu": CPU_WHEEL,
        install.TORCH_WHEELS + "cu126": {"version": "2.13.0+cu126"},
        install.TORCH_WHEELS + "cu129": {"version": "2.13.0+cu129"},
        "": CUDA_WHEEL,
    }

    def installed(environment, name):
        info = environment.packages / f"{name}.dist-info"
        info.mkdir()
        (info / "INSTALLER").touch()
        (environment.packages / f"{name}.py").write_text("x = 1\n")
        (info / "RECORD").write_text(f"{name}.py,sha256=0,6\n{name}.pyc,,\n")

    def make(environment, record):
        machine.log.append(("venv", record["build"]))
        shutil.rmtree(environment.folder, ignore_errors=True)
        (environment.folder / "bin").mkdir(parents=True)
        environment.python.touch()
        (environment.folder / "lib/python3.11/site-packages/pip").mkdir(parents=True)
        installed(environment, f"pip-{install.PIP}")
        environment.write(record)

    def pip(environment, *arguments):
        machine.log.append(("pip", *arguments))
        if machine.fail_at and machine.fail_at in arguments:
            raise install.Stop("interrupted")
        if "--no-deps" in arguments:
            installed(environment, f"torch-2.13.0{'' if machine.cuda else '+cpu'}")

    def ask_pip(python, arguments):
        index = arguments[1] if "--index-url" in arguments else ""
        wheel = machine.wheels.get(index)
        url = f"{index}/torch.whl"
        return wheel and {"metadata": wheel, "download_info": {"url": url}}

    monkeypatch.setattr(install, "cuda_of_driver", lambda: machine.cuda)
    monkeypatch.setattr(install.Environment, "make", make)
    monkeypatch.setattr(install.Environment, "pip", pip)
    monkeypatch.setattr(install, "ask_pip", ask_pip)
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
    assert install.choose_build(cuda)[0] == build


def test_an_old_driver_is_told_what_to_update():
    build, why = install.choose_build((11, 4))
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
    assert install.choose_build(cuda, asked)[0] == build


def test_an_unknown_variant_is_refused():
    with pytest.raises(install.Stop, match="VARIANT=cuda is not one of"):
        install.choose_build(None, "cuda")


def test_no_device_file_means_no_driver_even_with_libcuda_installed(monkeypatch):
    monkeypatch.setattr(install, "GPU_DEVICES", ("/nowhere/nvidiactl",))
    monkeypatch.setattr(install.ctypes, "CDLL", lambda name: pytest.fail("loaded"))
    assert install.cuda_of_driver() is None


def test_the_driver_is_asked_for_its_cuda_version(monkeypatch):
    class Driver:
        @staticmethod
        def cuDriverGetVersion(version):
            version._obj.value = 12080
            return 0

    monkeypatch.setattr(install, "GPU_DEVICES", (os.devnull,))
    monkeypatch.setattr(install.ctypes, "CDLL", lambda name: Driver)
    assert install.cuda_of_driver() == (12, 8)


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
    assert install.kind_of(wheel) == kind


# What is installed, and in which order?


def test_without_a_gpu_only_the_runtime_of_cuda_is_installed(machine, course):
    assert install.install(course)
    (_, build), torch, rest = machine.log
    assert build == "cpu"
    assert {"--no-deps", "torch==2.13.0", install.TORCH_WHEELS + "cpu"} <= set(torch)
    assert {"numba-cuda==0.30.4", "torch==2.13.0+cpu"} <= set(rest)
    assert not [word for word in rest if "[cu1" in word]
    cuda = [word.partition("==")[0] for word in rest if word.startswith("nvidia-")]
    compilers = ["nvidia-cuda-nvrtc", "nvidia-nvvm"]  # a grader's verdicts need them
    assert cuda == ["nvidia-cuda-runtime", *compilers]


def test_pips_own_index_serves_where_pytorchs_is_out_of_reach(machine, course):
    machine.wheels = {"": CPU_WHEEL}
    assert install.install(course)
    assert "--index-url" not in machine.log[1]


def test_a_cuda_wheel_is_never_taken_for_a_machine_without_gpu(machine, course):
    del machine.wheels[install.TORCH_WHEELS + "cpu"]
    with pytest.raises(install.Stop) as stop:
        install.install(course)
    assert [what for what, *_ in machine.log] == ["venv"]  # pip was never run
    assert "has the cu13 build" in str(stop.value)
    assert "TORCH_INDEX=" in str(stop.value)
    assert "VARIANT=" in str(stop.value)


def test_a_mirror_of_pytorchs_index_can_be_named(machine, course, monkeypatch):
    monkeypatch.setenv("TORCH_INDEX", "https://mirror.example/whl/cpu")
    machine.wheels["https://mirror.example/whl/cpu"] = CPU_WHEEL
    assert install.install(course)
    assert "https://mirror.example/whl/cpu" in machine.log[1]


def test_a_wheel_on_this_disk_needs_no_index(monkeypatch, tmp_path):
    url = "file:///media/wheels/torch-2.13.0+cpu-cp311-linux_x86_64.whl"
    found = {"metadata": CPU_WHEEL, "download_info": {"url": url}}
    monkeypatch.setattr(install, "ask_pip", lambda python, arguments: found)
    assert install.find_torch(tmp_path, "cpu", "2.13.0") == [url]


@pytest.mark.parametrize(
    ("cuda", "index", "extra"),
    [
        ((12, 4), install.TORCH_WHEELS + "cu126", "numba-cuda[cu12]==0.30.4"),
        ((12, 8), install.TORCH_WHEELS + "cu129", "numba-cuda[cu12]==0.30.4"),
        ((13, 0), None, "numba-cuda[cu13]==0.30.4"),
    ],
)
def test_a_gpu_gets_what_its_driver_needs(machine, course, cuda, index, extra):
    machine.cuda = cuda
    assert install.install(course)
    _, torch, rest = machine.log
    assert index in torch if index else "--index-url" not in torch
    assert extra in rest


def test_author_packages_only_when_asked_for(machine, course):
    install.install(course)
    assert str(course / "requirements-dev.txt") not in machine.log[-1]
    install.install(course, dev=True)
    assert str(course / "requirements-dev.txt") in machine.log[-1]


# Again, and again


def test_a_second_run_does_nothing(machine, course):
    assert install.install(course, dev=True)
    machine.log.clear()
    assert not install.install(course, dev=True)
    assert not install.install(course)  # an author has what a learner needs
    assert machine.log == []


def forbid_writing(monkeypatch):
    monkeypatch.setattr(install.os, "access", lambda path, mode: False)


def test_a_second_user_of_a_complete_copy_changes_nothing(machine, course, monkeypatch):
    assert install.install(course)
    forbid_writing(monkeypatch)
    monkeypatch.setattr(
        install.Environment, "write", lambda *_: pytest.fail("written all the same")
    )
    assert not install.install(course)


def test_a_second_user_of_an_incomplete_copy_is_told_whom_to_ask(
    machine, course, monkeypatch
):
    forbid_writing(monkeypatch)
    with pytest.raises(install.Stop) as stopped:
        install.install(course)
    assert f"belongs to {course.owner()}" in str(stopped.value)
    assert not (course / ".venv").exists()


@pytest.mark.parametrize("what", ["a file", "a file's text", "the package", "RECORD"])
def test_a_damaged_package_is_noticed_and_repaired(machine, course, capsys, what):
    install.install(course)
    machine.log.clear()
    packages = install.Environment(course).packages
    if what == "a file":
        (packages / "torch-2.13.0+cpu.py").unlink()
    elif what == "a file's text":
        (packages / "torch-2.13.0+cpu.py").write_text("")
    elif what == "RECORD":
        (packages / "torch-2.13.0+cpu.dist-info" / "RECORD").unlink()
    else:
        shutil.rmtree(packages / "torch-2.13.0+cpu.dist-info")
    assert install.install(course)
    assert "Repairing what is damaged in .venv: torch-2.13.0+cpu" in (
        capsys.readouterr().out
    )
    assert any("--no-deps" in step for step in machine.log), "torch is not installed"
    assert (packages / "torch-2.13.0+cpu.py").read_text() == "x = 1\n"
    assert not install.install(course)


def test_packages_of_ones_own_are_no_damage(machine, course):
    install.install(course)
    info = install.Environment(course).packages / "mine-1.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").touch()
    assert not install.install(course)


def test_a_changed_pin_is_installed_into_the_same_venv(machine, course):
    install.install(course)
    machine.log.clear()
    with (course / "requirements.txt").open("a") as file:
        file.write("six==1.17.0\n")
    assert install.install(course)
    assert [what for what, *_ in machine.log] == ["pip"]  # torch is there already


def test_a_new_driver_makes_a_new_venv(machine, course):
    install.install(course)
    machine.log.clear()
    machine.cuda = (13, 0)
    assert install.install(course)
    assert machine.log[0] == ("venv", "cu130")


def test_a_gpu_switched_off_today_keeps_its_packages(machine, course):
    machine.cuda = (13, 0)
    install.install(course)
    machine.log.clear()
    machine.cuda = None
    assert not install.install(course)
    assert machine.log == []


def test_what_was_asked_for_once_stays(machine, course, monkeypatch):
    monkeypatch.setenv("VARIANT", "cpu")
    machine.cuda = (13, 0)
    install.install(course)
    machine.log.clear()

    monkeypatch.delenv("VARIANT")
    assert not install.install(course)
    monkeypatch.setenv("VARIANT", "auto")
    assert install.install(course)
    assert machine.log[0] == ("venv", "cu130")


def test_another_python_makes_a_new_venv_only_when_named(machine, course, monkeypatch):
    install.install(course)
    machine.log.clear()
    Version = namedtuple("Version", "major minor micro")
    monkeypatch.setattr(sys, "version_info", Version(3, 13, 0))
    assert not install.install(course)
    monkeypatch.setenv("PYTHON", "python3.13")
    assert install.install(course)
    assert machine.log[0][0] == "venv"


def test_a_moved_folder_makes_a_new_venv(machine, course, tmp_path):
    install.install(course)
    machine.log.clear()
    record = install.Environment(course).record()
    install.Environment(course).write({**record, "root": "/elsewhere"})
    assert install.install(course)
    assert machine.log[0][0] == "venv"


def test_an_interrupted_installation_goes_on(machine, course):
    machine.fail_at = "-c"
    with pytest.raises(install.Stop):
        install.install(course)
    half = install.Environment(course).packages / "sympy-1.14.0.dist-info"
    half.mkdir()  # pip had not come to write its INSTALLER
    machine.fail_at = None
    machine.log.clear()

    assert install.install(course)
    assert [what for what, *_ in machine.log] == ["pip"]  # neither venv nor torch
    assert not half.exists()
    assert not install.install(course)


def test_the_pip_that_came_with_python_is_replaced(machine, course):
    install.install(course)
    environment = install.Environment(course)
    pip = environment.packages / f"pip-{install.PIP}.dist-info"
    pip.rename(environment.packages / "pip-23.0.1.dist-info")
    environment.write({**environment.record(), "learner": "another"})
    machine.log.clear()
    install.install(course)
    assert machine.log[0] == ("pip", "install", f"pip=={install.PIP}")


def test_weft_and_the_lab_settings_are_in_place(machine, course):
    install.install(course)
    environment = install.Environment(course)
    assert (environment.packages / "weft.pth").read_text().strip() == str(course)
    settings = environment.folder / "share/jupyter/lab/settings/overrides.json"
    cells = json.loads(settings.read_text())["@jupyterlab/notebook-extension:tracker"]
    assert cells["codeCellConfig"]["lineNumbers"]


# What is refused, and how it is said


def test_install_is_readable_by_python_3_8():
    ast.parse((ROOT / "install.py").read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("version", [(3, 8), (3, 10), (3, 14)])
def test_a_wrong_python_is_told_which_to_get(version, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (*version, 1, "final", 0))
    assert install.main([]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.11, 3.12 or 3.13" in said
    assert f"is Python {version[0]}.{version[1]}." in said
    assert "make lab PYTHON=python3.12" in said


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
    assert f'python: ["{oldest}", "{newest}"]' in ci
    readme = (ROOT / "README.md").read_text()
    assert f"Python {', '.join(PYTHONS[:-1])} or {newest}" in readme
    report = (ROOT / "weft/device/report.py").read_text()
    assert f"{low} <= sys.version_info[:2] <= {high}" in report


def test_a_full_disk_is_noticed_before_anything_is_made(machine, course, monkeypatch):
    usage = namedtuple("usage", "free")(1.2e9)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda where: usage)
    with pytest.raises(install.Stop) as stop:
        install.install(course)
    assert f"3.2 GB needed and 1.2 GB free in {course}" in str(stop.value)
    assert machine.log == []


def test_what_is_installed_already_counts_as_space(machine, course, monkeypatch):
    usage = namedtuple("usage", "free")(1.2e9)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda where: usage)
    monkeypatch.setattr(install, "folder_size", lambda folder: 2.1e9)
    assert install.install(course)


def test_somebody_elses_venv_is_left_alone(course):
    precious = course / ".venv" / "precious"
    precious.parent.mkdir()
    precious.touch()
    with pytest.raises(install.Stop, match="Move it away"):
        install.Environment(course).make({})
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
    assert advice in install.explain(["Collecting torch", words], Path("install.log"))


# Python without ensurepip, as on a Debian without python3-venv


@pytest.fixture
def no_ensurepip(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        install.importlib.util,
        "find_spec",
        lambda name: None if name == "ensurepip" else find(name),
    )


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index on this machine, with a pip that says it was installed."""
    name = f"pip-{install.PIP}-py3-none-any.whl"
    folder = tmp_path / "index" / "simple" / "pip"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr(
            "pip/__main__.py",
            "import pathlib, sys\n"
            "pathlib.Path(sys.prefix, 'installed').write_text(' '.join(sys.argv[1:]))",
        )
    (folder / "index.html").write_text(f'<a href="{name}#sha256=0">{name}</a>')
    sha256 = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    monkeypatch.setattr(install, "PIP_SHA256", sha256)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path / "index"))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(
            "PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple"
        )
        yield server
        server.shutdown()


def test_pip_comes_from_its_wheel_where_ensurepip_is_missing(
    no_ensurepip, index, course
):
    environment = install.Environment(course)
    environment.make({"build": "cpu"})
    assert environment.record() == {"build": "cpu"}
    assert "--no-index" in (environment.folder / "installed").read_text()
    assert not list(environment.folder.glob("*.whl"))


def test_a_wheel_that_is_not_pips_is_refused(no_ensurepip, index, course, monkeypatch):
    monkeypatch.setattr(install, "PIP_SHA256", "0" * 64)
    with pytest.raises(install.Stop, match="SHA-256 differs"):
        install.Environment(course).make({})
    assert not (course / ".venv" / "installed").exists()


def test_without_pip_or_network_apt_is_named(no_ensurepip, course, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(install.Stop, match="sudo apt install python3-venv"):
        install.Environment(course).make({})


def test_the_index_of_pips_configuration_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://mirror.example/simple\n"
    )
    assert install.package_index() == "https://mirror.example/simple"


# The requirement files


def pins(name):
    lines = (ROOT / name).read_text().splitlines()
    bare = [re.split(r"\s*[#;]", line)[0].strip() for line in lines]
    return dict(line.split("==") for line in bare if line)


def test_every_requirement_is_pinned_and_the_constraints_agree():
    constraints = pins("constraints.txt")
    wanted = {**pins("requirements.txt"), **pins("requirements-dev.txt")}
    wanted |= pins("requirements-hub.txt")
    for name, version in wanted.items():
        assert constraints[name.lower()] == version, name


def test_a_learner_gets_what_the_course_names():
    names = "jupyterlab jupyter-book numba numba-cuda torch ipywidgets nbval anywidget"
    assert set(names.split()) <= pins("requirements.txt").keys()
    assert pins("requirements.txt")["jupyter-book"] == "1.0.4.post1"
    assert pins("requirements.txt")["sphinx-book-theme"] == "1.1.4"


def test_triton_is_the_one_that_pytorch_brings_and_for_linux_alone():
    line = re.search("^triton.*", (ROOT / "requirements.txt").read_text(), re.M)[0]
    requirement = Requirement(line.partition("#")[0])
    assert str(requirement.specifier) == f"=={for_triton.VERSION}"
    assert requirement.marker.evaluate({"sys_platform": "linux"})
    assert not requirement.marker.evaluate({"sys_platform": "darwin"})


def test_the_constraints_leave_the_cuda_version_open():
    by_machine = re.compile("nvidia-|cuda-bindings")
    assert not [name for name in pins("constraints.txt") if by_machine.match(name)]


@pytest.mark.parametrize("python", [install.OLDEST_PYTHON, "3.12.0", "3.13.0"])
def test_every_pin_is_for_every_python(python):
    for name, version in pins("constraints.txt").items():
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
    for target in ("lab", "test", "book", "update", "clean"):
        assert re.search(rf"^  make {target}  +\S", said, re.MULTILINE)


@pytest.mark.parametrize("suitable", ["python3", "python3.13", "python3.11"])
def test_make_finds_a_suitable_python(tmp_path, suitable):
    for name in ("python3", "python3.13", "python3.12", "python3.11"):
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
