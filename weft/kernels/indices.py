"""Advice on indices out of bounds: where one comes from, and what lets it through."""

import ast
import re
from functools import cached_property
from types import FunctionType

from weft.checking.source import parameter_names, tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import (
    Facts,
    around,
    is_name,
    misreading,
    names_in,
    statements,
    stored_in,
    with_lines,
)
from weft.kernels.bounds import axes, constant, launch_sizes
from weft.kernels.definitions import setters
from weft.kernels.evaluated import Known, number
from weft.kernels.evidence import with_notes
from weft.kernels.trial import Trial
from weft.simulator.faults import Outside

NOTES = "lets it through", "is false here"  # on a condition, and on one with an `else`
OWN = re.compile(r"\bcuda\.(grid\(|threadIdx|blockIdx|laneid)")  # differs by thread
OF_BLOCK = re.compile(r"\bcuda\.(grid\(|blockIdx)")  # differs by block
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
            inside = facts.fault.places[0].function == function.__name__
            known = {**beyond.known, **launch_sizes(trial)} if inside else {}
            used = Used(function, place.line, beyond, known)
            values, notes = used.origin()
            notes |= used.conditions()
            more = [(place, ", ".join(values))] if values else []
            if not facts.backwards and any(verdict.block or ()):
                verdict = verdict.adding(used.of_block())
            places = with_notes(verdict.places, more)
            return with_lines(verdict.but(places=places), function, notes)
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
    """An index out of bounds, where a line of a function uses it.

    known: what is known of the function's names at that moment.
    """

    def __init__(
        self, function: FunctionType, line: int, beyond: Outside, known: Known
    ) -> None:
        self.function, self.line, self.beyond = function, line, beyond
        self.known = known
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
        return [axes(n.slice) for n in found if is_name(n.value, self.beyond.array)]

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
        """Return the parts of the index for the axis that is out of bounds.

        If the line has several indices of the array, those with other values are left
        out.
        """
        axis, index = self.beyond.axis, self.beyond.index
        parts = [parts[axis] for parts in self.indices if len(parts) > axis]
        return [p for p in parts if number(p, self.known) in (None, index)]

    def origin(self) -> tuple[list[str], dict[int, str]]:
        """Return the values of what the index consists of, and notes on lines.

        The notes are on the lines that set its variables. A value is among the notes if
        there is one such line, unless each thread has an index of its own from it.
        """
        values: list[str] = []
        notes: dict[int, str] = {}
        parts = self.parts()
        alone = all(isinstance(part, ast.Name) for part in parts)
        for each in (name for part in parts for name in self.names_of(part)):
            value = number(each, self.known)
            if value is None:
                continue
            said = f"`{ast.unparse(each)}` is {value}"
            found = self.set_on(ast.unparse(each), said, value)
            for line, note in found.items():
                if note not in notes.get(line, ""):
                    notes[line] = f"{notes[line]}, {note}" if line in notes else note
            shown = any(said in note for note in found.values())
            if not shown and not alone and said not in values:
                values.append(said)
        return values, notes

    def names_of(self, part: ast.expr) -> list[ast.expr]:
        """Return the variables, and the sizes of arrays, in a part of an index."""
        known = self.variables | set(parameter_names(self.function))
        inside = [n for n in ast.walk(part) if isinstance(n, ast.expr)]
        found = [
            n
            for n in inside
            if (isinstance(n, ast.Name) and n.id in known)
            or (isinstance(n, ast.Subscript) and ast.unparse(n).count(".shape["))
            or (isinstance(n, ast.Attribute) and n.attr == "size")
        ]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def set_on(self, name: str, said: str, value: int) -> dict[int, str]:
        """Return a note on the line that last set a variable to `value`.

        If the test of a `while` lets through a value that is no index of the axis, this
        is its line. If several lines may have been the last, they have notes without
        the value. There is no note if a line gives each thread a number of its own.
        said: the variable and its value.
        """
        found = setters(tree_of(self.function).body[0], name, self.line)
        sure = [node for node in found if self.gives(node, name) == value]
        maybe = [node for node in found if self.gives(node, name) in (None, value)]
        if not sure and (loop := self.let_through(name, value)):
            return {loop: f"{said}, {NOTES[0]}"}
        others = {node.lineno for node in maybe} - {self.line}
        if not sure and len(maybe) > 1:
            return dict.fromkeys(others, f"sets `{name}`")
        last = max(sure or maybe, key=lambda node: node.lineno, default=None)
        own = isinstance(last, ast.Assign) and OWN.search(ast.unparse(last.value))
        return {last.lineno: said} if last and last.lineno in others and not own else {}

    def let_through(self, name: str, value: int) -> int:
        """Return the line of the `while` that tests a variable beyond the axis, or 0.

        Beyond the axis is a value that is itself no index of it.
        """
        if 0 <= value < self.size:
            return 0
        loops = [
            node.lineno
            for node in self.statements
            if isinstance(node, ast.While) and name in names_in(node.test)
            if node.lineno < self.line <= (node.end_lineno or 0)
        ]
        return max(loops, default=0)

    @property
    def size(self) -> int:
        """The size of the array along the axis, or 0 if it is unknown."""
        shape = self.known.get(self.beyond.array)
        return shape[self.beyond.axis] if isinstance(shape, tuple) else 0

    def gives(self, node: ast.stmt, name: str) -> int | None:
        """Return the number that an assignment always gives a variable, or None."""
        if not isinstance(node, ast.Assign) or not is_name(node.targets[0], name):
            return None
        mine = names_in(node.value) & self.variables
        return None if mine else number(node.value, self.known)

    def of_block(self) -> str:
        """Say that an index of shared memory depends on the block, if it does."""
        array = self.beyond.array
        names = behind(set[str]().union(*map(names_in, self.parts())), self.sources)
        text = {
            name: ast.unparse(node.value)
            for node in self.statements
            if isinstance(node, ast.Assign)
            for name in assigned(node)
        }
        shared = "cuda.shared.array(" in text.get(array, "")
        if not shared or not any(OF_BLOCK.search(text.get(n, "")) for n in names):
            return ""
        return (
            f"Each block has its own `{array}`, with indices that begin at 0, and this "
            "index depends on the block."
        )

    def conditions(self) -> dict[int, str]:
        """Return notes on the conditions on the index, all of which were met.

        Such a condition contains a variable of each axis of the index. Only if there is
        none, it may instead contain a variable from which this one is computed.
        """
        for known in ({}, self.sources):
            met = [
                each
                for each in self.around(self.line)
                if any(self.about(each.test, index, known) for index in self.indices)
            ]
            if met:
                return {each.lineno: self.outcome(each) for each in met}
        return {}

    def outcome(self, condition: ast.If) -> str:
        """Say how a condition came out, or which element it rightly lets through."""
        other = condition.orelse
        inside_else = bool(other) and other[0].lineno <= self.line
        if inside_else and self.line <= (condition.end_lineno or 0):
            return NOTES[1]
        result = self.result(condition)
        return f"`{result}` is in bounds" if result else NOTES[0]

    def result(self, condition: ast.If) -> str:
        """Return the element of another argument that a condition is about.

        The thread stores this element under the condition. Returns "" if there is no
        such element, if it is out of bounds, or if its index is still to change.
        """
        found = (
            self.in_bounds(target)
            for node in self.statements
            if isinstance(node, ast.Assign)
            if condition.lineno in [each.lineno for each in self.around(node.lineno)]
            for target in node.targets
            if isinstance(target, ast.Subscript)
            if self.compares(condition.test, axes(target.slice))
        )
        return next(filter(None, found), "")

    def compares(self, test: ast.expr, index: list[ast.expr]) -> bool:
        """Return whether a test compares parts of an index, as a whole.

        It does not if it tests another variable that is used in the index out of
        bounds, or the size of this array.
        """
        if self.beyond.array in behind(names_in(test), self.sources):
            return False
        mine = set[str]().union(*map(names_in, index)) & self.variables
        used = set[str]().union(*(names_in(p) for parts in self.indices for p in parts))
        terms = [
            term
            for node in ast.walk(test)
            if isinstance(node, ast.Compare)
            for term in (node.left, *node.comparators)
            if names_in(term) & mine
        ]
        whole = {ast.unparse(term) for term in terms} <= set(map(ast.unparse, index))
        others = names_in(test) & used & self.variables - mine - self.fixed
        return bool(terms) and whole and not others

    @cached_property
    def fixed(self) -> set[str]:
        """The variables that have the same value in every thread."""
        known = {n: v for n, v in self.known.items() if n not in self.variables}
        return set(constant(tree_of(self.function), known))

    def in_bounds(self, target: ast.Subscript) -> str:
        """Return an element of another argument, if it is known and in bounds."""
        name, parts = ast.unparse(target.value), axes(target.slice)
        index = [number(part, self.known) for part in parts]
        shape = self.known.get(name)
        later = [node for node in self.statements if node.lineno > self.line]
        mine = names_in(target.slice)
        if (
            name == self.beyond.array
            or name not in parameter_names(self.function)
            or not isinstance(shape, tuple)
            or len(shape) != len(index)
            or any(mine & stored_in(node) for node in later)
        ):
            return ""
        if all(k is not None and 0 <= k < n for k, n in zip(index, shape, strict=True)):
            return f"{name}[{', '.join(map(str, index))}]"
        return ""

    def around(self, line: int) -> list[ast.If]:
        """Return the `if` statements that decide whether a line runs."""
        return around(self.function, line)

    def about(
        self, test: ast.expr, index: list[ast.expr], known: dict[str, set[str]]
    ) -> bool:
        """Return whether a condition contains a variable of each axis of an index."""
        tested = names_in(test) & self.variables
        each = [names for part in index if (names := names_in(part) & self.variables)]
        return bool(each) and all(behind(names, known) & tested for names in each)


def assigned(node: ast.stmt) -> set[str]:
    """Return the variables that a statement assigns."""
    return stored_in(node) if isinstance(node, ast.Assign | ast.AugAssign) else set()


def behind(names: set[str], sources: dict[str, set[str]]) -> set[str]:
    """Return names, and all from which they are computed."""
    found, new = set[str](), names
    while new:
        found |= new
        new = set[str]().union(*(sources.get(name, ()) for name in new)) - found
    return found
