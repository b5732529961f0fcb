"""The interface for recording operations that run alongside a launch's threads.

The TMA and the tensor cores read and write memory while the thread that issued the
operation goes on. Such an operation is ordered after everything before the call that
issued it, but nothing is ordered after the operation until a thread has waited for it.
In a traced launch, `trace.beside` records such operations; here, nothing is recorded.
"""

from collections.abc import Iterable
from typing import Any

from weft.simulator.running.threads import Block, Thread

Spans = Iterable[tuple[int, int]]


class Beside:
    """The operations that run alongside the threads of a launch."""

    def fork(self, thread: Thread, call: str, again: Any = None) -> Any:
        """Begin the operation that `thread` issues by `call`; return a handle to it.

        again: an earlier handle that can be reused if nothing has happened since.
        """

    def touch(
        self, one: Any, x: Any, spans: Spans, write: bool = False, late: bool = False
    ) -> None:
        """Record that the operation `one` reads (or writes) pieces of `x`.

        spans: the offset and size of each piece in bytes. late: whether the access ends
        now, rather than lasting until a thread waits for the operation.
        """

    def passed(self, block: Block) -> None:
        """Record that all threads of `block` have met."""

    def join(self, thread: Thread, some: Iterable[Any]) -> None:
        """Record that `thread` has waited until the operations `some` are done."""

    def note(
        self,
        x: Any,
        spans: Spans,
        write: bool = False,
        begins: bool = False,
        relaxed: bool = False,
        atomic: bool = False,
    ) -> None:
        """Record that the current thread reads (or writes) pieces of `x`.

        Each piece is one access. begins: whether a copy to that memory starts. relaxed:
        whether the access may happen at the same time as other relaxed ones. atomic:
        whether it reads and writes.
        """

    def ended(self, thread: Thread) -> None:
        """Record that `thread` has ended."""

    def fence(self) -> None:
        """Make the current thread's stores visible to the TMA and wgmma."""

    def mismatch(self, one: Any, of: str, wanted: int, found: int) -> None:
        """Record that an operand's swizzle differs from the one in its descriptor."""

    def hold(
        self, thread: Thread, call: str, x: Any, nbytes: int, reads: bool, change: bool
    ) -> Any:
        """Make a thread's registers part of a product, and return a handle.

        reads: whether the product uses their contents. change: whether it changes them.
        """

    def committed(self, thread: Thread, held: Iterable[Any]) -> None:
        """Record that the products that use the registers `held` are now in a group."""

    def landed(self, thread: Thread, held: Iterable[Any]) -> None:
        """Record that `thread` has waited for products that use registers `held`."""

    def keep(self, thread: Thread, x: Any, nbytes: int) -> None:
        """Record that `thread` holds the first `nbytes` of the registers `x`."""

    def waited(self, thread: Thread, n: int, left: int) -> None:
        """Record that `thread` has waited until at most its last `n` groups remain.

        left: how many remain.
        """

    def together(self, warps: list[list[Thread]]) -> None:
        """Record that the lanes of each warp have executed an instruction as one."""

    def met(self, threads: list[Thread]) -> None:
        """Record that `threads` have met at a barrier for part of their block."""
