"""Launches in the simulator whose threads run in other orders than the usual one.

A GPU promises no order, so each of these is one in which a kernel must be right. They
have nothing of the sanitizer: what comes out is all that counts.
"""

import random
from types import FunctionType
from typing import Any

from weft.simulator.limits import Dim
from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.running.meetings import Meetings
from weft.simulator.running.scheduler import Run
from weft.simulator.running.threads import PAUSE, Block, Thread

PAUSES = (1, 1, 1, 2, 8)
PATIENCE = 60_000  # iterations without progress, after which a loop is called endless


class Forwards(Run):
    """The simulator's own order."""

    patience = PATIENCE


class Backwards(Run):
    """The last thread of the last block is first."""

    patience = PATIENCE

    def __init__(
        self, fn: FunctionType, grid: Dim, block: Dim, dynamic_shared: int = 0
    ) -> None:
        super().__init__(fn, grid, block, dynamic_shared, backwards=True)

    def _resume(self, threads: list[Thread]) -> None:
        super()._resume(threads[::-1])


class Interrupted(Run):
    """Threads in random order, and often interrupted between two accesses."""

    patience = PATIENCE
    seed = 1

    def __init__(
        self, fn: FunctionType, grid: Dim, block: Dim, dynamic_shared: int = 0
    ) -> None:
        self.random = random.Random(self.seed)
        super().__init__(fn, grid, block, dynamic_shared, self.random.random() < 0.5)
        self.whole = 0  # above 0: in an operation that nothing interrupts

    def _resume(self, threads: list[Thread]) -> None:
        mixed = threads[:]
        self.random.shuffle(mixed)
        super()._resume(mixed)

    def _advance(
        self, meetings: Meetings, alive: list[Block], more: bool
    ) -> list[Block]:
        """Mostly begin another block before those that have begun go on."""
        if more and self.random.random() < 0.7:
            return alive
        return super()._advance(meetings, alive, more)

    def array(self, data: Any, memory: Memory, written: Any = None) -> Array:
        if memory.space not in ("shared", "global"):
            return super().array(data, memory, written)
        array = Between(data, memory, self.fault, written)
        array.run = self
        return array

    def specially(self, access: Any) -> Any:
        return Whole(self)

    def sometimes(self, loaded: bool = False) -> None:
        """Let the others run first, at times for long. loaded: after a load."""
        if not self.whole and self.random.random() < 0.3:
            for _ in range(self.random.choice(PAUSES)):
                self.pause()


class Stepwise(Interrupted):
    """All blocks at once, each thread one load further at a time."""

    def _advance(
        self, meetings: Meetings, alive: list[Block], more: bool
    ) -> list[Block]:
        return alive if more else super()._advance(meetings, alive, more)

    def sometimes(self, loaded: bool = False) -> None:
        if loaded and not self.whole:
            self.pause()


class Apart(Interrupted):
    """One warp, mostly the first, runs as far as it comes, while all others wait."""

    def _resume(self, threads: list[Thread]) -> None:
        if not threads:
            return
        others = self.random.random() < 0.2
        first = self.random.choice(threads) if others else threads[0]
        ahead = []
        for thread in threads:
            if (thread.block, thread.warp) == (first.block, first.warp):
                ahead.append(thread)
            else:
                thread.waiting = PAUSE  # it goes on later, with the same reply
        Run._resume(self, ahead)

    def sometimes(self, loaded: bool = False) -> None:
        """Only whole warps wait here."""


class Whole:
    """What is done within is done at once."""

    def __init__(self, run: Interrupted) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.run.whole += 1

    def __exit__(self, *_: Any) -> None:
        self.run.whole -= 1


class Between(Array):
    """An array whose accesses let other threads come in between."""

    __slots__ = ("run",)

    def __getitem__(self, index: Any) -> Any:
        self.run.sometimes()
        found = self._read(index)
        self.run.sometimes(loaded=True)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.run.sometimes()
        self._check(index, "write")
        self._store(index, value)

    def as_one(self, size: int) -> Any:
        self.run.sometimes()
        return Whole(self.run)

    def _view(self, data: Any, written: Any) -> Array:
        array = Between(data, self._memory, self._fault, written)
        array.run = self.run
        return array


SCHEDULES = {
    "": Forwards,
    "backwards": Backwards,
    "interrupted": Interrupted,
    "stepwise": Stepwise,
    "a warp ahead": Apart,
}
