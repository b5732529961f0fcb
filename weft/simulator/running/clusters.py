"""Clusters of blocks in a simulated launch: their barriers and their shared memory.

PTX ISA, "Cluster of Cooperative Thread Arrays": without clusters, each block is a
cluster of one. "barrier.cluster": a wait is for all threads of the cluster that have
not yet ended, and lets a thread see what they did before they arrived, unless the
arrival was relaxed. With `.aligned`, the threads of a warp execute it as one. "mapa":
an address in shared memory is mapped to the same place in another block. CUDA C++
Programming Guide, "Distributed Shared Memory": all blocks of a cluster must have
started before one accesses the memory of another, and a block must not end before
others are done with its memory.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from weft.intrinsics.memory import is_shared
from weft.simulator.memory.addresses import pointer
from weft.simulator.memory.arrays import Array, refused
from weft.simulator.running.phases import Mbarrier, Phases
from weft.simulator.running.protocol import Launched, Site, kernel_site
from weft.simulator.running.threads import Barrier, Block, Thread


@dataclass(frozen=True)
class Elsewhere:
    """A place in a block's shared memory: an offset in bytes into one of its arrays."""

    block: Block
    array: Array
    offset: int

    @property
    def address(self) -> int:
        """The address of this place on the host."""
        return pointer(self.array._data) + self.offset

    def bytes(self, size: int) -> Any:
        """Return the `size` bytes that begin at this place."""
        held = self.array._data.reshape(-1).view(np.uint8)
        return held[self.offset : self.offset + size]


@dataclass(eq=False)
class Meeting:
    """The barrier of a cluster, at which arriving and waiting are separate steps.

    passed: how many times it has been passed. came: the threads that have arrived
    since, each with what its arrival releases, or None. known: what was released when
    it was last passed. sites: where warps arrived or waited, by block, warp, operation
    and turn.
    """

    number: int
    passed: int = 0
    came: dict[Thread, Any] = field(default_factory=dict)
    known: Any = None
    sites: dict[tuple[Block, int, str, int], Site] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ClusterWait:
    """The condition that a thread waits for at the barrier of its cluster."""

    meeting: Meeting
    turn: int
    site: Site

    @property
    def done(self) -> bool:
        return self.meeting.passed > self.turn


