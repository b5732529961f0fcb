"""A simulated launch that records which thread accesses what, on which line."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.places import Place
from weft.simulator.faults import Fault
from weft.simulator.memory.addresses import pointer
from weft.simulator.running.positions import upwards
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Barrier, Block, Thread
from weft.simulator.trace.beside import TracedBeside
from weft.simulator.trace.clocks import Clocks
from weft.simulator.trace.log import MOST_SITES, WIDE, Log
from weft.simulator.trace.trace import Bulk, Copied, Trace
from weft.simulator.trace.watched_arrays import Watched, load
from weft.simulator.trace.watched_run import WatchedRun
from weft.simulator.translation.iterations import DURING, WITHIN
from weft.simulator.translation.notes import LOAD, NOTE, Noting

Entry = Iterable[int]

_LOOK = 1 << 16  # accesses before `look` is called; later ones at 4 times as many


class TracedRun(WatchedRun):
    """A launch that records its accesses; `trace()` returns them afterwards."""

    noting_of = Noting.ACCESSES

    def __init__(self, *args: Any) -> None:
        """Prepare a launch that is recorded."""
        super().__init__(*args)
        self.log = self.new_log()
        self.note = self.log.entries.extend
        self.noting = True
        kinds = "cas", "one", "known", "relaxed", "begun"
        self.atomics: dict[str, list[int]] = {kind: [] for kind in kinds}
        self.bulk = Bulk()
        self._iteration_of: dict[int, int] = {}  # access row → iteration
        self.beside = TracedBeside(self)
        self.clocks = Clocks()
        self._next_look = _LOOK

    def new_log(self) -> Log:
        return Log()

    # Arrays

    def attached(self, x: Watched) -> None:
        """Give an array its number in the log."""
        start = x._base + pointer(x._data)
        x._number = self.log.number(x._id, start, x._data.strides)

    def accessed(self, x: Watched, offset: int, operation: int, site: Any) -> None:
        """Record an access that the kernel itself does not note."""
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
            if self.current.iteration is not None:
                self._within(self.current.iteration)
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
        if scope in ("block", "cluster"):
            for block in {id(t.block): t.block for t in threads}.values():
                self.beside.passed(block)

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

    @contextmanager
    def elsewhere(self, block: Block) -> Iterator[Any]:
        self.bulk.remote = True
        self.log.turn(self.clocks.elsewhere(self.current, block.number).index)
        yield
        self.log.turn(self.clocks.of[self.current].index)

    def released(self) -> Any:
        return self.clocks.release(self.current, self.log.rows)

    def arrival(self, thread: Thread) -> Any:
        return self.clocks.of[thread], self.log.rows

    def told(self, arrivals: list[Any], threads: list[Thread]) -> Any:
        known = self.clocks.told(arrivals)
        for thread in threads:
            self.clocks.acquire(thread, known)
        return known

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
        within = {WITHIN: self._within, DURING: self._during}
        return {NOTE: self.note, LOAD: load} | within | self.summing()

    def _within(self, iteration: int) -> None:
        """Record the iteration of the next access."""
        self._iteration_of[self.log.rows] = iteration

    # The result

    def trace(self, so_far: bool = False) -> Trace:
        """Return the trace. Without `so_far` it is final, and the log is discarded."""
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
            iterations=self._iteration_of,
        )


class CalledRun(TracedRun):
    """A launch run again to learn which calls led to the accesses at rows `wanted`.

    `calls` has for each row the places of the access and of the calls. The run ends
    with `Enough` when it has all of them.
    """

    def __init__(self, wanted: frozenset[int], *args: Any, **options: Any) -> None:
        self.wanted = wanted
        self.calls: dict[int, list[Place]] = {}
        super().__init__(*args, **options)

    def new_log(self) -> Log:
        return Log(_Watched(self._saw))

    def _saw(self, _: Entry) -> None:
        row = self.log.rows
        if row in self.wanted:
            self.calls[row] = self.where.places(upwards(sys._getframe(2)))
            if len(self.calls) == len(self.wanted):
                raise Enough("seen", "the run has shown what was asked for")


class ValuedRun(TracedRun):
    """A launch that is run again to learn what memory holds at the `wanted` accesses.

    wanted: row → the address of the element to look at. `values` has two values of the
    element for each row, or None for an unknown one: the value when the access was
    recorded, which is after a store but before any other operation, and the value after
    the access. `meetings` has for each barrier passed the number of rows before it, its
    threads as (block, thread), and its place. The run ends with `Enough` after the last
    row.
    """

    def __init__(self, wanted: dict[int, int], *args: Any, **options: Any) -> None:
        self.wanted, self._last = wanted, max(wanted, default=-1)
        self.values: dict[int, tuple[Any, Any]] = {}
        self.meetings: list[tuple[int, frozenset[tuple[int, int]], Place]] = []
        self._of: dict[int, Watched] = {}
        self._open: tuple[int, Watched, tuple[int, ...]] | None = None
        super().__init__(*args, **options)

    def new_log(self) -> Log:
        return Log(_Watched(self._saw))

    def attached(self, x: Watched) -> None:
        super().attached(x)
        self._of[x._number] = x

    def met(self, threads: list[Thread], scope: str) -> None:
        if scope in ("block", "cluster", "grid"):
            who = frozenset((t.block.number, t.number) for t in threads)
            place = self._place(threads[0].waiting.site)
            self.meetings.append((self.log.rows, who, place))
        super().met(threads, scope)

    def waiting(self, block: int) -> dict[int, tuple[Any, Place]]:
        """Return a key and a place for each thread of `block` that waits at a barrier.

        The key consists of the barrier and the counts of loop iterations. Threads with
        equal keys meet.
        """
        return {
            t.number: (
                (t.waiting.at, tuple(t.rounds.items())),
                self._place(t.waiting.site),
            )
            for t in self.clocks.of
            if t.block.number == block and isinstance(t.waiting, Barrier)
        }

    @contextmanager
    def specially(self, access: Special) -> Iterator[Any]:
        with super().specially(access):
            yield
        self.settle()

    def settle(self) -> None:
        """Record the value that the last `wanted` access has left in memory."""
        if self._open is not None:
            row, x, at = self._open
            self.values[row] = self.values[row][0], _value(x, at)
            self._open = None

    def _saw(self, entry: Entry) -> None:
        self.settle()
        row = self.log.rows
        if row > self._last:
            raise Enough("seen", "the run has shown what was asked for")
        if row in self.wanted:
            _, number, *indices = entry
            known = number & ~1  # see `Log.number`
            x = self._of[known]
            at = _index(x, self.wanted[row] - self.log.start(known))
            sides = zip(indices, x.shape, strict=False)
            if number == known and not all(0 <= i < side for i, side in sides):
                at = None
            self.values[row] = (None, None)
            if at is not None:
                self.values[row] = _value(x, at), None
                self._open = row, x, at


def _index(x: Watched, offset: int) -> tuple[int, ...] | None:
    """Return the index of the element `offset` bytes from the start of `x`, or None."""
    index = [0] * x.ndim
    for axis in sorted(range(x.ndim), key=lambda axis: -x.strides[axis]):
        if x.strides[axis] <= 0 or offset < 0:
            return None
        index[axis], offset = divmod(offset, x.strides[axis])
    fits = all(i < side for i, side in zip(index, x.shape, strict=True))
    return tuple(index) if fits and not offset else None


def _value(x: Watched, at: tuple[int, ...]) -> Any:
    """Return an element as a Python number, or None for a record."""
    value = x._data[at].item()
    return value if isinstance(value, bool | int | float | complex) else None


class _Watched(list[int]):
    """A log's list of entries, which passes each new entry to `saw`."""

    def __init__(self, saw: Callable[[Entry], None]) -> None:
        super().__init__()
        self._saw = saw

    def extend(self, entry: Entry) -> None:
        self._saw(entry)
        super().extend(entry)


class Enough(Fault):
    """Raised to end a run that has seen all that it was meant to see."""
