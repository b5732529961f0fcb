"""The corpus: small kernels as learners write them, each with its right verdict.

tests/corpus/<class>/{wrong,right}_<what>.py begins with `# verdict: <kind>` and a line
on what the learner was thinking. Lines that the verdict must name end in `# <- here`.
The last statement, `CHECK = dict(...)`, holds the arguments of `weft.check`. The
kernels of the labs begin with the same two lines; in C, these begin with `//`.
"""

import ast
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus"
CHAPTERS = ROOT / "chapters"

HEAD = re.compile(r"(?:#|//) verdict: ([\w-]+)\n(?:#|//) (.+)\n")
HERE = re.compile(r"\s*(?:#|//) <- here\s*$")
# the magics of cells that are not Python
MAGICS = {".c": "c", ".cu": "c", ".mk": "makefile"}
TYPED = {".py", *MAGICS}  # suffixes of files that learners write

GIVEN = """\
import math
import numpy as np
from numba import cuda, float32, float64, int32, int64
from weft.intrinsics import load4, store4
"""


def under_magic(path: Path, text: str) -> str:
    """Return the text of a learner's cell, with the magic of another language first."""
    magic = MAGICS.get(path.suffix)
    file = path.parent.name + path.suffix * (path.suffix == ".cu")
    return f"%%{magic} {file}\n{text}" if magic else text


def dumped(source: str) -> str:
    """Return the syntax tree of Python as text, the same for all versions of Python."""
    empty = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(ast.parse(source), **empty).replace(", type_params=[]", "")


@dataclass(frozen=True)
class Kernel:
    """A file of the corpus, or an answer to an exercise of a lab.

    `group` is the class of a corpus kernel, or `<lab>/<exercise>` of a lab's; `marked`
    holds the lines that the verdict must name.
    """

    path: Path
    group: str
    verdict: str
    thinking: str
    source: str

    @property
    def label(self) -> str:
        return f"{self.group}/{self.path.stem}"

    @property
    def wrong(self) -> bool:
        return self.path.stem.startswith("wrong_")

    @property
    def lines(self) -> list[str]:
        return self.source.splitlines()

    @property
    def marked(self) -> list[int]:
        return [n for n, text in enumerate(self.lines, 1) if HERE.search(text)]

    @property
    def function(self) -> str:
        """The name of the kernel: the last function with `@cuda.jit`."""
        found = [
            node.name
            for node in ast.parse(self.source).body
            if isinstance(node, ast.FunctionDef)
            and any(ast.unparse(d) == "cuda.jit" for d in node.decorator_list)
        ]
        return found[-1]

    @property
    def digest(self) -> str:
        """A digest of the code, whatever its comments and Python's version."""
        return hashlib.sha256(dumped(self.source).encode()).hexdigest()[:16]

    def line(self, number: int) -> str:
        """Return a line as the learner wrote it, by its number."""
        return HERE.sub("", self.lines[number - 1]).strip()

    def load(self) -> tuple[Any, dict[str, Any]]:
        """Run the file; return its kernel and the arguments of its check."""
        scope: dict[str, Any] = {"__name__": "corpus"}
        exec(GIVEN, scope)
        exec(compile(self.source, str(self.path), "exec"), scope)
        return scope[self.function], scope["CHECK"]


def read(path: Path) -> Kernel:
    source = path.read_text(encoding="utf-8")
    head = HEAD.match(source)
    if head is None:
        raise ValueError(f"{path}: `# verdict: <kind>` and a comment come first")
    group = path.parent.name
    if path.parents[1].name == "answers":
        group = f"{path.parents[2].name}/{group}"
    return Kernel(path, group, head[1], head[2], source)


def corpus(folder: Path = CORPUS) -> list[Kernel]:
    """Return the kernels of the corpus, `<class>/*.py` in `folder`."""
    return [read(path) for path in sorted(folder.glob("*/*.py"))]


def answers(lab: str = "*", folder: Path = CHAPTERS) -> list[Path]:
    """Return the files of a lab's wrong and right answers; of all labs by default."""
    found = folder.glob(f"{lab}/answers/*/*")
    return sorted(path for path in found if path.suffix in TYPED)


def of_labs(folder: Path = CHAPTERS) -> list[Kernel]:
    """Return the wrong and right answers to the exercises of all labs."""
    return [read(path) for path in answers(folder=folder)]
