"""A learner's kernel launched on the CPU: the program that runs it, and its results."""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from weft.c import driver, running
from weft.checking.cases import as_tuple
from weft.places import unravel

TEXT = Template(Path(__file__).with_name("program.cpp").read_text(encoding="utf-8"))
Size = tuple[int, int, int]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Launch:
    """The numbers of blocks and of threads per block, each in three dimensions."""

    grid: Size
    block: Size

    @property
    def threads(self) -> int:
        """The number of threads of all blocks."""
        return int(np.prod(self.grid) * np.prod(self.block))

    def index(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the index of a thread's block, and the thread's index in it."""
        block, thread = divmod(rank, int(np.prod(self.block)))
        return unravel(block, self.grid), unravel(thread, self.block)


def configured(chosen: Any) -> Launch:
    """Return the launch for a pair such as `(4, 128)` or `((2, 3), (32, 8))`."""
    grid, block = chosen
    return Launch(_sizes(grid), _sizes(block))


def _sizes(part: Any) -> Size:
    x, y, z, *_ = *as_tuple(part), 1, 1
    return int(x), int(y), int(z)


@dataclass(frozen=True)
class Left:
    """The effect of a launch on one array, flattened to one dimension.

    before: the elements before the launch. after: those after all threads have run, the
    last block first. alone: what each element becomes if every thread works alone, on
    the contents before the launch. writer, other: for each element, the ranks of two
    threads that write it, or -1 for none.
    """

    name: str
    before: Array
    after: Array
    alone: Array
    writer: Array
    other: Array


@dataclass(frozen=True)
class Launched:
    """The outcome of a run, and its effect on each array, by name, if it completed.

    rank: the rank of the thread that ran last.
    """

    ran: running.Ran
    launch: Launch
    left: dict[str, Left]
    rank: int


def names_of(prototype: str) -> list[str]:
    """Return the names of a prototype's parameters."""
    return re.findall(r"(\w+)\s*[,)]", prototype)


def program(file: str, prototype: str, arguments: Sequence[Any]) -> str:
    """Return C++ code that runs the kernel in `file` on values like `arguments`."""
    names, lines = names_of(prototype), []
    for name, value in zip(names, arguments, strict=True):
        kind = driver.TYPES[value.dtype.str[1:]]
        if isinstance(value, np.ndarray):
            taken = f"weft_take(\"{name}\", '{value.dtype.kind}', sizeof({kind}))"
            lines.append(f"    {kind} *{name} = ({kind} *){taken};")
        else:
            lines.append(f"    {kind} {name};")
            lines.append(f"    weft_read(&{name}, sizeof {name});")
    kernel = re.sub(r"^void (\w+)", "(*const weft_kernel)", prototype)
    return TEXT.substitute(
        file=file,
        pointer=kernel,
        name=re.findall(r"(\w+)\(", prototype)[0],
        seconds=driver.CPU_SECONDS,
        arguments="\n".join(lines),
        names=", ".join(names),
    )


def run(
    folder: Path, prototype: str, launch: Launch, arguments: Sequence[Any]
) -> Launched:
    """Run the program in `folder` on `arguments`: arrays and NumPy numbers."""
    flat = [v.ravel() if isinstance(v, np.ndarray) else v for v in arguments]
    data = struct.pack("=6I", *launch.grid, *launch.block) + driver.packed(flat)
    where = folder / "where"
    where.unlink(missing_ok=True)
    ran = running.run(folder / "program", data)
    block, thread = (
        struct.unpack("=2I", where.read_bytes()) if where.exists() else (0, 0)
    )
    rank = block * int(np.prod(launch.block)) + thread
    given = dict(zip(names_of(prototype), arguments, strict=True))
    arrays = {k: v for k, v in given.items() if isinstance(v, np.ndarray)}
    return Launched(ran, launch, _left(arrays, ran) if ran.complete else {}, rank)


def _left(arrays: dict[str, Array], ran: running.Ran) -> dict[str, Left]:
    """Return, by name, what the program reported about each array."""
    after, notes = ran.results[: len(arrays)], ran.results[len(arrays) :]
    return {
        name: Left(name, before.ravel(), after[k], *notes[3 * k : 3 * k + 3])
        for k, (name, before) in enumerate(arrays.items())
    }
