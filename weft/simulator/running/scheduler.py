"""One simulated launch: its threads, which of them runs when, and what they wait for.

A CUDA thread is a generator, or a plain call in a kernel that never waits. It runs
until it ends or has to wait, for example at a barrier; then the next thread runs, in
order of thread number. The schedule is always the same, so a verdict never depends on
luck.
"""

import ast
import bisect
import dis
import functools
import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from inspect import isgeneratorfunction
from itertools import repeat
from types import CodeType, FrameType, FunctionType, GeneratorType
from typing import Any, NoReturn

import numpy as np

from weft import effort
from weft.places import place
from weft.simulator.faults import Fault
from weft.simulator.inference.kinds import Kind
from weft.simulator.language.binding import Bound
from weft.simulator.language.loops import LOOP, ROUNDS_OF, STEP
from weft.simulator.language.waiting import BARRIER, FOLLOW, LOOPED, exchange
from weft.simulator.limits import Dim, Dim3, cluster_of, most_shared
from weft.simulator.memory.arrays import Array, Memory, poison
from weft.simulator.running.beside import Beside
from weft.simulator.running.clusters import ClusterWait
from weft.simulator.running.gatherings import GroupWait
from weft.simulator.running.marks import mark
from weft.simulator.running.meetings import Meetings
from weft.simulator.running.namespace import Cuda
from weft.simulator.running.phases import PhaseWait
from weft.simulator.running.positions import Columns, Positions, upwards
from weft.simulator.running.progress import (
    CHUNK,
    LONGEST_LOOP,
    LONGEST_UNKNOWN,
    TURN,
    Progress,
    in_vain,
    state_of,
)
from weft.simulator.running.protocol import Waiting
from weft.simulator.running.raised import raised, returned
from weft.simulator.running.special import Special
from weft.simulator.running.stuck import deadlock
from weft.simulator.running.threads import (
    NO_ROUNDS,
    PAUSE,
    Barrier,
    Block,
    Thread,
    seats,
)
from weft.simulator.running.warps import EXCHANGES
from weft.simulator.translation import numbers
from weft.simulator.translation.accesses import part_of
from weft.simulator.translation.made import CELL, SHARED
from weft.simulator.translation.notes import Noting
from weft.tracebacks import deliberate

MOST_SPARED = 16  # calls of `_condemn` after which the thread fails anywhere
ENDLESS = "What should end the loop, and does that happen in every thread?"
TOO_MUCH = (
    "more work than a check does",
    "A check ends there, however many launches it has made. How many iterations does "
    "the result need, and which loop takes more?",
)
_NOTHING = nullcontext()


@functools.lru_cache(64)
def instructions(code: CodeType) -> list[int]:
    """Return the offsets at which the instructions of `code` begin."""
    return [i.offset for i in dis.get_instructions(code)]


@functools.lru_cache(64)
def barriers(code: CodeType) -> dict[str, Barrier]:
    """Return the barriers of a kernel, by the names that refer to them."""
    found: dict[str, Barrier] = {}
    before = ""
    for step in dis.get_instructions(code):
        if step.opname == "YIELD_VALUE" and before.startswith(BARRIER):
            site, loops = (code, step.offset), before.startswith(LOOPED)
            found[before] = Barrier("syncthreads", False, site, (), loops)
        before = str(step.argval)
    return found


