"""The interface of a launch that the parts of the simulated `cuda` use."""

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

    Methods that make the current thread wait return at once. The thread then has to
    yield, and gets the reply.
    """

    current: Thread
    cluster: int  # the number of blocks in one
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
        """Return the one site of a shared array in all forms of a device function."""

    def name_of(self, site: Site, otherwise: str) -> str:
        """Return the variable assigned from the call at `site`, or `otherwise`."""

    def array(self, data: np.ndarray[Any, Any], memory: Memory) -> Array:
        """Return `data` as an array of the kernel."""

    def fill(self, data: np.ndarray[Any, Any], space: str) -> None:
        """Fill new memory with the poison of unwritten memory."""

    def barrier(self, name: str, frame: FrameType, value: bool = False) -> None:
        """Wait until the whole block (or, for 'grid', the launch) is here."""

    def pause(self) -> None:
        """Wait until the other threads have run."""

    def polled(self, where: Any, found: bytes) -> bool:
        """Return whether the thread has to wait because the value is unchanged."""

    def try_later(self) -> bool:
        """Return whether the thread has to wait before its first swap or exchange."""

    def fenced(self, wide: bool) -> None:
        """Record a fence of the current thread for its block or, if `wide`, for all."""

    def phase(self, wait: Any) -> None:
        """Wait until the phase of an mbarrier in `wait`, a `PhaseWait`, is complete."""

    def gather(self, wait: Any) -> None:
        """Wait until `wait`, a `GroupWait` or a `ClusterWait`, is done."""

    def stored(self, part: np.ndarray[Any, Any]) -> None:
        """Record a store to `part`, in global memory, that no thread has made."""

    def released(self) -> Any:
        """Return what the current thread passes on with an arrival, or None."""

    def arrival(self, thread: Thread) -> Any:
        """Return what `thread` passes on at the barrier of its cluster, or None."""

    def told(self, arrivals: list[Any], threads: list[Thread]) -> Any:
        """Order `threads` after what `arrivals` pass on; return that, or None."""

    def acquired(self, known: Any) -> None:
        """Order the current thread after `known`, which others have `released`."""

    def past(self, bar: str, phase: int) -> None:
        """Record that the current thread has passed a wait, after `phase` phases."""

    def copying(self, bar: str, phase: int, announced: bool) -> Any:
        """Record that the copy just begun signals `bar`, and return a note.

        phase: the number of completed phases. announced: whether the phase waits for
        bytes.
        """

    def copied(self, note: Any) -> None:
        """Record that the copy identified by `note` has arrived."""

    def elsewhere(self, block: Block) -> AbstractContextManager[Any]:
        """Treat shared memory in a `with` block as another block's in the cluster."""

    def specially(self, access: Special) -> AbstractContextManager[Any]:
        """Mark accesses in a `with` block as other than plain loads and stores."""


def site_of(run: Launched, frame: FrameType) -> Site:
    """Return the instruction that `frame` is executing."""
    return run.instruction((frame.f_code, frame.f_lasti))


def kernel_site(run: Launched, frame: FrameType | None) -> Site:
    """Return the instruction that the learner's code executes, from `frame` upwards."""
    while frame is not None and frame.f_code not in run.lines:
        frame = frame.f_back
    assert frame is not None, "only the learner's code calls intrinsics"
    return site_of(run, frame)