class Clusters:
    """The clusters of a launch."""

    def __init__(self, run: Launched, phases: Phases) -> None:
        self._run, self._phases = run, phases
        self._blocks: dict[int, Block] = {}
        self._meetings: dict[int, Meeting] = {}
        # threads that have not waited since they arrived, with the turn then
        self._arrived: dict[Thread, int] = {}
        self.meets = False  # whether a thread has reached the barrier of a cluster

    def begun(self, block: Block) -> None:
        """Record that the threads of `block` have begun."""
        self._blocks[block.number] = block

    @property
    def size(self) -> int:
        return self._run.cluster

    @property
    def rank(self) -> int:
        """The number of the current block in its cluster."""
        return self._run.current.block.number % self.size

    def sync(self) -> Iterator[None]:
        """Wait for all threads of the cluster."""
        self.meets = True
        self._refuse_second("cluster_sync")
        frame = sys._getframe(1)
        while frame.f_code not in self._run.lines and frame.f_back is not None:
            frame = frame.f_back
        self._run.barrier("cluster", frame)
        yield

    def come(self, call: str, relaxed: bool = False) -> None:
        """Arrive at the cluster's barrier. relaxed: whether this releases nothing."""
        self.meets = True
        self._refuse_second(call)
        thread, meeting = self._run.current, self._meeting()
        self._as_one("arrive", call, meeting.passed)
        meeting.came[thread] = None if relaxed else self._run.arrival(thread)
        self._arrived[thread] = meeting.passed

    def wait(self) -> Iterator[None]:
        """Wait until all threads that have not ended have arrived."""
        thread, meeting = self._run.current, self._meeting()
        if thread not in self._arrived:
            self._run.fault(
                "barrier",
                "`cluster_wait` waits at the barrier of the cluster, and this thread "
                "has not arrived there",
                "A thread arrives first, by `cluster_arrive`, and waits once for each "
                "time that it has arrived.",
            )
        turn = self._arrived.pop(thread)
        wait = ClusterWait(meeting, turn, self._as_one("wait", "cluster_wait", turn))
        if not wait.done:
            self._run.gather(wait)
            yield
        self._run.acquired(meeting.known)

    def _refuse_second(self, call: str) -> None:
        """Raise `Fault` if the current thread arrives again without having waited."""
        if self._run.current in self._arrived:
            self._run.fault(
                "barrier",
                f"`{call}` arrives at the barrier of the cluster, where this thread "
                "has arrived already",
                "Between two arrivals of a thread there has to be a wait: "
                "`cluster_wait`.",
            )

    def _meeting(self) -> Meeting:
        """Return the barrier of the current cluster."""
        block = self._run.current.block
        self._blocks[block.number] = block  # without clusters, `begun` is not called
        number = block.number // self.size
        return self._meetings.setdefault(number, Meeting(number))

    def _as_one(self, what: str, call: str, turn: int) -> Site:
        """Return the site of the current thread's call.

        Raises `Fault` if another lane of its warp has made this call at another site.
        """
        thread, sites = self._run.current, self._meeting().sites
        here = kernel_site(self._run, sys._getframe(2))
        if sites.setdefault((thread.block, thread.warp, what, turn), here) != here:
            self._run.fault(
                "barrier",
                f"other lanes of this warp have called `{call}` on another line",
                "The threads of a warp come to the barrier of a cluster as one. Is it "
                "in the two branches of an `if`?",
            )
        return here

    def settle(self) -> list[Thread]:
        """Let each cluster whose threads have all arrived pass its barrier.

        Returns the threads that were waiting in a `cluster_sync`.
        """
        ready: list[Thread] = []
        for meeting in self._meetings.values():
            absent = self.absent(meeting) if meeting.came else None
            if absent is None or not all(_syncs(t) for t in absent):
                continue
            meeting.came |= {t: self._run.arrival(t) for t in absent}
            told = [passed for passed in meeting.came.values() if passed is not None]
            meeting.known = self._run.told(told, absent)
            meeting.came = {}
            before = meeting.passed
            meeting.sites = {k: v for k, v in meeting.sites.items() if k[-1] == before}
            meeting.passed += 1
            ready += absent
        return ready

    def absent(self, meeting: Meeting) -> list[Thread] | None:
        """Return the threads of a cluster that have not arrived at its barrier.

        Returns None if some of the cluster's blocks have not begun.
        """
        first = meeting.number * self.size
        numbers = range(first, first + self.size)
        if not all(number in self._blocks for number in numbers):
            return None
        live = [t for number in numbers for t in self._blocks[number].live]
        return [t for t in live if not t.over and t not in meeting.came]

    def load(self, call: str, x: Any, i: Any, rank: Any) -> Any:
        """Read an element from the shared memory of block `rank`."""
        there, span = self._element(call, "loads", "float32", x, i, rank)
        with self._run.elsewhere(there.block):
            self._run.beside.note(there.array, span)
        return self._held(there, x)[0].item()

    def store(self, call: str, x: Any, i: Any, rank: Any, value: Any) -> None:
        """Write an element to the shared memory of block `rank`."""
        there, span = self._element(call, "stores", "float32", x, i, rank)
        self._held(there, x)[0] = value
        with self._run.elsewhere(there.block):
            self._run.beside.note(there.array, span, write=True)

    def add(self, call: str, dtype: str, x: Any, i: Any, rank: Any, value: Any) -> Any:
        """Add atomically to an element of `x` in block `rank`; return the old value."""
        there, span = self._element(call, "adds", dtype, x, i, rank)
        held = self._held(there, x)
        before = held[0].item()
        held += np.array(value).astype(x.dtype)
        with self._run.elsewhere(there.block):
            self._run.beside.note(there.array, span, atomic=True)
        return before

    def _element(
        self, call: str, verb: str, dtype: str, x: Any, i: Any, rank: Any
    ) -> tuple[Elsewhere, list[tuple[int, int]]]:
        """Return where `x[i]` is in the memory of block `rank`, and its span there.

        The span is a list of one pair: the offset in the array and the size, in bytes.
        """
        there = self.at(call, x, i, int(rank))
        if x.dtype != np.dtype(dtype):
            raise TypeError(f"{call} {verb} {dtype}, and this is an array of {x.dtype}")
        return there, [(there.offset, x.dtype.itemsize)]

    def _held(self, there: Elsewhere, x: Any) -> Any:
        """Return the element at `there`, as an array of one element."""
        return there.bytes(x.dtype.itemsize).view(x.dtype)

    def arrive(self, call: str, bars: Any, i: Any, rank: Any) -> None:
        """Arrive at an mbarrier of block `rank`.

        PTX ISA, "mbarrier.arrive": with `.shared::cluster` the mbarrier may be in the
        shared memory of another block.
        """
        there = self.at(call, bars, i, int(rank))
        self._phases.arrive_at(call, self.bar(call, there, bars, i))

    def bar(self, call: str, there: Elsewhere, bars: Any, i: Any) -> Mbarrier:
        """Return the mbarrier of another block; raise `Fault` if there is none."""
        with self._run.elsewhere(there.block):
            span = [(there.offset, bars.dtype.itemsize)]
            self._run.beside.note(there.array, span, relaxed=True)
        found = self._phases.known(there.block.number, there.address)
        if found is None:
            self._run.fault(
                "mbarrier",
                f"{bars._name}[{int(i)}] of {self._named(there.block)} is used by "
                f"{call} before it is an mbarrier",
                "No thread of that block has called mbarrier_init for it so far. One "
                "thread does, and `cluster_sync` lets the other blocks wait until it "
                "has.",
            )
        return found

    def at(self, call: str, x: Any, i: Any, rank: int) -> Elsewhere:
        """Return where `x[i]` is in the memory of block `rank` of this cluster.

        Raises `Fault` if that block has not made the array yet, or has ended.
        """
        if not is_shared(x):
            raise TypeError(f"`{call}`: a cluster shares shared memory alone")
        if (wrong := refused(x, i, "access")) is not None:
            self._run.fault(*wrong)
        mine, block = self._run.current.block, self._block(call, rank)
        index = i if isinstance(i, tuple) else (i,)
        inside = sum(int(k) * by for k, by in zip(index, x._data.strides, strict=False))
        site, whole = next(
            (site, whole)
            for site, whole in mine.shared.items()
            if 0 <= pointer(x._data) - pointer(whole._data) < whole._data.nbytes
        )
        if site not in block.shared:
            self._not_begun(call, rank, f", which has not made `{x._name}` yet")
        offset = inside + pointer(x._data) - pointer(whole._data)
        return Elsewhere(block, block.shared[site], offset)

    def _not_begun(self, call: str, rank: int, what: str) -> NoReturn:
        """Raise `Fault` for an access to a block that may not have begun."""
        self._run.fault(
            "race",
            f"`{call}` goes to block {rank} of the cluster{what}",
            "Nothing says that the other block has begun. `cluster_sync` waits for all "
            "blocks of a cluster, and has to come before the first access to another's "
            "memory.",
        )

    def _block(self, call: str, rank: int) -> Block:
        """Return a block of the current cluster; raise `Fault` unless it is running."""
        mine = self._run.current.block
        if not 0 <= rank < self.size:
            of = f"a cluster of {self.size}" if self.size > 1 else "no cluster"
            self._run.fault(
                "out-of-bounds",
                f"`{call}` names block {rank} of {of}",
                "The blocks of a cluster are numbered from 0. "
                "`weft.launching.prepare(kernel, cluster)` makes the clusters.",
            )
        block = mine
        if self.size > 1:
            number = mine.number // self.size * self.size + rank
            if number not in self._blocks:
                self._not_begun(call, rank, ", which has not begun yet")
            block = self._blocks[number]
        if all(thread.over for thread in block.live):
            self._run.fault(
                "race",
                f"`{call}` goes to the memory of {self._named(block)}, which has ended",
                "A block that ends gives its shared memory to others. What lets it "
                "wait until the other blocks of the cluster are done with it?",
            )
        return block

    def ranks(self, call: str, mask: int) -> list[int]:
        """Return the blocks in a mask; raise `Fault` if there are none or invalid ones.

        PTX ISA, "cp.async.bulk.tensor": bit k of the mask stands for block k.
        """
        found = [rank for rank in range(16) if mask >> rank & 1]
        if not found or mask >> self.size:
            self._run.fault(
                "out-of-bounds",
                f"`{call}` has the mask {mask:#b}, in a cluster of {self.size}",
                "Bit k of the mask stands for block k of the cluster, and at least one "
                "has to be set.",
            )
        return found

    def _named(self, block: Block) -> str:
        return f"block {block.number % self.size} of the cluster"


def _syncs(thread: Thread) -> bool:
    """Return whether a thread waits in a `cluster_sync`."""
    return isinstance(thread.waiting, Barrier) and thread.waiting.name == "cluster"
