"""What launches that are written down have in common, however they do it."""

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from weft.places import Place, place
from weft.simulator.language.binding import Bound
from weft.simulator.limits import Dim
from weft.simulator.memory.addresses import Addresses
from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.running.scheduler import Run
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Block, Thread
from weft.simulator.trace.log import MOST_SITES
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.watched_arrays import Watched
from weft.simulator.translation.notes import FLOPS, OPERATION, SUMS, Noting

MOST_BLOCKS = 64  # written down; of a larger grid a sample
MOST_ACCESSES = 2_000_000  # after which no further block is begun

Fill = Callable[[np.ndarray[Any, Any], str], None]
Instruction = tuple[CodeType, int]


@dataclass(frozen=True)
class Recording:
    """How a launch is written down.

    `fresh` are the names of the arrays that hold nothing before it. `look` is shown the
    trace so far, now and then where it is long; it may raise to end the run. `every`
    block is written down, or of many a sample. `fill` puts something into new shared or
    local memory, by default the poison of `arrays`.
    """

    fresh: frozenset[str] = frozenset()
    look: Callable[[Trace], None] | None = None
    every: bool = False
    fill: Fill | None = None


class WatchedRun(Run):
    """A launch that keeps what happens: blocks, barriers, places and arithmetic.

    `noted_blocks` are the numbers of those that are written down, of `all_blocks`.
    `special` describes the operation going on, None for a plain load or store.
    """

    patience, most = 300_000, 30_000_000

    def __init__(
        self,
        fn: FunctionType,
        grid: Dim,
        block: Dim,
        dynamic_shared: int = 0,
        backwards: bool = False,
        recording: Recording | None = None,
    ) -> None:
        """Prepare a launch that is written down."""
        super().__init__(fn, grid, block, dynamic_shared, backwards)
        self.recording = recording or Recording()
        self.special: Special | None = None
        self.addresses = Addresses()
        self._flops: dict[int, int] = defaultdict(int)
        self._sites: dict[int, int] = {}
        self._places: dict[int, Place] = {}
        self._instructions: list[Instruction] = []
        gx, gy, gz = self.grid
        self.all_blocks = gx * gy * gz
        most = self.all_blocks if self.recording.every else MOST_BLOCKS
        self._sample = sample(self.all_blocks, most)
        self.noted_blocks: set[int] = set()
        self._without_notes: Bound | None = None
        self._partial: list[tuple[int, Instruction, frozenset[int]]] = []
        self._excused: set[Instruction] = set()
        self._passed: Counter[tuple[int, Instruction]] = Counter()

    @property
    @abstractmethod
    def touched(self) -> int:
        """How many accesses have been written down."""

    def effort(self) -> dict[str, int]:
        return super().effort() | {"accesses": self.touched}

    def fill(self, data: np.ndarray[Any, Any], space: str) -> None:
        (self.recording.fill or super().fill)(data, space)

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        number, base = self.addresses.add(data, memory, self.recording.fresh)
        watched = Watched(data, memory, self.fault, written)
        watched.attach(self, number, base)
        return watched

    @abstractmethod
    def attached(self, x: Watched) -> None:
        """An array is there: what the kernel notes of it is looked up in it."""

    @abstractmethod
    def accessed(self, x: Watched, offset: int, operation: int, site: Any) -> None:
        """`x` is accessed so many bytes from its beginning.

        site: the number of the place, None where it is not known.
        """

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        return _Specially(self, access)

    # Which blocks are written down

    def calling(self, block: Block) -> Bound:
        """The kernel as it runs in `block`: outside of the sample it notes nothing."""
        if self.is_noted(block.number):
            return self.bound
        if self._without_notes is None:
            self._without_notes = self.bound_to(Noting.NONE, {})
        return self._without_notes

    def is_noted(self, block: int) -> bool:
        """Whether the accesses of a block are written down."""
        if block in self.noted_blocks or block not in self._sample:
            return block in self.noted_blocks
        if self.touched < MOST_ACCESSES or not self.noted_blocks:
            self.noted_blocks.add(block)
        return block in self.noted_blocks

    # Where threads meet

    def met(self, threads: list[Thread], scope: str) -> None:
        if scope != "block":
            return
        block, site = threads[0].block, threads[0].waiting.site
        self._passed[block.number, site] += 1
        if len(threads) < len(block.threads):
            came = frozenset(t.number for t in threads)
            self._partial.append((block.number, site, came))

    def excused(self, threads: list[Thread]) -> None:
        self._excused.update(map(self.where.instruction, threads))

    def barriers_passed(self) -> Counter[tuple[int, Place]]:
        """How often each block has passed the barriers of each place."""
        passed: Counter[tuple[int, Place]] = Counter()
        for (block, site), times in self._passed.items():
            passed[block, self._place(site)] += times
        return passed

    def partial_barriers(self) -> list[tuple[int, Place, frozenset[int]]]:
        """See `Trace.partial`."""
        return [(block, self._place(at), came) for block, at, came in self._partial]

    def excused_places(self) -> list[Place]:
        """See `Trace.excused`."""
        return list(map(self._place, self._excused))

    def _place(self, site: Instruction) -> Place:
        code, at = site
        key = id(code) + at  # as in `site`
        if key not in self._places:
            self._places[key] = place(code, at, self.lines[code])
        return self._places[key]

    # Places, by numbers

    def site(self, frame: FrameType) -> int:
        """The number of the instruction at which the learner is, above `frame`.

        Places that a translation has numbered count up from 0, the others down from
        the last number.
        """
        known = self._sites.get
        while True:
            # A code object's bytes are inside it: this is a number for each of them.
            key = id(frame.f_code) + frame.f_lasti
            if (number := known(key)) is not None:
                return number
            if frame.f_code in self.lines:
                break
            assert frame.f_back is not None, "only the learner's code touches arrays"
            frame = frame.f_back
        instruction = self.instruction((frame.f_code, frame.f_lasti))
        if instruction not in self._instructions:
            self._instructions.append(instruction)
        number = MOST_SITES - 1 - self._instructions.index(instruction)
        self._sites[key] = number << OPERATION
        return self._sites[key]

    def place_of(self, number: int) -> Place:
        """The place with this number."""
        if number in self.bound.noted:
            return self.bound.noted[number][0]
        return self._place(self._instructions[MOST_SITES - 1 - number])

    # Iterations

    def _during(self, iteration: int | None) -> None:
        """Let the accesses that follow be made in an iteration, until it is None."""
        self.current.iteration = iteration

    # Arithmetic

    def summing(self) -> dict[str, Any]:
        """What counts arithmetic on what no array holds."""
        flops = self._flops

        def sums(value: Any, site: int) -> Any:
            if isinstance(value, float):
                flops[site] += 1
            return value

        return {SUMS: sums, FLOPS: flops}

    def arithmetic(self, executed: dict[int, int]) -> dict[Place, int]:
        """How many floating-point operations each line has done.

        executed: how often loads were, by the numbers of their places.
        """
        done = {site >> OPERATION: times for site, times in self._flops.items()}
        flops: dict[Place, int] = {}
        for at, times in (done | executed).items():
            spot, each = self.bound.noted.get(at, (None, 0))
            if spot is not None and each:
                line = replace(spot, expression="")
                flops[line] = flops.get(line, 0) + each * times
        return flops


def sample(blocks: int, most: int = MOST_BLOCKS) -> frozenset[int]:
    """Which blocks of a grid to write down: all, or some from all over it."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])


class _Specially:
    """While it is entered, accesses of a run differ from plain loads and stores."""

    __slots__ = ("_access", "_run")

    def __init__(self, run: WatchedRun, access: Special) -> None:
        self._run, self._access = run, access

    def __enter__(self) -> None:
        self._run.special = self._access

    def __exit__(self, *_: object) -> None:
        self._run.special = None
