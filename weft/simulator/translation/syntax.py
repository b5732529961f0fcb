"""Functions that make syntax-tree nodes at the source position of another node."""

import ast
from collections.abc import Iterable
from typing import Any, TypeVar

from weft.code_objects import nodes_of

Node = TypeVar("Node", bound=ast.AST)


def name(text: str, where: ast.AST) -> ast.Name:
    return placed(ast.Name(text, ast.Load()), where)


def constant(value: Any, where: ast.AST) -> ast.Constant:
    return placed(ast.Constant(value), where)


def call(function: str, args: Iterable[ast.expr], where: ast.AST) -> ast.Call:
    return placed(ast.Call(ast.Name(function, ast.Load()), list(args), []), where)


def attribute(of: ast.expr, part: str, where: ast.AST) -> ast.Attribute:
    return placed(ast.Attribute(of, part, ast.Load()), where)


def item(of: ast.expr, index: ast.expr, where: ast.AST) -> ast.Subscript:
    return placed(ast.Subscript(of, index, ast.Load()), where)


def two(a: ast.expr, op: ast.operator, b: ast.expr, where: ast.AST) -> ast.BinOp:
    return placed(ast.BinOp(a, op, b), where)


def either(*parts: ast.expr, where: ast.AST) -> ast.BoolOp:
    """Make `a or b or …`."""
    return placed(ast.BoolOp(ast.Or(), list(parts)), where)


def named(text: str, value: ast.expr, where: ast.AST) -> ast.NamedExpr:
    """Make `(text := value)`."""
    return placed(ast.NamedExpr(ast.Name(text, ast.Store()), value), where)


def choice(test: ast.expr, a: ast.expr, b: ast.expr, where: ast.AST) -> ast.IfExp:
    return placed(ast.IfExp(test, a, b), where)


def assign(target: str, value: ast.expr, where: ast.AST) -> ast.Assign:
    return placed(ast.Assign([ast.Name(target, ast.Store())], value), where)


def put(of: ast.expr, index: ast.expr, value: ast.expr, where: ast.AST) -> ast.Assign:
    """Make `of[index] = value`."""
    return placed(ast.Assign([ast.Subscript(of, index, ast.Store())], value), where)


def placed(node: Node, where: ast.AST) -> Node:
    """Return `node`, after giving it and its children the position of `where`.

    Nodes that already have a position keep it.
    """
    for new in (node, *ast.iter_child_nodes(node)):
        if isinstance(new, (ast.expr, ast.stmt)) and not hasattr(new, "lineno"):
            ast.copy_location(new, where)
    return node


def statements(text: str, where: ast.AST) -> list[ast.stmt]:
    """Parse `text` into statements, all at the position of `where`."""
    made = ast.parse(text).body
    for one in made:
        for new in nodes_of(one):
            if isinstance(new, (ast.expr, ast.stmt)):
                ast.copy_location(new, where)
    return made


def has_effect(node: ast.AST) -> bool:
    """Return whether evaluating `node` may change memory or let other threads run."""
    return any(
        isinstance(inner, (ast.Yield, ast.YieldFrom))
        or (
            isinstance(inner, ast.Call)
            and not (
                isinstance(inner.func, ast.Name) and inner.func.id.startswith(PURE)
            )
        )
        for inner in nodes_of(node)
    )


def reads_memory(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Subscript) for inner in nodes_of(node))


PURE = ("__pure_", "__note")  # prefixes of the names of functions without effect


def declared(node: ast.AST) -> str:
    """Return 'shared' or 'local' for a call such as `cuda.shared.array`, else ''."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                attr="array",
                value=ast.Attribute(attr="shared" | "local" as where),
            )
        ):
            return where
    return ""
