"""A simulated launch that writes down which thread accesses what, on which line."""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.places import Place
from weft.simulator.faults import Fault
from weft.simulator.memory.addresses import pointer
from weft.simulator.running.positions import upwards
from weft.simulator.running.threads import Thread
from weft.simulator.trace.beside import TracedBeside
from weft.simulator.trace.clocks import Clocks
from weft.simulator.trace.log import MOST_SITES, WIDE, Log
from weft.simulator.trace.trace import Bulk, Copied, Trace
from weft.simulator.trace.watched_arrays import Watched, load
from weft.simulator.trace.watched_run import WatchedRun
from weft.simulator.translation.notes import LOAD, NOTE, Noting

_LOOK = 1 << 16  # accesses, after which `look` is asked; then after 4 times as many


class TracedRun(WatchedRun):
    """A launch that writes down its accesses; `trace()` gives them afterwards."""

    noting_of = Noting.ACCESSES

    def __init__(self, *args: Any) -> None:
        """Prepare a launch that is written down."""
        super().__init__(*args)
        self.log = self.new_log()
        self.note = self.log.entries.extend
        self.noting = True
        kinds = "cas", "one", "known", "relaxed", "begun"
        self.atomics: dict[str, list[int]] = {kind: [] for kind in kinds}
        self.bulk = Bulk()
        self.beside = TracedBeside(self)
        self.clocks = Clocks()
        self._next_look = _LOOK

    def new_log(self) -> Log:
        return Log()

    # Arrays

    def attached(self, x: Watched) -> None:
        """Number an array in the log."""
        start = x._base + pointer(x._data)
        x._number = self.log.number(x._id, start, x._data.strides)

    def accessed(self, x: Watched, offset: int, operation: int, site: Any) -> None:
        """Write down an access that the kernel does not note by itself."""
        special, size = self.special, 0
        if special is not None:
            if special.kinds or special.relaxed:
                address = self.log.start(x._number) + offset
                self.exchange(x._space, address, special.relaxed)
            if self.noting:
                for kind in special.kinds & self.atomics.keys():
                    self.atomics[kind].append(self.log.rows)
                if special.relaxed:
                    self.atomics["relaxed"].append(self.log.rows)
                if special.begins:
                    self.atomics["begun"].append(self.log.rows)
            size = special.size
        if self.noting:
            at = self.site(sys._getframe(1)) if site is None else site
            operation |= at | (WIDE if size else 0)
            self.note((operation, x._number + 1, offset, size))

    @property
    def touched(self) -> int:
        return self.log.rows

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
        self.noting = view.block in self.noted_blocks
        log.turn(view.index)

    def met(self, threads: list[Thread], scope: str) -> None:
        self.clocks.meet(threads, scope, self.log.rows)
        super().met(threads, scope)
        if scope == "block":
            self.beside.passed(threads[0].block)

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
        return {NOTE: self.note, LOAD: load} | self.summing()

    # The result

    def trace(self, so_far: bool = False) -> Trace:
        """The accesses so far; at the end they are handed over, once."""
        known = self.addresses
        found, loads = self.log.accesses(known, so_far)
        sites = np.unique(found["site"]).tolist()
        renamed = np.zeros(MOST_SITES, np.int32)
        renamed[sites] = range(len(sites))
        executed = {at: int(loads[at]) for at in np.flatnonzero(loads).tolist()}
        return Trace(
            places=list(map(self.place_of, sites)),
            arrays=[name for _, name in known.arrays],
            dtypes=list(known.dtypes),
            fresh=list(known.fresh),
            views=self.clocks.views,
            **(found | {"site": renamed[found["site"]]}),
            atomics={k: np.array(v, np.int64) for k, v in self.atomics.items()},
            bases={n: b for (s, n), b in known.bases.items() if s == "global"},
            flops=self.arithmetic(executed),
            name=self.call.__name__,
            grid_size=self.grid,
            block_size=self.block,
            blocks=len(self.noted_blocks),
            all_blocks=self.all_blocks,
            partial=self.partial_barriers(),
            excused=self.excused_places(),
            barriers=self.barriers_passed(),
            extents=list(known.extents),
            bulk=self.bulk,
        )


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
