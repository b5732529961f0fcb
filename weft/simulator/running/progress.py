"""Decide whether a launch still makes progress, or is stuck in its loops.

A loop that never ends cannot be distinguished from one that has not ended yet, except
in one case: if every thread of a launch comes back to the same place with the same
variables, and memory holds the same bytes, the same will happen for ever. This check
comes first: it soon finds a thread that waits for a value that no thread stores.
Otherwise iterations are counted, for each thread separately: 1,024 threads may take 200
iterations each. To find out soon whether any thread ends, one of them runs ahead of the
others. When it ends, another one runs ahead.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.simulator.language import loops
from weft.simulator.memory.arrays import Array
from weft.simulator.running.positions import Positions
from weft.simulator.running.threads import PAUSE, Block, Thread
from weft.simulator.translation.iterations import COUNTERS

TURN = 64  # iterations after which a `while` lets others run
AHEAD = 4096  # iterations after which a thread that runs ahead lets others run
ALONE = 64  # turns of that thread per turn of all the others
POLL = 3  # iterations charged for re-reading a value that has not changed
CHUNK = 1024  # iterations of a `for` that are counted at once
SUSPICIOUS = 100_000  # fruitless iterations after which the launch is examined
# factor on the patience, for iterations of all threads together with none ending
LAPS = 5
LOOKS = 4  # states that are kept to compare with

LONGEST_LOOP = 10_000_000  # iterations of one thread's `for` loops
# the same, for an iterator whose length is unknown, or huge
LONGEST_UNKNOWN = 1_000_000


class Progress:
    """The iterations of a launch, and how many of them were fruitless.

    Passing a barrier and ending a thread are progress. patience: how many iterations of
    `while` loops one thread may take without progress. most: how many iterations of all
    loops the whole launch, or the whole check, may take. before: how many the check's
    earlier launches took; None outside a check.
    """

    def __init__(self, patience: int, most: int, before: int | None = None) -> None:
        self.patience, self.most, self.before = patience, most, before
        self.exhausted = False  # whether the check has reached its limit
        self.spent = 0  # iterations of `while` loops so far, in whole turns
        self._looped = 0  # iterations of `for` loops, in threads that have ended
        self._polls = 0  # re-reads of unchanged values
        # `spent` at the last barrier, and at the last end of a thread
        self._moved = self._ended = 0
        self._news = 0  # how many times there was progress
        self._look = SUSPICIOUS
        self._seen: list[int] = []  # the hashes of earlier states
        self._scout: Thread | None = None
        self._rounds = 0
        # whether LOOKS states did not repeat: a poll then no longer ends a turn
        self._weary = False
        # whether the launch has looked stuck since a thread last ended
        self._worried = False

    def moved(self) -> None:
        """Record that threads have met, at a barrier or in a warp."""
        self._moved = self.spent
        self._news += 1
        self._scout, self._weary = None, False

    def ended(self, looped: int) -> None:
        """Record that a thread has ended or a block has begun. looped: see `Thread`."""
        self._looped += looped
        self._moved = self._ended = self.spent
        self._news += 1
        if self._worried or self._polls:
            self._worried = self._weary = False
            self._scout, self._look, self._polls = None, SUSPICIOUS, 0
            self._seen.clear()

    # Counting

    def turned(self, thread: Thread) -> str:
        """Count a turn of TURN iterations; return why the loop should stop, or ''."""
        self.spent += TURN
        if thread.news != self._news:
            thread.news, thread.since = self._news, 0
        thread.since += TURN
        thread.polled = None
        if thread.since > self.patience:
            return in_vain(thread, "gets any further")
        if self.spent - self._ended > LAPS * self.patience:
            return in_vain(thread, "finishes")
        return self._too_much()

    def polled(self) -> bool:
        """Record a re-read of an unchanged value; return whether other threads run now.

        If re-reads have gone on for a long time, the current thread first finishes its
        turn.
        """
        self._polls += 1
        return not self._weary

    def too_long(self, thread: Thread, most: int) -> str:
        """Return why a thread should not continue its `for` loops, or '' if it may."""
        if thread.looped > most:
            return f"the loops of this thread add up to {thread.looped:,} iterations"
        return self._too_much(thread.looped)

    def _too_much(self, more: int = 0) -> str:
        total = (self.before or 0) + self.spent + self._looped + more
        if total <= self.most:
            return ""
        self.exhausted = self.before is not None
        whole = "check" if self.exhausted else "launch"
        return f"the loops of this {whole} add up to {total:,} iterations"

    # Running ahead

    def ahead(self, thread: Thread) -> bool:
        """Return whether `thread` can go on before others run."""
        return thread is self._scout and thread.since % AHEAD != 0

    def chosen(self, paused: list[Thread]) -> list[Thread]:
        """Return those of the `paused` threads that go on now."""
        if self.spent - self._moved <= SUSPICIOUS or self.doubtful:
            return paused
        self._worried = True
        self._rounds += 1
        if self._rounds % ALONE == 0:
            return paused
        scout = self._scout
        if scout is None or scout.waiting is not PAUSE or scout.polled is not None:
            scout = next((t for t in paused if t.polled is None), None)
            self._scout = scout
        return paused if scout is None else [scout]

    # Repeated states

    @property
    def _vain(self) -> int:
        """The iterations since a thread last ended, plus those charged for re-reads."""
        return self.spent - self._ended + POLL * self._polls

    @property
    def doubtful(self) -> bool:
        """Whether it is time to check whether the launch is stuck."""
        return self._vain > self._look

    def repeats(self, state: Iterable[Any]) -> bool:
        """Return whether `state` equals an earlier state.

        Up to LOOKS states are kept; then the comparison starts afresh.
        """
        self._worried = True
        now = hash(tuple(state))
        if now in self._seen:
            return True
        self._seen.append(now)
        if len(self._seen) == LOOKS:
            self._seen.clear()
            self._weary = True
            self._look = 2 * self._vain
        return False


def in_vain(thread: Thread, how: str) -> str:
    """Describe a loop without progress. how: what no thread does, e.g. "finishes"."""
    return (
        f"the loop has run {thread.steps:,} times in this thread, and no thread {how}"
    )


def state_of(
    alive: list[Block], memory: list[np.ndarray[Any, Any]], where: Positions
) -> Iterator[Any]:
    """Yield everything that determines how the threads in `alive` go on.

    memory: the arrays that the launch was given.
    """
    yield from (data.tobytes() for data in memory)
    for block in alive:
        for array in block.shared.values():
            yield array._data.tobytes()
        for thread in block.live:
            for number, turns in thread.rounds.items():
                yield loops.known[number].ends and turns
            for frame in thread.frames:
                if frame.f_code in where.lines:
                    yield frame.f_lasti
                    yield from (
                        held(value)
                        for name, value in frame.f_locals.items()
                        if name != loops.ROUNDS and not name.startswith(COUNTERS)
                    )


def held(value: Any) -> Any:
    """Return a variable's contents in a form that can be compared."""
    if isinstance(value, Array):
        data = value._data
        local = data.tobytes() if value._space == "local" else b""
        return data.__array_interface__["data"], data.shape, local
    if isinstance(value, tuple):
        return tuple(held(part) for part in value)
    return repr(value)
