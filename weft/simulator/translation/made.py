"""The common state of a translation's parts: kinds, accesses, results."""

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.code_objects import nodes_of
from weft.simulator.inference.kinds import Kind
from weft.simulator.translation.notes import Noting, Spotted

CELL = "__cell__"
CHANGES = "atomically change"
SHARED = "__shared__"  # the arrays of a thread's block, by number
Scope = dict[str, Any]


def kind(node: ast.AST) -> Kind:
    """Return the kind that inference has found for an expression."""
    return getattr(node, "seen", None)


@dataclass(frozen=True)
class Access:
    """An access in translated code, with the array's name.

    index: the indices, each a name or a number. verb: what is done to the element, such
    as "read".
    """

    array: str
    index: tuple[str | int, ...]
    verb: str


Position = tuple[int, int, int, int]  # the lines and columns of an expression


def position_of(node: ast.expr) -> Position:
    start, stop = node.col_offset, node.end_col_offset or 0
    return node.lineno, node.end_lineno or 0, start, stop


class Body:
    """A function that is being translated: its places, and the values of its names.

    noting: what is noted. `spots`, `numbered` and `flops` have an entry for each place
    where something is noted; see `rewriting.Rewritten`.
    """

    def __init__(
        self,
        definition: ast.FunctionDef,
        scope: Scope,
        first: int,
        noting: Noting,
        is_kernel: bool,
    ) -> None:
        """Prepare to rewrite a function whose source begins on line `first`."""
        self.noting, self.is_kernel = noting, is_kernel
        self.spots: list[Spotted | None] = []
        self.numbered: list[Position] = []
        self.flops: list[int] = []
        self.devices: list[tuple[str, Any, tuple[Kind, ...]]] = []
        self._scope, self._first = scope, first
        self._local = {a.arg for a in nodes_of(definition) if isinstance(a, ast.arg)}
        self._local |= {
            n.id
            for n in nodes_of(definition)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }

    def number(self, node: ast.expr, flops: int, spot: Spotted | None = None) -> int:
        """Number `node`, a place where something is noted, and return the number."""
        self.numbered.append(position_of(node))
        self.flops.append(flops)
        self.spots.append(spot)
        return self._first + len(self.numbered) - 1

    def local_number(self, number: int) -> int:
        """Convert the number of a place to its number within this function."""
        return number - self._first

    @property
    def last_access(self) -> Spotted:
        """The last spot of a memory access, ignoring those of counts and iterations."""
        found = (spot for spot in reversed(self.spots) if spot is not None)
        return next(spot for spot in found if spot.operation >= 0)

    def device(self, value: Any, kinds: tuple[Kind, ...]) -> str:
        """Return the name to call a device function by, for arguments of `kinds`."""
        for name, known, given in self.devices:
            if known is value and given == kinds:
                return name
        self.devices.append((f"__weft_device_{len(self.devices)}__", value, kinds))
        return self.devices[-1][0]

    def outside(self, name: str) -> Any:
        """Return the number that `name` refers to outside the function, or None."""
        value = None if name in self._local else self._scope.get(name)
        if isinstance(value, np.generic):
            value = value.item()
        return value if type(value) in (bool, int, float) else None

    def local(self, name: str) -> bool:
        """Return whether `name` is an argument, or is assigned in the function."""
        return name in self._local


@dataclass(frozen=True)
class Given:
    """A parameter that a kernel has in addition to its own.

    If `of` names an argument, `part` is a property of it (see `accesses.part_of`). If
    `of` is "", `part` is a property of the thread, such as "threadIdx_x", "grid_x" or
    "laneid". If `of` is None, `part` is CELL, SHARED, the number of one of the thread's
    lists of notes, or NOTES for all of its lists.
    """

    name: str
    of: str | None
    part: Any


@dataclass
class Made:
    """What a translated function needs in addition to its code.

    `helpers` are the values of the names that arithmetic uses; `positions` are the
    values that threads know from the start; `aliases` are the arrays that are indexed
    by name, each with its number of axes. `accesses` maps a place to what is accessed
    there. `given` lists what a kernel gets before its arguments.
    """

    helpers: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, ast.expr] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    accesses: dict[Position, Access] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
