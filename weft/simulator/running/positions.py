"""Locate the threads of a launch in the learner's source."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from types import CodeType, FrameType
from typing import Any

from weft.places import Place, axes, frame_place, led_to, place
from weft.simulator.faults import Fault
from weft.simulator.limits import WARP, Dim, Dim3
from weft.simulator.running.threads import Thread, seats
from weft.simulator.translation.made import Access, Position


def upwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield `frame` and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


class Columns:
    """The indices of a launch's threads, in columns with one value per thread."""

    def __init__(self, grid: Dim3, block: Dim3) -> None:
        self._grid, self._block = grid, block
        self._seats = seats(block)
        self._own: dict[str, list[int]] = {}  # by axis: each thread's `threadIdx`

    def column(self, block: Dim3, what: str) -> Iterable[int]:
        """Return the value of `what`, such as "grid_y", for each thread in a block."""
        name, _, axis = what.partition("_")
        if name == "laneid":
            return [seat[2] for seat in self._seats]
        if name == "warpsize":
            return repeat(WARP)
        three = block, self._block, self._grid
        mine, size, grid = (getattr(each, axis) for each in three)
        if name in ("threadIdx", "grid"):
            if axis not in self._own:
                self._own[axis] = [getattr(seat[0], axis) for seat in self._seats]
            own = self._own[axis]
            return map((mine * size).__add__, own) if name == "grid" else own
        known = {"blockIdx": mine, "blockDim": size, "gridDim": grid}
        return repeat(size * grid if name == "gridsize" else known[name])


class Positions:
    """The source places of a launch's threads.

    `kernel` is the kernel's name, `lines` are the source lines of each code object in
    it, and `accesses` maps places in them to what is accessed there.
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
        """Return the places of `frames` in the learner's source, and mark the calls."""
        found = []
        for frame in frames:
            lines = self.lines.get(frame.f_code)
            if lines and not frame.f_code.co_name.startswith("<"):
                found.append(frame_place(frame, lines))
        return led_to(found)

    def instruction(self, thread: Thread) -> tuple[CodeType, int]:
        """Return the instruction at which `thread` waits."""
        if type(thread.waiting) is not tuple:
            at: tuple[CodeType, int] = thread.waiting.site
            return at
        frame = next(f for f in thread.frames if f.f_code in self.lines)
        return frame.f_code, frame.f_lasti

    def party(self, thread: Thread) -> tuple[Any, ...]:
        """Return a key that must be the same for lanes to meet."""
        exchange, mask, _ = thread.waiting
        whole: bool = exchange.whole
        return exchange.name, mask, self.instruction(thread) if whole else None

    def site(self, thread: Thread) -> Place:
        """Return the place at which `thread` waits."""
        code, lasti = self.instruction(thread)
        return place(code, lasti, self.lines.get(code, {}))

    def stop(self, thread: Thread) -> list[Place]:
        """Return the place at which `thread` waits, and the calls that led there."""
        return [self.site(thread), *self.places(thread.frames)[1:]]

    def line(self, thread: Thread) -> str:
        """Return where `thread` waits, as 'line 7' or 'line 7 of `block_sum`'."""
        at = self.site(thread)
        own = at.function == self.kernel
        return f"line {at.line}" + ("" if own else f" of `{at.function}`")

    def fault(
        self, kind: str, message: str, why: str, places: list[Place], thread: Thread
    ) -> Fault:
        """Return a fault of `thread`, with the indices of the thread and its block."""
        index = axes(thread.index, self.block)
        return Fault(
            kind, message, why, index, axes(thread.block.index, self.grid), places
        )
