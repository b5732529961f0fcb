"""What inference leaves unknown: expressions of a kernel that have no kind."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    """An expression without a kind: its source, and its line in the function.

    `follows` says that this is only because a part of it has none.
    """

    node: ast.expr
    follows: bool

    @property
    def source(self) -> str:
        return ast.unparse(self.node)

    def __str__(self) -> str:
        kind = type(self.node).__name__
        return f"line {self.node.lineno}: {self.source} ({kind})"


def unknown(definition: ast.FunctionDef) -> list[Unknown]:
    """The expressions that a function evaluates and uses, and that have no kind.

    `Function` has inferred `definition`, and nothing has been lowered yet.
    """
    return [
        Unknown(node, any(without_kind(part) for part in _parts(node)))
        for node in _evaluated(definition.body)
        if without_kind(node)
    ]


def without_kind(node: ast.expr) -> bool:
    return getattr(node, "seen", None) is None


def _evaluated(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Every expression of some statements, but for those that are never reached."""
    for statement in body:
        if getattr(statement, "reached", False):
            yield from _of_statement(statement)


def _of_statement(statement: ast.AST) -> Iterator[ast.expr]:
    if isinstance(statement, ast.FunctionDef):
        yield from _of_forms(statement)
        return
    unused = statement.value if isinstance(statement, ast.Expr) else None
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _evaluated([child])
        elif isinstance(child, (ast.match_case, ast.pattern)):
            yield from _of_statement(child)
        elif isinstance(child, ast.expr) and child is not unused:
            yield from _of(child)
        elif isinstance(child, ast.expr):
            for part in _parts(child):
                yield from _of(part)


def _of(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and those in it; of a target that is stored to, those in it."""
    if isinstance(getattr(node, "ctx", None), ast.Load | None):
        yield node
    if isinstance(node, ast.Lambda):
        yield from _of_forms(node)
    for part in _parts(node):
        yield from _of(part)


def _of_forms(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.expr]:
    """The expressions of a function in the function: each call has a copy of it."""
    for made, _ in getattr(node, "forms", {}).values():
        yield from _evaluated(made.body)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that it takes to evaluate one."""
    if isinstance(node, ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword):
            yield child.value
        elif isinstance(child, ast.expr) and child is not getattr(node, "left_out", 0):
            yield child
