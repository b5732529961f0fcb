"""Mark what a trace records of a kernel: its loads, and how much it computes.

Arithmetic on loaded values is counted by their loads: a load is marked with the number
of operations that go with it, `flops`. Any other expression with arithmetic in it is
marked with its number of operations, `sums`.
"""

import ast
from dataclasses import dataclass, field
from enum import Enum

NOTE, LOAD = "__note__", "__load__"  # names in a translated kernel
SUMS, FLOPS = "__sums__", "__flops__"
OPERATION = 3  # bits for the operation, below the number of its place
READ, WRITE, ATOMIC = 0, 1, 2


# a thread's lists of notes, and the number of the first one to use
NOTES, BASE = "__notes__", "__base__"


class Noting(Enum):
    """The level of detail of a kernel's notes.

    NONE: nothing. NUMBERS: the numbers of the elements accessed at each place, in one
    list per thread. ACCESSES: each access, in one log, in order. CALLS: like ACCESSES,
    but each load is a call.
    """

    NONE = "none"
    NUMBERS = "numbers"
    ACCESSES = "accesses"
    CALLS = "calls"


@dataclass
class Spotted:
    """A place that touches memory, or computes: see `trace.notes.Spot`.

    `array` is the name of the array, '' if it has none. For a store, `counts` maps
    lists of reads to the lists in which the store notes their lengths. `kinds` are
    those of `trace.notes.Spot`. `iterations` is the number of the list with the
    iterations in which the place is executed, -1 if lanes are in step.
    """

    operation: int = -1
    space: str = ""
    unit: int = 0
    array: str = ""
    kinds: frozenset[str] = frozenset()
    counts: dict[int, int] = field(default_factory=dict)
    iterations: int = -1


_SHAPES = {"shape", "strides"}
_TWO = {"fma"}  # functions that multiply and add


def is_load(node: ast.AST) -> bool:
    """Return whether `node` may load one element of an array."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    if hasattr(node, "chosen"):  # a form of a function, see `forms`
        return False
    if isinstance(node.value, ast.Attribute) and node.value.attr in _SHAPES:
        return False
    index = node.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(isinstance(p, (ast.Slice, ast.Starred)) for p in parts)


class MarkArithmetic(ast.NodeVisitor):
    """Marks the largest expressions that contain arithmetic, except in indices."""

    def visit_BinOp(self, node: ast.BinOp) -> None:
        _mark(node, 0)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        _mark(node.value, 1)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _TWO:
            _mark(node, 0)
            return
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return
        if name not in ("array", "grid"):
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Skip arithmetic in indices."""


def _mark(node: ast.expr, more: int) -> None:
    count = more + operations(node)
    load = first_load(node)
    if load is not None:
        load.flops = count  # type: ignore[attr-defined]
    else:
        node.sums = count  # type: ignore[attr-defined]


def operations(node: ast.AST) -> int:
    """Count the arithmetic operations in `node`, except those in its indices."""
    if isinstance(node, ast.Subscript):
        return operations(node.value)
    own = int(isinstance(node, ast.BinOp))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        own = 2 * (node.func.attr in _TWO)
    return own + sum(operations(child) for child in ast.iter_child_nodes(node))


def first_load(node: ast.AST) -> ast.Subscript | None:
    if is_load(node):
        assert isinstance(node, ast.Subscript)
        return node
    if isinstance(node, ast.Subscript):
        return None
    found = (first_load(child) for child in ast.iter_child_nodes(node))
    return next((load for load in found if load is not None), None)