class Run:
    """A launch of `fn` over `grid` blocks of `block` threads.

    `dynamic_shared` is in bytes. `bind` prepares `fn` to run here, and `execute` runs
    it to its end; both may raise `Fault`. `patience` and `most` bound its loops; see
    `Progress`. With `backwards`, the last block runs first, because nothing guarantees
    that block 0 does.

    A traced launch overrides `array`, `notes`, `specially` and the methods that are
    called for events, such as `started`, `met` and `fenced`.
    """

    patience, most = 2_000_000, 300_000_000
    noting_of = Noting.NONE  # how much the kernel records
    change: type[ast.NodeTransformer] | None = None  # a change to the kernel's source

    def __init__(
        self,
        fn: FunctionType,
        grid: Dim,
        block: Dim,
        dynamic_shared: int = 0,
        backwards: bool = False,
    ) -> None:
        """Prepare a launch, to be run by calling `bind` and then `execute`."""
        self.grid, self.block = Dim3(*grid), Dim3(*block)
        self.dynamic_shared, self.backwards = dynamic_shared, backwards
        self.cluster = cluster_of(self.grid)
        self.beside = Beside()
        self.watched: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self.cuda = Cuda(self, self.grid, self.block)
        self._tells = type(self).started is not Run.started
        self.current: Thread = None  # type: ignore[assignment]
        self.lines: dict[CodeType, dict[int, str]] = {}
        self.where = Positions(fn.__name__, self.lines, self.grid, self.block)
        self._fn, self.most_shared = fn, most_shared(fn)
        self.is_bound = False
        self.positions = Columns(self.grid, self.block)
        self._alive: list[Block] = []
        self._ends = False  # whether a thread has ended since `_alive` was updated
        before = effort.iterations()
        most = self.most if before is None else effort.MOST_ITERATIONS
        self.progress = Progress(self.patience, min(self.most, most), before)
        self.given: list[np.ndarray[Any, Any]] = []  # the arrays in global memory
        self._condemned: tuple[Thread, str] | None = None
        self._spared = 0
        self._threads = self._turns = self._iterations = 0  # for `effort`
        self._names: dict[tuple[CodeType, int], str] = {}
        self._starts: dict[int, tuple[CodeType, int]] = {}
        self._first_forms: dict[CodeType, CodeType] = {}
        self._declared: dict[tuple[CodeType, int], tuple[CodeType, int]] = {}

    def bind(self, given: tuple[Kind, ...]) -> None:
        """Bind the kernel to this launch, as a function that can be called.

        given: the kinds of the kernel's arguments.
        """
        counting: dict[str, Any] = {
            STEP: self._step,
            LOOP: self._loop,
            ROUNDS_OF: self._rounds_of,
            FOLLOW: self._follow,
        }
        counting |= {exchange(name): each for name, each in EXCHANGES.items()}
        self._counting, self._given = counting, given
        self.bound = self.bound_to(self.noting_of, self.notes())
        self.call = self.bound.call
        self._code, self._waits = self.call.__code__, isgeneratorfunction(self.call)
        self.is_bound = True

    def bound_to(self, noting: Noting, notes: dict[str, Any]) -> Bound:
        """Return the kernel, instrumented to record as much as `noting` says."""
        bound = Bound(
            self._fn,
            self.cuda,
            self._counting,
            self._refuse,
            notes,
            noting,
            self._given,
            self.change,
        )
        bound.call.__globals__.update(barriers(bound.call.__code__))
        self.lines.update(bound.lines)
        self._first_forms.update(bound.first_forms)
        self.where.accesses.update(bound.accesses)
        return bound

    # Arrays

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        """Return an array that gives the kernel access to `data`; see `Array`."""
        return Array(data, memory, self.fault, written)

    def fill(self, data: np.ndarray[Any, Any], space: str) -> None:
        """Fill new memory with the poison that marks unwritten memory."""
        poison(data, space)

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        """Treat the accesses in a `with` block as `access` describes.

        This does nothing in this class, which records no accesses.
        """
        return _NOTHING

    # What a trace needs

    def notes(self) -> dict[str, Any]:
        """Return, by name, the functions and counters for a kernel's notes."""
        return {}

    def calling(self, block: Block) -> Bound:
        """Return the kernel as it runs in `block`."""
        return self.bound

    def lists(self, block: Block, which: Any) -> Iterable[Any]:
        """Return, for each thread of `block`, the function that appends to its list.

        which: the list's number, or NOTES for a tuple of the functions for all lists.
        """
        raise NotImplementedError

    def given_to(
        self, block: Block, bound: Bound, args: tuple[Any, ...]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of the kernel in each thread of `block`."""
        names = self._fn.__code__.co_varnames
        arguments = dict(zip(names, args, strict=False))
        kept = {SHARED: block.kept, CELL: numbers.CELL}
        columns: list[Iterable[Any]] = []
        for given in bound.given:
            if given.part in kept:
                columns.append(repeat(kept[given.part]))
            elif given.of is None:
                columns.append(self.lists(block, given.part))
            elif given.of:
                columns.append(repeat(part_of(arguments[given.of], given.part)))
            else:
                columns.append(self.positions.column(block.index, given.part))
        columns += map(repeat, args)
        return zip(*columns, strict=False) if columns else repeat(())

    def started(self, thread: Thread) -> None:
        """Record that `thread` begins or continues now."""

    def met(self, threads: list[Thread], scope: str) -> None:
        """Record that `threads` have synchronised.

        scope: 'warp', 'block', 'cluster' or 'grid'.
        """

    def excused(self, threads: list[Thread]) -> None:
        """Record that lanes have met although other lanes of their mask had ended."""

    def fenced(self, wide: bool) -> None:
        """Record the current thread's fence, for its block or (`wide`) all blocks."""

    def released(self) -> Any:
        """Return the knowledge that the current thread's arrival passes on, or None."""

    def arrival(self, thread: Thread) -> Any:
        """Return the knowledge that `thread` passes on to its cluster, or None."""

    def told(self, arrivals: list[Any], threads: list[Thread]) -> Any:
        """Order `threads` after `arrivals`; return the knowledge passed on, or None."""

    def acquired(self, known: Any) -> None:
        """Add `known`, released by other threads, to what the current one knows."""

    def past(self, bar: str, phase: int) -> None:
        """Record that the current thread has waited at the mbarrier `bar`.

        phase: how many phases of the mbarrier are complete.
        """

    def copying(self, bar: str, phase: int, announced: bool) -> Any:
        """Record that the copy just begun will signal `bar`.

        phase: how many phases of `bar` are complete. announced: whether the current
        phase waits for bytes. Returns a note to pass to `copied`.
        """

    def copied(self, note: Any) -> None:
        """Record that the copy identified by `note` has arrived."""

    def elsewhere(self, block: Block) -> AbstractContextManager[Any]:
        """Treat shared memory in a `with` statement as that of `block`."""
        return _NOTHING

    def name_of(self, site: tuple[CodeType, int], otherwise: str) -> str:
        """Return the name to which the result of the call at `site` is assigned.

        Returns `otherwise` if there is no such name.
        """
        if site not in self._names:
            code, lasti = site
            text = place(code, lasti, self.lines.get(code, {})).text
            target, equals, _ = text.partition("=")
            plain = target.split(":")[0].strip()
            named = equals and plain.isidentifier()
            self._names[site] = plain if named else otherwise
        return self._names[site]

    def instruction(self, site: tuple[CodeType, int]) -> tuple[CodeType, int]:
        """Return the instruction that `site` belongs to.

        During a call, `f_lasti` may point past the instruction, to its inline cache,
        depending on how often the instruction has run before.
        """
        code, lasti = site
        # unique, because a code object is larger than its bytecode
        key = id(code) + lasti
        if key not in self._starts:
            offsets = instructions(code)
            self._starts[key] = code, offsets[bisect.bisect(offsets, lasti) - 1]
        return self._starts[key]

    def declaration(self, site: tuple[CodeType, int]) -> tuple[CodeType, int]:
        """Return the site that corresponds to `site` in its function's first form.

        Forms that are one function to Numba share their arrays; see `Bound`. Returns
        `site` itself if the first form has no such place.
        """
        if site not in self._declared:
            code, lasti = site
            first = self._first_forms.get(code, code)
            at = list(code.co_positions())[lasti // 2]
            there = [2 * k for k, p in enumerate(first.co_positions()) if p == at]
            known = None not in at and there
            self._declared[site] = (first, there[0]) if known else site
        return self._declared[site]

    # Running

    def execute(self, args: tuple[Any, ...]) -> None:
        """Run all blocks, one after another. Raises `Fault` if the launch fails."""
        collecting = gc.isenabled()
        gc.disable()  # what threads hold is freed without it, and a collection is slow
        try:
            with np.errstate(all="ignore"):  # a GPU raises nothing
                self._execute(args)
        finally:
            if collecting:
                gc.enable()
            for thread in (t for b in self._alive for t in b.live if t.generator):
                thread.generator.close()
            effort.done.update(self.effort())

    def effort(self) -> dict[str, int]:
        """Return the work of the launch so far; see `weft.effort`."""
        return {
            "launches": 1,
            "threads": self._threads,
            "turns": self._turns,
            "iterations": self._iterations,
        }

    def _execute(self, args: tuple[Any, ...]) -> None:
        """Start the blocks, and resume those that wait."""
        gx, gy, gz = self.grid
        blocks = gx * gy * gz
        meetings = Meetings(self.where, self.met, self.excused)
        places = seats(self.block)
        for done in range(blocks):
            number = blocks - 1 - done if self.backwards else done
            at = Dim3(number % gx, number // gx % gy, number // (gx * gy))
            block = Block(at, number, places, self.dynamic_shared)
            self.fill(block.dynamic, "shared")
            self.progress.ended(0)  # one more block is progress
            self._alive.append(block)
            self._threads += len(block.threads)
            if self.cluster > 1:
                self.cuda.intrinsics.hopper.clusters.begun(block)
            self._begin(block, args)
            if (done + 1) % self.cluster == 0:  # a cluster's blocks begin together
                self._advance(meetings, more=done + 1 < blocks)
        while self._alive:
            self._resume(meetings.whole_grid(self._alive, blocks * len(places)))
            self._advance(meetings, more=False)

    def _begin(self, block: Block, args: tuple[Any, ...]) -> None:
        """Run the threads of a new block until they wait or end."""
        bound, threads = self.calling(block), block.threads
        call, tells = bound.call, self._tells
        each = zip(threads, self.given_to(block, bound, args), strict=False)
        if self._waits:
            for thread, given in each:
                thread.generator = call(*given)
            self._resume(threads)
            return
        self._turns += len(threads)
        for thread, given in each:
            self.current = thread
            if tells:
                self.started(thread)
            try:
                result = call(*given)
            except BaseException as error:
                raise self._stopped(error) from None
            thread.over = True
            if thread.looped or result is not None or self.cuda.intrinsics.works_beside:
                self._ended(thread, result)
        self._ends = True
        self.progress.ended(0)

    def _resume(self, threads: list[Thread]) -> None:
        """Run `threads`, passing each its reply, until they wait or end."""
        tells = self._tells
        self._turns += len(threads)
        for thread in threads:
            self.current = thread
            if tells:
                self.started(thread)
            reply, thread.reply, thread.waiting = thread.reply, None, None
            try:
                told = thread.generator.send(reply)
            except StopIteration as end:
                self._ended(thread, end.value)
            except BaseException as error:
                raise self._stopped(error) from None
            else:
                if told is not None:
                    thread.waiting = told
                if type(thread.waiting) is tuple:
                    self._hold(thread)

    def _hold(self, thread: Thread) -> None:
        """Raise `Fault` if a warp operation's mask does not name the calling lane."""
        exchange, mask, _ = thread.waiting
        if not mask >> thread.lane & 1:
            raise self.where.fault(
                "warp",
                f"lane {thread.lane} calls {exchange.name} with the mask "
                f"0x{mask:08x}, which does not name lane {thread.lane}",
                "A lane that calls a warp operation must be part of its mask.",
                self.where.places(thread.frames),
                thread,
            )

    def _ended(self, thread: Thread, result: Any) -> None:
        """Record that `thread` has ended. Raises `Fault` if it returned a `result`."""
        thread.over, thread.generator = True, None
        self._ends = True
        self._iterations += thread.steps + thread.looped
        self.progress.ended(thread.looped)
        if self.cuda.intrinsics.works_beside:
            self.cuda.intrinsics.hopper.ended(thread)
        if result is not None:
            raise returned(self.where, self._code, result, thread)

    def _stopped(self, error: BaseException) -> BaseException:
        """Return the exception to raise for `error`, raised in the current thread."""
        if isinstance(error, Fault):
            return error
        if isinstance(error, Exception) or deliberate(error):
            return raised(self.where, error, self.current)
        return error

    def _advance(self, meetings: Meetings, more: bool) -> None:
        """Run the blocks that are alive until all of their threads wait or end.

        more: whether some blocks have not begun yet. If so, threads that spin or wait
        for the whole grid are left waiting for these blocks.
        """
        spins, progress = 0, self.progress
        while True:
            if self._ends:
                self._ends = False
                self._alive = [block for block in self._alive if block.runs()]
            alive, clusters = self._alive, self.cuda.intrinsics.hopper.clusters
            ready = clusters.settle() if clusters.meets else []
            if not ready:
                ready = [t for b in alive for t in meetings.ready(b)]
                if clusters.meets:
                    ready += meetings.clusters(alive, self.cluster)
            how = "finishes" if ready else "gets any further"
            if ready:
                progress.moved()
            elif self.cuda.intrinsics.hopper.deliver():
                continue
            else:
                ready = [t for b in alive for t in b.live if t.waiting is PAUSE]
                spins += 1
                if not ready or (more and spins > 8):
                    if (fault := deadlock(self.where, alive, clusters)) is not None:
                        raise fault
                    return
                ready = progress.chosen(ready)
            if progress.doubtful:
                state = state_of(alive, self.given, self.where)
                if progress.repeats(state):
                    if more:  # perhaps a later block changes something
                        self._resume(ready)
                        return
                    self._condemn(ready[0], how)
            self._resume(ready)

    def _condemn(self, thread: Thread, how: str) -> None:
        """Make the first thread that repeats itself fail at its loop's next iteration.

        Raises `Fault` if that iteration has still not begun many calls later.
        """
        if self._condemned is None:
            self._condemned = thread, in_vain(thread, how)
            thread.steps |= TURN - 1
            return
        self._spared += 1  # its loop has not begun again
        if self._spared > MOST_SPARED:
            thread, message = self._condemned
            places = self.where.places(thread.frames)
            raise self.where.fault("endless-loop", message, ENDLESS, places, thread)

    # Waiting: these set what the thread waits for, and return; see `Launched`

    def barrier(self, name: str, frame: FrameType, value: bool = False) -> None:
        """Wait for all threads of the block, cluster or grid, depending on `name`."""
        site = self.instruction((frame.f_code, frame.f_lasti))
        self.current.waiting = Barrier(name, value, site, self._path(frame.f_back))

    def _path(self, frame: FrameType | None) -> tuple[tuple[CodeType, int], ...]:
        """Return the calls that led to a device function's barrier, innermost first."""
        path = []
        while frame is not None and frame.f_code is not _RESUMES:
            if frame.f_code in self.lines:
                path.append(self.instruction((frame.f_code, frame.f_lasti)))
            frame = frame.f_back
        return tuple(path)

    def phase(self, wait: PhaseWait) -> None:
        """Make the current thread wait until a phase of an mbarrier is complete."""
        self.current.waiting = wait

    def gather(self, wait: GroupWait | ClusterWait) -> None:
        """Make the current thread wait for others of its block or cluster."""
        self.current.waiting = wait

    def stored(self, part: np.ndarray[Any, Any]) -> None:
        """Mark `part` as written by an operation that runs alongside the threads."""
        for data, marks in self.watched:
            if part.size and np.may_share_memory(data, part):
                mark(data, marks, part)

    def pause(self) -> None:
        """Let the other threads run."""
        self.current.waiting = PAUSE

    def polled(self, where: Any, found: bytes) -> bool:
        """Pause the current thread if it finds the same value in the same place again.

        Once this has gone on for a long time, the thread keeps running instead. Returns
        whether the thread is paused.
        """
        again = self.current.polled == (where, found)
        self.current.polled = where, found
        waits = again and self.progress.polled()
        if waits:
            self.pause()
        return waits

    def try_later(self) -> bool:
        """Pause the current thread before its first compare-and-swap or exchange.

        Returns whether it is paused. The value that the thread expects to find, or
        stores, was read before, and other threads run during the pause. So a kernel
        that does not try again if one of them intervenes loses an update, as on a GPU.
        """
        first = not self.current.swapped
        if first:
            self.current.swapped = True
            self.pause()
        return first

    def _follow(self, result: Any) -> Waiting:
        """Return a generator that completes a call to an unknown function.

        result: what the call returned. It is a generator if the function itself waits.
        Otherwise, the function may have set what the thread waits for.
        """
        return result if type(result) is GeneratorType else self._replied(result)

    def _replied(self, result: Any) -> Waiting:
        return result if self.current.waiting is None else (yield)

    def _step(self) -> Any:
        """Count an iteration; return a false value if it ends the thread's turn."""
        thread = self.current
        thread.steps += 1
        return thread.steps % TURN or self._goes_on(thread)

    def _goes_on(self, thread: Thread) -> bool:
        """End a thread's turn, unless the thread runs ahead; return whether it goes on.

        Raises `Fault` if the thread should not go on at all.
        """
        message = self.progress.turned(thread)
        if self._condemned is not None and thread is self._condemned[0]:
            message = self._condemned[1]
        if message:
            self._endless(message, ENDLESS)
        if self.progress.ahead(thread):
            return True
        thread.waiting, thread.reply = PAUSE, True
        return False

    def _loop(self, items: Any, each: int = 1) -> Any:
        """Return the iterable of a loop, and count the loop's iterations.

        each: the amount to count per iteration. Iterations over an array are not
        counted.
        """
        kind = type(items)
        if kind is range or kind is tuple:
            try:
                count = len(items)
            except OverflowError:  # more than an int64 can hold
                count = LONGEST_LOOP + 1
            if count <= CHUNK:
                thread = self.current
                count = thread.looped = thread.looped + count * each
                if count > LONGEST_LOOP:
                    self._too_long(LONGEST_LOOP)
                return items
            if count <= LONGEST_LOOP:
                return self._counted(items, LONGEST_LOOP, each)
        elif isinstance(items, Array):
            return items
        return self._counted(items, LONGEST_UNKNOWN, each)

    def _counted(self, items: Any, most: int, each: int) -> Iterator[Any]:
        """Yield `items`, counting each as `each` iterations.

        Raises `Fault` if the current thread's loops, or the launch's, run too long.
        """
        thread, count = self.current, 0
        try:
            for item in items:
                count += 1
                if count == CHUNK:
                    count = 0
                    thread.looped += CHUNK * each
                    self._too_long(most)
                yield item
        finally:
            thread.looped += count * each

    def _rounds_of(self) -> dict[int, int]:
        """Return the current thread's iteration counts for the loops with a barrier.

        See `loops`.
        """
        thread = self.current
        if thread.rounds is NO_ROUNDS:
            thread.rounds = defaultdict(int)
        return thread.rounds

    def _too_long(self, most: int) -> None:
        """Raise `Fault` if the current thread's loops, or the launch's, run too long.

        most: how many iterations the thread's `for` loops may add up to.
        """
        message = self.progress.too_long(self.current, most)
        if message:
            self._endless(message, "That is more than the simulator waits for.")

    def _endless(self, message: str, why: str) -> NoReturn:
        """Raise `Fault` for an endless loop, or for a check that does too much work."""
        headline = ""
        if self.progress.exhausted:
            headline, why = TOO_MUCH
        places = self.where.places(upwards(sys._getframe(1)))
        fault = self.where.fault("endless-loop", message, why, places, self.current)
        raise replace(fault, headline=headline)

    # Faults

    def fault(self, kind: str, message: str, why: str = "") -> NoReturn:
        """Raise a `Fault` at the current thread's line.

        If that line is in a device function, the fault includes the calls to it.
        """
        places = self.where.places(upwards(sys._getframe(1)))
        raise self.where.fault(kind, message, why, places, self.current)

    def _refuse(self, message: str, why: str) -> NoReturn:
        self.fault("type", message, why)


_RESUMES = Run._resume.__code__
