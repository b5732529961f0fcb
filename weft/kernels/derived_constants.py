"""Names that were worked out from constants before the kernel was compiled.

`HALF = TILE // 2`, in a cell, keeps its value when TILE gets another. Which names
were, and how, is read in the cells, or in the module, that gave them their values.
"""

import ast
import linecache
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from weft.checking.source import global_names

PURE = {"int", "min", "max", "abs", "round", "int32", "int64", "uint32", "float32"}

Constants = Mapping[str, Any]


def worked_out(function: FunctionType, constants: Constants) -> dict[str, Any]:
    """Names that a kernel uses, and what they would be worth with `constants`.

    Only those that were worked out from a name in `constants`, still have the value
    that came of it, and would have another.
    """
    scope = function.__globals__
    names, now = set(constants), dict(scope) | dict(constants)
    found = {}
    for name, value in assigned(function):
        used = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        if name in constants or name not in scope or not used & names:
            continue
        code = compile(ast.Expression(value), "<worked out>", "eval")
        try:
            same = bool(eval(code, dict(scope)) == scope[name])
            worth = eval(code, dict(now))
            other = bool(worth != scope[name])
        except Exception:
            continue
        if same and other:
            names.add(name)
            now[name] = found[name] = worth
    used = set(global_names(function))
    return {name: worth for name, worth in found.items() if name in used}


def assigned(function: FunctionType) -> Iterator[tuple[str, ast.expr]]:
    """What global names were given, in the cells in their order, or in the module."""
    cells = function.__globals__.get("In")
    texts = list(cells) if isinstance(cells, list) else []
    texts.append("".join(linecache.getlines(function.__code__.co_filename)))
    for text in texts:
        try:
            body = ast.parse(text).body if isinstance(text, str) else []
        except SyntaxError:  # a cell with a magic
            continue
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name() as one], value=value):
                    pairs: list[tuple[ast.expr, ast.expr]] = [(one, value)]
                case ast.Assign(
                    targets=[ast.Tuple(names)], value=ast.Tuple(values)
                ) if len(names) == len(values):
                    pairs = list(zip(names, values, strict=True))
                case _:
                    continue
            for name, value in pairs:
                if isinstance(name, ast.Name) and is_pure(value):
                    yield name.id, value


def is_pure(value: ast.expr) -> bool:
    """Whether an expression can be worked out again, and does nothing else."""
    called = [n.func for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(isinstance(f, ast.Name) and f.id in PURE for f in called)
