"""Instruments a kernel for a trace: it notes what it loads and how much it computes.

A load `x[i, j]` becomes `load(x, (i, j), 7)`. The number identifies the place, which
saves a search through the frames. Arithmetic on what was loaded is counted from the
loads; any other expression with arithmetic in it becomes `sums(expression, 8)`.
"""

import ast
from dataclasses import dataclass, field
from typing import Any

LOAD, SUMS = "__weft_load__", "__weft_sums__"
OPERATION = 3  # bits for the operation, below the number of its place

_SHAPES = {"shape", "strides"}
_TWO = {"fma"}  # functions that multiply and add


@dataclass
class Notes:
    """What was put into a function: the nodes with a note, the first of them `first`.

    `flops` says how many operations of floating-point arithmetic go with a node: with
    a load those that use what was loaded, with any other expression its own.
    """

    first: int = 0
    nodes: list[ast.expr] = field(default_factory=list)
    flops: list[int] = field(default_factory=list)

    def add(self, node: ast.expr, function: str, *args: ast.expr, flops: int) -> Any:
        """The call of `function` that replaces `node`."""
        site = ast.Constant(self.first + len(self.nodes) << OPERATION)
        call = ast.Call(ast.Name(function, ast.Load()), [*args, site], [])
        for new in (call, call.func, site):
            ast.copy_location(new, node)
        self.nodes.append(call)
        self.flops.append(flops)
        return call


def note(definition: ast.FunctionDef, first: int) -> Notes:
    """Rewrite `definition` in place, its notes numbered from `first`."""
    notes = Notes(first)
    NoteArithmetic(notes).visit(definition)
    NoteLoads(notes).visit(definition)
    return notes


def is_load(node: ast.AST) -> bool:
    """Whether `node` may load one element of an array."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    if hasattr(node, "chosen"):  # a form of a function, see `forms`
        return False
    if isinstance(node.value, ast.Attribute) and node.value.attr in _SHAPES:
        return False
    index = node.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(isinstance(p, (ast.Slice, ast.Starred)) for p in parts)


class NoteArithmetic(ast.NodeTransformer):
    """Find the largest expressions with arithmetic in them, outside of indices.

    One that loads something is marked, for `NoteLoads` to count with that load; the
    others become `sums(expression, number)`.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._noted(node, 0)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        node.value = self._noted(node.value, 1)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _TWO:
            return self._noted(node, 0)
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return node
        if name == "array" or name == "grid":
            return node
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node  # arithmetic on indices

    def _noted(self, node: ast.expr, more: int) -> Any:
        count = more + operations(node)
        load = first_load(node)
        if load is not None:
            load.flops = count  # type: ignore[attr-defined]
            return node
        if not count:
            return node
        return self._notes.add(node, SUMS, node, flops=count)


def operations(node: ast.AST) -> int:
    """How many operations of arithmetic `node` holds, those of its indices apart."""
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


class NoteLoads(ast.NodeTransformer):
    """Make `x[i]` `load(x, i, number)`."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        flops = getattr(node, "flops", 0)
        self.generic_visit(node)
        if not is_load(node):
            return node
        return self._notes.add(node, LOAD, node.value, node.slice, flops=flops)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        """Leave the target as it is, but not what is in its index."""
        node.value = self.visit(node.value)
        if isinstance(node.target, ast.Subscript):
            node.target.value = self.visit(node.target.value)
            node.target.slice = self.visit(node.target.slice)
        return node
