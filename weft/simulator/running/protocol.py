"""The interface that a launch offers to the parts of the simulated `cuda`."""

from collections.abc import Generator
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any, NoReturn, Protocol

import numpy as np

from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.running.beside import Beside
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Block, Thread

Waiting = Generator[Any, Any, Any]  # its return value is the result of a call
Site = tuple[CodeType, int]  # an instruction: code, offset in bytes


class Launched(Protocol):
    """A launch, seen from inside; the scheduler's `Run` implements it.

    Methods that make the current thread wait only set what it waits for. The thread
    itself then yields, and is sent the reply. A thread's knowledge, which only a traced
    launch keeps, is what it can know of the others' accesses: see `trace.clocks`.
    """

    current: Thread
    cluster: int  # the number of blocks in a cluster
    dynamic_shared: int
    most_shared: int
    beside: Beside
    lines: dict[CodeType, dict[int, str]]
    where: Any  # `Positions`

    def fault(self, kind: str, message: str, why: str = "") -> NoReturn:
        """Raise a `Fault` at the current thread's line."""

    def instruction(self, site: Site) -> Site:
        """Return the instruction to which `site` belongs."""

    def declaration(self, site: Site) -> Site:
        """Return the site that corresponds to `site` in its function's first form.

        Forms of a function that are one function to Numba share their arrays.
        """

    def name_of(self, site: Site, otherwise: str) -> str:
        """Return the name that gets the result of the call at `site`, or `otherwise`.

        `otherwise` is returned if the result is not assigned to a single name.
        """

    def array(self, data: np.ndarray[Any, Any], memory: Memory) -> Array:
        """Return an array that gives the kernel access to `data`."""

    def fill(self, data: np.ndarray[Any, Any], space: str) -> None:
        """Fill new memory with the poison that marks unwritten memory."""

    def barrier(self, name: str, frame: FrameType, value: bool = False) -> None:
        """Wait for all threads of the block, cluster or grid, depending on `name`."""

    def pause(self) -> None:
        """Wait until the other threads have run."""

    def polled(self, where: Any, found: bytes) -> bool:
        """Pause the thread if it re-reads the same value; return whether it pauses."""

    def try_later(self) -> bool:
        """Pause the current thread before its first compare-and-swap or exchange.

        Returns whether the thread waits.
        """

    def fenced(self, wide: bool) -> None:
        """Record the current thread's fence, for all blocks if `wide`, else its own."""

    def phase(self, wait: Any) -> None:
        """Wait until the mbarrier phase of `wait`, a `PhaseWait`, is complete."""

    def gather(self, wait: Any) -> None:
        """Wait until `wait`, a `GroupWait` or a `ClusterWait`, is done."""

    def stored(self, part: np.ndarray[Any, Any]) -> None:
        """Record that the TMA, not a thread, has stored to `part` of global memory."""

    def released(self) -> Any:
        """Return the knowledge that the current thread's arrival passes on, or None."""

    def arrival(self, thread: Thread) -> Any:
        """Return the knowledge that `thread` passes on to its cluster, or None."""

    def told(self, arrivals: list[Any], threads: list[Thread]) -> Any:
        """Order `threads` after `arrivals`; return the knowledge passed on, or None."""

    def acquired(self, known: Any) -> None:
        """Add `known`, released by other threads, to what the current thread knows."""

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
        """In a `with` block, treat shared memory as that of `block`."""

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        """Treat the accesses in a `with` block as `access` describes."""


def site_of(run: Launched, frame: FrameType) -> Site:
    """Return the instruction that `frame` is executing."""
    return run.instruction((frame.f_code, frame.f_lasti))


def kernel_site(run: Launched, frame: FrameType | None) -> Site:
    """Return the instruction that the learner's innermost function is executing.

    frame: the innermost frame to consider.
    """
    while frame is not None and frame.f_code not in run.lines:
        frame = frame.f_back
    assert frame is not None, "only the learner's code calls intrinsics"
    return site_of(run, frame)
