"""One simulated launch: its threads, who runs when, and what they wait for.

Every CUDA thread is a greenlet. A thread runs until it reaches a barrier, a warp
operation or its end; then the next one runs, in the order of their numbers. The
schedule is always the same, so a verdict never depends on luck.
"""

import bisect
import contextlib
import contextvars
import dis
import functools
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, NoReturn

import numpy as np
from greenlet import getcurrent, greenlet

from weft.intrinsics.memory import Misaligned
from weft.places import Place, led_to, place
from weft.simulator.faults import Fault
from weft.simulator.language.binding import Bound
from weft.simulator.language.python_errors import advice
from weft.simulator.limits import Dim, Dim3
from weft.simulator.memory.arrays import Array, wrap
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.positions import Whereabouts
from weft.simulator.running.stuck import (
    absent_lane,
    deadlock,
    gone_from_the_grid,
    incomplete_warp,
    mixed_barriers,
    refused_exchange,
)
from weft.simulator.running.threads import PAUSE, Barrier, Block, Thread
from weft.simulator.running.warps import ACTIVE, AbsentLane, Call, lanes_in

LONGEST_LOOP = 10_000_000  # iterations of one thread's `for` loops
LAPS = 2  # see Run.patience
TURN = 64  # iterations after which a `while` lets others run
POLL = 3  # iterations that looking in vain at what others store counts besides
FUNCTIONS = frozenset(
    name for name, value in vars(Cuda).items() if callable(value) and name[0] != "_"
) - {"twin_of"}


@functools.lru_cache(64)
def instructions(code: CodeType) -> list[int]:
    """Where the instructions of `code` begin."""
    return [i.offset for i in dis.get_instructions(code)]


