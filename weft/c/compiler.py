"""Calling the C compiler, and parsing its errors and warnings."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from weft import effort

NAMES = ("gcc", "cc", "clang")

# Mistakes for which a C compiler may only warn. GCC 14 made the first four errors; the
# others are just as wrong.
ERRORS = tuple(
    (
        "implicit-function-declaration implicit-int int-conversion "
        "incompatible-pointer-types return-type uninitialized pointer-arith "
        "sizeof-pointer-div sizeof-pointer-memaccess sizeof-array-argument "
        "return-local-addr return-stack-address free-nonheap-object"
    ).split()
)
FLAGS = tuple(
    (
        "-std=c17 -g -O0 -fno-omit-frame-pointer -Wall -Wextra -Wno-unused-parameter"
    ).split()
)
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SECONDS = 60  # limit for one call of the compiler, on a busy machine

_complaint = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<level>fatal error|error|warning): (?P<text>.*?)(?: \[-[Wf][^\]]*\])?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Complaint:
    """An error or a warning from the compiler, and its location."""

    file: str
    line: int
    error: bool
    text: str


def find() -> str | None:
    """Return the C compiler's path, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@cache
def strict(program: str) -> tuple[str, ...]:
    """Return the `-Werror=` option for each of ERRORS that this compiler knows."""
    options = [f"-Werror={name}" for name in ERRORS]
    run = subprocess.run(
        [program, *FLAGS, *options, "-fsyntax-only", "-x", "c", os.devnull],
        env=english(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    unknown = set(re.findall(r"'-Werror=([\w-]+)'", run.stderr))
    return tuple(f"-Werror={name}" for name in ERRORS if name not in unknown)


def install() -> str:
    """Return the command that installs a compiler."""
    if sys.platform == "darwin":
        return "xcode-select --install"
    return "sudo apt install gcc"


def english() -> dict[str, str]:
    """Return the environment, set for English messages with plain quotation marks."""
    return os.environ | {"LC_ALL": "C", "LANGUAGE": "C"}


def complaints(said: str) -> list[Complaint]:
    """Return the errors and warnings that the compiler printed, in order."""
    return [
        Complaint(
            Path(found["file"]).name,
            int(found["line"]),
            found["level"] != "warning",
            found["text"],
        )
        for found in _complaint.finditer(said)
    ]


def call(folder: Path, *arguments: str) -> tuple[bool, str]:
    """Run the compiler in `folder`; return whether it succeeded, and its output.

    Raises FileNotFoundError if there is no compiler.
    """
    program = find()
    if program is None:
        raise FileNotFoundError("no C compiler")
    return ask(folder, program, *FLAGS, *strict(program), *arguments)


def ask(folder: Path, *command: str) -> tuple[bool, str]:
    """Run a compiler in `folder`; return whether it succeeded, and its messages."""
    effort.done["programs"] += 1
    run = subprocess.run(
        command,
        cwd=folder,
        env=english(),
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
    )
    return run.returncode == 0, run.stderr


def diagnose(folder: Path, file: str) -> tuple[bool, str]:
    """Compile one file as a check; return whether it compiles, and the output."""
    return call(folder, "-S", "-o", os.devnull, file)
