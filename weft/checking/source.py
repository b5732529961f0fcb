"""Read a learner's source: its lines, its syntax tree, the names that it uses."""

import ast
import hashlib
import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from weft.checking.verdict import Verdict, common
from weft.meaning import is_kernel
from weft.places import Note, Place
from weft.starters import STUB, source, source_function


def unreadable(kernel: Any) -> list[str]:
    """Return the names of functions without source, among a kernel and its callees."""
    called = [(getattr(kernel, "__name__", "the kernel"), kernel)]
    seen: dict[Any, str] = {}
    while called:
        name, function = called.pop()
        inner = source_function(function)
        if inner is not None and inner not in seen:
            seen[inner] = name
            called += device_functions(inner).items()
    return [name for inner, name in seen.items() if not source(inner)]


def seed(function: Any) -> int:
    """Derive a number from the source of `function`, and from WEFT_SEED if it is set.

    A course that sets WEFT_SEED checks with data unlike those in the public labs.
    """
    inner = source_function(function)
    text = source(function).encode() or (inner.__code__.co_code if inner else b"")
    text += os.environ.get("WEFT_SEED", "").encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def begin(name: str, comment: str = "#") -> Verdict:
    """Return the verdict on a starter cell that has not been edited yet.

    comment: the marker that begins a comment in the language of the cell.
    """
    return common.verdict(name, "begin", stub=f"{comment} {STUB}")


def no_parameter(name: str, result: str) -> Verdict:
    """Return the verdict on a function that lacks the parameter for its result."""
    return common.verdict(name, "no-parameter", result=result)


def tree_of(function: FunctionType | CodeType) -> ast.Module:
    """Parse the source of a function; the tree is empty if there is no source.

    Lines are numbered as in the file, columns from the `def`.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return ast.Module([], [])
    ast.increment_lineno(tree, first - 1)
    return tree


def at_line(function: FunctionType, number: int) -> Place:
    """Return the place of a line in a function, by its number in the file."""
    lines = source(function).splitlines()
    offset = number - function.__code__.co_firstlineno
    text = lines[offset].strip() if 0 <= offset < len(lines) else ""
    return Place(function.__name__, number, text)


def line_with(function: Any, pattern: str) -> list[Note]:
    """Return the first line of `function` whose start matches the regex `pattern`.

    Indentation is ignored. Returns [] if no line matches.
    """
    inner = source_function(function)
    for offset, text in enumerate(source(function).splitlines()):
        if inner is not None and re.match(pattern, text.strip()):
            return [(at_line(inner, inner.__code__.co_firstlineno + offset), "")]
    return []


def returns(function: Any) -> list[Note]:
    """Return the first line with a `return` in a plain function.

    Those of functions defined inside it count only if it has none itself.
    """
    inner = source_function(function)
    if inner is not None:
        for node in tree_of(inner).body[:1]:
            for line in own_returns(getattr(node, "body", [])):
                return [(at_line(inner, line), "")]
    return line_with(function, "return")


def own_returns(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines with a `return` in some nodes, but not in functions there."""
    for node in nodes:
        if isinstance(node, ast.Return):
            yield node.lineno
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from own_returns(ast.iter_child_nodes(node))


def raised_at(error: BaseException, function: Any) -> list[Note]:
    """Return the line of `function` at which an exception was raised."""
    inner = source_function(function)
    trace = error.__traceback__
    found: list[Note] = []
    while trace is not None and inner is not None:
        if trace.tb_frame.f_code is inner.__code__:
            found = [(at_line(inner, trace.tb_lineno), "")]
        trace = trace.tb_next
    return found


def raised(
    name: str, call: str, error: BaseException, function: Any, why: str = ""
) -> Verdict:
    """Return the verdict on an exception that `function` has raised in a call."""
    said = f"{call} raises {type(error).__name__}: {error}".removesuffix(": ")
    message = said if said.endswith(".") else f"{said}."
    return Verdict(name, "exception", message, why, raised_at(error, function))


def parameter_names(function: Any) -> list[str]:
    inner = source_function(function)
    return list(inspect.signature(inner).parameters) if inner else []


def device_functions(kernel: Any) -> dict[str, Any]:
    """Return the device functions that a kernel calls, by the names it uses."""
    inner = source_function(kernel)
    if inner is None:
        return {}
    try:
        seen = inspect.getclosurevars(inner)
    except ValueError:  # a closure variable that has no value yet
        return {}
    named = {**seen.globals, **seen.nonlocals}
    return {name: f for name, f in named.items() if is_kernel(f)}


def scope_of(function: FunctionType) -> dict[str, Any]:
    """Return a function's globals and closure variables, with their values."""
    found = dict(function.__globals__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with suppress(ValueError):  # it has no value yet
            found[name] = cell.cell_contents
    return found


def global_names(kernel: Any, seen: set[Any] | None = None) -> Iterator[str]:
    """Yield the global and attribute names in a kernel and the functions it calls."""
    inner = source_function(kernel)
    seen = set() if seen is None else seen
    if inner is None or inner in seen:
        return
    seen.add(inner)
    yield from inner.__code__.co_names
    for helper in device_functions(inner).values():
        yield from global_names(helper, seen)
