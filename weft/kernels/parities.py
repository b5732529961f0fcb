"""Waits at mbarriers: lines that set their parity back to a constant in a loop."""

import ast
import re
from collections.abc import Iterator, Sequence

from weft.checking.source import tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import Facts, with_lines
from weft.kernels.trial import Trial
from weft.simulator.trace.trace import Trace

Loop = ast.For | ast.While
WAIT = re.compile(r"\bmbarrier_wait\(\s*(\w+)")


def show_resets(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Show the lines that set the parity of a wait to a constant in a loop around it.

    Applies to waits that never end, and to a read of memory that a copy is still
    filling, if a wait at the mbarrier of the copy has ended in an earlier phase.
    """
    function, bars = trial.exercise.function(), set[str]()
    if verdict.kind == "mbarrier":
        waits = (WAIT.search(place.text) for place, _ in verdict.places)
        bars = {found[1] for found in waits if found}
    elif verdict.kind == "uninitialised" and facts.trace is not None:
        bars = waited_too_early(facts.trace, verdict.rows)
    if function is None or not bars:
        return verdict
    notes = {
        line: f"sets `{name}` in each turn of the loop on line {loop.lineno}"
        for name, loop, line in resets(tree_of(function), bars)
    }
    return with_lines(verdict, function, notes)


def waited_too_early(trace: Trace, rows: Sequence[int]) -> set[str]:
    """Return the arrays of the mbarriers of copies that are not in their first phase.

    rows: those of a verdict. Only mbarriers at which a wait has ended count.
    """
    bulk = trace.bulk
    waited = {bar for _, _, bar, _ in bulk.passes}
    begun = [bulk.copies[row] for row in rows if row in bulk.copies]
    return {
        copy.bar.partition("[")[0]
        for copy in begun
        if copy.phase and copy.bar in waited
    }


def resets(tree: ast.AST, bars: set[str]) -> Iterator[tuple[str, Loop, int]]:
    """Find lines that set the parity of a wait in each turn of a loop around the wait.

    Only lines that set it to a constant count. bars: the names of the mbarriers' arrays
    in the waits. Yields the name of the parity, the loop, and the line.
    """
    for loop in ast.walk(tree):
        if not isinstance(loop, Loop):
            continue
        parities = [
            call.args[2]
            for call in ast.walk(loop)
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "mbarrier_wait"
            if len(call.args) == 3 and ast.unparse(call.args[0]) in bars
        ]
        used = (node for parity in parities for node in ast.walk(parity))
        names = {node.id for node in used if isinstance(node, ast.Name)}
        for statement in loop.body:
            for name in sorted(names & constants(statement)):
                yield name, loop, statement.lineno


def constants(statement: ast.stmt) -> set[str]:
    """Return the names to which a statement assigns a number, such as `int32(0)`."""
    found: set[str] = set()
    if not isinstance(statement, ast.Assign):
        return found
    for target in statement.targets:
        pairs = [(target, statement.value)]
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = list(zip(target.elts, statement.value.elts, strict=False))
        for name, value in pairs:
            number = value
            if isinstance(value, ast.Call) and len(value.args) == 1:
                number = value.args[0]
            if isinstance(name, ast.Name) and isinstance(number, ast.Constant):
                found.add(name.id)
    return found
