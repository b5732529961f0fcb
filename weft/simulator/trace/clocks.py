"""What happens before what: what each thread of a launch knows of the others.

A barrier tells all threads that meet there of one another. A fence and an atomic
operation after it leave a message. A thread that later has an atomic operation on the
same address gets it, and may rely on it after a fence of its own: without that one, its
reads need not be done after the atomic operation. Both fences are needed, the writer's
and the reader's. Barriers may lie between a fence and its atomic operation, on either
side; then they can be of two threads.

Source: PTX ISA, "Memory Consistency Model". `cuda.threadfence` is `membar.gl`, that is
`fence.sc`: two of them synchronise where the atomic operations say which comes first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.simulator.limits import WARP
from weft.simulator.running.threads import Thread


@dataclass(frozen=True)
class Known:
    """What a thread learned of others through atomics: a piece of a vector clock.

    `blocks[b] = e`: everything block b did before its barrier e. `threads[t] = row`:
    everything thread t (numbered over the whole grid) did before that row.
    """

    blocks: dict[int, int]
    threads: dict[int, int]

    def covers(self, row: int, view: "View") -> bool:
        """Whether row `row`, made under `view`, is known."""
        block, thread = self.blocks.get(view.block, 0), self.threads.get(view.number, 0)
        return block > view.epoch or thread > row

    def with_(self, other: "Known") -> "Known":
        return Known(
            _latest(self.blocks, other.blocks), _latest(self.threads, other.threads)
        )


def _latest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()}


NOTHING = Known({}, {})


def joined(known: Iterable[Known]) -> Known | None:
    """All of `known` together, None if there is none; many may be the same."""
    result: Known | None = None
    for one in {id(k): k for k in known}.values():
        result = one if result is None else result.with_(one)
    return result


EVERYONE = -1  # instead of a block
Passed = dict[int, Known]  # what is known, by the block that may learn it, or EVERYONE


class View:
    """What one thread knows of the others between two synchronisations.

    `epoch` counts the barriers its block has passed, `grid` those of the whole grid;
    `lanes[k]` is the row before which everything lane k did is known. `thread` is the
    rank in its block, `number` that in the whole grid. It knows what is `known` from
    atomic operations; what is `pending` it knows as soon as it has passed a fence.
    """

    __slots__ = tuple(
        (
            "block epoch grid index known lane lanes number pending thread warp who"
        ).split()
    )

    def __init__(
        self,
        who: tuple[int, int, int, int, int],
        index: int,
        epoch: int = 0,
        grid: int = 0,
        lanes: tuple[int, ...] | None = None,
        known: Known | None = None,
        pending: Passed | None = None,
    ) -> None:
        self.who = who
        self.thread, self.block, self.number, self.warp, self.lane = who
        self.index, self.epoch, self.grid = index, epoch, grid
        self.lanes, self.known, self.pending = lanes, known, pending

    def sees(self, row: int, other: "View") -> bool:
        """Whether row `row`, made under `other`, happens before what is made now."""
        if other.number == self.number or other.grid < self.grid:
            return True
        if other.block == self.block:
            if other.epoch < self.epoch:
                return True
            if other.warp == self.warp and self.lanes and row < self.lanes[other.lane]:
                return True
        return self.known is not None and self.known.covers(row, other)

    def awaits(self, row: int, other: "View") -> bool:
        """Whether it would see row `row`, made under `other`, after a fence."""
        told = (self.pending or {}).values()
        return any(known.covers(row, other) for known in told)


Cell = tuple[str, int | None, int]  # space, block unless global, address


class Clocks:
    """What each thread knows now, in `of`, and has known, in `views`.

    A row is the number of accesses written down so far.
    """

    def __init__(self) -> None:
        self.views: list[View] = []
        self.of: dict[Thread, View] = {}
        self._released: dict[Cell, Passed] = {}
        self._fenced: dict[Thread, Passed] = {}
        self._told = False  # whether any thread has been told anything

    def begin(self, thread: Thread) -> View:
        """The first view of `thread`, which knows of no other."""
        block = thread.block.number
        number = block * len(thread.block.threads) + thread.number
        who = thread.number, block, number, thread.warp, thread.lane
        return self._renew(thread, who, 0, 0, None, None, None)

    def _renew(
        self,
        thread: Thread,
        who: tuple[int, int, int, int, int],
        epoch: int,
        grid: int,
        lanes: tuple[int, ...] | None,
        known: Known | None,
        pending: Passed | None,
    ) -> View:
        """Give `thread` a new view."""
        view = View(who, len(self.views), epoch, grid, lanes, known, pending)
        self.views.append(view)
        self.of[thread] = view
        return view

    def meet(self, threads: list[Thread], scope: str, row: int) -> None:
        """`threads` have just synchronised, in a warp, block or grid."""
        known = joined(k for t in threads if (k := self.of[t].known))
        pending = None
        if self._told:
            pending = merged(p for t in threads if (p := self.of[t].pending))
        if self._fenced:
            self._share_fences(threads)
        if scope == "warp":
            seen = [0] * WARP
            for thread in threads:
                for lane, at in enumerate(self.of[thread].lanes or ()):
                    seen[lane] = max(seen[lane], at)
            for thread in threads:
                seen[thread.lane] = row
            lanes = tuple(seen)
            for thread in threads:
                old = self.of[thread]
                self._renew(thread, old.who, old.epoch, old.grid, lanes, known, pending)
            return
        further = int(scope == "grid")
        for thread in threads:
            old = self.of[thread]
            self._renew(
                thread,
                old.who,
                old.epoch + 1,
                old.grid + further,
                None,
                known,
                pending,
            )

    def fence(self, thread: Thread, wide: bool, row: int) -> View | None:
        """`thread` may rely on what it has been told, and its next atomics may tell.

        What they hand on is all that it knows now: to its block, or to all where the
        fence is `wide`. Gives the thread's new view, None if it has learned nothing.
        """
        view, new = self.of[thread], None
        if view.pending:
            scopes = (EVERYONE, view.block) if wide else (view.block,)
            told = [view.pending[to] for to in scopes if to in view.pending]
            if told:
                known = joined([view.known, *told] if view.known else told)
                new = view = self._renew(
                    thread, view.who, view.epoch, view.grid, view.lanes, known, None
                )
        mine = self.release(thread, row)
        now = {view.block: mine} | ({EVERYONE: mine} if wide else {})
        self._fenced[thread] = self._fenced.get(thread, {}) | now
        return new

    def release(self, thread: Thread, row: int) -> Known:
        """What `thread` hands on where it arrives at an mbarrier: all that it knows."""
        view = self.of[thread]
        first = view.number - view.lane
        lanes = {first + lane: at for lane, at in enumerate(view.lanes or ())}
        mine = Known({view.block: view.epoch}, {view.number: row})
        return mine.with_(Known({}, lanes)).with_(view.known or NOTHING)

    def apart(self, thread: Thread, number: int, known: Known) -> View:
        """A view of what `thread` has started, and what goes on beside it now.

        It has a number of its own instead of a thread's, and no warp.
        """
        view = self.of[thread]
        who = view.thread, view.block, number, -1, view.lane
        made = View(who, len(self.views), view.epoch, view.grid, None, known, None)
        self.views.append(made)
        return made

    def acquire(self, thread: Thread, known: Known) -> View:
        """`thread` may rely on `known`; its new view."""
        view = self.of[thread]
        all_known = view.known.with_(known) if view.known else known
        return self._renew(
            thread,
            view.who,
            view.epoch,
            view.grid,
            view.lanes,
            all_known,
            view.pending,
        )

    def _share_fences(self, threads: list[Thread]) -> None:
        """After a barrier, what one thread has fenced another may hand on."""
        passed = merged(self._fenced[t] for t in threads if t in self._fenced)
        for thread in threads:
            self._fenced[thread] = passed or {}

    def exchange(
        self, thread: Thread, space: str, address: int, relaxed: str
    ) -> View | None:
        """Pass on knowledge through an atomic operation of `thread` on `address`.

        What a thread knew at a fence is released with its next atomics. A thread that
        then has an atomic operation on the same address is told, if the fence was for
        more than the first thread's block or both are in that block. Of the `relaxed`
        accesses a store releases, instead of what was there, and a load is told.
        Gives the thread's new view, None if it has been told nothing new.
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
            new = self._renew(
                thread, view.who, view.epoch, view.grid, view.lanes, view.known, pending
            )
        if thread in self._fenced and not relaxed:
            self._released[cell] = _merged(there, self._fenced[thread])
        return new


def merged(passed: Iterable[Passed]) -> Passed | None:
    """All of `passed` together, None if there is none; many may be the same."""
    result: Passed | None = None
    for one in {id(p): p for p in passed}.values():
        result = one if result is None else _merged(result, one)
    return result


def _merged(a: Passed, b: Passed) -> Passed:
    return a | {to: a[to].with_(k) if to in a else k for to, k in b.items()}
