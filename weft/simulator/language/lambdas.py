"""The source of a `lambda`, which has no name by which to find it."""

import ast
from types import CodeType


def from_lambda(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    """The only lambda in a source that has the arguments of `code`, as a function."""
    found = _with_arguments(tree, code)
    return _as_function(found[0]) if len(found) == 1 else None


def at_its_place(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    """The lambda of `code` in the tree of a whole file, as a function."""
    places = {
        (line, column)
        for line, last, column, end in code.co_positions()
        if line and last and column is not None and end is not None
        if (line, column) < (last, end)
    }
    found = [
        node
        for node in _with_arguments(tree, code)
        if places and all(_holds(node.body, *place) for place in places)
    ]
    return _as_function(found[0]) if len(found) == 1 else None


def parsed(source: str) -> ast.AST:
    """The tree of a source, an empty one if that is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _holds(node: ast.expr, line: int, column: int) -> bool:
    """Whether a place in a file is in a node."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return start <= (line, column) < end


def _with_arguments(tree: ast.AST, code: CodeType) -> list[ast.Lambda]:
    names = list(code.co_varnames[: code.co_argcount])
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args] == names
    ]


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.parse("def __weft_lambda__(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [body]
    return ast.copy_location(made, node)
