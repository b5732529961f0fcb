"""Copy Python functions, find the globals they use, and walk syntax trees."""

import ast
import dis
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any


def with_globals(
    function: FunctionType,
    scope: dict[str, Any],
    code: CodeType | None = None,
    closure: tuple[CellType, ...] | None = None,
) -> FunctionType:
    """Return a copy of a function with `scope` as its globals.

    code, closure: other code to run, and the cells for its free variables.
    """
    made = FunctionType(
        code or function.__code__,
        scope,
        function.__name__,
        function.__defaults__,
        function.__closure__ if code is None else closure,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def code_tree(code: CodeType) -> list[CodeType]:
    """Return `code` and every code object inside it."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [code, *(t for c in inner for t in code_tree(c))]


@lru_cache(256)
def global_names(code: CodeType) -> frozenset[str]:
    """Return the global names that `code`, or code inside it, looks up."""
    return frozenset(
        str(step.argval)
        for part in code_tree(code)
        for step in dis.get_instructions(part)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    )


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes that `ast.walk` yields, in a quarter of the time."""
    found = [tree]
    add = found.append
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                add(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        add(item)
    return found
