"""The folder of a notebook's C files, and a terminal that works in that folder."""

import atexit
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from weft.c import compiler, running
from weft.c.source import Source, read

PACKAGES = {"g++": "g++", "gdb": "gdb", "make": "make", "gcc": "gcc", "nm": "binutils"}
SECONDS = 120
_folder: list[Path] = []


def folder() -> Path:
    """Return the session's folder of files, which is deleted when the session ends."""
    if not _folder:
        _folder.append(Path(tempfile.mkdtemp(prefix="weft-")))
        atexit.register(shutil.rmtree, _folder[0], True)
    return _folder[0]


def save(source: Source) -> str:
    """Write a source to the folder; return the errors and warnings that it causes."""
    (folder() / source.file).write_text(source.text)
    if source.file.endswith(".c") and not source.is_stub and compiler.find():
        return compiler.diagnose(folder(), source.file)[1].rstrip()
    return ""


def terminal(*commands: str) -> None:
    """Run commands in the folder, and print each with its output.

    Stops at a command that takes too long, or whose program is not on this machine; a
    line then says why, or how to install the program.
    """
    for command in commands:
        program = command.split()[0]
        print(f"$ {command}")
        if not program.startswith("./") and shutil.which(program) is None:
            print(f"Skipped: there is no {program} here. {how_to_get(program)}")
            return
        try:
            run = running.heard(command, folder(), compiler.english(), SECONDS)
        except subprocess.TimeoutExpired:
            print(f"[no end after {SECONDS} s: stopped]")
            return
        print(_anonymous(run.stdout), end="")
        if run.returncode < 0 or run.returncode > 128:
            print(f"[ended by signal {abs(run.returncode) % 128}]")


def how_to_get(program: str) -> str:
    """Return a sentence on how to install a program, or "" if that is unknown."""
    if program == "nvcc":
        return "It comes with the CUDA toolkit; the next cells do not need it."
    if package := PACKAGES.get(program):
        return f"To get it: sudo apt install {package}"
    return ""


def _anonymous(text: str) -> str:
    """Remove the path of this session's folder from a program's output."""
    return re.sub(rf"(/private)?{re.escape(str(folder()))}/?", "", text)


def cell(language: str, magic: str, body: str) -> tuple[Source, str]:
    """Make and save the source of a cell; return it, and the compiler's output."""
    source = read(magic, language, body)
    return source, save(source)


def register(shell: Any) -> None:
    """Register the magics `%%c` and `%%makefile` in a notebook."""

    def c(line: str, body: str) -> None:
        keep(*cell("c", line, body))

    def makefile(line: str, body: str) -> None:
        keep(*cell("makefile", line, body))

    def keep(source: Source, said: str) -> None:
        if source.name.isidentifier():
            shell.user_ns[source.name] = source
        print(said or f"saved as {source.file}")

    for magic in (c, makefile):
        shell.register_magic_function(magic, "cell", magic.__name__)
