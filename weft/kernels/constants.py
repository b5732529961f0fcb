"""Simulations of a kernel with other values for the constants that it names.

The measurements compile a kernel with other values, for instance with `TILE = 32` where
the exercise has 16. The kernel should be right with both, but it is not if it contains
the number 16, or a name whose value was computed from `TILE` beforehand. So the kernel
is simulated with such values too.
"""

import ast
import copy
import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral, Real
from types import FunctionType
from typing import Any

from weft.checking.source import at_line, global_names, tree_of
from weft.checking.verdict import Failed, Verdict
from weft.intrinsics import registry
from weft.kernels import cost
from weft.kernels.exercise import KernelExercise
from weft.kernels.repairs import compiled, is_right
from weft.kernels.simulated import judged
from weft.kernels.trial import Trial, configure
from weft.places import Note
from weft.starters import source_function
from weft.templates import scopes

TRIES = 12  # the most runs to find where a name belongs
LINES = 6  # the most that a verdict shows
# kinds of verdicts that name the faulty line
AT_FAULT = ("out-of-bounds", "negative-index", "misaligned")
PURE = {"int", "min", "max", "abs", "round", "int32", "int64", "uint32", "float32"}
WIDE = registry.names(elements=4)

NUMBER = (
    "The measurements compile this kernel with other sizes. A name then has a "
    "different value, but a literal number stays the same. With names instead of the "
    "numbers shown, the kernel is right. Which name should replace each number?"
)
NAME = (
    "The measurements compile this kernel with other sizes. Names that have the same "
    "value in your run then have different ones. With another name instead of "
    "what is shown, the kernel is right: which size is meant?"
)
SOMETHING = (
    "The measurements compile this kernel with other sizes, and something in it fits "
    "only the old ones: a name may be missing that is 0 or 1 in your run, or a number "
    "should follow from one of these names and is not computed from it."
)

Constants = Mapping[str, Any]


def run(exercise: KernelExercise) -> list[str]:
    """Run the kernel at the last size with each set of constants.

    Raises `Failed` if a run fails. Most limits hold only for the kernel's original
    constants. Those that hold for the other sets are in `limits["otherwise"]`.
    """
    function = source_function(exercise.kernel)
    if not exercise.constants or function is None:
        return []
    held = replace(exercise, limits=exercise.limits.get("otherwise", {}))
    for constants in exercise.constants:
        run_with(held, constants, function)
    seen = " and with ".join(listed(each, function) for each in exercise.constants)
    return [f"right with {seen} as well"]


def run_with(
    exercise: KernelExercise, constants: Constants, function: FunctionType
) -> None:
    """Check an exercise with other constants. Raises `Failed` if the check fails."""
    scope = function.__globals__
    original = values_of(function, constants)
    unknown = sorted(constants.keys() - original.keys())
    if unknown:
        raise ValueError(f"check({exercise.name}, ...): no constant {unknown[0]}")
    stale = derived(function, constants)
    old = {n: v for n, v in original.items() if n in scope and v != constants[n]}
    with changed(function, constants):
        wrong, is_right = attempt(exercise)
        if wrong is None:
            return
        with changed(function, stale):
            cured = bool(stale) and attempt(exercise)[0] is None
    own = [p.line for p, _ in wrong.places if p.function == function.__name__]
    near = max(own, default=0)
    numbers = []
    if not cured:
        numbers = guilty(exercise, constants, function, original, old, near)
    if is_right and not cured:
        raise Failed(
            wrong.but(message=f"With {listed(constants, function)}: {wrong.message}")
        )
    if cured:
        why = too_early({name: scope[name] for name in stale}, function)
        places = uses(function, {n: f"{n} is still {scope[n]}" for n in stale})
    else:
        why = (NAME if numbers[0].is_name else NUMBER) if numbers else SOMETHING
        why = f"{wrong.only if numbers else wrong.why} {why}".strip()
        places = lines_of(function, numbers, constants)
        if not places:
            places = list(wrong.places)
        elif wrong.kind in AT_FAULT:
            shown = {place.line for place, _ in places}
            more = [(at, "goes wrong here") for at, _ in wrong.places[:1]]
            places = places[: LINES - 1]
            places += [note for note in more if note[0].line not in shown]
    raise exercise.failed(
        "constants",
        f"With {listed(constants, function)} it goes wrong: {wrong.message}",
        why,
        places[:LINES],
        when=wrong.when,
    )


