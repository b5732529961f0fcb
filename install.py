"""Make .venv and install the pinned packages that fit this machine.

    python3 install.py           what a learner needs: requirements.txt
    python3 install.py --dev     and what authors and tests need: requirements-dev.txt
    python3 install.py --pins    resolve the requirements afresh; write constraints.txt

A second run finds its own record in .venv and does nothing. Standard library only,
and readable by any Python from 3.8 on, so that an unsuitable one can be told so.
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

ROOT = Path(__file__).resolve().parent
PYTHONS = ((3, 11), (3, 12), (3, 13))

# The pip that does the work, whatever this Python brought.
PIP = "26.3"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"

TORCH_WHEELS = "https://download.pytorch.org/whl/"
GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu")  # Linux, WSL, Jetson
LIBCUDA = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")


class Build(NamedTuple):
    """One build of torch, and what goes with it."""

    kind: str  # the same for every build that would do
    numba: str
    pins: tuple[str, ...]  # packages whose version depends on the CUDA version
    gigabytes: float  # free disk space that the whole environment asks for
    compilers: tuple[str, ...] = ()  # of kernels, for checks; CUDA builds bring them


BUILDS = {
    "cpu": Build(
        "cpu",
        "numba-cuda",
        # Even without a GPU, importing numba.cuda loads CUDA's runtime library.
        ("cuda-bindings==13.5.0", "nvidia-cuda-runtime==13.5.37"),
        3.2,
        ("nvidia-cuda-nvrtc==13.5.37", "nvidia-nvvm==13.5.37"),
    ),
    "cu126": Build("cu12", "numba-cuda[cu12]", ("cuda-bindings==12.9.10",), 8),
    "cu129": Build("cu12", "numba-cuda[cu12]", ("cuda-bindings==12.9.10",), 8),
    "cu130": Build(
        "cu13",
        "numba-cuda[cu13]",
        ("cuda-bindings==13.5.0", "nvidia-nvjitlink==13.0.88"),
        8,
    ),
}

# JupyterLab as a lab wants it: verdicts name lines, and nobody asks about news.
LAB_SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": True}},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}


READ_ONLY = """\
The packages in {root}/.venv have to be installed or updated, and you may not write
there: the folder belongs to {owner}. Ask {owner} to run `make lab` once, or clone the
course into a folder of your own."""


class Stop(Exception):
    """Something only the person at the keyboard can fix; the text says how."""


# What is this machine?


def check_python(version: tuple[int, ...], executable: str) -> None:
    if tuple(version[:2]) in PYTHONS:
        return
    raise Stop(
        "Warp & Weft needs Python 3.11, 3.12 or 3.13; {} is Python {}.{}.\n"
        "Debian 12 and Ubuntu 24.04 bring one: sudo apt install python3\n"
        "Ubuntu 26.04 does not. On Windows: wsl --install -d Ubuntu-24.04\n"
        "Where there is another Python, name it: make lab PYTHON=python3.12".format(
            executable, *version[:2]
        )
    )


def cuda_of_driver() -> tuple[int, int] | None:
    """CUDA version that the NVIDIA driver can run; None without a GPU and driver."""
    if not any(os.path.exists(device) for device in GPU_DEVICES):
        return None

    for library in LIBCUDA:
        try:
            version = ctypes.c_int()
            if ctypes.CDLL(library).cuDriverGetVersion(ctypes.byref(version)) == 0:
                return version.value // 1000, version.value % 1000 // 10
        except OSError:
            continue
    return None


def choose_build(cuda: tuple[int, int] | None, asked: str = "") -> tuple[str, str]:
    """Name of the torch build for this driver, and a sentence that says why.

    CUDA keeps a minor version's programs running on any driver of the same major
    version. Blackwell's first drivers are CUDA 12.8, and cu126 has no code for it.
    """
    if asked not in ("", "auto", "cpu", "cu12", "cu13"):
        raise Stop(f"VARIANT={asked} is not one of cpu, cu12, cu13, auto.")
    if sys.platform not in ("linux", "darwin"):
        raise Stop("On Windows, use WSL 2: https://learn.microsoft.com/windows/wsl")

    cu12 = "cu129" if cuda and (12, 8) <= cuda < (13, 0) else "cu126"
    if asked not in ("", "auto"):
        return {"cpu": "cpu", "cu12": cu12, "cu13": "cu130"}[asked], "as asked"
    if cuda is None:
        return "cpu", "no NVIDIA driver; kernels will run on the simulator"

    found = "the NVIDIA driver supports CUDA {}.{}".format(*cuda)
    if cuda >= (13, 0):
        return "cu130", found
    if cuda >= (12, 0):
        return cu12, found
    return "cpu", (
        found + ", which is too old for these packages. Kernels will run on the "
        "simulator.\nTo use the GPU, update the driver to 580 or later (525 at the "
        "least) and run make again"
    )


def check_disk(free: int, needed: float, where: Path) -> None:
    """Raise Stop unless `free` bytes hold `needed` GB (10^9 bytes)."""
    if free < needed * 1e9:
        raise Stop(
            f"Not enough disk space: {needed:.1f} GB needed and {free / 1e9:.1f} GB "
            f"free in {where}.\nFree some, or move this folder to a larger disk."
        )


# The environment


class Environment:
    """The virtual environment in `root`/.venv and the record of what is in it.

    The record is written before the folder is filled, and names a set of packages only
    once that set is complete: an interrupted installation is taken up where it stopped.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.record_file = self.folder / "weft-install.json"

    def record(self) -> dict[str, str]:
        try:
            return json.loads(self.record_file.read_text())
        except (OSError, ValueError):
            return {}

    def write(self, record: dict[str, str]) -> None:
        draft = self.record_file.with_suffix(".new")
        draft.write_text(json.dumps(record, indent=1) + "\n")
        draft.replace(self.record_file)

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python3.*/site-packages"))

    def version(self, package: str) -> str:
        """The installed version, for torch with its build: 2.13.0+cpu; "" for none."""
        found = [info.name for info in self.packages.glob(f"{package}-*.dist-info")]
        return found[0][len(package) + 1 : -len(".dist-info")] if found else ""

    def make(self, record: dict[str, str]) -> None:
        """Make an empty environment with pip in it."""
        if importlib.util.find_spec("venv") is None:
            raise Stop("This Python has no venv module: sudo apt install python3-venv")
        if self.folder.exists():
            if not self.record():
                raise Stop(
                    f"{self.folder} is there, and was not made by this program.\n"
                    "Move it away and run make again."
                )
            shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.write(record)

        # If this is the old .venv's Python, it has just removed itself.
        venv = [getattr(sys, "_base_executable", sys.executable), "-m", "venv"]
        if importlib.util.find_spec("ensurepip"):
            run([*venv, str(self.folder)])
        else:  # Debian and Ubuntu keep ensurepip in python3-venv
            run([*venv, "--without-pip", str(self.folder)])
            wheel = fetch_pip(self.folder)
            run([self.python, f"{wheel}/pip", "install", "--no-index", wheel])
            wheel.unlink()

    def sweep(self) -> None:
        """Drop packages that an interruption left half installed.

        pip writes INSTALLER after a package's last file.
        """
        for info in self.packages.glob("*.dist-info"):
            if not (info / "INSTALLER").exists():
                shutil.rmtree(info)

    def installed(self) -> list[str]:
        """Name what is installed, each with its version: numpy-2.4.6."""
        found = self.packages.glob("*.dist-info")
        return sorted(info.name[: -len(".dist-info")] for info in found)

    def damaged(self, names: list[str]) -> list[str]:
        """Which of these packages are gone, of another version, or lack a file.

        A file counts as missing if its size is not the one that pip noted; pip notes
        none for compiled Python, which may come and go.
        """
        found = []
        for name in names:
            try:
                text = (self.packages / f"{name}.dist-info" / "RECORD").read_text()
                noted = [line.rsplit(",", 2) for line in text.splitlines()]
                whole = all(
                    os.stat(self.packages / path.strip('"')).st_size == int(size)
                    for path, _, size in noted
                    if size
                )
            except (OSError, ValueError):
                whole = False
            if not whole:
                found.append(name)
        return found

    def forget(self, names: list[str]) -> None:
        """Have pip install these packages again: it finds no trace of them."""
        for name in names:
            shutil.rmtree(self.packages / f"{name}.dist-info", ignore_errors=True)

    def settle(self) -> None:
        """Put `weft` on the path, and JupyterLab's settings in place."""
        (self.packages / "weft.pth").write_text(f"{self.root}\n")
        settings = self.folder / "share" / "jupyter" / "lab" / "settings"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "overrides.json").write_text(json.dumps(LAB_SETTINGS, indent=2))

    def pip(self, *arguments: str) -> None:
        """Run pip; keep its words in install.log and show where it is."""
        scratch = self.folder / "tmp"  # the system's may be small, or in memory
        scratch.mkdir(exist_ok=True)
        environment = dict(clean_environment(), TMPDIR=str(scratch))
        command = [str(self.python), "-m", "pip", *arguments]
        log = self.folder / "install.log"

        with log.open("a", buffering=1, encoding="utf-8") as words:
            print("$", *command, file=words)
            pip = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            last: list[str] = []
            for line in pip.stdout:
                words.write(line)
                last = [*last[-200:], line.rstrip()]
                show_progress(line)
        show_progress("")
        shutil.rmtree(scratch, ignore_errors=True)
        if pip.wait() != 0:
            raise Stop(explain(last, log))


