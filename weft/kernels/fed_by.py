"""Which lines of a kernel a value came from, where given code has stored it."""

import ast

from weft.checking.source import at_line
from weft.checking.verdict import Verdict
from weft.kernels.call_chain import elsewhere
from weft.kernels.exercise import KernelExercise
from weft.kernels.guards import statements
from weft.places import Note
from weft.starters import source_function

STEPS = 2  # lines back


def with_feeders(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """Where a value was stored by another cell's function, add where it came from."""
    function = source_function(exercise.kernel)
    if verdict.kind != "wrong-value" or not verdict.places or function is None:
        return verdict
    if not elsewhere(exercise, verdict.places[0][0]).endswith("cell"):
        return verdict
    calls = [p.line for p, _ in verdict.places if p.function == function.__name__]
    if not calls:
        return verdict
    shown = {
        place.line for place, _ in verdict.places if not elsewhere(exercise, place)
    }
    more: list[Note] = [
        (at_line(function, line), f"`{name}` is set here")
        for line, name in came_from(exercise, calls[0])
        if line not in shown
    ]
    return verdict.but(places=[*verdict.places, *more])


def came_from(exercise: KernelExercise, line: int) -> list[tuple[int, str]]:
    """The lines before `line` that last set a name used there, and used on those."""
    plain = [
        node
        for node, _ in statements(exercise.kernel)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)
    ]
    here = next((n for n in plain if n.lineno <= line <= (n.end_lineno or 0)), None)
    found: list[tuple[int, str]] = []
    while here is not None and len(found) < STEPS:
        used = values_in(here)
        before = [n for n in plain if n.lineno < here.lineno and used & set_by(n)]
        here = max(before, key=lambda n: n.lineno, default=None)
        if here is not None:
            found.append((here.lineno, min(used & set_by(here))))
    return found


def values_in(node: ast.stmt) -> set[str]:
    """The names whose values a statement passes on: those of arrays, if it has any.

    What is between brackets says where, and not what.
    """
    value = getattr(node, "value", node)
    arrays = {
        n.value.id
        for n in ast.walk(value)
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
    }
    return arrays or {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}


def set_by(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value, or of whose elements it sets one."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign) and ".array(" not in ast.unparse(node.value):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    names: set[str] = set()
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            inner = part.value if isinstance(part, ast.Subscript) else part
            if isinstance(inner, ast.Name):
                names.add(inner.id)
    return names
