"""Where the first float64 in a kernel's source comes from, and where it flows.

The compiler reports which lines compute in float64, but not which number is the origin:
the literal may be on a line that only assigns it. Where the source does not show the
origin, the simulator's type inference does.
"""

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from weft.checking.source import scope_of, tree_of
from weft.kernels.advice import statements
from weft.meaning import python_function
from weft.simulator.arithmetic.numbers import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    UINT64,
    Number,
)
from weft.simulator.inference.kinds import REFUSED, Kind, Num
from weft.simulator.language.rewriting import looked_at
from weft.simulator.launch import kind_of_argument

TYPED = ("float32", "float16", "int32", "int64", "uint32", "uint64", "int16", "uint8")
CONSTANTS = ("math.e", "math.pi", "math.tau", "math.inf", "math.nan")
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Pow)

Notes = dict[int, str]  # by line


def sources(function: FunctionType, computing: set[int]) -> Notes:
    """Return the lines that bring a float64 into a function, each with the cause.

    computing: lines on which the compiler found float64 arithmetic. Returns {} if the
    source does not show the cause. Rules that hold for any types are tried first.
    """
    parts = list(untyped(tree_of(function)))
    found = literals(function, parts)
    if (reached(function, set(found)) | set(found)) & computing:
        return found
    plain = quotients(function, parts, computing) | beginnings(function, computing)
    return plain or whole_numbers(function, computing)


def literals(function: FunctionType, parts: list[ast.AST]) -> Notes:
    """Return notes, by line, on float literals, float constants and `float64`."""
    scope = scope_of(function)
    local = {n for node, _ in statements(function) for n in targets(node)}
    found: Notes = {}
    for node in parts:
        if not isinstance(node, ast.expr):
            continue
        text = ast.unparse(node)
        pointed = isinstance(node, ast.Constant) and isinstance(node.value, float)
        if pointed or text in CONSTANTS:
            found.setdefault(node.lineno, f"`{text}` is a float64")
        elif text.rpartition(".")[2] == "float64":
            found.setdefault(node.lineno, f"`{text}` asks for one")
        elif isinstance(node, ast.Name) and node.id not in local:
            value = scope.get(node.id)
            if type(value) is float:
                found.setdefault(node.lineno, f"`{text}` is {value}, a float64")
    return found


def quotients(
    function: FunctionType, parts: list[ast.AST], computing: set[int]
) -> Notes:
    """Return the lines on which an operand of `/` is an integer, each with a note.

    computing: the lines to consider.
    """
    local = {n for node, _ in statements(function) for n in targets(node)}
    lengths = {
        name
        for node, _ in statements(function)
        if isinstance(node, ast.Assign) and is_length(node.value)
        for name in targets(node)
    }
    scope = scope_of(function)

    def whole(node: ast.expr) -> bool:
        named = isinstance(node, ast.Name) and node.id not in local
        return is_whole(node) or (named and type(scope.get(ast.unparse(node))) is int)

    found: Notes = {}
    for node in parts:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        by = ast.unparse(node.right)
        if node.lineno not in computing:
            continue
        if whole(node.left) or whole(node.right):
            found[node.lineno] = "`/` with an integer gives a float64"
        elif by in lengths or is_length(node.right):
            found[node.lineno] = f"`{by}` is an integer, and `/` gives a float64"
    return found


def beginnings(function: FunctionType, computing: set[int]) -> Notes:
    """Return the lines that assign an integer to a variable that becomes a float."""
    whole: dict[str, int] = {}
    for node, _above in statements(function):
        if isinstance(node, ast.Assign) and is_whole(node.value):
            for name in targets(node):
                whole.setdefault(name, node.lineno)
    return {
        whole[name]: f"`{name}` begins as an integer: with a float32 it is a float64"
        for node, _above in statements(function)
        if (isinstance(node, ast.AugAssign) or chooses(node))
        and node.lineno in computing
        for name in targets(node) & whole.keys()
    }


def chooses(node: ast.stmt) -> bool:
    """Return whether a statement is `x = max(x, y)`, or the same with `min`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    names = {ast.unparse(argument) for argument in node.value.args}
    return ast.unparse(node.value.func) in ("min", "max") and bool(
        targets(node) & names
    )


def is_length(node: ast.expr) -> bool:
    """Return whether a node is an array's size or shape, or part of its shape."""
    if isinstance(node, ast.Subscript):
        node = node.value
        return isinstance(node, ast.Attribute) and node.attr == "shape"
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "size")


