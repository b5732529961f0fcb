"""The happens-before order: what each thread of a launch knows of the others.

A barrier tells all threads that meet there about one another. A fence and an atomic
operation after it leave a message. A thread that later executes an atomic operation on
the same address receives it, and can rely on it after its own fence; without that
fence, its reads might be done before the atomic operation. Both fences are needed, the
writer's and the reader's. A barrier may come between a fence and its atomic operation,
on either side; the two can then be in different threads.

Source: PTX ISA, "Memory Consistency Model". `cuda.threadfence` is `membar.gl`, that is
`fence.sc`: two of them synchronise where the atomic operations say which comes first.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from weft.simulator.limits import WARP
from weft.simulator.running.threads import Thread


@dataclass(frozen=True)
class Known:
    """A thread's knowledge from atomics and mbarriers: part of a vector clock.

    `blocks[b] = e`: everything block b did before its barrier e. `threads[t] = row`:
    everything thread t (numbered over the whole grid) did before that row.
    """

    blocks: dict[int, int]
    threads: dict[int, int]

    def covers(self, row: int, view: "View") -> bool:
        """Return whether row `row`, recorded under `view`, is known."""
        block, thread = self.blocks.get(view.block, 0), self.threads.get(view.number, 0)
        return block > view.epoch or thread > row

    def with_(self, other: "Known") -> "Known":
        return Known(
            _latest(self.blocks, other.blocks), _latest(self.threads, other.threads)
        )


def _latest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    if a is b or not b:
        return a
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()} if a else b


NOTHING = Known({}, {})


def joined(known: Iterable[Known]) -> Known | None:
    """Join all of `known`, or return None if it is empty.

    Duplicates, which are common, are joined once.
    """
    result: Known | None = None
    for one in {id(k): k for k in known}.values():
        result = one if result is None else result.with_(one)
    return result


EVERYONE = -1  # instead of a block
Passed = dict[int, Known]  # what is known, by the block that may learn it, or EVERYONE


@dataclass(eq=False, slots=True)
class View:
    """A thread's knowledge of the others between two synchronisations.

    `epoch` counts the barriers its block has passed, `grid` those of the whole grid;
    `lanes[k]` is the row before which everything that lane k did is known. `thread` is
    the thread's rank in the block, `number` that in the whole grid. `known` is what it
    knows from atomic operations or mbarriers; `pending` is what it will know once it
    has passed a fence. `memory` is the other block whose shared memory it accesses, or
    -1 for none.
    """

    thread: int
    block: int
    number: int
    warp: int
    lane: int
    index: int
    epoch: int = 0
    grid: int = 0
    lanes: tuple[int, ...] | None = None
    known: Known | None = None
    pending: Passed | None = None
    memory: int = -1

    def sees(self, row: int, other: "View") -> bool:
        """Return whether `row`, recorded under `other`, happens before this view."""
        if other.number == self.number or other.grid < self.grid:
            return True
        if other.block == self.block:
            if other.epoch < self.epoch:
                return True
            if other.warp == self.warp and self.lanes and row < self.lanes[other.lane]:
                return True
        return self.known is not None and self.known.covers(row, other)

    def awaits(self, row: int, other: "View") -> bool:
        """Return whether a fence would make `row`, recorded under `other`, visible."""
        told = (self.pending or {}).values()
        return any(known.covers(row, other) for known in told)


Cell = tuple[str, int | None, int]  # space, block (None if global), address


class Clocks:
    """What each thread knows of the others: now in `of`, and over time in `views`.

    In the methods, `row` is the number of accesses recorded so far.
    """

    def __init__(self) -> None:
        self.views: list[View] = []
        self.of: dict[Thread, View] = {}
        self._released: dict[Cell, Passed] = {}
        self._fenced: dict[Thread, Passed] = {}
        self._told = False  # whether any thread has received a message
        # what `acquire` has joined last, and the result
        self._joined: tuple[Known, Known, Known] | None = None

    def begin(self, thread: Thread) -> View:
        """Give `thread` a first view, without knowledge of others, and return it."""
        block = thread.block.number
        number = block * len(thread.block.threads) + thread.number
        rank, index = thread.number, len(self.views)
        view = View(rank, block, number, thread.warp, thread.lane, index)
        return self._add(view, thread)

    def _add(self, view: View, thread: Thread | None = None) -> View:
        self.views.append(view)
        if thread is not None:
            self.of[thread] = view
        return view

    def _renew(self, thread: Thread, **changes: Any) -> View:
        """Give `thread` a new view, with these `changes`, and return it."""
        view = replace(self.of[thread], index=len(self.views), **changes)
        return self._add(view, thread)

    def meet(self, threads: list[Thread], scope: str, row: int) -> None:
        """Share knowledge among threads that have met.

        scope: 'warp', 'block', 'cluster' or 'grid'. PTX ISA, "barrier.cluster": after
        the wait, all accesses that the cluster's threads made before are visible.
        """
        known = joined(k for t in threads if (k := self.of[t].known))
        if scope == "cluster":
            passed = {self.of[t].block: self.of[t].epoch + 1 for t in threads}
            known = Known(passed, {}).with_(known or NOTHING)
        pending, lanes = self._share(threads), None
        if scope == "warp":
            seen = [0] * WARP
            for thread in threads:
                for lane, at in enumerate(self.of[thread].lanes or ()):
                    seen[lane] = max(seen[lane], at)
            for thread in threads:
                seen[thread.lane] = row
            lanes = tuple(seen)
        further, grid = int(scope != "warp"), int(scope == "grid")
        for thread in threads:
            old = self.of[thread]
            who = old.thread, old.block, old.number, old.warp, old.lane
            now = len(self.views), old.epoch + further, old.grid + grid
            self._add(View(*who, *now, lanes, known, pending), thread)

    def fence(self, thread: Thread, wide: bool, row: int) -> View | None:
        """Record a fence of `thread`, which can now rely on the messages it received.

        The thread's later atomics pass on what it knows now. wide: whether to all
        blocks, or only to its own. Returns the thread's new view, or None if it has
        learned nothing.
        """
        view, new = self.of[thread], None
        if view.pending:
            scopes = (EVERYONE, view.block) if wide else (view.block,)
            told = [view.pending[to] for to in scopes if to in view.pending]
            if told:
                known = joined([view.known, *told] if view.known else told)
                new = view = self._renew(thread, known=known, pending=None)
        mine = self.release(thread, row)
        now = {view.block: mine} | ({EVERYONE: mine} if wide else {})
        self._fenced[thread] = self._fenced.get(thread, {}) | now
        return new

    def release(self, thread: Thread, row: int) -> Known:
        """Return all that `thread` knows now, for it to pass on to other threads."""
        view = self.of[thread]
        first = view.number - view.lane
        lanes = {first + lane: at for lane, at in enumerate(view.lanes or ())}
        mine = Known({view.block: view.epoch}, {view.number: row})
        return mine.with_(Known({}, lanes)).with_(view.known or NOTHING)

    def told(self, arrivals: Iterable[tuple[View, int]]) -> Known:
        """Return all that several threads know. arrivals: the view and row of each."""
        blocks: dict[int, int] = {}
        threads: dict[int, int] = {}
        before: list[Known] = []
        for view, row in arrivals:
            blocks[view.block] = max(view.epoch, blocks.get(view.block, 0))
            first = view.number - view.lane
            lanes = {first + lane: at for lane, at in enumerate(view.lanes or ())}
            for number, at in (lanes | {view.number: row}).items():
                threads[number] = max(at, threads.get(number, 0))
            if view.known is not None:
                before.append(view.known)
        return Known(blocks, threads).with_(joined(before) or NOTHING)

    def agree(self, threads: list[Thread], row: int) -> None:
        """Let each of `threads` know all that any of them knows.

        They also share what they will know after a fence, and what their past fences
        let them pass on.
        """
        known = self.told((self.of[thread], row) for thread in threads)
        pending = self._share(threads)
        for thread in threads:
            self._renew(thread, known=known, pending=pending)

    def apart(self, thread: Thread, number: int, known: Known) -> View:
        """Return a view for an operation that `thread` started, to run alongside it.

        The view has the operation's `number` instead of a thread's, and no warp.
        """
        started = self.of[thread]
        view = replace(started, index=len(self.views), number=number, warp=-1)
        view.lanes, view.known, view.pending = None, known, None
        return self._add(view)

    def elsewhere(self, thread: Thread, block: int) -> View:
        """Return a view of `thread` for accesses to the shared memory of `block`."""
        view = replace(self.of[thread], index=len(self.views), memory=block)
        return self._add(view)

    def acquire(self, thread: Thread, known: Known) -> View:
        """Let `thread` rely on `known`, and return its new view.

        Threads that wait one after the other often know the same, and learn the same.
        This is joined once.
        """
        before = self.of[thread].known
        if before is not None:
            last = self._joined
            if last is None or last[0] is not before or last[1] != known:
                last = self._joined = before, known, before.with_(known)
            known = last[2]
        return self._renew(thread, known=known)

    def _share(self, threads: list[Thread]) -> Passed | None:
        """Let each of `threads` pass on what any of them knew at a fence.

        Returns what any of them will know once it has passed a fence.
        """
        if self._fenced:
            passed = merged(self._fenced[t] for t in threads if t in self._fenced)
            for thread in threads:
                self._fenced[thread] = passed or {}
        if not self._told:
            return None
        return merged(p for t in threads if (p := self.of[t].pending))

    def exchange(
        self, thread: Thread, space: str, address: int, relaxed: str
    ) -> View | None:
        """Pass on knowledge through an atomic operation of `thread` on `address`.

        What a thread knew at a fence is released with its next atomics. A thread that
        then executes an atomic operation on the same address receives it, if the fence
        was wider than a block or both threads are in the same block. Of the `relaxed`
        accesses, a store releases (replacing what was there), and a load receives.
        Returns the thread's new view, or None if it has received nothing new.
        """
        view = self.of[thread]
        cell = space, None if space == "global" else view.block, address
        if relaxed == "store":
            self._released[cell] = self._fenced.get(thread, {})
            return None
        there = self._released.get(cell, {})
        told = {to: there[to] for to in (EVERYONE, view.block) if to in there}
        new = None
        if told and told != view.pending:
            self._told = True
            pending = merged([view.pending, told] if view.pending else [told])
            new = self._renew(thread, pending=pending)
        if thread in self._fenced and not relaxed:
            self._released[cell] = _merged(there, self._fenced[thread])
        return new


def merged(passed: Iterable[Passed]) -> Passed | None:
    """Merge all of `passed`, or return None if it is empty.

    Duplicates, which are common, are merged once.
    """
    result: Passed | None = None
    for one in {id(p): p for p in passed}.values():
        result = one if result is None else _merged(result, one)
    return result


def _merged(a: Passed, b: Passed) -> Passed:
    return a | {to: a[to].with_(k) if to in a else k for to, k in b.items()}
