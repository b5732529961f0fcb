"""One simulated launch: its threads, which runs when, and what they wait for.

Every CUDA thread is a greenlet. A thread runs until it reaches a barrier, a warp
operation or its end; then the next one runs, in the order of their numbers. The
schedule is always the same, so a verdict never depends on luck.
"""

import bisect
import contextvars
import dis
import functools
import sys
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn

import numpy as np
from greenlet import getcurrent, greenlet

from weft import effort
from weft.places import place
from weft.simulator.faults import Fault
from weft.simulator.inference.kinds import Kind
from weft.simulator.language.binding import Bound
from weft.simulator.limits import Dim, Dim3
from weft.simulator.memory.arrays import Array, Memory, wrap
from weft.simulator.running.meetings import Meetings
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.positions import Positions
from weft.simulator.running.raised import raised, returned
from weft.simulator.running.special import Special
from weft.simulator.running.stuck import deadlock
from weft.simulator.running.threads import PAUSE, Barrier, Block, Thread
from weft.simulator.running.warps import ACTIVE, Call

LONGEST_LOOP = 10_000_000  # iterations of one thread's `for` loops
LAPS = 2  # see Run.patience
TURN = 64  # iterations after which a `while` lets others run
POLL = 3  # iterations charged for reading a value again that has not changed
_NOTHING = nullcontext()


@functools.lru_cache(64)
def instructions(code: CodeType) -> list[int]:
    """Where the instructions of `code` begin."""
    return [i.offset for i in dis.get_instructions(code)]