def values_of(function: FunctionType, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of names among a function's globals, or in those it calls."""
    found: dict[str, Any] = {}
    for scope in scopes(function):
        for name in names:
            if name in scope:
                found.setdefault(name, scope[name])
    return found


@contextmanager
def changed(function: FunctionType, constants: Constants) -> Iterator[None]:
    """Change globals of a function and of the functions it calls.

    The old values come back at the end of the `with` block.
    """
    old = [
        (scope, {name: scope[name] for name in constants.keys() & scope.keys()})
        for scope in scopes(function)
    ]
    for scope, names in old:
        scope.update({name: constants[name] for name in names})
    try:
        yield
    finally:
        for scope, names in old:
            scope.update(names)


def attempt(exercise: KernelExercise) -> tuple[Verdict | None, bool]:
    """Run the kernel at the last size, and judge its results and its cost.

    Returns a verdict if the kernel fails or costs too much, else None, and whether the
    results are right.
    """
    trial = configure(exercise, exercise.case(exercise.sizes[-1]))
    done = judged(trial)
    if isinstance(done, Verdict):
        return done, False
    try:
        cost.run(exercise, done.trace)
    except Failed as failed:
        return failed.verdict, True
    return None, True


# Numbers where a name belongs


@dataclass(frozen=True)
class Number:
    """A number or a name in a kernel, and the constants for which it may stand.

    at: the node's position in the kernel's tree. value: the number, or the value of the
    name. names: the constants that originally had this value. bounds: whether the
    number or name bounds a loop or gives a dimension of an array. repeats: whether it
    bounds a loop. name: the name itself, or "" for a number.
    """

    line: int
    column: int
    at: int
    value: int
    names: tuple[str, ...]
    bounds: bool
    repeats: bool = False
    name: str = ""

    @property
    def is_name(self) -> bool:
        return bool(self.name)


def guilty(
    exercise: KernelExercise,
    constants: Constants,
    function: FunctionType,
    original: Constants,
    old: Constants,
    near: int,
) -> list[Number]:
    """Find the numbers or names that make the kernel right when replaced by names.

    original: the values before `constants` replaced them. old: those that the kernel
    can name and that have changed. near: the line of the kernel on which it goes wrong.
    Only the changes that are necessary are returned.
    """
    tried: set[tuple[tuple[int, str], ...]] = set()
    found = numbers_in(function, old), names_in(function, old)
    with changed(function, constants):
        trial = configure(exercise, exercise.case(exercise.sizes[-1]))
        for group in groups(*found, near):
            if len(tried) >= TRIES:
                break
            if not cures(trial, function, group, tried):
                continue
            names = any(number.is_name for number, _ in group)
            if names and not cures_others(
                exercise, constants, function, group, original
            ):
                continue
            for pair in list(group):
                fewer = [other for other in group if other is not pair]
                if fewer and cures(trial, function, fewer, set()):
                    group = fewer
            return [replace(number, names=(name,)) for number, name in group]
    return []


Swap = tuple[Number, str]  # a number, and the name to replace it with


def groups(
    numbers: Sequence[Number], names: Sequence[Number], near: int
) -> Iterator[list[Swap]]:
    """Yield sets of replacements to try together, the likeliest first.

    First come bounds of loops, then all uses of one number, then names, beginning with
    those on the line `near`, where the kernel goes wrong, or on the closest line above
    it. Last come the uses of a number on one line, and pairs of numbers.
    """
    bounds = together([n for n in numbers if n.repeats])
    alike = together(numbers)
    yield from bounds
    yield from alike
    of_lines = together(names, lines=True)
    yield from sorted(of_lines, key=lambda g: (g[0][0].line > near, -g[0][0].line))
    yield from together(numbers, lines=True)
    for k, group in enumerate(alike):
        for other in alike[k + 1 :]:
            if other[0][0].value != group[0][0].value:
                yield [*group, *other]


def together(found: Sequence[Number], lines: bool = False) -> list[list[Swap]]:
    """Group the swaps of the same number or name for the same constant.

    lines: whether to make a separate group for each line.
    """
    kinds: dict[tuple[Any, ...], list[Swap]] = {}
    for number in found:
        for name in number.names:
            line = number.line if lines else 0
            kind = number.name, number.value, name, line
            kinds.setdefault(kind, []).append((number, name))
    return list(kinds.values())


def cures(
    trial: Trial,
    function: FunctionType,
    group: Sequence[Swap],
    tried: set[tuple[tuple[int, str], ...]],
) -> bool:
    """Return whether a group of replacements makes the kernel right.

    Returns False for a group that is already in `tried`, and adds any other group.
    """
    key = tuple(sorted((number.at, name) for number, name in group))
    if not key or key in tried:
        return False
    tried.add(key)
    tree = copy.deepcopy(tree_of(function).body[0])
    nodes = list(ast.walk(tree))
    for at, name in key:
        put_name(nodes, at, name)
    with compiled(function, ast.fix_missing_locations(tree)) as kernel:
        return kernel is not None and is_right(trial, trial.case, kernel)


def cures_others(
    exercise: KernelExercise,
    constants: Constants,
    function: FunctionType,
    group: Sequence[Swap],
    original: Constants,
) -> bool:
    """Return whether replacements make the kernel right with the other sets, too.

    A name that is right with one set of `constants` alone would mislead. original: see
    `guilty`.
    """
    for other in exercise.constants:
        if other is constants:
            continue
        with changed(function, {**original, **other}):
            trial = configure(exercise, exercise.case(exercise.sizes[-1]))
            if not cures(trial, function, group, set()):
                return False
    return True


def put_name(nodes: Sequence[ast.AST], at: int, name: str) -> None:
    """Replace `nodes[at]`, a number or a name, with the name `name`."""
    new = ast.Name(name, ast.Load())
    for node in nodes:
        for field, value in ast.iter_fields(node):
            if value is nodes[at]:
                setattr(node, field, new)
            elif isinstance(value, list) and nodes[at] in value:
                value[value.index(nodes[at])] = new


def names_in(function: FunctionType, old: Constants) -> list[Number]:
    """Return the names in a kernel that share their value with another name in `old`.

    The learner may have confused the two names. The constants must still have their old
    values.
    """
    body = tree_of(function).body
    scope = function.__globals__
    found = []
    for at, node in enumerate(ast.walk(body[0]) if body else ()):
        if not isinstance(node, ast.Name) or type(scope.get(node.id)) is not int:
            continue
        value = scope[node.id]
        names = tuple(n for n in old if old[n] == value and n != node.id)
        if names:
            where = node.lineno, node.col_offset, at
            found.append(Number(*where, value, names, False, name=node.id))
    return found


def numbers_in(function: FunctionType, old: Constants) -> list[Number]:
    """Return the numbers in the source of `function` that equal a value in `old`.

    Bounds of loops and arrays come first, because they are the likeliest to be wrong.
    Alignments are left out, and so is a 4 that is only the number of elements that the
    kernel moves at a time.
    """
    body = tree_of(function).body
    if not body:
        return []
    tree = body[0]
    bounds = {id(node) for node in bounds_in(tree)}
    loops = {id(node) for node in bounds_in(tree, arrays=False)}
    is_wide = not WIDE.isdisjoint(global_names(function))
    alignments = set(map(id, alignments_in(tree)))
    factors = {id(node) for node in operands(tree)} if is_wide else set()
    found = []
    for place, node in enumerate(ast.walk(tree)):
        if not isinstance(node, ast.Constant) or type(node.value) is not int:
            continue
        if id(node) in alignments:
            continue
        names = tuple(name for name in old if old[name] == node.value)
        is_bound = id(node) in bounds
        of_four = is_wide and node.value == 4 and (not is_bound or id(node) in factors)
        if names and not of_four:
            at = node.lineno, node.col_offset, place
            found.append(Number(*at, node.value, names, is_bound, id(node) in loops))
    return sorted(found, key=lambda n: (not n.bounds, n.line, n.column))


def bounds_in(tree: ast.AST, arrays: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes in the bounds of `range` loops, and in the shapes of arrays.

    The steps of these loops are left out, as are loops over the result of a call, whose
    length the learner did not choose. arrays: whether to include the shapes.
    """
    given = {name for node in ast.walk(tree) for name in given_back(node)}
    for node in ast.walk(tree):
        match node:
            case ast.For(
                target=ast.Name(what), iter=ast.Call(func=ast.Name("range"), args=args)
            ):
                parts = [] if walks(node, what, given) else args[:2]
            case ast.Call(func=ast.Attribute(attr="array"), args=[shape, *_]) if arrays:
                parts = [shape]
            case _:
                continue
        for part in parts:
            yield from ast.walk(part)


def alignments_in(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the node of each `alignment` argument in the declarations of arrays."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "alignment":
            yield node.value


def operands(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the operands of arithmetic, such as 4 in `4 * x` and in `int32(4) * x`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                yield side
                yield from side.args if isinstance(side, ast.Call) else ()


def given_back(node: ast.AST) -> list[str]:
    """Return the name to which a statement assigns a call's result, in a list.

    The list is empty for any other statement, and for a call that makes an array.
    """
    match node:
        case ast.Assign(targets=[ast.Name(name)], value=ast.Call(func=called)):
            return [] if getattr(called, "attr", "") == "array" else [name]
    return []


def walks(loop: ast.For, variable: str, given: set[str]) -> bool:
    """Return whether a loop's variable indexes the result of a call, as in `v[e]`."""
    for node in ast.walk(loop):
        match node:
            case ast.Subscript(value=ast.Name(name), slice=ast.Name(index)):
                if index == variable and name in given:
                    return True
    return False


def lines_of(
    function: FunctionType, numbers: Sequence[Number], constants: Constants
) -> list[Note]:
    """Return the lines that contain the numbers, each with a note on its numbers.

    Only the first `LINES` of the numbers are included.
    """
    notes: dict[int, list[str]] = {}
    for n in sorted(numbers[:LINES], key=lambda n: (n.line, n.column)):
        was = " and ".join(f"{name} was {constants[name]}" for name in n.names)
        said = f"{n.value} here; {was} in this run"
        notes.setdefault(n.line, []).append(f"`{n.name}` here" if n.name else said)
    return [
        (at_line(function, line), ", ".join(dict.fromkeys(said)))
        for line, said in notes.items()
    ]


# Names that were computed from constants before the kernel was compiled


def derived(function: FunctionType, constants: Constants) -> dict[str, Any]:
    """Return the names in a kernel whose values would change with `constants`.

    Each is mapped to its new value. A name is returned only if it was computed,
    directly or not, from a name in `constants`, and still has the value computed then.
    """
    scope = function.__globals__
    names, now = set(constants), dict(scope) | dict(constants)
    found = {}
    for name, value in assigned(function):
        used = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        if name in constants or name not in scope or not used & names:
            continue
        code = compile(ast.Expression(value), "<computed again>", "eval")
        try:
            same = bool(eval(code, dict(scope)) == scope[name])
            again = eval(code, dict(now))
            other = bool(again != scope[name])
        except Exception:
            continue
        if same and other:
            names.add(name)
            now[name] = found[name] = again
    used = set(global_names(function))
    return {name: again for name, again in found.items() if name in used}


def assigned(function: FunctionType) -> Iterator[tuple[str, ast.expr]]:
    """Yield global names with the expressions assigned to them, if these are pure.

    Assignments in the notebook's cells come first, then those in the function's file.
    """
    cells = function.__globals__.get("In")
    texts = list(cells) if isinstance(cells, list) else []
    texts.append("".join(linecache.getlines(function.__code__.co_filename)))
    for text in texts:
        try:
            body = ast.parse(text).body if isinstance(text, str) else []
        except SyntaxError:  # a cell with a magic
            continue
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name() as one], value=value):
                    pairs: list[tuple[ast.expr, ast.expr]] = [(one, value)]
                case ast.Assign(
                    targets=[ast.Tuple(names)], value=ast.Tuple(values)
                ) if len(names) == len(values):
                    pairs = list(zip(names, values, strict=True))
                case _:
                    continue
            for name, value in pairs:
                if isinstance(name, ast.Name) and is_pure(value):
                    yield name.id, value


