"""Places in a learner's source, and how threads and blocks are named."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType, FrameType


@dataclass(frozen=True)
class Place:
    """A place in the learner's source at which something happened.

    `line` is numbered as in the learner's editor (1 is the first line of the cell or
    file), `text` is that line without its indentation, and `expression` the part of it
    that was being evaluated ('' if Python does not say). `file` is the cell or file.
    `calls` says whether the line called the function of the place listed before this
    one.
    """

    function: str
    line: int
    text: str = ""
    expression: str = ""
    file: str = field(default="", compare=False)
    calls: bool = field(default=False, compare=False)


def axes(index: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """Shorten an index (x, y, z) to as many axes as its block or grid uses.

    >>> axes((5, 0, 0), (32, 32, 1)), axes((5, 0, 0), (64, 1, 1))
    ((5, 0), (5,))
    """
    return index[: max((k + 1 for k in range(3) if size[k] > 1), default=1)]


def unravel(rank: int, size: tuple[int, int, int]) -> tuple[int, ...]:
    """Return the index of thread `rank` of a block, or of block `rank` of a grid."""
    x, y = size[:2]
    return axes((rank % x, rank // x % y, rank // (x * y)), size)


def named(index: tuple[int, ...] | None) -> str:
    """Format the index of a thread or block, or return '?' for None.

    >>> named((3,)), named((3, 7))
    ('3', '(3, 7)')
    """
    if index is None:
        return "?"
    return str(index[0]) if len(index) == 1 else f"({', '.join(map(str, index))})"


def place(code: CodeType, lasti: int, lines: dict[int, str]) -> Place:
    """Return the source place of the instruction at byte offset `lasti` of `code`."""
    positions = _positions(code, code.co_linetable)
    line, end_line, start, end = positions[min(lasti // 2, len(positions) - 1)]
    line = line or code.co_firstlineno
    full = lines.get(line, "")
    expression = ""
    if start is not None and end is not None and end_line == line:
        expression = full.encode()[start:end].decode(errors="replace")
    return Place(code.co_name, line, full.strip(), expression, code.co_filename)


@lru_cache(256)
def _positions(code: CodeType, table: bytes) -> tuple[tuple[int | None, ...], ...]:
    """Return the position of each instruction of `code`.

    table: the encoded positions; they tell apart code objects that are otherwise equal.
    """
    return tuple(code.co_positions())


def led_to(places: list[Place]) -> list[Place]:
    """Mark all places but the first, the innermost, as calls; drop duplicates."""
    return [
        replace(place, calls=k > 0) for k, place in enumerate(dict.fromkeys(places))
    ]


def frame_place(frame: FrameType, lines: dict[int, str]) -> Place:
    """Return the source place that `frame` is executing."""
    return place(frame.f_code, frame.f_lasti, lines)


Note = tuple[Place, str]  # a line, and what to say about it
