"""The threads and blocks of a simulated launch, and what they wait for."""

from dataclasses import dataclass
from itertools import product
from types import CodeType, FrameType, GeneratorType
from typing import Any

import numpy as np

from weft.simulator.limits import WARP, Dim3
from weft.simulator.memory.arrays import Array

NO_ROUNDS: dict[int, int] = {}  # for a thread that has begun no loop with a barrier


@dataclass(slots=True, eq=False)
class Barrier:
    """A wait, by one or more threads, at a barrier of a block, cluster or grid.

    path: the calls that led to the wait. loops: whether the wait may be in a loop.
    """

    name: str
    value: bool
    site: tuple[CodeType, int]
    path: tuple[tuple[CodeType, int], ...] = ()
    loops: bool = True

    @property
    def at(self) -> tuple[Any, ...]:
        """The site and path, which must be equal for threads to meet at the barrier."""
        return self.site, self.path


Seat = tuple[Dim3, int, int, int]  # a thread's index, its number, lane and warp


def seats(size: Dim3) -> list[Seat]:
    """Return the seats of a block of this `size`, in order of thread number."""
    indices = product(range(size.z), range(size.y), range(size.x))
    return [
        (Dim3(x, y, z), number, number % WARP, number // WARP)
        for number, (z, y, x) in enumerate(indices)
    ]


class Thread:
    """One CUDA thread. `waiting` is what it waits for, or None.

    `generator` runs it, and is sent the `reply` that it waits for; a thread that never
    waits has none. `steps` counts the iterations of its `while` loops, `since` only
    those since the launch last made progress (counted by `news`), and `looped` those of
    its `for` loops. `rounds` counts, for each loop with a barrier in it, the iterations
    that have begun. `iteration` is the current iteration for accesses in calls, if
    lanes may be out of step, or None; see `translation.iterations`.
    """

    generator: Any = None
    over = swapped = False
    polled: Any = None
    waiting: Any = None
    reply: Any = None
    steps = looped = since = news = 0
    rounds = NO_ROUNDS
    iteration: int | None = None

    def __init__(self, block: "Block", seat: Seat) -> None:
        self.block = block
        self.index, self.number, self.lane, self.warp = seat

    @property
    def frames(self) -> list[FrameType]:
        """The frame in which the thread waits, and its callers', innermost first."""
        frames: list[FrameType] = []
        inner = self.generator
        while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
            frames.insert(0, inner.gi_frame)
            inner = inner.gi_yieldfrom
        return frames


class Block:
    """One block: its threads, in their `seats`, and its shared memory.

    `dynamic_shared` is in bytes.
    """

    __slots__ = tuple(
        (
            "dynamic index kept live number shared static_bytes threads warps windows"
        ).split()
    )

    def __init__(
        self, index: Dim3, number: int, seats: list[Seat], dynamic_shared: int
    ) -> None:
        self.index = index
        self.number = number
        self.shared: dict[tuple[CodeType, int], Array] = {}
        # shared arrays, by the kernel's numbers for them
        self.kept: dict[int, Array] = {}
        self.windows: list[Any] = []  # windows on its shared memory: `windows.Window`
        self.static_bytes = 0
        self.dynamic = np.empty(dynamic_shared // 4 + 1, np.float32)
        self.threads = [Thread(self, seat) for seat in seats]
        self.live = self.threads
        self.warps = [
            self.threads[i : i + WARP] for i in range(0, len(self.threads), WARP)
        ]

    def runs(self) -> bool:
        """Return whether any thread is left; if none is, forget all threads."""
        self.live = [thread for thread in self.live if not thread.over]
        if not self.live:
            self.threads, self.warps = [], []
        return bool(self.live)


class Pause:
    """The wait of a thread that is able to run, but whose turn is over."""


PAUSE = Pause()
