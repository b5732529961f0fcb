"""What a launch writes down of operations that go on beside its threads.

The TMA and the tensor cores read and write memory while the thread that asked for it
goes on. Such an operation knows what its thread knew when it began, and no thread knows
of it before a wait says that it is done. A launch that is not traced writes down
nothing: `trace.beside` does.
"""

from collections.abc import Iterable
from typing import Any

from weft.simulator.running.threads import Block, Thread

Spans = Iterable[tuple[int, int]]


class Beside:
    """What goes on beside the threads of a launch."""

    def fork(self, thread: Thread, call: str, again: Any = None) -> Any:
        """`thread` starts an operation with this call: what stands for it.

        again: what may stand for this one as well, if nothing has happened since.
        """

    def touch(
        self, one: Any, x: Any, spans: Spans, write: bool = False, late: bool = False
    ) -> None:
        """It reads (or writes) pieces of `x`: offset and size in bytes.

        late: as long as until now.
        """

    def passed(self, block: Block) -> None:
        """All threads of `block` have met."""

    def join(self, thread: Thread, some: Iterable[Any]) -> None:
        """`thread` has waited until these are done."""

    def note(
        self, x: Any, spans: Spans, write: bool = False, begins: bool = False
    ) -> None:
        """The current thread reads (or writes) pieces of `x`, each as one access.

        begins: a copy to there starts.
        """

    def fence(self) -> None:
        """The current thread has let the TMA and wgmma see what it has stored."""

    def mismatch(self, one: Any, of: str, wanted: int, found: int) -> None:
        """An operand was loaded with another swizzle than its descriptor says."""

    def hold(
        self, thread: Thread, call: str, x: Any, nbytes: int, reads: bool, change: bool
    ) -> Any:
        """Registers of a thread become part of a product.

        reads: it uses what they hold. change: it changes them.
        """

    def committed(self, thread: Thread, held: Iterable[Any]) -> None:
        """The products with these registers are in a group now."""

    def landed(self, thread: Thread, held: Iterable[Any]) -> None:
        """They are done, and `thread` has waited for that."""

    def waited(self, thread: Thread, n: int) -> None:
        """`thread` has waited until all but its last n groups are done."""

    def together(self, warps: list[list[Thread]]) -> None:
        """The lanes of each of these warps have executed an instruction as one."""

    def met(self, threads: list[Thread]) -> None:
        """These have met at a barrier of a part of their block."""
