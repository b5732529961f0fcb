"""Results of calls: those discarded, and those that a wrong value comes from."""

import ast
import builtins
from collections.abc import Iterator
from types import FunctionType

from weft.checking.source import at_line, device_functions, scope_of, tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import Facts, came_from, set_by, statements
from weft.kernels.trial import Trial
from weft.places import Note
from weft.starters import source_function

PURE = ("max", "min", "abs", "round", "pow")
SHUFFLES = ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")


def name_lost_results(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Name, in the verdict on a wrong value, a line that discards a call's result."""
    if verdict.kind != "wrong-value" or trial.exercise.checks_launch:
        return verdict
    shown = {(place.function, place.line) for place, _ in verdict.places}
    for function in in_the_cell(trial):
        for line, called in thrown_away(function):
            note = f"the result of `{called}` is thrown away"
            if (function.__name__, line) in shown:
                continue
            verdict = verdict.but(
                places=[*verdict.places, (at_line(function, line), note)]
            ).adding(
                f"A call of `{called}` returns a result, and changes none of the "
                f"caller's variables. What becomes of its result on line {line}?"
            )
            return verdict
    return verdict


def in_the_cell(trial: Trial) -> list[FunctionType]:
    """Return the kernel and the functions of the same cell that it calls."""
    kernel = trial.exercise.function()
    if kernel is None:
        return []
    helpers = map(source_function, device_functions(kernel).values())
    file = kernel.__code__.co_filename
    return [kernel, *(f for f in helpers if f and f.__code__.co_filename == file)]


def thrown_away(function: FunctionType) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each pure function whose result is discarded."""
    scope = scope_of(function)
    helpers = device_functions(function)
    for node, _above in statements(function):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            continue
        called = ast.unparse(node.value.func)
        last = called.rpartition(".")[2]
        is_own = called in helpers and only_returns(source_function(helpers[called]))
        is_python = called in PURE and scope.get(called) in (
            None,
            getattr(builtins, called, None),
        )
        if is_own or is_python or called.startswith("math.") or last in SHUFFLES:
            yield node.lineno, called


def only_returns(function: FunctionType | None) -> bool:
    """Return whether a device function returns a result and stores to no argument."""
    if function is None:
        return False
    tree = tree_of(function)
    names = {arg.arg for node in ast.walk(tree) for arg in arguments(node)}
    returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value]
    changed = {name for node, _ in statements(function) for name in set_by(node)}
    stored = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    }
    calls = [
        node.value
        for node, _ in statements(function)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    handed = {n.id for c in calls for n in ast.walk(c) if isinstance(n, ast.Name)}
    return bool(returns) and not names & ((stored & changed) | handed)


def arguments(node: ast.AST) -> list[ast.arg]:
    return node.args.args if isinstance(node, ast.FunctionDef) else []


def show_returns(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Add to a verdict the `return` lines of the function that gave a wrong value.

    The function is one that the kernel calls and that is defined in the same cell.
    """
    kernel = trial.exercise.function()
    if verdict.kind != "wrong-value" or kernel is None or not verdict.places:
        return verdict
    stored = verdict.places[0][0]
    others = {f.__name__: f for f in in_the_cell(trial)[1:]}
    if stored.function != kernel.__name__ or not others:
        return verdict
    lines = [stored.line, *(o.line for o in came_from(trial.exercise, stored.line, []))]
    for node, _above in statements(kernel):
        if node.lineno not in lines:
            continue
        for called in names_called(node):
            if called in others:
                notes = returns_of(others[called])
                return verdict.but(places=[*notes, *verdict.places])
    return verdict


def names_called(node: ast.stmt) -> list[str]:
    """Return the names of the functions that a statement calls."""
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
    return [ast.unparse(call.func) for call in calls]


def returns_of(function: FunctionType) -> list[Note]:
    """Return the lines on which a function returns a value."""
    return [
        (at_line(function, node.lineno), "the value comes from here")
        for node, _ in statements(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]
