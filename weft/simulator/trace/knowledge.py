"""How the threads of a launch learn of one another.

A barrier tells all who meet there. A fence and an atomic operation after it leave a
message, for whoever then has an atomic operation on the same address.
"""

from weft.simulator.limits import WARP
from weft.simulator.running.threads import Thread
from weft.simulator.trace.clocks import Known, View

EVERYONE = -1
Passed = dict[int, Known]  # what is known, by the block that may learn it, or EVERYONE
Cell = tuple[str, int | None, int]  # space, block unless global, address


class Knowledge:
    """What each thread knows now, in `of`, and has known, in `views`.

    A row is the number of accesses written down so far.
    """

    def __init__(self) -> None:
        self.views: list[View] = []
        self.of: dict[Thread, View] = {}
        self._released: dict[Cell, Passed] = {}
        self._fenced: dict[Thread, Passed] = {}

    def begin(self, thread: Thread) -> View:
        """The first view of `thread`, which knows of nobody."""
        block = thread.block.number
        number = block * len(thread.block.threads) + thread.number
        who = thread.number, block, number, thread.warp, thread.lane
        return self._renew(thread, who, 0, 0, None, None)

    def _renew(
        self,
        thread: Thread,
        who: tuple[int, int, int, int, int],
        epoch: int,
        grid: int,
        lanes: tuple[int, ...] | None,
        known: Known | None,
    ) -> View:
        """Give `thread` a new view."""
        view = View(who, len(self.views), epoch, grid, lanes, known)
        self.views.append(view)
        self.of[thread] = view
        return view

    def meet(self, threads: list[Thread], scope: str, row: int) -> None:
        """`threads` have just synchronised, in a warp, block or grid."""
        known: Known | None = None
        for one in {id(k): k for t in threads if (k := self.of[t].known)}.values():
            known = one if known is None else known.with_(one)
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
                self._renew(thread, old.who, old.epoch, old.grid, lanes, known)
            return
        further = int(scope == "grid")
        for thread in threads:
            old = self.of[thread]
            self._renew(thread, old.who, old.epoch + 1, old.grid + further, None, known)

    def fence(self, thread: Thread, wide: bool, row: int) -> None:
        """Whatever `thread` knows now, its next atomics may hand on.

        To its block, or where the fence is `wide` to all.
        """
        view = self.of[thread]
        mine = Known({view.block: view.epoch}, {view.number: row})
        if view.known is not None:
            mine = mine.with_(view.known)
        if view.lanes is not None:
            base = view.number - view.lane
            mine = mine.with_(
                Known({}, {base + k: at for k, at in enumerate(view.lanes)})
            )
        now = {view.block: mine} | ({EVERYONE: mine} if wide else {})
        self._fenced[thread] = self._fenced.get(thread, {}) | now

    def _share_fences(self, threads: list[Thread]) -> None:
        """After a barrier, what one thread has fenced another may hand on."""
        passed: Passed = {}
        fences = [self._fenced[t] for t in threads if t in self._fenced]
        for one in {id(f): f for f in fences}.values():
            passed = _joined(passed, one)
        for thread in threads:
            self._fenced[thread] = passed

    def exchange(
        self, thread: Thread, space: str, address: int, relaxed: str
    ) -> View | None:
        """Pass on knowledge through an atomic operation of `thread` on `address`.

        What a thread knew at a fence is released with its next atomics; whoever then
        has an atomic operation on the same address acquires it, if the fence was for
        more than the thread's block or both are in that block. Of the `relaxed`
        accesses a store ('poke') releases, in place of what was there, and a load
        ('peek') acquires. Gives the thread's new view, None if it has learnt nothing.
        """
        view = self.of[thread]
        cell = space, None if space == "global" else view.block, address
        if relaxed == "poke":
            self._released[cell] = self._fenced.get(thread, {})
            return None
        there = self._released.get(cell, {})
        known = view.known
        for to in (EVERYONE, view.block):
            if to in there:
                known = there[to] if known is None else known.with_(there[to])
        new = None
        if known is not view.known:
            new = self._renew(
                thread, view.who, view.epoch, view.grid, view.lanes, known
            )
        if thread in self._fenced and not relaxed:
            self._released[cell] = _joined(there, self._fenced[thread])
        return new


def _joined(a: Passed, b: Passed) -> Passed:
    return a | {to: a[to].with_(k) if to in a else k for to, k in b.items()}
