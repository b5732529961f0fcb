"""Record the operations that run alongside a launch's threads; see `Beside`.

An operation of the TMA or of wgmma is a separate thread in the trace. It is ordered
after everything that the thread that begins it knows at that time. Its accesses are
recorded when it begins, again after each barrier of the block, and when it is done, so
an access in between collides with one of these. A thread that waits for the operation
is ordered after all these accesses.

PTX ISA, "Async proxy", "Async Operations".
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.simulator.memory.arrays import Memory
from weft.simulator.running.beside import Beside, Spans
from weft.simulator.running.threads import Block, Thread
from weft.simulator.trace.clocks import Clocks, Known, View
from weft.simulator.trace.log import WIDE
from weft.simulator.trace.trace import ATOMIC, READ, WRITE, Apart, Held, Mismatch
from weft.simulator.translation.notes import OPERATION


@dataclass
class _Begun:
    """An operation that the thread `starter` has begun.

    known: what `starter` knew when it began the operation. site: where the call is.
    state: a value that changes whenever a new operation would know more. rows: the
    length of the log after the operation's last access. parts: the operation's
    accesses, until a thread has waited for it.
    """

    starter: Thread
    known: Known
    site: int
    state: tuple[int, ...]
    rows: int | None = None
    parts: list[tuple[Any, Spans, int]] = field(default_factory=list)


_FIRST = 1 << 40  # the number of the first operation: larger than those of all threads


class TracedBeside(Beside):
    """Records in a `TracedRun`'s log the operations that run alongside its threads."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._begun: dict[int, _Begun] = {}
        self._open: dict[int, None] = {}  # operations with parts, in order
        self._registers: dict[int, Any] = {}  # by the id of a `Held`
        # when a warp last executed an instruction as one
        self._met: dict[Thread, int] = {}
        self._next = _FIRST
        self._fence: Any = None
        # how many products change registers, by the registers' thread and address
        self._changing: Counter[tuple[int, int]] = Counter()
        # products that are done, whose registers have not been held since
        self._loose: defaultdict[tuple[int, int], list[Held]] = defaultdict(list)

    @property
    def _clocks(self) -> Clocks:
        clocks: Clocks = self._run.clocks
        return clocks

    def fork(self, thread: Thread, call: str, again: Any = None) -> Any:
        run = self._run
        if not run.is_noted(thread.block.number):
            return None
        view = self._clocks.of[thread]
        state = id(view.known), view.epoch, len(run.bulk.fences)
        if again is not None and self._begun[again].state == state:
            return again
        self._next += 1
        known = self._clocks.release(thread, run.log.rows)
        site = run.site(sys._getframe(1))
        run.bulk.apart[self._next] = Apart(
            call, view.number, run.place_of(site >> OPERATION)
        )
        self._begun[self._next] = _Begun(thread, known, site, state)
        return self._next

    def touch(
        self, one: Any, x: Any, spans: Spans, write: bool = False, late: bool = False
    ) -> None:
        if one is None:
            return
        part = x, list(spans), WRITE if write else READ
        if not late:
            self._begun[one].parts.append(part)
            self._open[one] = None
        self._go_on(one, part)
        self._run.log.turn(self._clocks.of[self._run.current].index)

    def _go_on(self, one: int, part: tuple[Any, Spans, int]) -> None:
        """Record that operation `one` makes the access `part` now."""
        begun = self._begun[one]
        view = self._clocks.apart(begun.starter, one, begun.known)
        self._run.log.turn(view.index)
        self._write(begun.site, *part)
        begun.rows = self._run.log.rows

    def passed(self, block: Block) -> None:
        """At a barrier, record again what `block`'s unfinished operations access."""
        for one in self._open:
            begun = self._begun[one]
            if begun.starter.block is block:
                for part in begun.parts:
                    self._go_on(one, part)

    def _write(self, site: int, x: Any, spans: Spans, operation: int) -> None:
        run = self._run
        operation |= WIDE
        for offset, size in spans:
            run.note((site | operation, x._number + 1, offset, size))

    def join(self, thread: Thread, some: Iterable[Any]) -> None:
        done = {one: self._begun[one] for one in some if one is not None}
        ends = {one: b.rows for one, b in done.items() if b.rows is not None}
        for one, begun in done.items():
            begun.parts.clear()
            self._open.pop(one, None)
        if ends:
            view = self._clocks.acquire(thread, Known({}, ends))
            self._run.log.turn(view.index)

    def note(
        self,
        x: Any,
        spans: Spans,
        write: bool = False,
        begins: bool = False,
        relaxed: bool = False,
        atomic: bool = False,
    ) -> None:
        run = self._run
        if not run.noting:
            return
        if relaxed:
            run.atomics["relaxed"].append(run.log.rows)
        if begins:
            run.atomics["begun"].append(run.log.rows)
        operation = ATOMIC if atomic else WRITE if write else READ
        self._write(run.site(sys._getframe(1)), x, spans, operation)

    def ended(self, thread: Thread) -> None:
        view = self._clocks.of.get(thread)
        if view is not None:
            self._run.bulk.ends.setdefault(view.block, []).append(view.index)

    def fence(self) -> None:
        run = self._run
        if not run.noting:
            return
        if self._fence is None:
            memory = Memory("fence_async", "local", "fence_async")
            self._fence = run.array(np.zeros(1, np.uint8), memory)
        run.bulk.fences.append(run.log.rows)
        self._write(run.site(sys._getframe(1)), self._fence, [(0, 1)], WRITE)

    def mismatch(self, one: Any, of: str, wanted: int, found: int) -> None:
        if one is not None:
            apart = self._run.bulk.apart[one]
            found_one = Mismatch(one, apart.call, apart.place, of, wanted, found)
            self._run.bulk.mismatches.append(found_one)

    # Registers

    def hold(
        self, thread: Thread, call: str, x: Any, nbytes: int, reads: bool, change: bool
    ) -> Any:
        run = self._run
        if not run.is_noted(thread.block.number):
            return None
        site = run.site(sys._getframe(1))
        view: View = self._clocks.of[thread]
        if reads:
            self._as(thread, site, x, nbytes, False)
        start = run.log.start(x._number)
        at = run.place_of(site >> OPERATION)
        held = Held(call, view.number, x._name, start, nbytes, change, site, at)
        held.row, self._registers[id(held)] = run.log.rows, x
        run.bulk.held.append(held)
        self._changing[held.thread, start] += change
        self._keep(held.thread, start, held.row)
        return held

    def keep(self, thread: Thread, x: Any, nbytes: int) -> None:
        run = self._run
        if run.is_noted(thread.block.number):
            number, start = self._clocks.of[thread].number, run.log.start(x._number)
            self._keep(number, start, run.log.rows, nbytes)

    def _keep(
        self, thread: int, start: int, row: int, nbytes: float = math.inf
    ) -> None:
        """Record that all later uses of a thread's registers come after `row`."""
        loose = self._loose.pop((thread, start), [])
        for one in loose:
            if one.nbytes <= nbytes:
                one.kept = row
        if some := [one for one in loose if one.kept is None]:
            self._loose[thread, start] = some

    def _as(self, thread: Thread, site: int, x: Any, nbytes: int, write: bool) -> None:
        """Record an access by `thread`, which need not be the current one."""
        run = self._run
        run.log.turn(self._clocks.of[thread].index)
        self._write(site, x, [(0, nbytes)], write)
        run.log.turn(self._clocks.of[run.current].index)

    def committed(self, thread: Thread, held: Iterable[Any]) -> None:
        for one in held:
            if one is not None:
                one.committed = self._run.log.rows

    def landed(self, thread: Thread, held: Iterable[Any]) -> None:
        here = self._run.place_of(self._run.site(sys._getframe(1)) >> OPERATION)
        for one in held:
            if one is None:
                continue
            one.landed = self._run.log.rows
            one.waited = here
            self._loose[one.thread, one.start].append(one)
            self._changing[one.thread, one.start] -= one.change
            if one.change and not self._changing[one.thread, one.start]:
                x = self._registers[id(one)]
                self._as(thread, one.site, x, one.nbytes, True)
            del self._registers[id(one)]

    def waited(self, thread: Thread, n: int, left: int) -> None:
        if self._run.is_noted(thread.block.number):
            number = self._clocks.of[thread].number
            self._run.bulk.waits.append((self._run.log.rows, number, n, left))

    def together(self, warps: list[list[Thread]]) -> None:
        run = self._run
        for warp in warps:
            if self._met.get(warp[0]) != run.log.rows:
                self._clocks.meet(warp, "warp", run.log.rows)
                self._met[warp[0]] = run.log.rows
        run.log.turn(self._clocks.of[run.current].index)

    def met(self, threads: list[Thread]) -> None:
        if not threads:
            return
        self._clocks.agree(threads, self._run.log.rows)
        self._run.log.turn(self._clocks.of[self._run.current].index)
