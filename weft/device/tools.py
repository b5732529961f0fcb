"""Programs, headers and packages that labs need but that are not installed with them.

`tools.toml` has a row for each. A lab's `lesson.toml` lists in `tools` what the lab
always needs, and in `gpu_tools` what it needs on a GPU.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from weft import chapters
from weft.wording import joined

Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Tool:
    """A row of `tools.toml`: a tool, and how to recognise that a machine has it.

    program, package: any one is enough; the packages contain the programs, which then
    need not be on the path. header, module: all are needed. stops: whether a lab that
    needs the tool fails without it; if not, part of the lab is skipped. beside: a tool
    without which this one is not needed either.
    """

    name: str
    use: str
    install: str
    program: tuple[str, ...] = ()
    package: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    module: tuple[str, ...] = ()
    stops: bool = False
    beside: str = ""

    def is_here(self, which: Which = shutil.which) -> bool:
        """Return whether this machine has the tool. which: finds a program."""
        if self.program:
            return any(map(which, self.program)) or any(map(installed, self.package))
        if self.header:
            return all((headers() / name).is_file() for name in self.header)
        return all(importlib.util.find_spec(name) for name in self.module)


def installed(package: str) -> bool:
    """Return whether a Python package is installed."""
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def headers() -> Path:
    """Return the folder of Python's own headers, where Triton looks for them.

    Debian's scheme for local packages names a different folder.
    """
    scheme = "posix_prefix" if os.name == "posix" else sysconfig.get_default_scheme()
    return Path(sysconfig.get_path("include", scheme))


def _read() -> dict[str, Tool]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    found = {}
    for name, row in tomllib.loads(text).items():
        lists = {k: tuple(v) for k, v in row.items() if isinstance(v, list)}
        install = row["install"].format(python=python)
        found[name] = Tool(name=name, **(row | lists | {"install": install}))
    return found


TOOLS = _read()


@dataclass(frozen=True)
class Missing:
    """A tool that this machine lacks, and the labs that need it."""

    tool: Tool
    labs: tuple[str, ...]

    def __str__(self) -> str:
        """Return a text saying which labs need the tool, why, and how to install it."""
        numbers = joined(name.split("_")[0] for name in self.labs)
        need = f"labs {numbers} need" if len(self.labs) > 1 else f"lab {numbers} needs"
        what = "" if self.tool.stops else " for a part that is otherwise left out"
        return f"{need} it{what}: {self.tool.use}; to install: {self.tool.install}"


def of_lab(lab: str, on_gpu: bool) -> list[str]:
    """Return the `tools` in a lab's lesson.toml, plus its `gpu_tools` on a GPU."""
    text = (chapters.folder() / lab / "lesson.toml").read_text(encoding="utf-8")
    lesson = tomllib.loads(text)
    return [*lesson.get("tools", ()), *(lesson.get("gpu_tools", ()) if on_gpu else ())]


def missing(
    labs: Iterable[str], on_gpu: bool, which: Which = shutil.which
) -> list[Missing]:
    """Return the tools that these labs need and this machine lacks.

    on_gpu: whether their kernels run on a GPU. which: finds a program.
    """
    needed: dict[str, list[str]] = {}
    for lab in labs:
        for name in of_lab(lab, on_gpu):
            needed.setdefault(name, []).append(lab)
    return [Missing(tool, tuple(needed[tool.name])) for tool in absent(needed, which)]


def absent(names: Iterable[str], which: Which = shutil.which) -> list[Tool]:
    """Return missing tools among `names`, except any whose `beside` is missing too."""
    asked = set(names)
    return [
        tool
        for name, tool in TOOLS.items()
        if name in asked and not tool.is_here(which)
        if not tool.beside or TOOLS[tool.beside].is_here(which)
    ]
