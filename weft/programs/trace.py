"""The accesses of every program of a launch, as a trace that the sanitizer reads.

In the trace a program is a block of one thread, and an address is a cell of the arena.
A row is one active element of a block of values. An atomic that is not relaxed is
recorded as a fence, the operation, and another fence.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.places import Place, named
from weft.programs.memory import Arena
from weft.simulator.trace.clocks import Clocks
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, READ, Trace

Dim = tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """One load, store or atomic operation, executed once by one program.

    operation: READ, WRITE or ATOMIC. places: the call's line, and the lines that led
    to it. shape: the block's shape. masked: whether there is a mask. filled: whether
    the result has masked-out elements for which the call gives no value.
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


@dataclass(frozen=True)
class Strays:
    """The elements of a call that are outside their arrays.

    lanes, offsets, owners: for each of them, its number in the block, its offset in
    bytes, and its array. active: the numbers of all elements that take part. block: the
    byte offsets of all the block's elements in the first one's array, None if unknown.
    """

    lanes: Columns
    offsets: Columns
    owners: Columns
    active: Columns
    block: Columns | None = None


@dataclass(eq=False)
class Actor:
    """A program as the clocks see it: the only thread of a block."""

    number: int
    warp: int = 0
    lane: int = 0
    threads: tuple[()] = ()

    @property
    def block(self) -> "Actor":
        return self


class Log:
    """The accesses of a launch, in the order in which they happen."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._rows: list[tuple[Columns, Columns]] = []
        self._views: list[int] = []  # of each call
        self._clocks = Clocks()
        self._actors: dict[int, Actor] = {}
        self._length = 0

    def add(self, call: Call, cells: Columns, lanes: Columns) -> None:
        """Record a call and its active elements, and let atomics order the programs."""
        clocks: Any = self._clocks
        if call.program not in self._actors:
            self._actors[call.program] = Actor(call.program)
            clocks.begin(self._actors[call.program])
        actor = self._actors[call.program]
        self.calls.append(call)
        self._rows.append((cells, lanes))
        self._views.append(clocks.of[actor].index)
        if call.operation == ATOMIC and not call.relaxed:
            clocks.fence(actor, True, self._length)
            for cell in cells.tolist():
                clocks.exchange(actor, "global", cell, "")
            clocks.fence(actor, True, self._length)
        self._length += len(cells)

    def trace(self, arena: Arena, grid: Dim, name: str) -> "Accesses":
        """Return everything recorded, as columns."""
        lengths = [len(cells) for cells, _ in self._rows]
        call = np.repeat(np.arange(len(self.calls)), lengths)
        empty = np.zeros(0, np.int64)
        cells, lanes = (
            np.concatenate([empty, *(row[k] for row in self._rows)]) for k in (0, 1)
        )
        places = list(dict.fromkeys(c.place for c in self.calls))
        sites = {place: k for k, place in enumerate(places)}
        regions = arena.regions

        def column(values: list[int]) -> Columns:
            return np.array(values, np.int64)[call]

        return Accesses(
            places=places,
            arrays=[region.name for region in regions],
            dtypes=[region.data.dtype for region in regions],
            fresh=[region.fresh for region in regions],
            views=self._clocks.views,
            view=column(self._views),
            site=column([sites[c.place] for c in self.calls]),
            array=np.searchsorted(arena.firsts, cells, "right") - 1,
            space=np.zeros(len(cells), np.int64),
            address=cells,
            size=np.ones(len(cells), np.int64),
            operation=column([c.operation for c in self.calls]),
            atomics=dict.fromkeys(("cas", "one", "known", "relaxed", "begun"), empty),
            bases={},
            flops={},
            name=name,
            grid_size=grid,
            block_size=(1, 1, 1),
            blocks=int(np.prod(grid)),
            all_blocks=int(np.prod(grid)),
            arena=arena,
            calls=self.calls,
            call=call,
            lane=lanes,
        )


@dataclass(kw_only=True)
class Accesses(Trace):
    """A launch's accesses: a trace with two more columns.

    `call` is an index into `calls`; `lane` is the number of the element in its block,
    in row-major order.
    """

    arena: Arena
    calls: list[Call] = field(default_factory=list)
    call: Columns
    lane: Columns

    def who(self, row: int) -> str:
        """Name the program of an access: 'program 3', or 'program (1, 2)'."""
        return who(int(self.block[row]), self.grid_size)

    def element(self, row: int) -> str:
        """Format the element of an access, as in `out[3, 7]`."""
        region, index = self.arena.index(int(self.address[row]))
        return f"{region.name}[{', '.join(map(str, index))}]"

    def stored_last(self, cell: int) -> int | None:
        """Return the row of the last store or atomic to a cell, or None."""
        rows = np.flatnonzero((self.address == cell) & (self.operation != READ))
        return int(rows[-1]) if rows.size else None


def who(program: int, grid: Dim) -> str:
    """Name a program by its indices along the axes of the grid."""
    x, y, _ = grid
    index = (program % x, program // x % y, program // (x * y))
    axes = max((k + 1 for k in range(3) if grid[k] > 1), default=1)
    return f"program {named(index[:axes])}"
