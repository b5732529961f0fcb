"""A simulated launch that writes down which thread accesses what, on which line."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from weft.places import Place, place
from weft.simulator.faults import Fault
from weft.simulator.translation.notes import Noting
from weft.simulator.limits import Dim
from weft.simulator.memory.addresses import Addresses
from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.running.positions import upwards
from weft.simulator.running.scheduler import Run
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Block, Thread
from weft.simulator.translation.notes import LOAD, NOTE, OPERATION, SUMS
from weft.simulator.trace.beside import TracedBeside
from weft.simulator.trace.clocks import Clocks
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.log import MOST_SITES, Log
from weft.simulator.trace.trace import Bulk, Copied, Trace
from weft.simulator.trace.traced_arrays import load, traced_class

_LOOK = 1 << 16  # accesses, after which `look` is asked; then after 4 times as many

MOST_BLOCKS = 64  # written down; of a larger grid a sample
MOST_ACCESSES = 2_000_000  # after which no further block is begun


Fill = Callable[[np.ndarray[Any, Any], str], None]


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


class TracedRun(Run):
    """A launch that writes down its accesses; `trace()` gives them afterwards."""

    patience, most = 300_000, 30_000_000
    noting_of = Noting.ACCESSES

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
        self.log = self.new_log()
        self.note = self.log.entries.extend
        self.noting = True
        self.special: Special | None = None
        kinds = "cas", "one", "known", "relaxed", "begun"
        self.atomics: dict[str, list[int]] = {kind: [] for kind in kinds}
        self.bulk = Bulk()
        self.beside = TracedBeside(self)
        self.addresses = Addresses()
        self.clocks = Clocks()
        self._next_look = _LOOK
        self._flops: dict[int, int] = {}
        self._sites: dict[int, int] = {}
        self._instructions: list[tuple[CodeType, int]] = []
        gx, gy, gz = self.grid
        self._blocks = gx * gy * gz
        most = self._blocks if self.recording.every else MOST_BLOCKS
        self._sample = sample(self._blocks, most)
        self._noted: set[int] = set()
        self._without_notes: FunctionType | None = None
        self._partial: list[tuple[int, tuple[CodeType, int], frozenset[int]]] = []
        self._excused: set[tuple[CodeType, int]] = set()
        self._passed: Counter[tuple[int, tuple[CodeType, int]]] = Counter()

    def new_log(self) -> Log:
        return Log()

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        number, base = self.addresses.add(data, memory, self.recording.fresh)
        traced = traced_class(data)(data, memory, self.fault, written)
        traced.attach(self, number, base)
        return traced

    def fill(self, data: np.ndarray[Any, Any], space: str) -> None:
        (self.recording.fill or super().fill)(data, space)

    @contextlib.contextmanager
    def specially(self, access: Special) -> Iterator[None]:
        self.special = access
        try:
            yield
        finally:
            self.special = None

    def effort(self) -> dict[str, int]:
        return super().effort() | {"accesses": self.log.rows}

    # Synchronisation

    def started(self, thread: Thread) -> None:
        log = self.log
        view = self.clocks.of.get(thread) or self.clocks.begin(thread)
        if log.full:
            log.pack()
            look = self.recording.look
            if look is not None and log.rows >= self._next_look:
                self._next_look *= 4
                look(self.trace(so_far=True))
        self.noting = view.block in self._noted
        log.turn(view.index)

    def met(self, threads: list[Thread], scope: str) -> None:
        self.clocks.meet(threads, scope, self.log.rows)
        if scope != "block":
            return
        block, site = threads[0].block, threads[0].waiting.site
        self.beside.passed(block)
        self._passed[block.number, site] += 1
        if len(threads) < len(block.threads):
            came = frozenset(t.number for t in threads)
            self._partial.append((block.number, site, came))

    def excused(self, threads: list[Thread]) -> None:
        self._excused.update(thread.waiting.site for thread in threads)

    def fenced(self, wide: bool) -> None:
        view = self.clocks.fence(self.current, wide, self.log.rows)
        if view is not None:
            self.log.turn(view.index)

    def exchange(self, space: str, address: int, relaxed: str) -> None:
        """Pass on knowledge through an atomic or relaxed operation on `address`."""
        view = self.clocks.exchange(self.current, space, address, relaxed)
        if view is not None:
            self.log.turn(view.index)

    # Mbarriers

    def released(self) -> Any:
        return self.clocks.release(self.current, self.log.rows)

    def acquired(self, known: Any) -> None:
        if known is not None:
            self.log.turn(self.clocks.acquire(self.current, known).index)

    def past(self, bar: str, phase: int) -> None:
        number = self.clocks.of[self.current].number
        self.bulk.passes.append((self.log.rows, number, bar, phase))

    def copying(self, bar: str, phase: int, announced: bool) -> Any:
        if not self.noting:
            return None
        row = self.log.rows - 1
        self.bulk.copies[row] = Copied(bar, phase, announced)
        return row

    def copied(self, note: Any) -> None:
        if note is not None:
            self.bulk.copies[note].arrived = self.log.rows

    # Notes

    def notes(self) -> dict[str, Any]:
        return {NOTE: self.note, LOAD: load, SUMS: self._summer()}

    def calling(self, block: Block) -> FunctionType:
        """The kernel as it runs in a block: one left out of the sample notes nothing."""
        if self.is_noted(block.number):
            return self.call
        if self._without_notes is None:
            self._without_notes = self.bound_to(Noting.NONE, {}).call
        return self._without_notes

    def is_noted(self, block: int) -> bool:
        """Whether the accesses of a block are written down."""
        if block not in self._noted and block in self._sample:
            if self.log.rows < MOST_ACCESSES or not self._noted:
                self._noted.add(block)
        return block in self._noted

    def _summer(self) -> Callable[[Any, int], Any]:
        """The function that counts arithmetic on what no array holds."""
        flops = self._flops

        def sums(value: Any, site: int) -> Any:
            if isinstance(value, float):
                flops[site] = flops.get(site, 0) + 1
            return value

        return sums

    def site(self, frame: FrameType) -> int:
        """The number of the instruction at which the learner is, above `frame`.

        Loads that `instrument` has numbered count up from 0, the others down from
        the last number.
        """
        while True:
            # A code object's bytes are inside it: this is a number for each of them.
            key = id(frame.f_code) + frame.f_lasti
            if key in self._sites:
                return self._sites[key]
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

    def place_at(self, site: int) -> Place:
        """The place of an instruction that is no load, by what `site` gave."""
        code, at = self._instructions[MOST_SITES - 1 - (site >> OPERATION)]
        return place(code, at, self.lines[code])

    # The result

    def trace(self, so_far: bool = False) -> Trace:
        """The accesses so far; at the end they are handed over, once."""
        known, found = self.addresses, self.log.accesses(self.addresses, so_far)
        places, renamed = self._places(np.unique(found.site).tolist())
        return Trace(
            places=places,
            arrays=[name for _, name in known.arrays],
            dtypes=list(known.dtypes),
            fresh=list(known.fresh),
            views=self.clocks.views,
            view=found.view,
            site=renamed[found.site],
            array=found.array,
            space=found.space,
            address=found.address,
            size=found.size,
            operation=found.operation,
            atomics={k: np.array(v, np.int64) for k, v in self.atomics.items()},
            bases={n: b for (s, n), b in known.bases.items() if s == "global"},
            flops=self._arithmetic(found.loads),
            name=self.call.__name__,
            grid_size=self.grid,
            block_size=self.block,
            blocks=len(self._noted),
            all_blocks=self._blocks,
            partial=[
                (block, place(*site, self.lines[site[0]]), came)
                for block, site, came in self._partial
            ],
            excused=[place(*site, self.lines[site[0]]) for site in self._excused],
            barriers=self._barriers_passed(),
            extents=list(known.extents),
            bulk=self.bulk,
        )

    def _barriers_passed(self) -> Counter[tuple[int, Place]]:
        """How often each block has passed the barriers of each place."""
        passed: Counter[tuple[int, Place]] = Counter()
        for (block, site), times in self._passed.items():
            passed[block, place(*site, self.lines[site[0]])] += times
        return passed

    def _arithmetic(self, loads: Columns) -> dict[Place, int]:
        """How many floating-point operations each line has done."""
        done = {site >> OPERATION: times for site, times in self._flops.items()}
        for at in np.flatnonzero(loads).tolist():
            done[at] = int(loads[at])
        flops: dict[Place, int] = {}
        for at, times in done.items():
            spot, each = self.bound.noted.get(at, (None, 0))
            if spot is not None and each:
                line = replace(spot, expression="")
                flops[line] = flops.get(line, 0) + each * times
        return flops

    def _places(self, sites: list[int]) -> tuple[list[Place], Columns]:
        """The places of the numbers `sites`, and a table from these to those."""
        places: list[Place] = []
        renamed = np.zeros(MOST_SITES, np.int32)
        for number in sites:
            renamed[number] = len(places)
            if number in self.bound.noted:
                places.append(self.bound.noted[number][0])
            else:
                code, at = self._instructions[MOST_SITES - 1 - number]
                places.append(place(code, at, self.lines[code]))
        return places, renamed


class CalledRun(TracedRun):
    """A launch run again, to learn which calls led to the accesses `wanted`, by row.

    `calls` has for each row the place of the access and of the calls. The run ends
    with `Enough` when it has all of them.
    """

    def __init__(self, wanted: frozenset[int], *args: Any, **options: Any) -> None:
        self.wanted = wanted
        self.calls: dict[int, list[Place]] = {}
        super().__init__(*args, **options)

    def new_log(self) -> Log:
        return Log(_Watched(self))


class _Watched(list[int]):
    """The entries of a log, which look at what adds to them."""

    def __init__(self, run: CalledRun) -> None:
        super().__init__()
        self._run = run

    def extend(self, entry: Iterable[int]) -> None:
        run = self._run
        row = run.log.rows
        if row in run.wanted:
            run.calls[row] = run.where.places(upwards(sys._getframe(1)))
            if len(run.calls) == len(run.wanted):
                raise Enough("seen", "the run has shown what was asked for")
        super().extend(entry)


class Enough(Fault):
    """Ends a `CalledRun`."""


def sample(blocks: int, most: int = MOST_BLOCKS) -> frozenset[int]:
    """Which blocks of a grid to write down: all, or some from all over it."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])
