"""The threads and blocks of a simulated launch, and what they wait for."""

from dataclasses import dataclass
from types import CodeType, FrameType, GeneratorType
from typing import Any

import numpy as np

from weft.simulator.limits import WARP, Dim3
from weft.simulator.memory.arrays import Array


@dataclass(slots=True, eq=False)
class Barrier:
    """A wait at a block-wide or grid-wide barrier; threads alike share one.

    `path` are the calls that led there.
    """

    name: str
    value: bool
    site: tuple[CodeType, int]
    path: tuple[tuple[CodeType, int], ...] = ()

    @property
    def at(self) -> tuple[Any, ...]:
        """What has to be the same for threads to meet here."""
        return self.site, self.path


NO_ROUNDS: dict[int, int] = {}  # of a thread that has not been in such a loop


class Thread:
    """One CUDA thread. `waiting` says what for; None while it can run.

    `generator` runs it, and is sent the `reply` that it waits for; a thread that never
    waits has none. `steps` are the iterations of its `while` loops, `since` those since
    it last saw progress (`news`), `looped` those of its `for` loops. `rounds` counts
    for each loop with a barrier in it the iterations that have begun, `turns` those of
    all of them.
    """

    __slots__ = tuple(
        (
            "block generator index lane looped news number over polled position "
            "reply rounds since steps swapped turns waiting warp"
        ).split()
    )

    def __init__(self, block: "Block", index: Dim3, rank: int, size: Dim3) -> None:
        """The thread at `index`, the `rank`-th of its block, which has `size`."""
        self.block = block
        self.index = index
        self.lane = rank % WARP
        self.warp = rank // WARP
        self.number = rank
        at = block.index
        self.position = (
            at.x * size.x + index.x,
            at.y * size.y + index.y,
            at.z * size.z + index.z,
        )
        self.generator: Any = None
        self.over = False
        self.polled: Any = None
        self.waiting: Any = None
        self.reply: Any = None
        self.steps = self.looped = self.since = self.news = 0
        self.swapped = False
        self.rounds, self.turns = NO_ROUNDS, 0

    @property
    def frames(self) -> list[FrameType]:
        """Where it waits, and the calls that led there: the innermost first."""
        frames: list[FrameType] = []
        inner = self.generator
        while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
            frames.insert(0, inner.gi_frame)
            inner = inner.gi_yieldfrom
        return frames


class Block:
    """One block of `size`: its threads, at `indices`, and its shared memory.

    `dynamic_shared` is in bytes.
    """

    __slots__ = tuple(
        "dynamic index live number shared static_bytes threads warps windows".split()
    )

    def __init__(
        self,
        index: Dim3,
        number: int,
        size: Dim3,
        indices: list[Dim3],
        dynamic_shared: int,
    ) -> None:
        self.index = index
        self.number = number
        self.shared: dict[tuple[CodeType, int], Array] = {}
        self.windows: list[Any] = []  # on its shared memory: `windows.Window`
        self.static_bytes = 0
        self.dynamic = np.empty(dynamic_shared // 4 + 1, np.float32)
        self.threads = [Thread(self, at, rank, size) for rank, at in enumerate(indices)]
        self.live = self.threads
        self.warps = [
            self.threads[i : i + WARP] for i in range(0, len(self.threads), WARP)
        ]


class Pause:
    """What a thread waits for that could go on, when its turn is over."""


PAUSE = Pause()
