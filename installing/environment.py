"""The virtual environment, and what is in it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from installing import Stop, settings

# JupyterLab as a lab wants it: verdicts name lines, and nobody asks about news.
LAB_SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": True}},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}


# Programs that the course never runs, by the package that brings them: those that test
# torch (0.13 GB), and the part of nvcc that nvcc alone runs (0.10 GB).
UNUSED = {"torch": r"torch/test/|torch/bin/(test_|protoc)"}
UNUSED_WITHOUT_GPU = UNUSED | {"nvidia_nvvm": r".*/nvvm/bin/cicc\b"}


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
        self.compiled = self.folder / "compiled"  # there once all bytecode is

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
        name = package.replace("-", "_").lower()
        for info in self.packages.glob("*.dist-info"):
            found, _, version = info.name[: -len(".dist-info")].partition("-")
            if found.replace(".", "_").lower() == name:
                return version
        return ""

    def make(self, record: dict[str, str]) -> None:
        """Make an empty environment, without pip."""
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
        python = getattr(sys, "_base_executable", sys.executable)
        run([python, "-m", "venv", "--without-pip", str(self.folder)])

    def usable(self) -> bool:
        """Whether there is an environment with a Python that this user may run."""
        made = any(self.folder.glob("lib/python3.*/site-packages"))
        return made and os.access(self.python, os.X_OK)

    def sweep(self) -> None:
        """Drop packages that an interruption left half installed.

        pip and uv write INSTALLER after a package's last file.
        """
        for info in self.packages.glob("*.dist-info"):
            if not (info / "INSTALLER").exists():
                shutil.rmtree(info)

    def installed(self) -> list[str]:
        """Name what is installed, each with its version: numpy-2.4.6."""
        found = self.packages.glob("*.dist-info")
        return sorted(info.name[: -len(".dist-info")] for info in found)

    def damaged(self, names: list[str], by_hash: bool = False) -> list[str]:
        """Which of these packages are gone, of another version, or lack a file.

        A file counts as missing if its size is not the one that is noted, or `by_hash`,
        its contents; none are noted for compiled Python, which may come and go.
        """
        folder = f"{self.packages}/"
        return [name for name in names if not _whole(folder, name, by_hash)]

    def forget(self, names: list[str]) -> None:
        """Have these packages installed again: nothing finds a trace of them."""
        for name in names:
            shutil.rmtree(self.packages / f"{name}.dist-info", ignore_errors=True)

    def trim(self, gpu: bool) -> None:
        """Remove programs that nobody runs, and the lines of RECORD about them.

        gpu: for a machine with one, where nvcc may be added. The new RECORD is another
        file, because the old one may be a link into the engine's cache.
        """
        for package, pattern in (UNUSED if gpu else UNUSED_WITHOUT_GPU).items():
            for record in self.packages.glob(f"{package}-*.dist-info/RECORD"):
                lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
                unused = {line for line in lines if re.match(pattern, line)}
                for line in unused:
                    path = self.packages / line.rsplit(",", 2)[0]
                    path.unlink(missing_ok=True)
                draft = record.with_name("RECORD.new")
                kept = "".join(line for line in lines if line not in unused)
                draft.write_text(kept, encoding="utf-8")
                draft.replace(record)
        shutil.rmtree(self.packages / "torch" / "test", ignore_errors=True)

    def settle(self) -> None:
        """Put `weft` on the path, and JupyterLab's settings in place."""
        (self.packages / "weft.pth").write_text(f"{self.root}\n")
        settings = self.folder / "share" / "jupyter" / "lab" / "settings"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "overrides.json").write_text(json.dumps(LAB_SETTINGS, indent=2))


def _whole(folder: str, name: str, by_hash: bool) -> bool:
    """Whether a package in `folder`, which ends in a slash, has all its files.

    Every file of 25,000 is looked at before JupyterLab opens, so no Path is made.
    """
    stat = os.stat
    try:
        with open(f"{folder}{name}.dist-info/RECORD", encoding="utf-8") as lines:
            for line in lines:
                path, noted, size = line.rstrip("\n").rsplit(",", 2)
                path = folder + path.strip('"')
                if size and stat(path).st_size != int(size):
                    return False
                if by_hash and noted and hash_of(path, noted) != noted:
                    return False
    except (OSError, ValueError):
        return False
    return True


def hash_of(path: str, noted: str) -> str:
    """A file's hash as RECORD writes it, by the algorithm of the one `noted` there."""
    algorithm = noted.partition("=")[0]
    with open(path, "rb") as file:
        digest = hashlib.new(algorithm)
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    text = base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
    return f"{algorithm}={text}"


def run(command: list[object]) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=settings.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Stop("{}\nfailed:\n{}".format(" ".join(words), done.stdout + done.stderr))
