"""What all recorded launches have in common, whatever the form of the record."""

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

MOST_BLOCKS = 64  # recorded; of a larger grid, a sample
MOST_ACCESSES = 2_000_000  # after these, no further block is recorded

Fill = Callable[[np.ndarray[Any, Any], str], None]
Instruction = tuple[CodeType, int]


@dataclass(frozen=True)
class Recording:
    """How a launch is recorded.

    `fresh` are the names of the arrays that hold nothing before the launch. `look` is
    called with the trace so far, from time to time in a long launch; it may raise to
    end the run. Without `every`, only a sample of the blocks is recorded if there are
    many. `fill` puts initial values into new shared or local memory, by default those
    of `memory.arrays.poison`.
    """

    fresh: frozenset[str] = frozenset()
    look: Callable[[Trace], None] | None = None
    every: bool = False
    fill: Fill | None = None


class WatchedRun(Run):
    """A launch that records events: blocks, barriers, places and arithmetic.

    `noted_blocks` are the numbers of the blocks that are recorded, out of `all_blocks`.
    `special` describes the operation in progress, or is None for a load or store.
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
        """Prepare a launch that is to be recorded."""
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
        """The number of accesses recorded so far."""

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
        """Prepare an array: set the attributes that are used to note accesses to it."""

    @abstractmethod
    def accessed(self, x: Watched, offset: int, operation: int, site: Any) -> None:
        """Record an access to `x`, `offset` bytes from its beginning.

        site: the number of the place, None if it is unknown.
        """

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        return _Specially(self, access)

    # Which blocks are recorded

    def calling(self, block: Block) -> Bound:
        """Return the form of the kernel to run in `block`.

        It takes no notes if the block is not to be recorded.
        """
        if self.is_noted(block.number):
            return self.bound
        if self._without_notes is None:
            self._without_notes = self.bound_to(Noting.NONE, {})
        return self._without_notes

    def is_noted(self, block: int) -> bool:
        """Return whether the accesses of a block are recorded."""
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
        """Return how many times each block has passed the barrier at each place."""
        passed: Counter[tuple[int, Place]] = Counter()
        for (block, site), times in self._passed.items():
            passed[block, self._place(site)] += times
        return passed

    def partial_barriers(self) -> list[tuple[int, Place, frozenset[int]]]:
        """Return the barriers for `Trace.partial`."""
        return [(block, self._place(at), came) for block, at, came in self._partial]

    def excused_places(self) -> list[Place]:
        """Return the places for `Trace.excused`."""
        return list(map(self._place, self._excused))

    def _place(self, site: Instruction) -> Place:
        code, at = site
        key = id(code) + at  # as in `site`
        if key not in self._places:
            self._places[key] = place(code, at, self.lines[code])
        return self._places[key]

    # Places, by number

    def site(self, frame: FrameType) -> int:
        """Return the number of the learner's instruction in progress.

        The instruction is sought in `frame` and then in its callers. Instructions that
        a translation has numbered have numbers from 0 up, the others from the highest
        number down. The number is returned shifted left by OPERATION bits.
        """
        known = self._sites.get
        while True:
            # Unique, because a code object is larger than its bytecode.
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
        """Return the place with this number."""
        if number in self.bound.noted:
            return self.bound.noted[number][0]
        return self._place(self._instructions[MOST_SITES - 1 - number])

    # Iterations

    def _during(self, iteration: int | None) -> None:
        """Attribute the accesses that follow to an iteration, or to none."""
        self.current.iteration = iteration

    # Arithmetic

    def summing(self) -> dict[str, Any]:
        """Return, by name, the counters of arithmetic on values that no array holds."""
        flops = self._flops

        def sums(value: Any, site: int) -> Any:
            if isinstance(value, float):
                flops[site] += 1
            return value

        return {SUMS: sums, FLOPS: flops}

    def arithmetic(self, executed: dict[int, int]) -> dict[Place, int]:
        """Return how many floating-point operations each line has performed.

        executed: how often each load was executed, by the number of its place.
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
    """Return the blocks of a grid to record: all, or `most` spread over the grid."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])


class _Specially:
    """Marks the accesses in a `with` block as different from plain loads and stores."""

    __slots__ = ("_access", "_run")

    def __init__(self, run: WatchedRun, access: Special) -> None:
        self._run, self._access = run, access

    def __enter__(self) -> None:
        self._run.special = self._access

    def __exit__(self, *_: object) -> None:
        self._run.special = None
