"""A model of a GPU with streams: which operations the host requested, and when.

Operations are executed at once, in the order in which the host requests them. That
order is one of many: operations are ordered only by being in one stream, by events, and
by the host's waits. The machine records these constraints in vector clocks (Lamport
1978; Mattern 1989). It can therefore find conflicting accesses to the same memory that
nothing orders, whatever order they ran in. Times are those of a machine with one engine
for each direction of the bus and one for kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from weft.places import Place
from weft.simulator.memory.arrays import poison

Kind = Literal["copy in", "kernel", "copy out", "host"]
Memory = Literal["device", "pinned", "mapped"]
Clock = dict[str, int]  # worker → how many of its operations are known to be done

HOST = "the host"
DEFAULT = "the default stream"
# on the bus; a kernel takes this long for two bytes that it touches
MS_PER_BYTE = 1 / 64
ASKING = 0.01  # ms of host time per request
LOOKING = 0.001  # ms of host time per look at its clock
PINNING = 16  # the time to pin memory, in multiples of the time to copy it


@dataclass(eq=False)
class Buffer:
    """Memory accessible to copies and kernels: device memory or pinned host memory."""

    name: str
    memory: Memory
    data: np.ndarray[Any, Any]
    blank: bool = False  # whether it was allocated unwritten

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        low, high = np.lib.array_utils.byte_bounds(self.data)
        start, stop = np.lib.array_utils.byte_bounds(array)
        return low <= start and stop <= high


@dataclass(frozen=True)
class Region:
    """A range of a buffer's bytes, from `start` up to but excluding `stop`."""

    buffer: Buffer
    start: int
    stop: int

    def meets(self, other: "Region") -> bool:
        return (
            self.buffer is other.buffer
            and self.start < other.stop
            and other.start < self.stop
        )

    def __str__(self) -> str:
        size = self.buffer.data.itemsize
        low, high = self.start // size, -(-self.stop // size)
        if low == 0 and high == self.buffer.data.size:
            return self.buffer.name
        return f"{self.buffer.name}[{low}:{high}]"


@dataclass(eq=False)
class Worker:
    """The host or a stream, which executes its operations one after another."""

    name: str
    clock: Clock = field(default_factory=dict)
    end: float = 0.0  # ms: when everything requested of it is done
    count: int = 0

    def learns(self, clock: Clock) -> None:
        self.clock = joined(self.clock, clock)


@dataclass(frozen=True)
class Mark:
    """A point in a stream: its time in ms, and which operations are done by then."""

    clock: Clock
    end: float


@dataclass(eq=False)
class Operation:
    """A copy, a kernel, or an access by the host."""

    kind: Kind
    what: str
    worker: str
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    place: Place
    clock: Clock
    count: int
    start: float
    end: float
    pageable: bool = False

    def sees(self, other: "Operation") -> bool:
        """Return whether `other` is guaranteed to happen before this operation."""
        return self.clock.get(other.worker, 0) >= other.count


@dataclass(frozen=True)
class Conflict:
    """Two unordered operations on the same memory, at least one of which writes.

    held, region: the regions that the first and the later operation access.
    first_writes, later_writes: whether each of them writes.
    """

    first: Operation
    later: Operation
    held: Region
    region: Region
    first_writes: bool
    later_writes: bool


@dataclass(frozen=True)
class Wait:
    """A wait by the host: for what, on which line, and after how many operations."""

    what: str
    place: Place
    after: int


class CudaAPIError(RuntimeError):
    """A stand-in for the error that Numba raises if the driver refuses a call."""


