"""Clusters of blocks in a simulated launch: their barrier, and each other's memory.

PTX ISA, "Cluster of Cooperative Thread Arrays": without clusters, each block is one of
its own. "barrier.cluster": a wait is for all threads of the cluster that have not yet
ended, and lets a thread see what they did before. "mapa": the same place in the shared
memory of another block. CUDA C++ Programming Guide, "Distributed Shared Memory": all
blocks of a cluster have to have started before one accesses the memory of another, and
a block must not end before others are done with its memory.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.intrinsics.memory import is_shared
from weft.simulator.memory.addresses import pointer
from weft.simulator.memory.arrays import Array, refused
from weft.simulator.running.phases import Mbarrier, Phases
from weft.simulator.running.protocol import Launched
from weft.simulator.running.threads import Block


@dataclass(frozen=True)
class Elsewhere:
    """A place in the shared memory of a block: so many bytes into an array of it."""

    block: Block
    array: Array
    offset: int

    @property
    def address(self) -> int:
        """The host's address."""
        return pointer(self.array._data) + self.offset

    def bytes(self, size: int) -> Any:
        """Return so many bytes from there on."""
        held = self.array._data.reshape(-1).view(np.uint8)
        return held[self.offset : self.offset + size]


class Clusters:
    """The clusters of a launch."""

    def __init__(self, run: Launched, phases: Phases) -> None:
        self._run, self._phases = run, phases
        self._blocks: dict[int, Block] = {}
        self.meets = False  # whether a thread has come to the barrier of a cluster

    def begun(self, block: Block) -> None:
        """Note that the threads of `block` begin."""
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
        frame = sys._getframe(1)
        while frame.f_code not in self._run.lines and frame.f_back is not None:
            frame = frame.f_back
        self._run.barrier("cluster", frame)
        yield

    def load(self, call: str, x: Any, i: Any, rank: Any) -> Any:
        """Read an element from the shared memory of block `rank`."""
        there = self.at(call, x, i, int(rank))
        if x.dtype != np.float32:
            raise TypeError(f"{call} loads float32, and this is an array of {x.dtype}")
        size = x.dtype.itemsize
        with self._run.elsewhere(there.block):
            self._run.beside.note(there.array, [(there.offset, size)])
        return there.bytes(size).view(x.dtype)[0].item()

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

        Raises `Fault` if that block has not made it yet, or has ended.
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
            self._run.fault(
                "race",
                f"`{call}` goes to {self._named(block)}, which has not made "
                f"`{x._name}` yet",
                "Nothing says that the other block has begun. `cluster_sync` waits for "
                "all blocks of a cluster, and has to come before the first access to "
                "another's memory.",
            )
        offset = inside + pointer(x._data) - pointer(whole._data)
        return Elsewhere(block, block.shared[site], offset)

    def _block(self, call: str, rank: int) -> Block:
        """Return a block of the current cluster; raise `Fault` unless it runs."""
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
            block = self._blocks[mine.number // self.size * self.size + rank]
        if all(thread.over for thread in block.live):
            self._run.fault(
                "race",
                f"`{call}` goes to the memory of {self._named(block)}, which has ended",
                "A block that ends gives its shared memory to others. What lets it "
                "wait until the other blocks of the cluster are done with it?",
            )
        return block

    def ranks(self, call: str, mask: int) -> list[int]:
        """Return the blocks of a mask; raise `Fault` for one that names no block.

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
