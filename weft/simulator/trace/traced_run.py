"""A simulated launch that writes down who touched what, from which line."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import numpy as np

from weft.places import Place, place
from weft.simulator.language.instrument import LOAD, OPERATION, SUMS
from weft.simulator.memory.addresses import Addresses
from weft.simulator.memory.arrays import Array
from weft.simulator.running.scheduler import Run
from weft.simulator.running.threads import Thread
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.knowledge import Knowledge
from weft.simulator.trace.log import MOST_SITES, Log
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.traced_arrays import loader, traced_class

_LOOK = 1 << 16  # accesses, after which `look` is asked; then after 4 times as many

MOST_BLOCKS = 64  # written down; of a larger grid a sample
MOST_ACCESSES = 2_000_000  # after which no further block is begun


class TracedRun(Run):
    """A launch that writes down its accesses; `trace()` gives them afterwards.

    `look` is shown the trace so far, now and then where it is long; it may raise to
    end the run.
    """

    patience = 150_000
    look: Callable[[Trace], None] | None = None

    def __init__(self, *args: Any) -> None:
        self.log = self.new_log()
        self.note = self.log.entries.extend
        self.noting = True
        self._next_look = _LOOK
        self.atomic = False
        self.kinds: set[str] = set()  # of the atomic operation going on
        self.relaxing = ""  # the relaxed access going on: 'peek' or 'poke'
        kinds = "cas", "one", "known", "relaxed"
        self.atomics: dict[str, list[int]] = {kind: [] for kind in kinds}
        self._flops: dict[int, int] = {}
        super().__init__(*args)
        self.addresses = Addresses()
        self.knowledge = Knowledge()
        self._sites: dict[int, int] = {}
        self._instructions: list[tuple[CodeType, int]] = []
        gx, gy, gz = self.grid
        self._blocks = gx * gy * gz
        self._sample = sample(self._blocks)
        self._noted: set[int] = set()
        self._partial: list[tuple[int, tuple[CodeType, int], frozenset[int]]] = []
        self._passed: Counter[tuple[int, tuple[CodeType, int]]] = Counter()

    def write_down_all(self) -> None:
        """Write down every block, however many there are."""
        self._sample = frozenset(range(self._blocks))

    def new_log(self) -> Log:
        return Log()

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        name: str,
        space: str,
        site: Any = None,
        written: np.ndarray[Any, Any] | None = None,
        readonly: bool = False,
    ) -> Array:
        number, base = self.addresses.add(data, name, space, site, self.fresh)
        traced = traced_class(data)(data, name, space, self.fault, written, readonly)
        traced.attach(self, number, base)
        return traced

    @contextlib.contextmanager
    def atomically(self, kinds: set[str]) -> Iterator[None]:
        self.atomic, self.kinds = True, kinds
        try:
            yield
        finally:
            self.atomic = False

    @contextlib.contextmanager
    def relaxed(self, kind: str) -> Iterator[None]:
        self.relaxing = kind
        try:
            yield
        finally:
            self.relaxing = ""

    def effort(self) -> dict[str, int]:
        return super().effort() | {"accesses": self.log.rows}

    # Synchronisation

    def started(self, thread: Thread) -> None:
        log = self.log
        view = self.knowledge.of.get(thread) or self.knowledge.begin(thread)
        if log.full:
            log.pack()
            if self.look is not None and log.rows >= self._next_look:
                self._next_look *= 4
                self.look(self.trace(so_far=True))
        block = view.block
        self.noting = block in self._noted
        if not self.noting and block in self._sample:
            self.noting = log.rows < MOST_ACCESSES or not self._noted
            if self.noting:
                self._noted.add(block)
        log.turn(view.index)

    def met(self, threads: list[Thread], scope: str) -> None:
        self.knowledge.meet(threads, scope, self.log.rows)
        if scope != "block":
            return
        block, site = threads[0].block, threads[0].waiting.site
        self._passed[block.number, site] += 1
        if len(threads) < len(block.threads):
            came = frozenset(t.number for t in threads)
            self._partial.append((block.number, site, came))

    def fenced(self, wide: bool) -> None:
        self.knowledge.fence(self.current, wide, self.log.rows)

    def exchange(self, space: str, address: int) -> None:
        """Pass on knowledge through an atomic operation on `address`."""
        view = self.knowledge.exchange(self.current, space, address, self.relaxing)
        if view is not None:
            self.log.turn(view.index)

    # Notes

    def notes(self) -> dict[str, Any]:
        return {LOAD: loader(self), SUMS: self._summer()}

    def _summer(self) -> Callable[[Any, int], Any]:
        """The function that counts arithmetic on what no array holds."""
        run, flops = self, self._flops

        def sums(value: Any, site: int) -> Any:
            if run.noting and isinstance(value, (float, np.floating)):
                flops[site] = flops.get(site, 0) + 1
            return value

        return sums

    def site(self, frame: FrameType) -> int:
        """The number of the instruction at which the learner is, above `frame`.

        Loads that `noting` has numbered count up from 0, the others down from
        the last number.
        """
        while True:
            # Within a code object lie its bytes: this is a number for each of them.
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

    # The result

    def trace(self, so_far: bool = False) -> Trace:
        """The accesses: at the end they are handed over, and can be had once."""
        known, found = self.addresses, self.log.accesses(self.addresses, so_far)
        places, renamed = self._places(np.unique(found.site).tolist())
        return Trace(
            places=places,
            arrays=[name for _, name in known.arrays],
            dtypes=list(known.dtypes),
            fresh=list(known.fresh),
            views=self.knowledge.views,
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
            barriers=self._barriers_passed(),
            extents=list(known.extents),
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


def sample(blocks: int, most: int = MOST_BLOCKS) -> frozenset[int]:
    """Which blocks of a grid to write down: all, or some from all over it."""
    if blocks <= most:
        return frozenset(range(blocks))
    edge = most // 4
    middle = np.linspace(edge, blocks - edge - 1, most - 2 * edge).astype(int)
    return frozenset([*range(edge), *middle.tolist(), *range(blocks - edge, blocks)])