class Run:
    """A launch of `fn` over `grid` blocks of `block` threads.

    `dynamic_shared` is in bytes. `execute` runs it to its end or raises `Fault`.
    `patience` is how many iterations of `while` loops may pass with no thread getting
    past a barrier; LAPS times as many, with none ending.
    `backwards` begins with the last block: nothing promises that block 0 is first.
    """

    patience = 2_000_000
    backwards = False

    def __init__(
        self, fn: FunctionType, grid: Dim, block: Dim, dynamic_shared: int = 0
    ) -> None:
        self.grid, self.block = Dim3(*grid), Dim3(*block)
        self.dynamic_shared = dynamic_shared
        self.cuda = Cuda(self, self.grid, self.block)
        self.bound = Bound(
            fn, self.cuda, self._step, self._loop, self._refuse, self.notes()
        )
        self.call = self.bound.call
        self.lines = self.bound.lines
        self.where = Whereabouts(self.call.__name__, self.lines, self.grid, self.block)
        self.current: Thread = None  # type: ignore[assignment]
        sx, sy, sz = self.block
        self.indices = [
            Dim3(x, y, z) for z in range(sz) for y in range(sy) for x in range(sx)
        ]
        self._hub = getcurrent()
        self._workers: list[greenlet] = []
        self._idle: list[greenlet] = []  # of those, the ones without a thread
        self._barriers: dict[tuple[int, str, bool], Barrier] = {}
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")  # a GPU raises nothing
        self.fresh: frozenset[str] = frozenset()  # arrays that nobody wrote before
        self._idle_steps = self._endless_steps = 0
        self._names: dict[tuple[CodeType, int], str] = {}
        self._starts: dict[int, tuple[CodeType, int]] = {}

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        name: str,
        space: str,
        site: Any = None,
        written: np.ndarray[Any, Any] | None = None,
        readonly: bool = False,
    ) -> Array:
        """Give the kernel `data`; `site` is what made it, if the kernel did."""
        return wrap(data, name, space, self.fault, written, readonly)

    @contextlib.contextmanager
    def atomically(self, kinds: set[str]) -> Iterator[None]:
        """Mark the accesses within as one atomic operation; see `Trace.atomics`."""
        yield

    @contextlib.contextmanager
    def relaxed(self, kind: str) -> Iterator[None]:
        """Mark the access within as a relaxed load ('peek') or store ('poke')."""
        yield

    # What a trace wants to know

    def notes(self) -> dict[str, Any] | None:
        """What the names that `noting` puts into a kernel stand for; None for none."""
        return None

    def started(self, thread: Thread) -> None:
        """`thread` goes on now."""

    def met(self, threads: list[Thread], scope: str) -> None:
        """`threads` have synchronised; `scope` is 'warp', 'block' or 'grid'."""

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

        While a call is under way `f_lasti` may point behind the instruction, to its
        inline cache, depending on how often it ran before.
        """
        code, lasti = site
        key = id(code) + lasti  # within a code object lie its bytes
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

    def _execute(self, args: tuple[Any, ...]) -> None:
        gx, gy, gz = self.grid
        alive: list[Block] = []
        blocks = gx * gy * gz
        for done in range(blocks):
            number = blocks - 1 - done if self.backwards else done
            at = Dim3(number % gx, number // gx % gy, number // (gx * gy))
            block = Block(at, number, self.block, self.indices, self.dynamic_shared)
            self._idle_steps = self._endless_steps = 0  # one more block is progress
            for thread in block.threads:
                thread.reply = args
            self._resume(block.threads)
            alive.append(block)
            alive = self._advance(alive, more=done + 1 < blocks)
        while alive:
            self._release_grid(alive, blocks)
            alive = self._advance(alive, more=False)

    def _resume(self, threads: list[Thread]) -> None:
        """Let `threads` run, each with its reply, until they wait or end."""
        cuda = self.cuda
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
                raise self._exception(error) from None
            if thread.over:
                self._idle.append(thread.glet)
                self._idle_steps = self._endless_steps = 0
                if result is not None:
                    self._refuse_result(result)

    def _worker(self) -> greenlet:
        """A greenlet that runs one thread after another: to start one is dear."""

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

    def _advance(self, alive: list[Block], more: bool) -> list[Block]:
        """Run the blocks in `alive` as far as they come; give those not finished.

        With `more` blocks to come, threads that spin or wait for the whole grid are
        left waiting for those.
        """
        spins = 0
        while True:
            for block in alive:
                block.live = [t for t in block.live if not t.over]
            alive = [b for b in alive if b.live]
            ready = [t for b in alive for t in self._release(b)]
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
        again = self.current.polled == (where, found)
        self.current.polled = where, found
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
            self.fault(
                "endless-loop",
                f"the loop has run {thread.steps:,} times in this thread, and no "
                f"thread {'gets any further' if stuck else 'comes to its end'}",
                "Is there something that ends it, in every thread?",
            )
        if thread.steps % TURN == 0:
            self._wait(PAUSE)
        return True

    def _loop(self, items: Any) -> Any:
        if isinstance(items, range):
            self.current.steps += len(items)
            if self.current.steps > LONGEST_LOOP:
                self.fault(
                    "endless-loop",
                    f"the loops of this thread come to {self.current.steps:,} "
                    "iterations",
                    "That is more than the simulator waits for.",
                )
        return items

    def _release(self, block: Block) -> list[Thread]:
        """The threads of `block` that need wait no longer, with their replies."""
        live = block.live
        first = live[0].waiting
        others = [t for t in live if t.waiting is not first]
        if type(first) is Barrier and all(type(t.waiting) is Barrier for t in others):
            return self._release_block(live, first, others)
        ready: list[Thread] = []
        for warp in block.warps:
            ready += self._release_warp(warp)
        return ready

    def _release_block(
        self, live: list[Thread], first: Barrier, others: list[Thread]
    ) -> list[Thread]:
        if first.name == "grid":
            if any(t.waiting.name != "grid" for t in others):
                raise mixed_barriers(self.where, live)
            return []
        if any(t.waiting.site != first.site for t in others):
            raise mixed_barriers(self.where, live)
        if first.name != "syncthreads":
            values = [t.waiting.value for t in live]
            decide: Any = {"count": sum, "and": all, "or": any}[first.name]
            reply = decide(values)
            for thread in live:
                thread.reply = reply
        self.met(live, "block")
        return live

    def _release_grid(self, alive: list[Block], blocks: int) -> None:
        """Let everyone go on, now that all threads wait for the grid."""
        live = [t for b in alive for t in b.live]
        gone = blocks * len(alive[0].threads) - len(live)
        if gone:
            raise gone_from_the_grid(self.where, live, gone)
        self.met(live, "grid")
        self._resume(live)

    def _release_warp(self, warp: list[Thread]) -> list[Thread]:
        """The lanes of `warp` that have met at a warp operation, with their replies."""
        calls = [t for t in warp if type(t.waiting) is Call]
        ready: list[Thread] = []
        while calls:
            call: Call = calls[0].waiting
            group = [t for t in calls if t.waiting.party == call.party]
            calls = [t for t in calls if t not in group]
            if self._complete(call, group, warp):
                self._exchange(call, group)
                ready += group
        return ready

    def _complete(self, call: Call, group: list[Thread], warp: list[Thread]) -> bool:
        """Whether all that `group` waits for are here; raises if some cannot come."""
        if call.exchange is ACTIVE:
            return True
        absent = set(lanes_in(call.mask)) - {t.lane for t in group}
        if absent & {t.lane for t in warp if not t.over}:
            return False
        if absent and call.exchange.whole:
            raise incomplete_warp(self.where, group, absent, warp)
        return True

    def _exchange(self, call: Call, group: list[Thread]) -> None:
        """Give the lanes of `group` their replies."""
        try:
            replies = call.exchange.replies({t.lane: t.waiting.args for t in group})
        except AbsentLane as absent:
            raise absent_lane(self.where, group, absent) from None
        except (TypeError, ValueError) as error:
            raise refused_exchange(self.where, group[0], error) from None
        for thread in group:
            thread.reply = replies[thread.lane]
        if call.exchange.ordered:
            self.met(group, "warp")

    # Faults

    def fault(self, kind: str, message: str, why: str = "") -> NoReturn:
        """Raise a `Fault` at the line where the current thread is.

        After a line of a device function follow those that called it.
        """
        places = self.where.places(sys._getframe(1))
        raise self.where.fault(kind, message, why, places, self.current)

    def _refuse_result(self, result: Any) -> NoReturn:
        code = self.call.__code__
        raise self.where.fault(
            "exception",
            f"the kernel returns {getattr(result, 'item', lambda: result)()!r}",
            "A kernel returns nothing: its results go into an output array.",
            [place(code, returning(code), self.lines[code])],
            self.current,
        )

    def _refuse(self, message: str, why: str) -> NoReturn:
        self.fault("type", message, why)

    def _exception(self, error: Exception) -> Fault:
        """A `Fault` for something Python raised in the learner's kernel."""
        places: list[Place] = []
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code in self.lines:
                places.insert(0, place(code, trace.tb_lasti, self.lines[code]))
            trace = trace.tb_next
        said = re.sub(r"'(Traced|Array)\d?'", "'array'", str(error))
        kind, message = "exception", f"{type(error).__name__}: {said}"
        why = advice(error, places[0].text, FUNCTIONS) if places else ""
        if isinstance(error, Misaligned):
            kind, message, why = "misaligned", error.message, error.why
        if isinstance(error, AttributeError) and isinstance(error.obj, Array):
            message = f"AttributeError: in a kernel an array has no `{error.name}`"
            why = (
                "Each thread names the elements it wants, one by one. What goes over "
                "many of them is a loop."
            )
        return self.where.fault(kind, message, why, led_to(places), self.current)


def returning(code: CodeType) -> int:
    """The offset of the first instruction that returns something, 0 if none does."""
    given: Any = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST":
            given = step.argval
        if step.opname.startswith("RETURN_") and given is not None:
            return step.offset
        given = step.argval if step.opname == "LOAD_CONST" else step
    return 0
