"""The model: ranks that run in turn, the messages between them, who waits for whom.

Every rank is a thread, but only the one that has the turn runs. A rank keeps it until
it has to wait; then the next one that can go on gets it. So a run is always the same,
and when no rank can go on, none ever will: that is a deadlock, found without a clock.

Time is counted, not taken. A message takes `latency` and its bytes over `bandwidth`; a
rank sends one message at a time and receives one at a time, both at once. With the
defaults, a latency of 1 and no limit of bandwidth, time is the number of steps.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from weft.ranks.faults import RankFault, Stopped
from weft.ranks.reductions import combine
from weft.ranks.words import (
    another_collective,
    another_message,
    deadlock,
    never_received,
    never_waited,
    sender_changed,
)
from weft.ranks.works import Collective, Transfer, Work, size_of

STARTED = 30.0  # seconds in which a thread of a rank has to begin or to end


class World:
    """Ranks that run one function each.

    latency: of a message. bandwidth: bytes per unit of time. Both are per direction of
    one rank's link.
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
        self._turns = [threading.Event() for _ in range(size)]
        self._over = threading.Event()

    # Running

    def run(self, functions: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one function per rank, and return what they return.

        Raises `RankFault`, or what a function has raised; then `error` has its rank.
        """
        threads = [
            threading.Thread(target=self._rank, args=(rank, function), daemon=True)
            for rank, function in enumerate(functions)
        ]
        for thread in threads:
            thread.start()
        self._turns[0].set()
        while not self._over.wait(0.2):  # so that Ctrl-C gets in
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
        """Give the turn to the next rank that can go on. Raises a deadlock."""
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
            raise deadlock(self)

    def wait(self, work: Work) -> None:
        """Let the other ranks run until a transfer is over, and take what it brings."""
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
                raise sender_changed(work)
            work.land()
        assert work.done is not None
        self.clock[rank] = max(self.clock[rank], work.done)

    def _look_back(self) -> None:
        """Refuse what was begun and never finished."""
        for work in self.works:
            if work.done is None:
                raise never_received(work)
            if not work.waited:
                raise never_waited(work)

    # Messages

    def post(self, work: Work) -> Work:
        """Begin one side of a message; it starts to move once both are there."""
        (peer,) = work.peers
        self.works.append(work)
        pair = (work.rank, peer) if work.sends else (peer, work.rank)
        waiting = self._open.setdefault((*pair, not work.sends), deque())
        if not waiting:
            self._open.setdefault((*pair, work.sends), deque()).append(work)
            return work
        other = waiting.popleft()
        self._move(work, other) if work.sends else self._move(other, work)
        return work

    def _move(self, send: Work, receive: Work) -> None:
        """Move a message whose two sides are there."""
        if (
            send.tensor.numel() != receive.tensor.numel()
            or send.tensor.dtype != receive.tensor.dtype
        ):
            raise another_message(send, receive)
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

    # Collectives

    def join(self, own: Collective) -> Work:
        """Take part in a collective; it happens once every rank is there."""
        rank = own.work.rank
        number = len(self.collectives[rank])
        self.collectives[rank].append(own)
        self.works.append(own.work)
        for calls in self.collectives:
            if len(calls) > number and calls[number].agreed != own.agreed:
                raise another_collective(calls[number], own, number)
        if all(len(calls) > number for calls in self.collectives):
            self._together([calls[number] for calls in self.collectives])
        return own.work

    def _together(self, calls: list[Collective]) -> None:
        """Do a collective that every rank has called."""
        begin = max(call.work.posted for call in calls)
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
        """When the last rank has ended."""
        return max(self.clock)
