"""Meeting points of threads: the barriers of a block and the operations of a warp.

A barrier is passed by the threads of a block together: by all that have not ended, at
the same line, reached through the same calls, in the same iteration of the loops around
it. Anything else is reported as an error, although hardware may let it pass: since
Volta, GPUs count the threads that arrive at any barrier, and do not check which one.
CUDA guarantees nothing in such a case. It allows a barrier in conditional code only if
the condition is the same for the whole block (CUDA C++ Programming Guide,
"Synchronization Functions"); threads that reach it from two branches, or in different
iterations of a loop, have passed different conditions. Threads that have ended are not
waited for, as on every GPU since Volta.
"""

from collections.abc import Callable
from typing import Any

from weft.simulator.running.clusters import ClusterWait
from weft.simulator.running.gatherings import GroupWait
from weft.simulator.running.phases import PhaseWait
from weft.simulator.running.positions import Positions
from weft.simulator.running.stuck import (
    absent_lane,
    at_a_barrier_of,
    gone_from_the_grid,
    incomplete_warp,
    met_apart,
    mixed_barriers,
    other_rounds,
    refused_exchange,
)
from weft.simulator.running.threads import Barrier, Block, Thread
from weft.simulator.running.warps import ACTIVE, AS_ONE, AbsentLane, Exchange, lanes_in

_CONDITIONS = PhaseWait, GroupWait, ClusterWait


class Meetings:
    """Decides which threads need not wait any longer, and gives them their replies.

    `met` is called with the threads that have synchronised, and with 'warp', 'block',
    'cluster' or 'grid'. `excused` is called with lanes that meet although other lanes
    of their mask have ended. Raises `Fault` for threads that wait where they cannot
    meet.
    """

    def __init__(
        self,
        where: Positions,
        met: Callable[[list[Thread], str], None],
        excused: Callable[[list[Thread]], None],
    ) -> None:
        self._where, self._met, self._excused = where, met, excused
        self._as_one = AS_ONE.get()

    def ready(self, block: Block) -> list[Thread]:
        """Return the threads of `block` that can go on."""
        live = block.live
        first = live[0].waiting
        if type(first) is Barrier:
            others = [t for t in live if t.waiting is not first]
            if all(type(t.waiting) is Barrier for t in others):
                return self._whole_block(live, first, others)
        ready: list[Thread] = []
        for warp in block.warps:
            ready += self._lanes(warp)
        waits = [t for t in live if type(t.waiting) in _CONDITIONS]
        ready += [t for t in waits if t.waiting.done]
        return ready

    def clusters(self, alive: list[Block], size: int) -> list[Thread]:
        """Return the threads of all clusters (of `size` blocks) whose threads have met.

        PTX ISA, "barrier.cluster": a wait is for all threads of the cluster that have
        not exited, and with `.aligned` the threads of a warp execute it as one.
        """
        parts: dict[int, list[Thread]] = {}
        for block in alive:
            parts.setdefault(block.number // size, []).extend(block.live)
        ready: list[Thread] = []
        for live in parts.values():
            if not all(at_a_barrier_of(t, "cluster") for t in live):
                continue
            for warp in {(t.block.number, t.warp): t for t in live}.values():
                of_it = [t for t in warp.block.warps[warp.warp] if not t.over]
                if any(t.waiting.at != warp.waiting.at for t in of_it):
                    raise mixed_barriers(self._where, of_it)
            self._met(live, "cluster")
            ready += live
        return ready

    def whole_grid(self, alive: list[Block], threads: int) -> list[Thread]:
        """Let all threads of the launch pass the barrier of the grid, and return them.

        threads: how many the launch has. Raises `Fault` if some have ended.
        """
        live = [t for b in alive for t in b.live]
        if len(live) < threads:
            raise gone_from_the_grid(self._where, live, threads - len(live))
        self._met(live, "grid")
        for thread in live:
            thread.reply = 0
        return live

    def _whole_block(
        self, live: list[Thread], first: Barrier, others: list[Thread]
    ) -> list[Thread]:
        """Let the threads of a block pass the barrier at which they wait; return them.

        Returns [] for a barrier of the cluster or the grid, at which the threads of
        other blocks wait too. Raises `Fault` if the threads cannot meet at one barrier.
        """
        if first.name in ("cluster", "grid"):
            if any(t.waiting.name != first.name for t in others):
                raise mixed_barriers(self._where, live)
            return []
        if any(t.waiting.at != first.at for t in others):
            raise mixed_barriers(self._where, live)
        if (first.loops or others) and in_other_turns(live):
            fault = other_rounds(self._where, live)
            if fault is not None:
                raise fault
        if first.name != "syncthreads":
            values = [t.waiting.value for t in live]
            decide: Any = {"count": sum, "and": all, "or": any}[first.name]
            reply = int(decide(values))
            for thread in live:
                thread.reply = reply
        self._met(live, "block")
        return live

    def _lanes(self, warp: list[Thread]) -> list[Thread]:
        """Return the lanes of `warp` that have met, and set their replies."""
        calls = [t for t in warp if type(t.waiting) is tuple]
        ready: list[Thread] = []
        while calls:
            exchange, mask, _ = calls[0].waiting
            name = exchange.name
            group = [
                t for t in calls if t.waiting[1] == mask and t.waiting[0].name == name
            ]
            if exchange.whole:
                site = self._where.instruction(calls[0])
                group = [t for t in group if self._where.instruction(t) == site]
            rest = len(group) < len(calls)
            calls = [t for t in calls if t not in group] if rest else []
            if self._complete(exchange, mask, group, warp):
                self._exchange(exchange, group)
                ready += group
        return ready

    def _complete(
        self, exchange: Exchange, mask: int, group: list[Thread], warp: list[Thread]
    ) -> bool:
        """Return whether every lane that `group` waits for has arrived or ended.

        Raises `Fault` if a lane that the operation needs has ended.
        """
        if exchange is ACTIVE or len(group) == mask.bit_count():
            return True
        absent = set(lanes_in(mask)) - {t.lane for t in group}
        if absent & {t.lane for t in warp if not t.over}:
            return False
        if absent and exchange.whole:
            raise incomplete_warp(self._where, group, absent, warp)
        if absent and absent & {t.lane for t in warp}:
            self._excused(group)
        return True

    def _exchange(self, exchange: Exchange, group: list[Thread]) -> None:
        """Give the lanes of `group` their replies."""
        if self._as_one and (fault := met_apart(self._where, exchange, group)):
            raise fault
        try:
            replies = exchange.replies({t.lane: t.waiting[2] for t in group})
        except AbsentLane as absent:
            raise absent_lane(self._where, group, absent) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise refused_exchange(self._where, group[0], error) from None
        for thread in group:
            thread.reply = replies[thread.lane]
        if exchange.ordered:
            self._met(group, "warp")


def in_other_turns(threads: list[Thread]) -> bool:
    """Return whether threads have begun different total numbers of iterations.

    Only loops with barriers count.
    """
    rounds = threads[0].rounds
    alike = all(map(rounds.__eq__, [thread.rounds for thread in threads]))
    return not alike and len({sum(thread.rounds.values()) for thread in threads}) > 1
