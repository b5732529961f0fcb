"""What the parts of a translation have in common: kinds, accesses, what is made."""

import ast
from dataclasses import dataclass, field
from typing import Any, Protocol

from weft.simulator.inference.kinds import Kind
from weft.simulator.translation.notes import Noting, Spotted

CELL = "__cell__"
CHANGES = "atomically change"
SHARED = "__shared__"  # the arrays of a thread's block, by their numbers


def kind(node: ast.AST) -> Kind:
    """What inference has found an expression to be."""
    return getattr(node, "seen", None)


@dataclass(frozen=True)
class Access:
    """An access in translated code: the names of its array and indices, or numbers.

    verb: what is done to the element.
    """

    array: str
    index: tuple[str | int, ...]
    verb: str


Position = tuple[int, int, int, int]  # the lines and columns of an expression


def position_of(node: ast.expr) -> Position:
    start, stop = node.col_offset, node.end_col_offset or 0
    return node.lineno, node.end_lineno or 0, start, stop


class Function(Protocol):
    """What the translation of an expression asks of its function.

    noting: what is noted.
    """

    noting: Noting
    is_kernel: bool

    @property
    def last_spot(self) -> Spotted:
        """The last spot that was numbered."""

    def number(self, node: ast.expr, flops: int, spot: Spotted | None = None) -> int:
        """Number a place that notes something; see `rewriting.Rewritten`."""

    def local_number(self, number: int) -> int:
        """The number of a place among those of this function."""

    def device(self, value: Any, kinds: tuple[Kind, ...]) -> str:
        """The name by which to call a device function with such arguments."""

    def constant(self, node: ast.expr | None) -> int | None:
        """The integer that an expression is, wherever the kernel runs."""

    def outside(self, name: str) -> Any:
        """The number that a name stands for outside, None for anything else."""

    def local(self, name: str) -> bool:
        """Whether a name is given a value in the function."""


@dataclass(frozen=True)
class Given:
    """A parameter that a kernel has besides its own.

    part: of the argument `of`, see `accesses.part_of`, or where that is "" of the
    thread: "threadIdx_x", "grid_x", "laneid", ... With `of` None it is SHARED, one of
    the thread's lists of notes, or NOTES for all of these.
    """

    name: str
    of: str | None
    part: Any


@dataclass
class Made:
    """What a translated function needs besides its code.

    `helpers` are what names of arithmetic stand for, `positions` what threads know from
    the beginning, `aliases` the arrays that are indexed by their names, with their
    axes. A kernel is `given` more than its arguments. `accesses` says what is accessed
    where, and of the nodes that are `unknown` nothing is known.
    """

    helpers: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, ast.expr] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    accesses: dict[Position, Access] = field(default_factory=dict)
    unknown: list[ast.AST] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