def clean_environment() -> dict[str, str]:
    """This process's environment, less what would lead pip elsewhere."""
    leave_out = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
    kept = {k: v for k, v in os.environ.items() if k not in leave_out}
    return dict(kept, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")


def run(command: list[object]) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=clean_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Stop("{}\nfailed:\n{}".format(" ".join(words), done.stdout + done.stderr))


def show_progress(line: str) -> None:
    """Overwrite one line of the terminal with what pip is doing."""
    if not sys.stderr.isatty():
        return
    step = re.match(r"\s*(Downloading \S+( \(.*?\))?|Installing collected)", line)
    if step or not line:
        text = step.group(1)[:78] if step else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def explain(lines: list[str], log: Path) -> str:
    """What pip's last words mean, and what to do about it."""
    text = "\n".join(lines)
    if "No space left on device" in text:
        return "The disk filled up. Free some space and run make again."
    if re.search(r"NewConnection|NameResolution|ConnectTimeout|Read timed", text):
        return (
            "The package index could not be reached. Check the network (or set "
            f"HTTPS_PROXY, PIP_INDEX_URL) and run make again;\nwhat is there already "
            f"is kept. The whole story: {log}"
        )
    tail = "\n".join(line for line in lines[-15:] if line.strip())
    return f"{tail}\n\npip failed; the whole story: {log}. Run make again to go on."


# pip where Python came without it


def fetch_pip(folder: Path) -> Path:
    """Download pip's wheel from the package index and check its digest."""
    index = package_index()
    name = f"pip-{PIP}-py3-none-any.whl"
    try:
        page = download(index.rstrip("/") + "/pip/").decode("utf-8", "replace")
        link = re.search(rf'href="([^"#]*{re.escape(name)})[#"]', page)
        if link is None:
            raise OSError(f"no {name} there")
        data = download(urljoin(index.rstrip("/") + "/pip/", link.group(1)))
    except (OSError, ValueError) as error:
        raise Stop(
            f"This Python has no ensurepip, and pip could not be fetched from {index}\n"
            f"({error}).\nInstall it: sudo apt install python3-venv"
        ) from error
    if hashlib.sha256(data).hexdigest() != PIP_SHA256:
        raise Stop(
            f"{name} from {index} is not the file it should be (SHA-256 differs).\n"
            "Install pip another way: sudo apt install python3-venv"
        )
    wheel = folder / name
    wheel.write_bytes(data)
    return wheel


def package_index() -> str:
    """The index that pip would use: its environment variable, its files, PyPI."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    files = configparser.ConfigParser(interpolation=None)
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME", home / ".config"))
    with contextlib.suppress(configparser.Error):
        files.read(["/etc/pip.conf", home / ".pip/pip.conf", config / "pip/pip.conf"])
    return files.get("global", "index-url", fallback="https://pypi.org/simple")


def download(url: str, timeout: float = 30) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.read()
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ssl.SSLCertVerificationError):
            raise
    # A bare Debian has no certificates. What comes is compared with a digest we know.
    anyone = ssl._create_unverified_context()
    with urllib.request.urlopen(url, timeout=timeout, context=anyone) as answer:
        return answer.read()


# The right build of torch


def torch_indexes(name: str) -> list[str]:
    """Where to look for the build, in this order; "" is what pip is set up to use."""
    if sys.platform == "darwin":
        return [""]
    if os.environ.get("TORCH_INDEX"):
        return [os.environ["TORCH_INDEX"]]
    official = TORCH_WHEELS + name
    return ["", official] if BUILDS[name].kind == "cu13" else [official, ""]


def kind_of(metadata: dict) -> str:
    """The kind of a torch wheel, from its metadata: cpu, cu12 or cu13."""
    local = metadata["version"].partition("+")[2]
    if local:
        return local[:4] if local.startswith("cu") else local
    needs = " ".join(metadata.get("requires_dist", []))
    if sys.platform == "darwin" or not re.search(r"\b(nvidia|cuda)-", needs):
        return "cpu"
    return "cu12" if "-cu12" in needs else "cu13"


def find_torch(python: Path, name: str, version: str) -> list[str]:
    """pip's arguments for the wanted build of torch, without downloading any."""
    seen = []
    for index in torch_indexes(name):
        where = ["--index-url", index] if index else []
        wanted = [*where, f"torch=={version}"]
        found = ask_pip(python, wanted)
        kind = kind_of(found["metadata"]) if found else ""
        if kind == BUILDS[name].kind:
            url = found["download_info"]["url"]
            return [url] if url.startswith("file:") else wanted
        seen.append((index or "pip's package index", kind))

    answers = "\n".join(
        "  {}: {}".format(
            index, f"has the {kind} build" if kind else "no answer, or no such version"
        )
        for index, kind in seen
    )
    raise Stop(
        f"No {BUILDS[name].kind} build of torch {version} was found:\n{answers}\n"
        "Nothing has been installed. Let this machine reach download.pytorch.org, or "
        f"name a mirror of\n{TORCH_WHEELS}{name}:  make lab TORCH_INDEX=https://...\n"
        "To install another build all the same:  make lab VARIANT=cpu|cu12|cu13 "
        "(CUDA builds: several GB)"
    )


def ask_pip(python: Path, arguments: list[str]) -> dict | None:
    """pip's report on the one wheel it would install; None where it finds none."""
    look = ["install", "--dry-run", "--no-deps", "--quiet", "--report", "-"]
    limits = ["--only-binary", ":all:", "--retries", "0", "--timeout", "5"]
    try:
        answer = subprocess.run(
            [str(python), "-m", "pip", *look, *limits, *arguments],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=True,
        )
        return json.loads(answer.stdout)["install"][0]
    except (subprocess.SubprocessError, ValueError):
        return None


# Putting it together


def pinned(root: Path, package: str) -> str:
    text = (root / "requirements.txt").read_text()
    return re.search(rf"^{re.escape(package)}==([^\s;]+)", text, re.MULTILINE).group(1)


def digest(root: Path, files: list[str]) -> str:
    contents = b"\0".join((root / name).read_bytes() for name in files)
    return hashlib.sha256(contents).hexdigest()


def folder_size(folder: Path) -> int:
    """Bytes on disk below a folder; 0 where there is none."""
    return sum(
        os.lstat(os.path.join(here, name)).st_size
        for here, _, names in os.walk(folder)
        for name in names
    )


def fitting(record: dict[str, str], root: Path) -> tuple[dict[str, str], str]:
    """The identity that the environment should have, and why.

    What was asked for once stays until something else is; a GPU that is switched off
    today is no reason to throw away the packages for it.
    """
    python = "{}.{}".format(*sys.version_info[:2])
    if not os.environ.get("PYTHON"):
        python = record.get("python", python)
    asked = os.environ.get("VARIANT") or record.get("variant", "")
    cuda = cuda_of_driver()
    build, why = choose_build(cuda, asked)
    if cuda is None and asked in ("", "auto"):
        build = record.get("build", build)
    identity = {"root": str(root), "build": build, "variant": asked, "python": python}
    return identity, why


def owner_of(folder: Path) -> str:
    """Name the user whose folder this is."""
    try:
        return folder.owner()
    except KeyError:  # a number that has no name on this machine
        return f"user {folder.stat().st_uid}"


def install(root: Path = ROOT, dev: bool = False) -> bool:
    """Bring `root`/.venv up to date; False if it was already."""
    environment = Environment(root)
    record = environment.record()
    identity, why = fitting(record, root)
    name = identity["build"]
    requirements = ["requirements.txt"] + ["requirements-dev.txt"] * dev
    files = [*requirements, "constraints.txt", "install.py"]
    contents = {"dev" if dev else "learner": digest(root, files)}
    if dev:
        contents["learner"] = digest(root, ["requirements.txt", *files[-2:]])

    same = all(identity[key] == record.get(key) for key in ("root", "build", "python"))
    fits = same and environment.python.exists()
    damaged = environment.damaged(record.get("packages", "").split()) if fits else []
    if fits and not damaged and contents.items() <= record.items():
        if os.access(environment.folder, os.W_OK):
            environment.write({**record, **identity})  # what was asked for may be new
        return False

    if not os.access(root, os.W_OK):
        raise Stop(READ_ONLY.format(root=root, owner=owner_of(root)))
    build = BUILDS[name]
    print(f"torch: {name} build ({why})", flush=True)
    check_disk(
        shutil.disk_usage(root).free + folder_size(environment.folder),
        build.gigabytes,
        root,
    )
    if not fits or not any(environment.folder.glob("lib/python3.*/site-packages/pip")):
        identity["python"] = "{}.{}".format(*sys.version_info[:2])
        print("Making .venv with Python", identity["python"], flush=True)
        environment.make(identity)
        record = identity
    if damaged:
        some = ", ".join(damaged[:3]) + ", …" * (len(damaged) > 3)
        print(f"Repairing what is damaged in .venv: {some}", flush=True)
        environment.forget(damaged)
    environment.sweep()
    if environment.version("pip") != PIP:
        environment.pip("install", f"pip=={PIP}")

    # torch first, and alone. Then its very build is required: "2.13.0" would let pip,
    # in search of a way out of some conflict, download a CUDA build to look at it.
    torch = pinned(root, "torch")
    if environment.version("torch").partition("+")[0] != torch:
        wheel = find_torch(environment.python, name, torch)
        print(f"Installing torch {torch}", flush=True)
        environment.pip("install", "--no-deps", "--only-binary=:all:", *wheel)

    print("Installing", " and ".join(requirements), flush=True)
    wanted = [word for file in requirements for word in ("-r", str(root / file))]
    wanted.append("torch==" + environment.version("torch"))
    if sys.platform != "darwin":  # there is no CUDA for macOS
        wanted += [f"{build.numba}=={pinned(root, 'numba-cuda')}", *build.pins]
        wanted += build.compilers
    constraints = str(root / "constraints.txt")
    environment.pip("install", "--only-binary=:all:", "-c", constraints, *wanted)
    environment.settle()
    packages = {"packages": " ".join(environment.installed())}
    environment.write({**record, **identity, **contents, **packages})
    print(f"Done: {folder_size(environment.folder) / 1e9:.1f} GB in .venv")
    return True


# constraints.txt

OLDEST_PYTHON = "3.11.2"  # Debian 12; some packages ask for a later 3.11
PINS_HEAD = """\
# Every package that requirements.txt, -dev.txt and -hub.txt bring, pinned.
# Generated on Python 3.11 after a change in one of them:
#
#     .venv/bin/python install.py --pins
#
# Each also installs on 3.11.2 (Debian 12), 3.12 and 3.13. What depends on the CUDA
# version (torch's libraries, cuda-bindings) is pinned by torch and by install.py.
"""


def write_pins(root: Path) -> None:
    """Resolve all requirement files without constraints; install nothing."""
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    quiet = ["--quiet", "--report", "-"]
    target = ["--python-version", OLDEST_PYTHON, "--only-binary=:all:"]
    names = ("requirements.txt", "requirements-dev.txt", "requirements-hub.txt")
    files = [word for name in names for word in ("-r", name)]
    answer = subprocess.run(
        [*pip, *quiet, *target, *files],
        cwd=root,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    packages = [item["metadata"] for item in json.loads(answer.stdout)["install"]]
    pins = sorted(
        "{}=={}".format(
            re.sub(r"[-_.]+", "-", package["name"]).lower(),
            package["version"].partition("+")[0],
        )
        for package in packages
    )
    by_machine = re.compile(r"nvidia-|cuda-(bindings|toolkit)")
    kept = [pin for pin in pins if not by_machine.match(pin)]
    (root / "constraints.txt").write_text(PINS_HEAD + "\n" + "\n".join(kept) + "\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", action="store_true", help="also what authors need")
    parser.add_argument("--pins", action="store_true", help="rewrite constraints.txt")
    options = parser.parse_args(arguments)
    try:
        check_python(sys.version_info, sys.executable)
        if options.pins:
            write_pins(ROOT)
        else:
            install(dev=options.dev)
    except Stop as reason:
        print(f"\n{reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run make again to go on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
