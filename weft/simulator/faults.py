"""The exception for everything that can go wrong in a simulated kernel."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from weft.places import Place, named
from weft.tracebacks import called_at


@dataclass(frozen=True)
class Outside:
    """An index out of bounds: the array, by the kernel's name; the axis, the value.

    known: the names in the function that uses it, with their numbers, or the shapes of
    their arrays, at that moment.
    """

    array: str
    axis: int
    index: int
    known: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)


@dataclass
class Fault(Exception):
    """A bug in a kernel, found while it ran in the simulator.

    `kind` is one of the verdict kinds of `weft.checking`; `message` says what happened
    in one sentence, and `why` explains it. `thread` and `block` are indices (see
    `places.axes`), or None if the fault belongs to no single thread. `places` lists the
    source lines concerned, the most telling first; each may be followed by the calls
    that led there. `headline` replaces the title of a verdict, if the kind's own is too
    general. `met_none` says whether Python found a None where it needed a value.
    `outside` describes an index that is out of bounds, if that is the bug.
    """

    kind: str
    message: str
    why: str = ""
    thread: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    places: list[Place] = field(default_factory=list)
    headline: str = ""
    met_none: bool = False
    outside: Outside | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        parts = [self.message]
        if self.thread is not None:
            parts.append(f"thread {named(self.thread)}, block {named(self.block)}")
        for place, after in zip_longest(self.places, self.places[1:]):
            inner = after is not None and after.calls
            where = f" of `{place.function}`" if inner else ""
            parts.append(f"line {place.line}{where}: {place.text}")
        if self.why:
            parts.append(self.why)
        return "\n  ".join(parts)

    def _render_traceback_(self, *_: object) -> list[str]:
        """Return what IPython shows: the message, the launch's line, and no frames."""
        shown = f"{type(self).__name__}: {self}"
        called = called_at(self)
        if called is not None:
            shown += f"\n  launched on line {called[0]}: {called[1]}"
        return [shown]


class LaunchError(Fault, ValueError):
    """A launch configuration that no GPU accepts."""

    def __init__(self, message: str, why: str = "") -> None:
        Fault.__init__(self, "launch", message, why)