class Run:
    """A launch of `fn` over `grid` blocks of `block` threads.

    `dynamic_shared` is in bytes. `bind` makes `fn` run here, `execute` runs it to its
    end; both raise `Fault`. `patience` is how many iterations of `while` loops may pass
    with no thread getting past a barrier; LAPS times as many, with none ending.
    `backwards` begins with the last block: nothing promises that block 0 is first.

    A launch that is traced overrides `array`, `notes` and the methods that are told
    what happens: `started`, `met`, `excused`, `fenced` and `specially`.
    """

    patience = 2_000_000

    def __init__(
        self,
        fn: FunctionType,
        grid: Dim,
        block: Dim,
        dynamic_shared: int = 0,
        backwards: bool = False,
    ) -> None:
        """Prepare a launch: `bind` and then `execute` it."""
        self.grid, self.block = Dim3(*grid), Dim3(*block)
        self.dynamic_shared, self.backwards = dynamic_shared, backwards
        self.cuda = Cuda(self, self.grid, self.block)
        self.current: Thread = None  # type: ignore[assignment]
        self.lines: dict[CodeType, dict[int, str]] = {}
        self.where = Positions(fn.__name__, self.lines, self.grid, self.block)
        self._fn = fn
        self.is_bound = False
        self._hub = getcurrent()
        self._workers: list[greenlet] = []
        self._idle: list[greenlet] = []  # of those, the ones without a thread
        self._barriers: dict[tuple[int, str, bool], Barrier] = {}
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")  # a GPU raises nothing
        self._idle_steps = self._endless_steps = 0
        self._threads = self._turns = self._iterations = 0  # for `effort`
        self._names: dict[tuple[CodeType, int], str] = {}
        self._starts: dict[int, tuple[CodeType, int]] = {}

    def bind(self, given: tuple[Kind, ...]) -> None:
        """Make a function of the kernel that runs against this launch.

        given: what its arguments are.
        """
        steps = self._step, self._loop
        bound = Bound(self._fn, self.cuda, *steps, self._refuse, self.notes(), given)
        self.bound, self.call = bound, bound.call
        self.lines.update(bound.lines)
        self.is_bound = True

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        """Give the kernel `data`; see `Array`."""
        return wrap(data, memory, self.fault, written)

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        """Say how the accesses within differ from plain loads and stores."""
        return _NOTHING

    # What a trace has to know

    def notes(self) -> dict[str, Any] | None:
        """What the names that `instrument` puts into a kernel stand for."""
        return None

    def started(self, thread: Thread) -> None:
        """`thread` goes on now."""

    def met(self, threads: list[Thread], scope: str) -> None:
        """`threads` have synchronised; `scope` is 'warp', 'block' or 'grid'."""

    def excused(self, threads: list[Thread]) -> None:
        """The lanes `threads` have met, and others of their mask had ended."""

    def fenced(self, wide: bool) -> None:
        """The current thread has passed a fence, for its block or (`wide`) for all."""

    def name_of(self, site: tuple[CodeType, int], otherwise: str) -> str:
        """The variable that the call at `site` is assigned to."""
        if site not in self._names:
            code, lasti = site
            text = place(code, lasti, self.lines.get(code, {})).text
            target, equals, _ = text.partition("=")
            plain = target.split(":")[0].strip()
            named = equals and plain.isidentifier()
            self._names[site] = plain if named else otherwise
        return self._names[site]

    def instruction(self, site: tuple[CodeType, int]) -> tuple[CodeType, int]:
        """The instruction that `site` belongs to.

        While a call is going on `f_lasti` may point past the instruction, to its
        inline cache, depending on how often it ran before.
        """
        code, lasti = site
        key = id(code) + lasti  # a code object's bytes are inside it
        if key not in self._starts:
            offsets = instructions(code)
            self._starts[key] = code, offsets[bisect.bisect(offsets, lasti) - 1]
        return self._starts[key]

    # Running

    def execute(self, args: tuple[Any, ...]) -> None:
        """Run all blocks, one after the other. Raises `Fault`."""
        try:
            self._execute(args)
        finally:
            for worker in self._workers:  # or what it holds is never freed
                if not worker.dead:
                    worker.throw()
            effort.done.update(self.effort())

    def effort(self) -> dict[str, int]:
        """What the launch came to so far; see `weft.effort`."""
        return {
            "launches": 1,
            "threads": self._threads,
            "turns": self._turns,
            "iterations": self._iterations,
        }

    def _execute(self, args: tuple[Any, ...]) -> None:
        """Start the blocks, and let those that wait go on."""
        gx, gy, gz = self.grid
        alive: list[Block] = []
        blocks = gx * gy * gz
        meetings = Meetings(self.where, self.met, self.excused)
        indices = [
            Dim3(x, y, z)
            for z in range(self.block.z)
            for y in range(self.block.y)
            for x in range(self.block.x)
        ]
        for done in range(blocks):
            number = blocks - 1 - done if self.backwards else done
            at = Dim3(number % gx, number // gx % gy, number // (gx * gy))
            block = Block(at, number, self.block, indices, self.dynamic_shared)
            self._idle_steps = self._endless_steps = 0  # one more block is progress
            for thread in block.threads:
                thread.reply = args
            self._threads += len(block.threads)
            self._resume(block.threads)
            alive.append(block)
            alive = self._advance(meetings, alive, more=done + 1 < blocks)
        while alive:
            self._resume(meetings.whole_grid(alive, blocks * len(indices)))
            alive = self._advance(meetings, alive, more=False)

    def _resume(self, threads: list[Thread]) -> None:
        """Let `threads` run, each with its reply, until they wait or end."""
        cuda = self.cuda
        self._turns += len(threads)
        for thread in threads:
            cuda.threadIdx = thread.index
            cuda.blockIdx = thread.block.index
            cuda.laneid = thread.lane
            self.current = thread
            self.started(thread)
            if thread.glet is None:
                thread.glet = self._idle.pop() if self._idle else self._worker()
            reply, thread.reply, thread.waiting = thread.reply, None, None
            try:
                result = thread.glet.switch(reply)
            except Fault:
                raise
            except Exception as error:
                raise raised(self.where, error, self.current) from None
            if thread.over:
                self._idle.append(thread.glet)
                self._iterations += thread.steps
                self._idle_steps = self._endless_steps = 0
                if result is not None:
                    code = self.call.__code__
                    raise returned(self.where, code, result, self.current)

    def _worker(self) -> greenlet:
        """A greenlet that runs one thread after another: starting one takes long."""

        def work(args: tuple[Any, ...]) -> None:
            call, switch = self.call, self._hub.switch
            while True:
                result = call(*args)
                self.current.over = True
                args = switch(result)

        worker = greenlet(work)
        worker.gr_context = self.context
        self._workers.append(worker)
        return worker

    def _advance(
        self, meetings: Meetings, alive: list[Block], more: bool
    ) -> list[Block]:
        """Run the blocks in `alive` as far as they come; give those not finished.

        With `more` blocks to come, threads that spin or wait for the whole grid are
        left waiting for those.
        """
        spins = 0
        while True:
            for block in alive:
                block.live = [t for t in block.live if not t.over]
            alive = [b for b in alive if b.live]
            ready = [t for b in alive for t in meetings.ready(b)]
            if ready:
                self._idle_steps = 0
            else:
                ready = [t for b in alive for t in b.live if t.waiting is PAUSE]
                spins += 1
                if not ready or (more and spins > 8):
                    if (fault := deadlock(self.where, alive)) is not None:
                        raise fault
                    return alive
            self._resume(ready)

    # Waiting

    def _wait(self, reason: Any) -> Any:
        self.current.waiting = reason
        return self._hub.switch()

    def barrier(self, name: str, frame: FrameType, value: bool = False) -> Any:
        """Wait until the whole block (or, for 'grid', the launch) is here."""
        key = id(frame.f_code) + frame.f_lasti, name, value
        if key not in self._barriers:
            site = self.instruction((frame.f_code, frame.f_lasti))
            self._barriers[key] = Barrier(name, value, site)
        self.current.waiting = self._barriers[key]
        return self._hub.switch()

    def warp(self, call: Call) -> Any:
        """Wait until all lanes of the mask are here; see `warps`."""
        thread = self.current
        if call.exchange is not ACTIVE and not call.mask >> thread.lane & 1:
            self.fault(
                "warp",
                f"lane {thread.lane} calls {call.name} with the mask "
                f"0x{call.mask:08x}, which does not name lane {thread.lane}",
                "A lane that calls a warp operation must be part of its mask.",
            )
        return self._wait(call)

    def pause(self) -> None:
        """Let the other threads run."""
        self._wait(PAUSE)

    def polled(self, where: Any, found: bytes) -> None:
        """Let the others run if a thread finds what it found there before."""
        thread = self.current
        again = thread.polled is not None and thread.polled[:2] == (where, found)
        thread.polled = where, found, thread.steps
        if again:
            self._idle_steps += POLL
            self.pause()

    def try_later(self) -> None:
        """Let the others run before a thread's first compare-and-swap or exchange.

        What it expects to find, or puts there, comes from something read before. A
        kernel that does not try again when another thread came in between then loses
        an update here as well.
        """
        if not self.current.swapped:
            self.current.swapped = True
            self.pause()

    def _step(self) -> bool:
        thread = self.current
        thread.steps += 1
        self._idle_steps += 1
        self._endless_steps += 1
        stuck = self._idle_steps > self.patience
        if stuck or self._endless_steps > LAPS * self.patience:
            how = f"{'gets any further' if stuck else 'finishes'}{self._awaited()}"
            self.fault(
                "endless-loop",
                f"the loop has run {thread.steps:,} times in this thread, and no "
                f"thread {how}",
                "What should end the loop, and does that happen in every thread?",
            )
        if thread.steps % TURN == 0:
            self._wait(PAUSE)
        return True

    def _awaited(self) -> str:
        """The element that the loop of the current thread polls, in words."""
        if self.current.polled is None:
            return ""
        (name, index), _, steps = self.current.polled
        if self.current.steps - steps > 1:  # it was polled before this loop
            return ""
        numbers = index if isinstance(index, tuple) else (index,)
        at = f"{name}[{', '.join(str(int(number)) for number in numbers)}]"
        return f"; it polls {at}, which no thread changes"

    def _loop(self, items: Any) -> Any:
        if isinstance(items, range):
            self.current.steps += len(items)
            if self.current.steps > LONGEST_LOOP:
                self.fault(
                    "endless-loop",
                    f"the loops of this thread add up to {self.current.steps:,} "
                    f"iterations",
                    "That is more than the simulator waits for.",
                )
        return items

    # Faults

    def fault(self, kind: str, message: str, why: str = "") -> NoReturn:
        """Raise a `Fault` at the line where the current thread is.

        After a line of a device function follow those that called it.
        """
        places = self.where.places(sys._getframe(1))
        raise self.where.fault(kind, message, why, places, self.current)

    def _refuse(self, message: str, why: str) -> NoReturn:
        self.fault("type", message, why)
