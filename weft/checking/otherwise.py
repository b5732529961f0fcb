"""The kernel once more, with other values for the constants that it names.

Who times a kernel compiles it with `TILE = 32`, where the exercise has 16. It should
be right then as well, and is not if 16 stands in it as a number. So it is run in the
simulator with other values. Which number is to blame is found by trying: with a name
in its place the kernel works.
"""

import ast
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from weft.checking.chosen_launch import configure
from weft.checking.exercise import Exercise, source_function
from weft.checking.simulated import run_case
from weft.checking.verdict import Failed, Verdict
from weft.simulator import Place

TRIES = 8  # of names in the place of numbers
LINES = 6  # that a verdict shows

Constants = Mapping[str, Any]


def run(exercise: Exercise) -> list[str]:
    """Run the last size with each of the exercise's constants. Raises `Failed`."""
    function = source_function(exercise.kernel)
    if not exercise.constants or function is None:
        return []
    for constants in exercise.constants:
        run_with(exercise, constants, function)
    seen = " and with ".join(map(listed, exercise.constants))
    return [f"right with {seen} as well"]


def run_with(exercise: Exercise, constants: Constants, function: FunctionType) -> None:
    scope = function.__globals__
    unknown = sorted(constants.keys() - scope.keys())
    if unknown:
        raise ValueError(f"check({exercise.name}, ...): no constant {unknown[0]}")
    old = {n: scope[n] for n, value in constants.items() if scope[n] != value}
    with changed(scope, constants):
        found = attempt(exercise)
        if found is None:
            return
        numbers = numbers_in(function, old)
        blamed = culprits(
            numbers,
            lambda chosen: attempt(mended(exercise, function, chosen)) is None,
        )
    raise Failed(worded(exercise, constants, found, function, numbers, blamed))


@contextmanager
def changed(scope: dict[str, Any], constants: Constants) -> Iterator[None]:
    """Give global names other values for a while."""
    old = {name: scope[name] for name in constants}
    scope.update(constants)
    try:
        yield
    finally:
        scope.update(old)


def attempt(exercise: Exercise) -> Verdict | None:
    """Run the last size; what is wrong with it, None if nothing is."""
    case = exercise.case(exercise.sizes[-1])
    try:
        run_case(exercise, case, configure(exercise, case))
    except Failed as failed:
        return failed.verdict
    return None


@dataclass(frozen=True)
class Number:
    """A number in a kernel, and the names whose value it was."""

    line: int  # from the function's first, which is 0
    column: int
    value: int
    names: tuple[str, ...]
    bound: bool  # of a loop, or a side of an array


def numbers_in(function: FunctionType, old: Constants) -> list[Number]:
    """The numbers in the source of `function` that are values of `old`.

    Those that bound a loop or an array come first, for there one looks first.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return []
    found, bounds = [], set(map(id, bounds_in(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            value, at = node.value, (node.lineno - 1, node.col_offset)
            names = tuple(name for name in old if old[name] == value)
            if names:
                found.append(Number(*at, value, names, id(node) in bounds))
    return sorted(found, key=lambda n: (not n.bound, n.line, n.column))


def bounds_in(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands in the `range` of a loop, but for its step, and in shapes."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("range"), args=args):
                parts = args[:2]
            case ast.Call(func=ast.Attribute(attr="array"), args=[shape, *_]):
                parts = [shape]
            case _:
                continue
        for part in parts:
            yield from ast.walk(part)


def culprits(
    numbers: Sequence[Number], works: Callable[[Mapping[Number, str]], bool]
) -> list[Number]:
    """Of the numbers those that have to be names, [] if that does not help."""
    alone = [{number: name} for number in numbers for name in number.names]
    for one in alone[:TRIES]:
        if works(one):
            return list(one)
    values = sorted({n.value: n.names for n in numbers}.items())
    ways = itertools.product(*(names for _, names in values))
    for names in itertools.islice(ways, TRIES // 4 if len(numbers) > 1 else 0):
        name_of = dict(zip((value for value, _ in values), names, strict=True))
        chosen = {n: name_of[n.value] for n in numbers}
        if works(chosen):
            for number in numbers[:TRIES]:
                fewer = {n: name for n, name in chosen.items() if n is not number}
                chosen = fewer if works(fewer) else chosen
            return list(chosen)
    return []


def mended(
    exercise: Exercise, function: FunctionType, chosen: Mapping[Number, str]
) -> Exercise:
    """The exercise with a kernel that has names in the place of some numbers."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    for number in sorted(chosen, key=lambda n: (n.line, n.column), reverse=True):
        text = lines[number.line].encode()
        end = number.column
        while text[end : end + 1].isalnum() or text[end : end + 1] == b"_":
            end += 1  # such as 16, 0x10 or 1_6
        name = chosen[number].encode()
        lines[number.line] = (text[: number.column] + name + text[end:]).decode()
    file = f"<{function.__name__}, mended>"
    source = "".join(lines)
    linecache.cache[file] = (len(source), None, lines, file)
    scope = dict(function.__globals__)
    exec(compile(source, file, "exec"), scope)
    kernel = scope[function.__name__]
    return replace(exercise, kernel=kernel, written_by_learner=kernel)


def worded(
    exercise: Exercise,
    constants: Constants,
    found: Verdict,
    function: FunctionType,
    numbers: Sequence[Number],
    blamed: Sequence[Number],
) -> Verdict:
    """Word what goes wrong with other constants, and which number is to blame."""
    why = (
        "The measurements compile this kernel with other sizes. Then a name has "
        "another value, and a number has not. Which name does the number stand for?"
    )
    if not blamed:
        why = (
            "The measurements compile this kernel with other sizes, and something in "
            "it fits the old ones alone: an index, or a number that should follow "
            "from one of these names and is not computed from it."
        )
    notes: dict[int, list[str]] = {}
    shown = blamed or [n for n in numbers if n.bound] or numbers
    for number in sorted(shown, key=lambda n: (n.line, n.column)):
        said = f"{number.value} here"
        if blamed:
            was = (f"{name} was {constants[name]}" for name in number.names)
            said += f"; {' and '.join(was)} in this run"
        notes.setdefault(number.line, []).append(said)
    text = inspect.getsource(function).splitlines() if notes else []
    first = function.__code__.co_firstlineno
    places = [
        (
            Place(function.__name__, first + line, text[line].strip()),
            ", ".join(dict.fromkeys(said)),
        )
        for line, said in notes.items()
    ]
    return Verdict(
        exercise.name,
        "constants",
        f"With {listed(constants)} it goes wrong: {found.message}",
        why,
        places[:LINES] if blamed else (found.places + places)[:LINES],
        when=found.when,
    )


def listed(constants: Constants) -> str:
    """'BM = 16, TM = 8'."""
    return ", ".join(f"{name} = {value}" for name, value in constants.items())
