"""The requirement files, and constraints.txt, which is resolved from them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from installing import settings

LEARNER = "requirements-learner.txt"  # names alone; their versions: constraints.txt
FULL = "requirements.txt"
DEV = "requirements-dev.txt"
HUB = "requirements-hub.txt"
CONSTRAINTS = "constraints.txt"

OLDEST_PYTHON = "3.11.2"  # Debian 12; some packages ask for a later 3.11
PINS_HEAD = """\
# Every package that requirements.txt, -dev.txt and -hub.txt bring, pinned.
# Generated on Python 3.11 after a change in one of them:
#
#     .venv/bin/python install.py --pins
#
# Each also installs on 3.11.2 (Debian 12), 3.12, 3.13 and 3.14. What depends on CUDA's
# version (torch's libraries, cuda-bindings) is pinned by torch and in installing/.
"""


def pinned(root: Path, package: str) -> str:
    text = (root / FULL).read_text()
    return re.search(rf"^{re.escape(package)}==([^\s;]+)", text, re.MULTILINE).group(1)


def named(root: Path, files: list[str], platform: str = sys.platform) -> list[str]:
    """The packages that requirement files name for this platform."""
    lines = "\n".join((root / file).read_text() for file in files).splitlines()
    found = []
    for line in lines:
        requirement, _, marker = line.partition("#")[0].partition(";")
        name = re.match(r"[\w.-]+", requirement)
        wanted = re.search(r'sys_platform (==|!=) "(\w+)"', marker)
        here = not wanted or (wanted[2] == platform) == (wanted[1] == "==")
        if name and here:
            found.append(name[0])
    return found


def constrained(root: Path) -> set[str]:
    """Every package that the course's requirements bring, whatever the machine."""
    return {name.lower() for name in named(root, [CONSTRAINTS])}


def write_pins(root: Path) -> None:
    """Resolve all requirement files without constraints; install nothing."""
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    quiet = ["--quiet", "--report", "-"]
    target = ["--python-version", OLDEST_PYTHON, "--only-binary=:all:"]
    files = [word for name in (FULL, DEV, HUB) for word in ("-r", name)]
    answer = subprocess.run(
        [*pip, *quiet, *target, *files],
        cwd=root,
        env=settings.environment(),
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
    (root / CONSTRAINTS).write_text(PINS_HEAD + "\n" + "\n".join(kept) + "\n")
