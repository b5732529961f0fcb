"""Advice on indices out of bounds: where one comes from, and what lets it through."""

import ast
import re
from functools import cached_property
from types import FunctionType

from weft.checking.source import tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import (
    Facts,
    around,
    is_name,
    misreading,
    statements,
    stored_in,
    with_lines,
)
from weft.kernels.trial import Trial
from weft.simulator.faults import Outside

NOTES = "lets it through", "is false here"  # on a condition, and on one with an `else`
ROW, COLUMN = re.compile(r"(row|y)"), re.compile(r"(col|x)")  # as names begin


def show_guard(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Show where an index out of bounds comes from, and the conditions that it met.

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
                guard = {each.lineno: "the guard"}
                return with_lines(verdict, function, guard).but(why=word)
        if facts.fault is not None and (beyond := facts.fault.outside) is not None:
            used = Used(function, place.line, beyond)
            notes = used.origin() | used.conditions()
            return with_lines(verdict, function, notes)
    return verdict


def show_order_of_grid(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Show a line that calls the index along x a row, and that along y a column."""
    function = trial.exercise.function()
    kinds = ("out-of-bounds", "negative-index", "unwritten")
    if verdict.kind not in kinds or function is None:
        return verdict
    for node, _ in statements(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "cuda.grid(2)":
            names = re.findall(r"\w+", ast.unparse(node.targets[0]))
            if len(names) == 2 and ROW.match(names[0]) and COLUMN.match(names[1]):
                note = f"`{names[0]}` counts along x"
                return with_lines(verdict, function, {node.lineno: note})
    return verdict


class Used:
    """An index out of bounds, where a line of a function uses it."""

    def __init__(self, function: FunctionType, line: int, beyond: Outside) -> None:
        self.function, self.line, self.beyond = function, line, beyond
        self.statements = [node for node, _ in statements(function)]
        self.variables = stored_in(tree_of(function))

    @cached_property
    def indices(self) -> list[list[ast.expr]]:
        """The indices of the array on the line, each as its parts, one per axis."""
        here = [node for node in self.statements if node.lineno == self.line]
        found = []
        for node in here[-1:]:
            shown = getattr(node, "test", node)
            found += [n for n in ast.walk(shown) if isinstance(n, ast.Subscript)]
        mine = [n.slice for n in found if is_name(n.value, self.beyond.array)]
        return [n.elts if isinstance(n, ast.Tuple) else [n] for n in mine]

    @cached_property
    def sources(self) -> dict[str, set[str]]:
        """For each variable, the names in what is assigned to it."""
        found: dict[str, set[str]] = {}
        for node in self.statements:
            if isinstance(node, ast.Assign | ast.AugAssign):
                for name in assigned(node):
                    found.setdefault(name, set()).update(names_in(node.value))
        return found

    def parts(self) -> list[ast.expr]:
        """Return the parts of the index for the axis that is out of bounds."""
        axis = self.beyond.axis
        return [index[axis] for index in self.indices if len(index) > axis]

    def origin(self) -> dict[int, str]:
        """Return a note on the line that sets the index, if it is a variable."""
        parts = self.parts()
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if len(names) != 1 or not all(isinstance(part, ast.Name) for part in parts):
            return {}
        (name,) = names
        setting = [node for node in self.statements if self.sets(node, name)]
        later = (n for n in self.statements if n.lineno > self.line)
        if not setting or any(name in assigned(node) for node in later):
            return {}
        last = max(setting, key=lambda node: node.lineno)
        if isinstance(last, ast.Assign) and "cuda." in ast.unparse(last.value):
            return {}
        return {last.lineno: f"`{name}` is {self.beyond.index}"}

    def sets(self, node: ast.stmt, name: str) -> bool:
        """Return whether a statement sets a variable before the line, or around it."""
        if isinstance(node, ast.For):
            inside = node.lineno < self.line <= (node.end_lineno or 0)
            return inside and name in names_in(node.target)
        return node.lineno < self.line and name in assigned(node)

    def conditions(self) -> dict[int, str]:
        """Return notes on the conditions on the index, all of which were met.

        Such a condition contains a variable of each axis of the index. Only if there is
        none, it may instead contain a variable from which this one is computed.
        """
        for known in ({}, self.sources):
            met = [
                each
                for each in around(self.function, self.line)
                if any(self.about(each.test, index, known) for index in self.indices)
            ]
            if met:
                return {each.lineno: outcome(each, self.line) for each in met}
        return {}

    def about(
        self, test: ast.expr, index: list[ast.expr], known: dict[str, set[str]]
    ) -> bool:
        """Return whether a condition contains a variable of each axis of an index."""
        tested = names_in(test) & self.variables
        each = [names for part in index if (names := names_in(part) & self.variables)]
        return bool(each) and all(behind(names, known) & tested for names in each)


def outcome(condition: ast.If, line: int) -> str:
    """Say how a condition came out if `line` was reached."""
    other = condition.orelse
    end = condition.end_lineno or 0
    inside_else = bool(other) and other[0].lineno <= line <= end
    return NOTES[inside_else]


def assigned(node: ast.stmt) -> set[str]:
    """Return the variables that a statement assigns."""
    return stored_in(node) if isinstance(node, ast.Assign | ast.AugAssign) else set()


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