def is_pure(value: ast.expr) -> bool:
    """Return whether an expression can be evaluated again without side effects."""
    called = [n.func for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(isinstance(f, ast.Name) and f.id in PURE for f in called)


def too_early(stale: Constants, function: FunctionType) -> str:
    """Explain that constants were computed too early, and say where to compute them.

    Numba must know a shape when it compiles. In a shape it accepts names, but no
    arithmetic.
    """
    names = " and ".join(f"`{name}`" for name in stale)
    was, still, it = "was", "is", "it"
    if len(stale) > 1:
        was, still, it = "were", "are", "them"
    cure = f"Compute {it} inside the kernel."
    if stale.keys() & sides_in(function):
        cure = (
            "An array's shape cannot be computed inside the kernel. But an array "
            "may have several axes, and each of them one of the names that change."
        )
    return (
        f"{names} {was} computed when the cell ran, from names that have other "
        f"values in this run, and {still} what {it if still == 'is' else 'they'} {was} "
        f"then. {cure}"
    )


def sides_in(function: FunctionType) -> set[str]:
    """Return the names in the shapes of a function's arrays."""
    return {
        side.id
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "array"
        for side in ast.walk(node.args[0] if node.args else node.func)
        if isinstance(side, ast.Name)
    }


def uses(function: FunctionType, notes: Mapping[str, str]) -> list[Note]:
    """Return the first line that uses each name in `notes`, with the name's note."""
    found: dict[str, int] = {}
    for node in ast.walk(tree_of(function)):
        if isinstance(node, ast.Name) and node.id in notes:
            line = min(found.get(node.id, node.lineno), node.lineno)
            found[node.id] = line
    return [(at_line(function, line), notes[name]) for name, line in found.items()]


def listed(constants: Constants, function: FunctionType) -> str:
    """Format the constants that a function's cell can use, as in 'BM = 16, TM = 8'."""
    seen = {n: x for n, x in constants.items() if n in function.__globals__}
    known = seen or constants
    return ", ".join(f"{name} = {_short(value)}" for name, value in known.items())


def _short(value: Any) -> str:
    has_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    return f"{value:.4g}" if has_fraction else str(value)
