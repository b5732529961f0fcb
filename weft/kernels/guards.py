"""Advice on conditions: which of them let an index through that is out of bounds."""

import ast
from types import FunctionType

from weft.checking.source import tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import (
    Facts,
    around,
    is_name,
    lines,
    misreading,
    set_by,
    statements,
)
from weft.kernels.trial import Trial

NOTES = "lets it through", "is false here"  # on a condition, and on one with an `else`


def show_guard(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Show the conditions on an index that is out of bounds: they let it through.

    If Python parses a condition around the line differently from how it looks, show and
    explain this one instead.
    """
    function = trial.exercise.function()
    if verdict.kind not in ("out-of-bounds", "negative-index", "unwritten"):
        return verdict
    for place, _ in verdict.places:
        if function is None or place.function != function.__name__:
            continue
        for each in around(function, place.line):
            if word := misreading([each]):
                return with_lines(verdict, function, {each.lineno: "the guard"}, word)
        if facts.fault is not None:
            met = tests_of_index(function, place.line, facts.fault.of)
            return with_lines(verdict, function, met, verdict.why)
    return verdict


def with_lines(
    verdict: Verdict, function: FunctionType, notes: dict[int, str], why: str
) -> Verdict:
    """Return a verdict with more lines of a function, and with another `why`."""
    shown = {place.line for place, _ in verdict.places}
    more = [note for note in lines(function, notes) if note[0].line not in shown]
    return verdict.but(places=[*verdict.places, *more], why=why)


def tests_of_index(function: FunctionType, line: int, of: str) -> dict[int, str]:
    """Return notes on the conditions on an index of array `of` that is used on `line`.

    Such a condition contains a variable of each axis of the index. Only if there is
    none, it may instead contain a variable from which this one is computed.
    """
    here = [node for node, _ in statements(function) if node.lineno == line]
    if not here:
        return {}
    variables = {
        n.id
        for n in ast.walk(tree_of(function))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    sources: dict[str, set[str]] = {}
    for node, _ in statements(function):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for name in set_by(node):
                sources.setdefault(name, set()).update(names_in(node.value))
    shown = getattr(here[-1], "test", here[-1])
    indices = [
        [names for part in axes(n.slice) if (names := names_in(part) & variables)]
        for n in ast.walk(shown)
        if isinstance(n, ast.Subscript) and is_name(n.value, of)
    ]

    def about(test: ast.expr, known: dict[str, set[str]]) -> bool:
        tested = names_in(test) & variables
        return any(
            index and all(behind(names, known) & tested for names in index)
            for index in indices
        )

    for known in ({}, sources):
        if met := [each for each in around(function, line) if about(each.test, known)]:
            return {each.lineno: outcome(each, line) for each in met}
    return {}


def outcome(condition: ast.If, line: int) -> str:
    """Say how a condition came out if `line` was reached."""
    other = condition.orelse
    end = condition.end_lineno or 0
    inside_else = bool(other) and other[0].lineno <= line <= end
    return NOTES[inside_else]


def axes(index: ast.expr) -> list[ast.expr]:
    """Return the parts of an index, one per axis."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression contains."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def behind(names: set[str], sources: dict[str, set[str]]) -> set[str]:
    """Return names, and all from which they are computed."""
    found, new = set[str](), names
    while new:
        found |= new
        new = set[str]().union(*(sources.get(name, ()) for name in new)) - found
    return found
