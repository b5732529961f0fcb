"""Where in the learner's source the threads of a launch are."""

from collections.abc import Iterable, Iterator
from types import CodeType, FrameType

from weft.places import Place, axes, frame_place, led_to, place
from weft.simulator.faults import Fault
from weft.simulator.limits import Dim
from weft.simulator.running.threads import Thread
from weft.simulator.translation.made import Access, Position


def upwards(frame: FrameType | None) -> Iterator[FrameType]:
    """`frame`, which runs now, and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


class Positions:
    """The places of a launch's threads.

    `kernel` is its name, `lines` are the source lines of every code object in it,
    `accesses` what is accessed at places of it.
    """

    def __init__(
        self,
        kernel: str,
        lines: dict[CodeType, dict[int, str]],
        grid: Dim,
        block: Dim,
    ) -> None:
        self.kernel, self.lines = kernel, lines
        self.accesses: dict[CodeType, dict[Position, Access]] = {}
        self.grid, self.block = grid, block

    def places(self, frames: Iterable[FrameType]) -> list[Place]:
        """Where the learner is in `frames`, and the calls that led there."""
        found = []
        for frame in frames:
            lines = self.lines.get(frame.f_code)
            if lines and not frame.f_code.co_name.startswith("<"):
                found.append(frame_place(frame, lines))
        return led_to(found)

    def site(self, thread: Thread) -> Place:
        """Where `thread` waits."""
        code, lasti = thread.waiting.site
        return place(code, lasti, self.lines.get(code, {}))

    def stop(self, thread: Thread) -> list[Place]:
        """Where `thread` waits, and the calls that led there."""
        return [self.site(thread), *self.places(thread.frames)[1:]]

    def line(self, thread: Thread) -> str:
        """'line 7', or 'line 7 of `block_sum`': where `thread` waits."""
        at = self.site(thread)
        own = at.function == self.kernel
        return f"line {at.line}" + ("" if own else f" of `{at.function}`")

    def fault(
        self, kind: str, message: str, why: str, places: list[Place], thread: Thread
    ) -> Fault:
        """A fault of `thread`, which gets its index and its block's."""
        index = axes(thread.index, self.block)
        return Fault(
            kind, message, why, index, axes(thread.block.index, self.grid), places
        )