class Machine:
    """A GPU and its host in the model, with all operations requested so far.

    where: returns the running line of the learner's code.
    """

    def __init__(self, where: Callable[[], Place]) -> None:
        self.where = where
        self.host = Worker(HOST)
        self.default = Worker(DEFAULT)
        self.streams = [self.default]
        self.buffers: list[Buffer] = []
        self.operations: list[Operation] = []
        self.conflicts: list[Conflict] = []
        self.waits: list[Wait] = []
        # the line of each launch, and its threads per block
        self.launches: list[tuple[Place, int]] = []
        self.implicit: list[tuple[str, Place]] = []  # host arrays passed to kernels
        self.strays: list[tuple[Place, str]] = []  # events in the default stream
        self.pins: list[Place] = []  # where pinned memory was allocated
        self.blanks: list[tuple[Operation, Region]] = []  # read, but never written
        self.waited = 0  # how many times the host has waited, for anything
        self._busy: dict[str, list[tuple[float, float]]] = {}

    @property
    def now(self) -> float:
        """The host's time in ms."""
        return self.host.end

    # Memory

    def buffer(self, name: str, memory: Memory, data: np.ndarray[Any, Any]) -> Buffer:
        made = Buffer(name, memory, data)
        self.buffers.append(made)
        return made

    def empty(self, name: str, memory: Memory, shape: Any, dtype: Any) -> Buffer:
        """Allocate memory and fill it with poison, which marks it as unwritten."""
        data = np.empty(shape, dtype)
        poison(data, "global")
        made = self.buffer(name, memory, data)
        made.blank = True
        return made

    def region(self, array: np.ndarray[Any, Any]) -> Region | None:
        """Return an array's region, or None if it is empty or in untracked memory."""
        for buffer in self.buffers:
            if array.size and buffer.holds(array):
                base = np.lib.array_utils.byte_bounds(buffer.data)[0]
                start, stop = np.lib.array_utils.byte_bounds(array)
                return Region(buffer, start - base, stop - base)
        return None

    # Work

    def stream(self) -> Worker:
        made = Worker(f"stream {len(self.streams) - 1}")
        self.streams.append(made)
        return made

    def enqueue(
        self,
        stream: Worker,
        kind: Kind,
        what: str,
        ms: float,
        reads: tuple[Region, ...] = (),
        writes: tuple[Region, ...] = (),
        pageable: bool = False,
    ) -> Operation:
        """Queue work in a stream; return it as an operation.

        The default stream waits for all others, and they wait for it: Numba's streams
        are blocking ones (CUDA Programming Guide, "Default Stream").
        """
        self.host.end += ASKING
        stream.learns(self.host.clock)
        ready = max(self.now, self.mark(stream).end)
        start = self._slot(kind, ready, ms)
        stream.end = start + ms
        return self._note(
            kind, what, stream, reads, writes, start, stream.end, pageable
        )

    def mark(self, stream: Worker) -> Mark:
        """Return a mark after all work queued in a stream so far.

        Any stream first waits for the default stream, which itself waits for all
        others.
        """
        before = self.streams if stream is self.default else [stream, self.default]
        for other in before:
            stream.learns(other.clock)
            stream.end = max(stream.end, other.end)
        return Mark(stream.clock, stream.end)

    def hold(self, stream: Worker, mark: Mark) -> None:
        """Make a stream wait until the work before a mark is done."""
        stream.learns(mark.clock)
        stream.end = max(stream.end, mark.end)

    def touch(self, region: Region | None, writes: bool, what: str = "") -> None:
        """Record that the host itself reads or writes `region`, unless it is None.

        A write takes as long as it would take to copy the region over the bus.
        """
        if region is None:
            return
        start = self.now
        if writes:
            self.host.end += (region.stop - region.start) * MS_PER_BYTE
        regions = (region,)
        self._note(
            "host",
            what or ("writes" if writes else "reads"),
            self.host,
            () if writes else regions,
            regions if writes else (),
            start,
            self.now,
        )

    def wait(self, stream: Worker, quietly: bool = False) -> None:
        """Make the host wait until a stream is done.

        quietly: whether not to record the wait.
        """
        what = "" if quietly else stream.name
        self.wait_until(Mark(stream.clock, stream.end), what)

    def wait_for_all(self) -> None:
        for stream in self.streams:
            self.wait(stream, quietly=True)
        self.waits.append(Wait("everything", self.where(), len(self.operations)))

    def wait_until(self, mark: Mark, what: str = "") -> None:
        self.waited += 1
        self.host.learns(mark.clock)
        self.host.end = max(self.now, mark.end)
        if what:
            self.waits.append(Wait(what, self.where(), len(self.operations)))

    @property
    def end(self) -> float:
        """The time at which everything is done, in ms."""
        return max(self.now, *(s.end for s in self.streams))

    @property
    def one_by_one(self) -> float:
        """The time that all operations would take if none overlapped, in ms."""
        return sum(o.end - o.start for o in self.operations)

    def _note(
        self,
        kind: Kind,
        what: str,
        worker: Worker,
        reads: tuple[Region, ...],
        writes: tuple[Region, ...],
        start: float,
        end: float,
        pageable: bool = False,
    ) -> Operation:
        """Record an operation, and its conflicts with earlier ones; return it."""
        worker.count += 1
        worker.learns({worker.name: worker.count})
        place = self.where()
        clock, count = worker.clock, worker.count
        made = Operation(
            kind, what, worker.name, reads, writes, place, clock, count, start, end
        )
        made.pageable = pageable
        self.blanks += [
            (made, region)
            for region in reads
            if region.buffer.blank and not self._written(region)
        ]
        for other in self.operations:
            if not made.sees(other):
                self._compare(other, made)
        self.operations.append(made)
        return made

    def _written(self, region: Region) -> bool:
        return any(region.meets(w) for o in self.operations for w in o.writes)

    def _compare(self, first: Operation, later: Operation) -> None:
        pairs = (
            (first.writes, later.reads, True, False),
            (first.writes, later.writes, True, True),
            (first.reads, later.writes, False, True),
        )
        for mine, theirs, first_writes, later_writes in pairs:
            for a in mine:
                for b in theirs:
                    if a.meets(b):
                        self.conflicts.append(
                            Conflict(first, later, a, b, first_writes, later_writes)
                        )

    def _slot(self, kind: Kind, ready: float, ms: float) -> float:
        """Reserve an engine for `ms`, not before `ready`; return the start time."""
        busy = self._busy.setdefault(kind, [])
        start = ready
        for begun, done in busy:
            if start + ms <= begun:
                break
            start = max(start, done)
        busy.append((start, start + ms))
        busy.sort()
        return start


def joined(a: Clock, b: Clock) -> Clock:
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()}
