"""Races in a pipelined loop whose barrier precedes both accesses."""

import ast
from types import FunctionType

from weft.checking.source import global_names, tree_of
from weft.checking.verdict import Verdict
from weft.kernels.advice import Facts
from weft.kernels.trial import Trial

BARRIER = "cuda.syncthreads"


def name_other_barrier(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Explain a race in a pipelined loop whose barriers all precede both accesses.

    Each iteration fills one buffer and reads another, so it needs only one barrier. Any
    other verdict is returned unchanged.
    """
    function = trial.exercise.function()
    if verdict.kind != "race" or function is None:
        return verdict
    if "commit_group" not in global_names(function):
        return verdict
    own = {p.line for p, _ in verdict.places if p.function == function.__name__}
    if len(own) != 2:
        return verdict
    first, last = sorted(own)
    barriers = in_the_loop(function, first, last)
    if not barriers or barriers[-1] > first:
        return verdict
    waits = [n for n in own if n in calls_of(function, "wait_group")]
    if waits:
        return verdict.but(
            why=f"`wait_group` on line {waits[0]} waits for the thread's own copies. "
            "Those of the others have arrived once each thread has waited, and the "
            f"barrier on line {barriers[-1]} comes before that. What lets the threads "
            "know that all have waited?"
        )
    return verdict.adding(
        f"The barrier on line {barriers[-1]} is before both lines, {first} and {last}. "
        "So in one turn of the loop they have to use different elements: which should "
        "each of them use?"
    )


def in_the_loop(function: FunctionType, first: int, last: int) -> list[int]:
    """Return the lines of the barriers in the innermost loop around two lines."""
    loops = [
        node
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.For | ast.While)
        if node.lineno < first and last <= (node.end_lineno or 0)
    ]
    if not loops:
        return []
    inner = max(loops, key=lambda node: node.lineno)
    inside = range(inner.lineno, (inner.end_lineno or 0) + 1)
    return [line for line in calls_of(function, BARRIER) if line in inside]


def calls_of(function: FunctionType, name: str) -> list[int]:
    """Return the lines of `function` that call the function `name`."""
    return sorted(
        node.lineno
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    )
