"""Analyse a cell of a notebook: the exercise it checks, and the Python it contains."""

import ast

CHECKS = ("check", "streams.check")  # functions that check an exercise


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell, or None if it is not Python."""
    from IPython.core.inputtransformer2 import TransformerManager

    if source.startswith("%%"):
        return None
    try:
        text: str = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
        return ast.parse(text)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return None


def check(source: str) -> ast.Call | None:
    """Return the call `check(exercise, ...)` that ends a cell, or None if none does."""
    tree = parse(source) if "check(" in source else None
    last = tree.body[-1] if tree and tree.body else None
    match last:
        case ast.Expr(value=ast.Call(func=function, args=[ast.Name(), *_]) as call) if (
            ast.unparse(function) in CHECKS
        ):
            return call
    return None


def checked(source: str) -> str:
    """Return the name of the exercise that a cell checks, or "" if it checks none."""
    call = check(source)
    return call.args[0].id if call and isinstance(call.args[0], ast.Name) else ""