def whole_numbers(function: FunctionType, computing: set[int]) -> Notes:
    """Return notes on lines in `computing` that mix integer literals and other values.

    They mix them by arithmetic, `min` or `max`, or in a conditional expression.
    """
    found: Notes = {}
    for node in untyped(tree_of(function), indices=False):
        met: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
            met = [node.left, node.right]
        elif isinstance(node, ast.IfExp):
            met = [node.body, node.orelse]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
            met = node.args
        if all(map(is_whole, met)):
            continue
        for one in filter(is_whole, met):
            what = f"`{ast.unparse(one)}` is an integer: with a float32 it makes a "
            if one.lineno in computing:
                found.setdefault(one.lineno, f"{what}float64")
    return found


def is_whole(node: ast.AST) -> bool:
    """Return whether an expression is an integer literal."""
    if isinstance(node, ast.UnaryOp):
        return is_whole(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) is int


def is_number(node: ast.AST) -> bool:
    """Return whether an expression is a constant or a (dotted) name, perhaps signed."""
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant | ast.Name | ast.Attribute)


def untyped(tree: ast.AST, indices: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, except numbers with an explicit type (`float32(0.5)`).

    indices: whether to include array indices.
    """
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.arguments):
            continue
        if isinstance(child, ast.Subscript) and not indices:
            yield from untyped(child.value, indices)
            continue
        if isinstance(child, ast.Call):
            typed = ast.unparse(child.func).rpartition(".")[2] in TYPED
            if typed and all(map(is_number, child.args)):
                continue
        yield child
        yield from untyped(child, indices)


def reached(function: FunctionType, lines: set[int]) -> set[int]:
    """Return `lines` and all lines that their values reach through variables."""
    every = [node for node, _ in statements(function)]
    wide: set[str] = set()
    found = set(lines)
    grown = True
    while grown:
        grown = False
        for node in every:
            uses = node.lineno in lines or bool(used(node) & wide)
            if uses and node.lineno not in found:
                found.add(node.lineno)
                grown = True
            if uses and not targets(node) <= wide:
                wide |= targets(node)
                grown = True
    return found


def used(node: ast.stmt) -> set[str]:
    """Return the names whose values a statement uses, except those in its body."""
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.If | ast.While):
        parts = [node.test]
    elif isinstance(node, ast.For):
        parts = [node.iter]
    names = {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name)}
    if isinstance(node, ast.Assign):
        names -= targets(node) - {
            n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)
        }
    return names


def targets(node: ast.stmt) -> set[str]:
    """Return the names of the variables that a statement assigns."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        given = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        given = [node.target]
    parts = [p for t in given for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return {p.id for p in parts if isinstance(p, ast.Name)}


# By types


def inferred(function: FunctionType, args: tuple[Any, ...]) -> ast.FunctionDef | None:
    """Return a kernel's syntax tree with typed nodes, or None if it has no source.

    args: the kernel's arguments. Lines are numbered as in the file.
    """
    kinds = tuple(kind_of_argument(arg, "an argument") for arg in args)
    under_way: set[FunctionType] = set()

    def returned(value: Any, given: tuple[Kind, ...]) -> Kind:
        inner = python_function(value)
        if inner is None or inner in under_way:
            return REFUSED
        under_way.add(inner)
        found = looked_at(inner, given, scope_of(inner), returned)
        under_way.remove(inner)
        return REFUSED if found is None else found[1]

    found = looked_at(function, kinds, scope_of(function), returned)
    if found is None:
        return None
    return ast.increment_lineno(found[0], function.__code__.co_firstlineno - 1)


def is_double(node: ast.AST) -> bool:
    """Return whether a node's value, or the old value that it updates, is a float64."""
    old = getattr(node, "old", None)
    is_old = isinstance(old, Num) and old.number is FLOAT64
    return is_old or is_a(node, FLOAT64)


def with_doubles(tree: ast.AST) -> set[int]:
    """Return the lines that contain a float64."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.AugAssign) and is_double(node)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def powers(tree: ast.AST) -> Notes:
    """Return the lines that raise a float32 to an integer power that is not a literal.

    The result is a float32, but Numba computes it in float64.
    """
    return {
        node.lineno: f"`{ast.unparse(node)}` is computed in float64"
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and is_a(node.left, FLOAT32)
        and is_a(node.right, INT32, INT64, UINT32, UINT64)
        and not is_whole(node.right)
    }


def is_a(node: ast.AST, *numbers: Number) -> bool:
    """Return whether an expression is a number of one of the types `numbers`."""
    seen = getattr(node, "seen", None)
    return isinstance(seen, Num) and seen.number in numbers
