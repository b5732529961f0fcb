"""What every program of a launch touched: one row per active element of a block."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.places import Place, named
from weft.simulator.trace.trace import ATOMIC, READ, WRITE
from weft.triton_programs.memory import Arena

Columns = np.ndarray[Any, Any]

__all__ = ["ATOMIC", "READ", "WRITE", "Call", "Log", "Trace"]


@dataclass(frozen=True)
class Call:
    """One `tl.load`, `tl.store` or atomic, run once by one program.

    operation: READ, WRITE or ATOMIC. places: its line, and the lines that called it.
    shape: that of the block. masked: whether it has a mask. filled: whether it reads
    elements whose mask is false and for which no `other` says what they are.
    """

    program: int
    operation: int
    places: tuple[Place, ...]
    shape: tuple[int, ...]
    masked: bool = True
    filled: bool = False
    relaxed: bool = False

    @property
    def place(self) -> Place:
        return self.places[0]


class Log:
    """The accesses as they happen."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._rows: list[tuple[Columns, Columns]] = []

    def add(self, call: Call, cells: Columns, lanes: Columns) -> None:
        self.calls.append(call)
        self._rows.append((cells, lanes))

    def trace(self, arena: Arena, grid: tuple[int, int, int]) -> "Trace":
        """All that was written down, as columns."""
        lengths = [len(cells) for cells, _ in self._rows]
        number = np.repeat(np.arange(len(self.calls)), lengths)
        empty = np.zeros(0, np.int64)
        cells, lanes = (
            np.concatenate([empty, *(row[k] for row in self._rows)]) for k in (0, 1)
        )
        return Trace(arena, grid, self.calls, number, cells, lanes)


@dataclass
class Trace:
    """The accesses of a launch, in the order in which they happened.

    Columns with one entry per access: `call` (index into `calls`), `cell` (see `Arena`)
    and `lane`, the number of the element in its block, row by row.
    """

    arena: Arena
    grid: tuple[int, int, int]
    calls: list[Call]
    call: Columns
    cell: Columns
    lane: Columns

    def __post_init__(self) -> None:
        self.program = self._of_calls("program")
        self.operation = self._of_calls("operation")

    def _of_calls(self, name: str) -> Columns:
        return np.array([getattr(c, name) for c in self.calls], np.int64)[self.call]

    def who(self, row: int) -> str:
        """'program 3', or 'program (1, 2)'."""
        return who(int(self.program[row]), self.grid)

    def place(self, row: int) -> Place:
        return self.calls[int(self.call[row])].place

    def element(self, row: int) -> str:
        """What the access touches, as `out[3, 7]`."""
        region, index = self.arena.index(int(self.cell[row]))
        return f"{region.name}[{', '.join(map(str, index))}]"

    def last_store(self, cell: int) -> int | None:
        """The row of the last store or atomic to a cell."""
        rows = np.flatnonzero((self.cell == cell) & (self.operation != READ))
        return int(rows[-1]) if rows.size else None


def who(program: int, grid: tuple[int, int, int]) -> str:
    """Name a program by its indices along the axes of the grid."""
    x, y, _ = grid
    index = (program % x, program // x % y, program // (x * y))
    axes = max((k + 1 for k in range(3) if grid[k] > 1), default=1)
    return f"program {named(index[:axes])}"
