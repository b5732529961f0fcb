"""The conditions that keep threads from a line of a kernel, found in its source."""

import ast
from typing import Any

from weft.checking.source import at_line, tree_of
from weft.intrinsics import registry
from weft.places import Place
from weft.simulator.language.python_errors import precedence
from weft.starters import source_function

STORES = registry.names(*registry.STORES)

Places = list[tuple[Place, str]]
Inside = tuple[ast.If, ...]  # round a statement, the outermost first


def statements(kernel: Any) -> list[tuple[ast.stmt, Inside]]:
    """Every statement of a kernel but its definition, and the ifs that it is in."""
    inner = source_function(kernel)
    body = tree_of(inner).body if inner else []
    if not body or not isinstance(body[0], ast.FunctionDef):
        return []
    found: list[tuple[ast.stmt, Inside]] = []

    def look(node: ast.AST, above: Inside) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                found.append((child, above))
            inner = (*above, child) if isinstance(child, ast.If) else above
            look(child, inner)

    look(body[0], ())
    return found


def lines(kernel: Any, notes: dict[int, str]) -> Places:
    """These lines of a kernel, in order, each with its note."""
    inner = source_function(kernel)
    if inner is None:
        return []
    return [(at_line(inner, line), note) for line, note in sorted(notes.items())]


def never_reached(kernel: Any, name: str) -> tuple[Places, str]:
    """The stores to the array `name`, the ifs round them, and a word on those."""
    notes: dict[int, str] = {}
    inside: list[ast.If] = []
    for node, above in statements(kernel):
        if stores(node, name):
            notes[node.lineno] = f"should store to {name}"
            inside += above
    for each in inside:
        notes.setdefault(each.lineno, "")
    if not notes:
        return [], ""
    notes = ends_before(kernel, max(notes)) | notes
    return lines(kernel, notes), said(inside)


def stores(node: ast.stmt, name: str) -> bool:
    """Whether a statement stores to an element of `name`, itself or by a call."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    parts = [p for target in targets for p in ast.walk(target)]
    if any(isinstance(p, ast.Subscript) and is_name(p.value, name) for p in parts):
        return True
    calls = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    if not isinstance(calls, ast.Call) or not calls.args:
        return False
    called = ast.unparse(calls.func)
    writes = called in STORES or called.startswith("cuda.atomic.")
    return writes and is_name(calls.args[0], name)


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def ends_before(kernel: Any, line: int) -> dict[int, str]:
    """The lines before `line` on which threads end, with the ifs they are in."""
    notes: dict[int, str] = {}
    for node, above in statements(kernel):
        if isinstance(node, ast.Return) and node.lineno < line and above:
            notes.setdefault(above[-1].lineno, "")
            notes[node.lineno] = "a thread that ends here stores nothing"
    return notes


def round_line(kernel: Any, line: int) -> list[ast.If]:
    """The ifs that the statement on a line is in, or that a thread has come past."""
    found = statements(kernel)
    inside = [each for node, above in found if node.lineno == line for each in above]
    past = [
        above[-1]
        for node, above in found
        if isinstance(node, ast.Return) and node.lineno < line and above
    ]
    return [*past, *inside]


def said(inside: list[ast.If]) -> str:
    """A word on what Python makes of these conditions, '' where there is none."""
    return next(filter(None, (precedence(each.test) for each in inside)), "")


def misread(kernel: Any, places: Places) -> tuple[Places, str]:
    """The guard of these places that Python reads in another way than it looks."""
    function = source_function(kernel)
    for place, _ in places:
        if function is None or place.function != function.__name__:
            continue
        for each in round_line(kernel, place.line):
            if word := said([each]):
                return lines(kernel, {each.lineno: "the guard"}), word
    return [], ""
