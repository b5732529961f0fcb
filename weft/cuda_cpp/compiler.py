"""Compiling CUDA C++ for the CPU, and explaining the compiler's errors."""

import os
import re
import shutil
import sys
from pathlib import Path

from weft.c import compiler, words
from weft.c.source import Source
from weft.checking.verdict import Failed, Verdict, Verdicts

NAMES = ("g++", "c++", "clang++")
PRELUDE = "prelude.h"
CHANNEL = "channel.h"  # a header of the programs around cells
HEADERS = "headers"  # the folder of headers that replace others
FLAGS = tuple(
    (
        "-std=c++17 -g -O0 -fno-omit-frame-pointer -Wall -Wextra -Wno-sign-compare "
        "-Wno-unused-parameter -Wno-unknown-pragmas -Wno-unused-variable "
        "-Werror=uninitialized -Werror=return-type -Werror=unused-value "
        "-Werror=parentheses -Werror=sizeof-pointer-div"
    ).split()
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

table = Verdicts(__file__)


def find() -> str | None:
    """Return the C++ compiler's path, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def install() -> str:
    """Return the command that installs a compiler."""
    return compiler.install() if sys.platform == "darwin" else "sudo apt install g++"


def call(folder: Path, *arguments: str) -> tuple[bool, str]:
    """Run the compiler in `folder`; return whether it succeeded, and its output.

    Raises FileNotFoundError if there is no compiler.
    """
    program = find()
    if program is None:
        raise FileNotFoundError("no C++ compiler")
    found_in = ("-I.", f"-I{HEADERS}") if (folder / HEADERS).exists() else ()
    return compiler.ask(folder, program, *FLAGS, *found_in, *arguments)


def compiled(source: Source, prototype: str, folder: Path) -> list[str]:
    """Compile the cell by itself in `folder`; return the compiler's warnings as facts.

    Raises `Failed` if the cell does not compile or lacks the kernel.
    """
    (folder / source.file).write_text(source.text)
    (folder / PRELUDE).write_text(Path(__file__).with_name(PRELUDE).read_text("utf-8"))
    flags = ("-include", PRELUDE, "-S", "-o", os.devnull, "-x", "c++", source.file)
    fine, said = call(folder, *flags)
    found = compiler.complaints(said)
    if not fine:
        raise Failed(words.refused(source, found, said, table))
    if not is_kernel(source, name_of(prototype)):
        raise Failed(not_asked_for(source, prototype))
    ours = [c for c in found if not c.error and c.file == source.file]
    return [f"line {c.line}, the compiler warns: {c.text}" for c in ours]


def made(source: Source, program: str, folder: Path, other: Verdict) -> None:
    """Build `program`, which uses a cell that compiles by itself.

    other: the verdict if the cell lacks what the program calls. Raises `Failed` if the
    build fails.
    """
    fine, said = built(program, folder)
    if not fine and words.sanitizers_missing(said):
        raise Failed(words.verdict(source.name, "no-sanitizers"))
    if not fine:
        raise Failed(other)


def built(program: str, folder: Path) -> tuple[bool, str]:
    """Build `program` in `folder`, with the sanitizers; see `call`."""
    (folder / CHANNEL).write_text(Path(__file__).with_name(CHANNEL).read_text("utf-8"))
    (folder / "program.cpp").write_text(program)
    return call(folder, *compiler.SANITIZE, "program.cpp", "-o", "program")


def name_of(prototype: str) -> str:
    """Return the name of the function that a prototype declares."""
    return str(re.findall(r"(\w+)\s*\(", prototype)[0])


def is_kernel(source: Source, name: str) -> bool:
    """Return whether the cell declares a kernel with this name."""
    text = COMMENT.sub("", source.text)
    return re.search(rf"__global__[^;{{}}]*\b{name}\s*\(", text) is not None


def not_asked_for(source: Source, prototype: str) -> Verdict:
    """Return the verdict on a cell that compiles, but lacks the requested kernel."""
    name = name_of(prototype)
    verdict = words.other_function(source, f"__global__ {prototype}", name)
    if verdict.places and not is_kernel(source, name):
        return verdict.but(**table("no-kernel", name=name))
    return verdict.but(headline="not the kernel that was asked for")
