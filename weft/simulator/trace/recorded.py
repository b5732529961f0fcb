"""The record of a launch: notes, and a full trace if the notes do not suffice.

Notes are quick to take and to analyse, and prove that most kernels have no hazards. For
anything else there is a trace with a row for every access: the launch is run again,
with the same result, as a simulated launch is deterministic.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from weft.simulator.trace.counted import Counted
from weft.simulator.trace.notes import Notes
from weft.simulator.trace.suspects import Suspect, suspects
from weft.simulator.trace.trace import Trace


class Recorded:
    """A launch recorded in notes. Attributes that it lacks are looked up in `full`."""

    def __init__(self, notes: Notes, again: Callable[[], Trace]) -> None:
        """Keep the notes. again: runs the launch once more, and returns its trace."""
        self.notes, self._again = notes, again
        self.name, self.partial, self.excused = notes.name, notes.partial, notes.excused
        self.barriers = notes.barriers
        self.grid_size, self.block_size = notes.grid_size, notes.block_size
        self.blocks, self.all_blocks = len(notes.blocks), notes.all_blocks

    @cached_property
    def full(self) -> Trace:
        return self._again()

    @cached_property
    def suspects(self) -> list[Suspect]:
        """Memory ranges that may have a hazard; no other range has one."""
        return suspects(self.notes)

    @cached_property
    def counted(self) -> Counted:
        return Counted(self.notes)

    @property
    def has_swaps(self) -> bool:
        """Whether the kernel uses compare-and-swap."""
        return any("cas" in spot.kinds for spot in self.notes.spots)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.full, name)

    def __len__(self) -> int:
        return len(self.full)
