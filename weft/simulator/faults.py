"""What can go wrong in a simulated kernel, as one exception with a place."""

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from types import CodeType, FrameType

from weft.tracebacks import called_at


@dataclass(frozen=True)
class Place:
    """Where in the learner's source something happened.

    `line` counts as the learner's editor does (1 is the first line of the cell or
    file), `text` is that line without its indentation, `expression` the part of it
    that was being evaluated ('' where Python does not say). `file` is the cell or file.
    A place that `calls` is the line that called the function of the place before it.
    """

    function: str
    line: int
    text: str = ""
    expression: str = ""
    file: str = field(default="", compare=False)
    calls: bool = field(default=False, compare=False)


@dataclass
class Fault(Exception):
    """A bug in a kernel, found while it ran in the simulator.

    `kind` is one of the verdict kinds of `weft.checking`; `message` says what happened
    in one sentence, `why` explains it. `thread` and `block` are indices (see `axes`),
    None where the fault belongs to no single thread. `places` lists the source lines
    concerned, the most telling first; each may be followed by the calls that led there.
    """

    kind: str
    message: str
    why: str = ""
    thread: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    places: list[Place] = field(default_factory=list)

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
        """What IPython shows: the words, without the frames of this package."""
        shown = f"{type(self).__name__}: {self}"
        called = called_at(self)
        if called is not None:
            shown += f"\n  launched on line {called[0]}: {called[1]}"
        return [shown]


class LaunchError(Fault, ValueError):
    """A launch configuration that no GPU accepts."""

    def __init__(self, message: str, why: str = "") -> None:
        Fault.__init__(self, "launch", message, why)


def axes(index: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """An index (x, y, z) with as many numbers as its block or grid has dimensions.

    >>> axes((5, 0, 0), (32, 32, 1)), axes((5, 0, 0), (64, 1, 1))
    ((5, 0), (5,))
    """
    return index[: max((k + 1 for k in range(3) if size[k] > 1), default=1)]


def named(index: tuple[int, ...] | None) -> str:
    """Write the index of a thread or block.

    >>> named((3,)), named((3, 7))
    ('3', '(3, 7)')
    """
    if index is None:
        return "?"
    return str(index[0]) if len(index) == 1 else f"({', '.join(map(str, index))})"


def kind_of(value: object) -> str:
    """The type of a value, with its article.

    >>> kind_of(3), kind_of("three")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"a{'n' * (name[0] in 'aeiouAEIOU')} {name}"


def place(code: CodeType, lasti: int, lines: dict[int, str]) -> Place:
    """The source place of the instruction at byte offset `lasti` of `code`."""
    positions = list(code.co_positions())
    line, end_line, start, end = positions[min(lasti // 2, len(positions) - 1)]
    line = line or code.co_firstlineno
    full = lines.get(line, "")
    expression = ""
    if start is not None and end is not None and end_line == line:
        expression = full.encode()[start:end].decode(errors="replace")
    return Place(code.co_name, line, full.strip(), expression, code.co_filename)


def led_to(places: list[Place]) -> list[Place]:
    """Mark the places after the first as calls, the nearest first; each once."""
    return [
        replace(place, calls=k > 0) for k, place in enumerate(dict.fromkeys(places))
    ]


def frame_place(frame: FrameType, lines: dict[int, str]) -> Place:
    """The source place at which `frame` is now."""
    return place(frame.f_code, frame.f_lasti, lines)
