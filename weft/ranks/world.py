"""The model: ranks that run in turn, and the messages between them.

Every rank is a thread, but only the rank that has the turn runs. It keeps the turn
until it has to wait; then the next rank that can go on gets the turn. So every run is
the same, and when no rank can go on, none ever will: that is a deadlock, found without
a clock.

The transfers of a rank happen as on a GPU with NCCL, where they share one stream: one
group after another, in the order in which they were begun. A call begins a group of one
transfer, `batch_isend_irecv` a group of several, which happen together. A message moves
once both ranks have begun it and the groups before it are over on both; a collective
happens once this holds for all ranks.

Time is computed, not measured. A message takes `latency` plus its bytes divided by
`bandwidth`. A rank sends one message at a time and receives one at a time, but it can
send and receive simultaneously. With the defaults, a latency of 1 and unlimited
bandwidth, time is the number of steps.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from weft.ranks.words import (
    RankFault,
    another_collective,
    another_message,
    deadlock,
    one_sided,
    out_of_order,
)
from weft.ranks.works import Collective, Transfer, Work, combine, size_of

STARTED = 30.0  # seconds in which a rank's thread has to begin or to end


class Stopped(BaseException):
    """An exception that ends a rank's thread once the run has failed."""


class World:
    """Ranks that run one function each.

    latency: units of time per message. bandwidth: bytes per unit of time, in each
    direction of a rank's link.
    """

    def __init__(
        self, size: int, latency: float = 1.0, bandwidth: float = math.inf
    ) -> None:
        self.size, self.latency, self.bandwidth = size, latency, bandwidth
        self.clock = [0.0] * size
        self.sent, self.received = [0] * size, [0] * size
        self.transfers: list[Transfer] = []
        self.ended: set[int] = set()
        self.waiting: dict[int, Work] = {}
        self.works: list[Work] = []
        self.collectives: list[list[Collective]] = [[] for _ in range(size)]
        self.results: list[Any] = [None] * size
        self.error: tuple[int, BaseException] | None = None
        self._out, self._into = [0.0] * size, [0.0] * size
        self._open: dict[tuple[int, int, bool], deque[Work]] = {}
        self._met: list[tuple[list[Work], Callable[[], None]]] = []  # see `_meet`
        self._groups: list[deque[tuple[Work, ...]]] = [deque() for _ in range(size)]
        self._turns = [threading.Event() for _ in range(size)]
        self._over = threading.Event()

    # Running

    def run(self, functions: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one function per rank, and return their results.

        Raises the exception that a function raised, or `RankFault` for a mistake.
        `error` then holds the rank's number and the exception, unless the mistake is
        found only after all functions have returned.
        """
        threads = [
            threading.Thread(target=self._rank, args=(rank, function), daemon=True)
            for rank, function in enumerate(functions)
        ]
        for thread in threads:
            thread.start()
        self._turns[0].set()
        while not self._over.wait(0.2):  # so that Ctrl-C works
            pass
        for turn in self._turns:
            turn.set()
        for thread in threads:
            thread.join(STARTED)
        if self.error is not None:
            raise self.error[1]
        self._look_back()
        return self.results

    def _rank(self, rank: int, function: Callable[[], Any]) -> None:
        try:
            self._turns[rank].wait()
            self._stop_if_over()
            self.results[rank] = function()
        except Stopped:
            return
        except BaseException as error:  # the thread that called `run` raises it
            self._fail(rank, error)
            return
        self.ended.add(rank)
        try:
            self._hand_on(rank)
        except RankFault as fault:
            self._fail(rank, fault)

    def _fail(self, rank: int, error: BaseException) -> None:
        if self.error is None:
            self.error = rank, error
        self._over.set()

    def _stop_if_over(self) -> None:
        if self._over.is_set():
            raise Stopped

    def _hand_on(self, rank: int) -> None:
        """Give the turn to the next rank that can go on.

        Raises RankFault for a deadlock.
        """
        for step in range(1, self.size + 1):
            other = (rank + step) % self.size
            if other in self.ended:
                continue
            work = self.waiting.get(other)
            if work is None or work.done is not None:
                self._turns[other].set()
                return
        if len(self.ended) == self.size:
            self._over.set()
        else:
            raise deadlock(
                self.waiting, self.ended, self.size, self.held_up, self.works
            )

    def wait(self, work: Work) -> None:
        """Let other ranks run until a transfer is over, then store its data.

        Raises RankFault if a sender has changed its tensor.
        """
        rank = work.rank
        if work.done is None:
            self.waiting[rank] = work
            while work.done is None:
                self._turns[rank].clear()
                self._hand_on(rank)
                self._turns[rank].wait()
                self._stop_if_over()
            del self.waiting[rank]
        if not work.waited:
            work.waited = True
            if work.sends and work.changed():
                raise one_sided("sender-changed", work)
            work.land()
        assert work.done is not None
        self.clock[rank] = max(self.clock[rank], work.done)

    def _look_back(self) -> None:
        """Raise RankFault for work begun but never finished, or never waited for."""
        left = [work for work in self.works if work.peers and work.done is None]
        for work in left:
            if work.other is None:
                row = "never-sent" if work.receives else "never-received"
                raise one_sided(row, work)
        if left:
            raise out_of_order(self.held_up(left))
        for work in self.works:
            if not work.waited:
                fault = one_sided("never-waited", work)
                fault.batch = work.batch
                raise fault

    # Messages

    def post(self, group: Sequence[Work]) -> None:
        """Begin a group of a rank's transfers, each of which is one side of a message.

        Two ranks' sends and receives are matched in the order of their calls. Raises
        RankFault if the tensors of two sides differ in size or dtype.
        """
        if group:
            self._groups[group[0].rank].append(tuple(group))
        for work in group:
            (peer,) = work.peers
            self.works.append(work)
            pair = (work.rank, peer) if work.sends else (peer, work.rank)
            waiting = self._open.setdefault((*pair, not work.sends), deque())
            if waiting:
                self._match(work, waiting.popleft())
            else:
                self._open.setdefault((*pair, work.sends), deque()).append(work)
        self._move_on()

    def _match(self, work: Work, other: Work) -> None:
        """Make a message from its two sides.

        Raises RankFault if their tensors differ in size or dtype.
        """
        send, receive = (work, other) if work.sends else (other, work)
        if (
            send.tensor.numel() != receive.tensor.numel()
            or send.tensor.dtype != receive.tensor.dtype
        ):
            raise another_message(send, receive)
        self._meet([send, receive], partial(self._move, send, receive))

    def _meet(self, works: list[Work], happen: Callable[[], None]) -> None:
        """Record that all ranks of a message or collective have made their calls.

        happen: performs the transfer; called when its turn has come on all ranks.
        """
        for work, other in zip(works, works[1:] + works[:1], strict=True):
            work.other = other
        self._met.append((works, happen))

    def _move_on(self) -> None:
        """Perform every recorded transfer whose turn has come, oldest record first.

        Each may end a group, so all others are checked again after it.
        """
        k = 0
        while k < len(self._met):
            works, happen = self._met[k]
            if any(map(self.ahead_of, works)):
                k += 1
                continue
            del self._met[k]
            happen()
            for work in works:
                self._end_group(work.rank)
            k = 0

    def ahead_of(self, work: Work) -> Work | None:
        """Return an unfinished transfer of `work.rank` in an earlier group, or None."""
        group = self._groups[work.rank][0]
        return None if work in group else next(w for w in group if w.done is None)

    def held_up(self, works: Sequence[Work]) -> list[tuple[Work, Work]]:
        """Return pairs of an unfinished transfer and a later one that waits for it.

        Both are of the same rank. The later one belongs to a message or collective that
        includes one of `works`, and for which all ranks have made their calls.
        """
        met = [sides for sides, _ in self._met if not set(works).isdisjoint(sides)]
        pairs = [(self.ahead_of(side), side) for sides in met for side in sides]
        return [(ahead, side) for ahead, side in pairs if ahead is not None]

    def _move(self, send: Work, receive: Work) -> None:
        """Deliver a message whose turn has come on both sides, and add its costs."""
        source, target, nbytes = send.rank, receive.rank, size_of(send.tensor)
        start = max(send.posted, receive.posted, self._out[source], self._into[target])
        end = start + self.latency + nbytes / self.bandwidth
        self._out[source] = self._into[target] = end
        send.done = receive.done = end
        assert send.kept is not None
        receive.lands.append((receive.tensor, send.kept))
        self.transfers.append(Transfer(source, target, nbytes, start, end))
        self.sent[source] += nbytes
        self.received[target] += nbytes

    def _end_group(self, rank: int) -> None:
        """Begin a rank's next group if every transfer of the current one is done."""
        group = self._groups[rank][0]
        ends = [work.done for work in group if work.done is not None]
        if len(ends) == len(group):
            self._groups[rank].popleft()
            self._out[rank] = self._into[rank] = max(ends)

    # Collectives

    def join(self, own: Collective) -> Work:
        """Add a rank's call to a collective, which can begin once all ranks call it.

        Raises RankFault if the calls of two ranks differ.
        """
        rank = own.work.rank
        number = len(self.collectives[rank])
        self.collectives[rank].append(own)
        self.works.append(own.work)
        self._groups[rank].append((own.work,))
        for calls in self.collectives:
            if len(calls) > number and calls[number].agreed != own.agreed:
                raise another_collective(calls[number], own, number)
        if all(len(calls) > number for calls in self.collectives):
            together = [calls[number] for calls in self.collectives]
            works = [call.work for call in together]
            self._meet(works, partial(self._together, together))
            self._move_on()
        return own.work

    def _together(self, calls: list[Collective]) -> None:
        """Complete a collective that every rank has called."""
        begin = max(*self._out, *self._into, *(call.work.posted for call in calls))
        results, steps, moved = combine(calls)
        end = begin + steps * self.latency + moved / self.bandwidth
        for call, result in zip(calls, results, strict=True):
            call.work.done = end
            if result is not None:
                call.work.lands.append((call.take, result))
            self.sent[call.work.rank] += moved
            self.received[call.work.rank] += moved

    @property
    def steps(self) -> float:
        """The time at which the last rank ended, in steps."""
        return max(self.clock)
