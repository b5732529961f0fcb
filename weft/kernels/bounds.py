"""Conditions that bound an index: which of them end the reads of a matrix."""

import ast
from collections.abc import Sequence
from types import FunctionType

import numpy as np

from weft.checking.source import at_line, parameter_names, tree_of
from weft.kernels.evaluated import Known, Value, number
from weft.kernels.trial import Trial
from weft.places import Note


def on(
    function: FunctionType,
    lines: Sequence[int],
    name: str,
    end: tuple[int, int],
    known: Known,
) -> list[Note]:
    """Return notes on the `if`s with which an index of a matrix ends at `end`.

    lines: where the function reads the matrix `name`. end: an axis, and the first row
    or column that is not read. known: what is known of the function's names.
    """
    axis, first = end
    tree = tree_of(function)
    known = {**known, **constant(tree, known)}
    notes: dict[int, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        body = ast.Module(node.body, [])
        parts = {
            ast.unparse(parts[axis])
            for part in ast.walk(body)
            if isinstance(part, ast.Subscript) and part.lineno in lines
            if isinstance(part.value, ast.Name) and part.value.id == name
            if len(parts := axes(part.slice)) > axis
        }
        for part in sorted(parts):
            if any(ends(n, part, first, known) for n in ast.walk(node.test)):
                notes[node.lineno] = f"`{part}` ends at {first - 1}"
    return [(at_line(function, line), note) for line, note in sorted(notes.items())]


def ends(node: ast.AST, part: str, first: int, known: Known) -> bool:
    """Return whether a node compares `part` with its upper bound, `first`."""
    if not isinstance(node, ast.Compare):
        return False
    terms = [node.left, *node.comparators]
    for left, op, right in zip(terms, node.ops, terms[1:], strict=False):
        if isinstance(op, ast.Gt | ast.GtE):
            left, right = right, left
        if not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            continue
        last = first - isinstance(op, ast.LtE | ast.GtE)
        if ast.unparse(left) == part and number(right, known) == last:
            return True
    return False


def axes(index: ast.expr) -> list[ast.expr]:
    """Return the parts of an index, one per axis."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def constant(tree: ast.AST, known: Known) -> dict[str, Value]:
    """Return the variables that are assigned once, and the same in every thread."""
    stores = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and is_set(n)]
    found: dict[str, Value] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) > 1:
            continue
        for target, value in pairs(node.targets[0], node.value, {**known, **found}):
            if isinstance(target, ast.Name) and stores.count(target.id) == 1:
                found |= {target.id: value} if value is not None else {}
    return found


def pairs(
    target: ast.expr, value: ast.expr, known: Known
) -> list[tuple[ast.expr, int | None]]:
    """Return the targets of an assignment, each with its number if that is known."""
    if not isinstance(target, ast.Tuple):
        return [(target, number(value, known))]
    if isinstance(value, ast.Tuple):
        both = zip(target.elts, value.elts, strict=False)
        return [(each, number(its, known)) for each, its in both]
    text = ast.unparse(value)
    shape = known.get(text.removesuffix(".shape"))
    if not text.endswith(".shape") or not isinstance(shape, tuple):
        return []
    return list(zip(target.elts, shape, strict=False))


def is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def sizes(trial: Trial) -> Known:
    """Return what is known of a kernel's names: of its arguments, and the launch."""
    names = parameter_names(trial.exercise.kernel)
    given = (*trial.case.inputs, *trial.case.outputs)
    function = trial.exercise.function()
    outer = function.__globals__ if function else {}
    known: dict[str, Value] = {n: v for n, v in outer.items() if type(v) is int}
    for name, value in zip(names, given, strict=False):
        if isinstance(value, np.ndarray):
            known[name] = value.shape
        elif isinstance(value, int | np.integer):
            known[name] = int(value)
    return {**known, **launch_sizes(trial)}


def launch_sizes(trial: Trial) -> Known:
    """Return the sizes of a launch by what they are called in a kernel."""
    return {
        f"cuda.{name}.{axis}": size
        for name, dim in (("gridDim", trial.grid), ("blockDim", trial.block))
        for axis, size in zip("xyz", dim, strict=True)
    }
