"""Shapes of shared and local arrays, which Numba must know when it compiles.

Numba knows:

- numbers, and what Python's compiler computes from them (`32 + 1`)
- names of integers and tuples outside the kernel, and elements of these tuples
- names inside the kernel for any of these

It does not compute with names: `N + 1` is refused. `tests/test_shapes.py` compares
these rules with Numba's.
"""

import ast
import dis
import warnings
from typing import Any

from weft.code_objects import nodes_of
from weft.places import Place
from weft.simulator.faults import Fault
from weft.simulator.translation.syntax import declared

_CONSTANTS = ("LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT")
_FOLDED = {"RESUME", "RETURN_VALUE", *_CONSTANTS}
_WHY = (
    "Numba has to know it when it compiles. Compute the number outside the kernel, "
    "give it a name, and use the name here."
)


def refuse_unknown(
    definition: ast.FunctionDef,
    first: int,
    lines: dict[int, str],
    kernel: bool,
) -> None:
    """Raise `Fault` if a function declares an array whose shape Numba does not know.

    definition: the function, with lines counted from 1. first: the line of the file
    where the function begins. kernel: whether the function is a kernel, whose arguments
    Numba never knows; Numba may know those of a device function.
    """
    names = Names(definition, kernel)
    for node in nodes_of(definition):
        where = declared(node)
        if not where or not isinstance(node, ast.Call):
            continue
        named = {k.arg: k.value for k in node.keywords}
        shape = node.args[0] if node.args else named.get("shape")
        if shape is None:
            continue
        sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        unknown = next((size for size in sizes if not names.known(size)), None)
        if unknown is None:
            continue
        line = first + unknown.lineno - 1
        text, part = lines.get(line, "").strip(), ast.unparse(unknown)
        place = Place(definition.name, line, text, part)
        raise Fault("type", *_said(unknown, part, where), places=[place])


def _said(size: ast.expr, part: str, where: str) -> tuple[str, str]:
    """Return the message and the explanation for a size that Numba does not accept."""
    if isinstance(size, ast.List):
        return (
            f"the shape of this {where} array is a list: `{part}`",
            "A shape is a number or a tuple, in round brackets.",
        )
    if isinstance(size, ast.Name):
        return (
            f"the shape of this {where} array depends on `{part}`, which has a value "
            "only when the kernel runs",
            _WHY,
        )
    return f"the shape of this {where} array is computed in the kernel: `{part}`", _WHY


class Names:
    """The names of a kernel, and whether Numba knows their values."""

    def __init__(self, definition: ast.FunctionDef, kernel: bool) -> None:
        arguments = [a for a in nodes_of(definition.args) if isinstance(a, ast.arg)]
        self._arguments = {a.arg for a in arguments}
        self._kernel = kernel
        self._given: dict[str, list[ast.expr | None]] = {}
        for node in nodes_of(definition):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Record the names that a node sets, each with its value or None if unknown."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._note_target(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._note_target(target, value)
            case ast.AugAssign(target=target) | ast.For(target=target):
                self._note_target(target, None)
            case ast.NamedExpr(target=target):
                self._note_target(target, None)

    def _note_target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._given.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[Any] = [value] * len(target.elts)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
                parts = value.elts
            for each, part in zip(target.elts, parts, strict=True):
                self._note_target(each, part)

    def known(
        self, node: ast.expr | None, inside: frozenset[str] = frozenset()
    ) -> bool:
        """Return whether Numba knows the value of `node` when it compiles.

        inside: the names that are being looked up.
        """
        if node is None:
            return False
        if folded(node):
            return True
        match node:
            case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
                return all(self.known(part, inside) for part in parts)
            case ast.Name(id=name):
                return self._known_name(name, inside)
            case ast.Subscript(value=ast.Name() as value, slice=index):
                element = folded(index, slices=True) or isinstance(index, ast.Name)
                return element and self.known(value, inside)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                both = self.known(body, inside) and self.known(otherwise, inside)
                return both and self._from_outside(test)
        return False

    def _known_name(self, name: str, inside: frozenset[str]) -> bool:
        if name in inside or (name in self._arguments and self._kernel):
            return False
        given = self._given.get(name, [])
        return all(self.known(value, inside | {name}) for value in given)

    def _from_outside(self, test: ast.expr) -> bool:
        """Return whether all names in a condition are from outside the kernel."""
        used = {n.id for n in nodes_of(test) if isinstance(n, ast.Name)}
        return not used & (self._arguments | self._given.keys())


def folded(node: ast.expr, slices: bool = False) -> bool:
    """Return whether Python itself folds `node` to an integer or a tuple of integers.

    slices: whether to accept a slice too, as in an index.
    """
    if isinstance(node, ast.Slice):
        ends = (node.lower, node.upper, node.step)
        return slices and all(end is None or folded(end) for end in ends)
    value = constant(node)
    return all(type(v) is int for v in (value if isinstance(value, tuple) else [value]))


def constant(node: ast.expr) -> Any:
    """Return the value that Python's compiler computes for `node`, or None."""
    with warnings.catch_warnings():
        # such as one about `~True`, which Python has shown before
        warnings.simplefilter("ignore")
        code = compile(ast.Expression(node), "", "eval")
    steps = list(dis.get_instructions(code))
    if not {step.opname for step in steps} <= _FOLDED:
        return None
    return next(step.argval for step in steps if step.opname in _CONSTANTS)
