"""The kernel once more, with other values for the constants that it names.

Who times a kernel compiles it with `TILE = 32`, where the exercise has 16. It should
be right then as well, and is not if 16 stands in it as a number, or in a name that was
worked out beforehand. So it is run in the simulator with other values.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from weft.checking.exercise import Exercise, source_function
from weft.checking.source import at_line, tree_of
from weft.checking.verdict import Failed, Verdict
from weft.kernels import cost
from weft.kernels.derived_constants import worked_out
from weft.kernels.launch_exercises import configure
from weft.kernels.literals import SHAPE, Number, bounds_in, culprits, mended, numbers_in
from weft.kernels.simulated import run_case
from weft.places import Place

LINES = 6  # that a verdict shows

NUMBER = (
    "The measurements compile this kernel with other sizes. Then a name has another "
    "value, and a number has not. Which name does the number stand for?"
)
SOMETHING = (
    "The measurements compile this kernel with other sizes, and something in it fits "
    "the old ones alone: an index, or a number that should follow from one of these "
    "names and is not computed from it."
)
CANDIDATES = " What is asked about or still has its old value may be it, or may not."

Constants = Mapping[str, Any]
Places = list[tuple[Place, str]]


def run(exercise: Exercise) -> list[str]:
    """Run the last size with each of the exercise's constants. Raises `Failed`.

    Most limits fit the given constants alone. Those that hold with the others too are
    an entry of their own, `otherwise`.
    """
    function = source_function(exercise.kernel)
    if not exercise.constants or function is None:
        return []
    held = replace(exercise, limits=exercise.limits.get("otherwise", {}))
    for constants in exercise.constants:
        run_with(held, constants, function)
    seen = " and with ".join(map(listed, exercise.constants))
    return [f"right with {seen} as well"]


def run_with(exercise: Exercise, constants: Constants, function: FunctionType) -> None:
    scope = function.__globals__
    unknown = sorted(constants.keys() - scope.keys())
    if unknown:
        raise ValueError(f"check({exercise.name}, ...): no constant {unknown[0]}")
    old = {n: scope[n] for n, value in constants.items() if scope[n] != value}
    stale = worked_out(function, constants)
    with changed(scope, constants):
        first = attempt(exercise)
        if first.wrong is None:
            return

        def works(other: Exercise) -> bool:
            then = attempt(other)
            return then.wrong is None or (then.right and not first.right)

        with changed(scope, stale):
            cured = bool(stale) and works(exercise)
        numbers = [] if cured else numbers_in(function, old)
        blamed = culprits(
            numbers,
            constants,
            lambda chosen: works(with_kernel(exercise, mended(function, chosen))),
        )
    if first.right and not cured and not blamed:
        first.wrong.message = f"With {listed(constants)}: {first.wrong.message}"
        raise Failed(first.wrong)
    verdict = first.wrong
    verdict.message = f"With {listed(constants)} it goes wrong: {verdict.message}"
    early = uses(function, {n: f"{n} is still {scope[n]}" for n in stale})
    if cured:
        why = too_early({name: scope[name] for name in stale}, function)
        places = early
    elif blamed:
        why = NUMBER
        places = lines_of(function, blamed, lambda n: stands(n, constants))
    else:
        why = SOMETHING
        likely = [n for n in numbers if n.bounds] or numbers
        places = verdict.places + early + lines_of(function, likely, asked)
        if early or likely:
            why += CANDIDATES
    raise Failed(
        Verdict(
            exercise.name,
            "constants",
            verdict.message,
            why,
            places[:LINES],
            when=verdict.when,
        )
    )


def with_kernel(exercise: Exercise, kernel: Any) -> Exercise:
    return replace(exercise, kernel=kernel, written_by_learner=kernel)


@contextmanager
def changed(scope: dict[str, Any], constants: Constants) -> Iterator[None]:
    """Give global names other values for a while."""
    old = {name: scope[name] for name in constants}
    scope.update(constants)
    try:
        yield
    finally:
        scope.update(old)


@dataclass(frozen=True)
class Attempt:
    """What is wrong with a run, None if nothing is; `right` if only its cost."""

    wrong: Verdict | None
    right: bool


def attempt(exercise: Exercise) -> Attempt:
    """Run the last size, and count what it costs."""
    case = exercise.case(exercise.sizes[-1])
    try:
        done = run_case(exercise, case, configure(exercise, case))
    except Failed as failed:
        return Attempt(failed.verdict, right=False)
    try:
        cost.run(exercise, done.trace)
    except Failed as failed:
        return Attempt(failed.verdict, right=True)
    return Attempt(None, right=True)


def too_early(stale: Constants, function: FunctionType) -> str:
    """A word on names that were worked out before the kernel is compiled.

    Numba must know a shape; it takes names there, and no sums or products of them.
    """
    names = " and ".join(f"`{name}`" for name in stale)
    was, still, it = "was", "is", "it"
    if len(stale) > 1:
        was, still, it = "were", "are", "them"
    cure = f"Work {it} out inside the kernel."
    if stale.keys() & sides_in(function):
        cure = (
            "An array's shape cannot be worked out inside the kernel. But an array "
            "may have several axes, and each of them one of the names that change."
        )
    return (
        f"{names} {was} worked out when the cell ran, from names that have other "
        f"values in this run, and {still} what {it if still == 'is' else 'they'} {was} "
        f"then. {cure}"
    )


def sides_in(function: FunctionType) -> set[str]:
    """The names that stand in the shapes of a function's arrays."""
    sides = [node for node, what in bounds_in(tree_of(function)) if what == SHAPE]
    return {node.id for node in sides if isinstance(node, ast.Name)}


def uses(function: FunctionType, notes: Mapping[str, str]) -> Places:
    """The first line of a function that has each of these names, with its note."""
    found: dict[str, int] = {}
    for node in ast.walk(tree_of(function)):
        if isinstance(node, ast.Name) and node.id in notes:
            line = min(found.get(node.id, node.lineno), node.lineno)
            found[node.id] = line
    return [(at_line(function, line), notes[name]) for name, line in found.items()]


def lines_of(
    function: FunctionType, numbers: Sequence[Number], note: Callable[[Number], str]
) -> Places:
    """The lines that numbers are on, each with what is to be said of its numbers."""
    notes: dict[int, list[str]] = {}
    for number in sorted(numbers, key=lambda n: (n.line, n.column)):
        line = function.__code__.co_firstlineno + number.line
        notes.setdefault(line, []).append(note(number))
    return [
        (at_line(function, line), ", ".join(dict.fromkeys(said)))
        for line, said in notes.items()
    ]


def stands(number: Number, constants: Constants) -> str:
    was = (f"{name} was {constants[name]}" for name in number.names)
    return f"{number.value} here; {' and '.join(was)} in this run"


def asked(number: Number) -> str:
    names = " or ".join(number.names)
    return f"{number.value} here: for {names}, or for something else?"


def listed(constants: Constants) -> str:
    """'BM = 16, TM = 8'."""
    return ", ".join(f"{name} = {value}" for name, value in constants.items())
