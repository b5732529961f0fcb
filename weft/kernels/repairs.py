"""The line of a kernel on which one change makes a wrong result right.

A wrong value has often been computed long before the line that stores it. So the
learner's kernel runs again several times, each time with one small change: two indices
swapped, another axis of the grid, a sum that is set to zero before a loop and not in
it. If the launch is then right, and so is every other size of the exercise, the mistake
is on the changed line. The verdict names the line, but not the change.
"""

import ast
import copy
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from weft import effort
from weft.checking.compare import agrees
from weft.checking.source import at_line, tree_of
from weft.checking.verdict import Verdict
from weft.code_objects import code_tree, with_globals
from weft.kernels import influence
from weft.kernels.advice import Facts
from weft.kernels.evidence import with_notes
from weft.kernels.exercise import KernelCase
from weft.kernels.requests import exploring, find_costly_lines
from weft.kernels.trial import Trial, Tried, configure
from weft.simulator import Fault
from weft.simulator.launch import simulate

WORK = 400_000  # the most threads, turns and iterations of all runs together
EACH = 20_000  # work added for each run, for translating a kernel
ORDER = "What comes first in this index, and what second?"
AXIS = "Along which axis does it count, and along which should it?"
WHEN = "In which cases is this condition true, and in which should it be?"
ENDS = "Where does this loop begin, and where does it end?"
TERMS = "What is done first here, with what, and in which order?"
WHICH = "Which array does it use, and which should it?"
TURNS = "Which element does each turn of the loop use?"
FIRST = "Is every number that follows at least as large?"
OTHERS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE, ast.NotEq),
    ast.GtE: (ast.Gt,),
}
LEAST = 3e38  # negated, it is less than any number in a check
AXES = {"x": "y", "y": "x"}

Nodes = list[ast.AST]


@dataclass(frozen=True)
class Change:
    """One small change to a function.

    line: the line to change. edit: makes the change in a copy of the tree, given all of
    its nodes. note: what to say beside the line. question: what to ask about it.
    """

    line: int
    edit: Callable[[Nodes], None]
    question: str = ""
    note: str = ""


def find_guilty_line(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Name the line on which one change fixes a wrong value, or suggest how to find it.

    Does so only if the verdict does not name a cause yet. If any lines cost too much,
    those are named instead.
    """
    clue, exercise = facts.clue, trial.exercise
    if clue is None or exercise.checks_launch or verdict.kind != "wrong-value":
        return verdict
    costly = find_costly_lines(trial, facts, verdict)
    if costly is not verdict or clue.is_cause:
        return costly
    change = cure(trial)
    if change is not None:
        return with_line(trial, verdict, change)
    is_open = clue.only or not clue.text
    if facts.done and is_open and trial.exercise.has_spec:
        cause = influence.cause(trial, facts.done)
        verdict = verdict.adding(cause.text)
        verdict = verdict.but(places=with_notes(verdict.places, cause.notes))
    if verdict.why and not clue.is_ratio:
        return verdict
    return verdict.adding(exploring(trial))


def with_line(trial: Trial, verdict: Verdict, change: Change) -> Verdict:
    """Add to the verdict the line of a change that makes the kernel right."""
    function = trial.exercise.function()
    assert function is not None, "it has been changed"
    place, note = at_line(function, change.line), change.note or "the mistake is here"
    shown = [p.line for p, _ in verdict.places if p.function == place.function]
    places = list(verdict.places)
    if place.line in shown:
        k = shown.index(place.line)
        places[k] = (places[k][0], f"{places[k][1]}; {note}".removeprefix("; "))
    else:
        places.append((place, note))
    said = f"One change on line {change.line} makes the result right."
    return verdict.adding(f"{said} {change.question}".strip()).but(places=places)


def cure(trial: Trial) -> Change | None:
    """Find a change that makes the kernel right in this launch and at all sizes.

    Returns None if none is found within the limit on work.
    """
    function = trial.exercise.function()
    tree = tree_of(function).body if function else []
    if function is None or function.__closure__ or not tree:
        return None
    spent, tried = 0, {ast.unparse(tree[0])}
    for change in changes(tree[0], trial):
        other = copy.deepcopy(tree[0])
        change.edit(list(ast.walk(other)))
        text = ast.unparse(ast.fix_missing_locations(other))
        if text in tried:
            continue
        tried.add(text)
        with effort.counted() as more:
            if is_cured(trial, function, other):
                return change
        spent += sum(more.values()) + EACH
        if spent > WORK:
            break
    return None


def is_cured(trial: Trial, function: FunctionType, other: ast.stmt) -> bool:
    """Return whether a changed function is right in this launch and at other sizes."""
    with compiled(function, other) as kernel:
        if kernel is None or not is_right(trial, trial.case, kernel):
            return False
        exercise = trial.exercise
        others = (exercise.case(size) for size in exercise.sizes)
        return all(
            is_right(configure(exercise, case), case, kernel)
            for case in others
            if case.size != trial.case.size
        )


def is_right(trial: Trial, case: KernelCase, kernel: Any) -> bool:
    """Return whether a kernel computes the right outputs in a launch."""
    outputs = trial.exercise.fresh(case)
    try:
        given = (*case.inputs, *outputs)
        simulate(
            kernel,
            trial.config,
            given,
            readonly=frozenset(range(len(given) - len(outputs))),
            make_run=Tried,
        )
    except Fault:
        return False
    pairs = zip(outputs, case.expected, strict=True)
    return all(agrees(got, aim, trial.exercise.tolerance) for got, aim in pairs)


@contextmanager
def compiled(function: FunctionType, tree: ast.stmt) -> Iterator[FunctionType | None]:
    """Compile the function that a tree defines, with the globals of `function`.

    Yields None if it has a syntax error.
    """
    file = f"<{function.__name__}, changed>"
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    text = ast.unparse(tree) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        code = named(compile(text, file, "exec"), function.__name__)
        yield with_globals(function, function.__globals__, code) if code else None
    except SyntaxError:
        yield None
    finally:
        linecache.cache.pop(file, None)


def named(module: CodeType, name: str) -> CodeType | None:
    """Return the code of the function `name` in a module's code, or None."""
    return next((code for code in code_tree(module) if code.co_name == name), None)


# Changes, the most telling first


def changes(tree: ast.AST, trial: Trial) -> Iterator[Change]:
    """Yield the changes to try on a kernel that is launched as in `trial`."""
    nodes = list(ast.walk(tree))
    number = {id(node): k for k, node in enumerate(nodes)}
    for find in (sums, alike, numbered, removals, starts, conditions):
        yield from find(nodes, number)
    if min(trial.block[1], trial.block[0]) > 1 or min(trial.grid[:2]) > 1:
        yield from axes(nodes, number)
    for find in (sides, exchanges, indices, bounds, terms):
        yield from find(nodes, number)


def sums(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes to each sum that a loop resets or overwrites."""
    for loop in nodes:
        if not isinstance(loop, ast.For | ast.While):
            continue
        inside = [part for statement in loop.body for part in ast.walk(statement)]
        for one in inside:
            if not isinstance(one, ast.Assign) or len(one.targets) != 1:
                continue
            target = one.targets[0]
            if not isinstance(target, ast.Name):
                continue
            used = {n.id for n in ast.walk(one.value) if isinstance(n, ast.Name)}
            if one in loop.body:
                at, where = number[id(loop)], loop.body.index(one)
                yield Change(
                    one.lineno,
                    partial(out_of, at, where),
                    f"What is left of `{target.id}` after the loop?",
                    f"`{target.id}` is set anew in each turn of the loop",
                )
            if target.id not in used:
                yield Change(
                    one.lineno,
                    partial(growing, number[id(one)]),
                    f"What is left of `{target.id}` after the loop?",
                    f"`{target.id}` is replaced in each turn of the loop",
                )


def out_of(at: int, which: int, found: Nodes) -> None:
    """Move a statement out of a loop's body, to just before the loop."""
    loop: Any = found[at]
    moved = loop.body.pop(which)
    for node in found:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and loop in body:
                body.insert(body.index(loop), moved)
                loop.body = loop.body or [ast.Pass()]
                return


def growing(at: int, found: Nodes) -> None:
    """Turn `total = x` into `total += x`."""
    one: Any = found[at]
    replace(at, ast.AugAssign(one.targets[0], ast.Add(), one.value), found)


def replace(at: int, new: ast.AST, found: Nodes) -> None:
    """Replace the statement `found[at]` with `new`."""
    old = found[at]
    for node in found:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and old in body:
                body[body.index(old)] = new


def alike(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield replacements of one array by another that was made in the same way."""
    made: dict[str, list[str]] = {}
    for one in nodes:
        if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Call):
            continue
        if isinstance(one.targets[0], ast.Name) and is_array(one.value):
            made.setdefault(ast.unparse(one.value), []).append(one.targets[0].id)
    for one in nodes:
        if not isinstance(one, ast.Name) or not isinstance(one.ctx, ast.Load):
            continue
        for names in made.values():
            for other in names if one.id in names else ():
                if other != one.id:
                    at = number[id(one)]
                    yield Change(one.lineno, partial(put, at, "id", other), WHICH)


def is_array(node: ast.Call) -> bool:
    return ast.unparse(node.func) in ("cuda.local.array", "cuda.shared.array")


def numbered(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that replace a number in an index with a loop's variable."""
    for loop in nodes:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        for one in ast.walk(loop):
            if not isinstance(one, ast.Subscript) or one is loop.iter:
                continue
            if not isinstance(one.slice, ast.Tuple):
                continue
            used = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
            if loop.target.id in used:
                continue
            for k, part in enumerate(one.slice.elts):
                if isinstance(part, ast.Constant):
                    at, name = number[id(one.slice)], loop.target.id
                    yield Change(one.lineno, partial(indexed, at, k, name), TURNS)


def indexed(at: int, which: int, name: str, found: Nodes) -> None:
    """Replace part `which` of an index with the name `name`."""
    index: Any = found[at]
    index.elts[which] = ast.Name(name, ast.Load())


def removals(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield removals of lines that may update a variable once too often."""
    for one in nodes:
        if isinstance(one, ast.AugAssign):
            at = number[id(one)]
            yield Change(
                one.lineno,
                partial(replace, at, ast.Pass()),
                "What does it do that has not been done, or that is done elsewhere?",
            )


def starts(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes to a maximum's start value or to the value for missing elements."""
    for one in nodes:
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            field, value = "value", one.value
        elif isinstance(one, ast.IfExp):
            field, value = "orelse", one.orelse
        else:
            continue
        call = isinstance(value, ast.Call) and len(value.args) == 1
        inner = value.args[0] if call and isinstance(value, ast.Call) else value
        if isinstance(inner, ast.UnaryOp):
            inner = inner.operand
        if not isinstance(inner, ast.Constant) or (
            not call and not isinstance(inner.value, float)
        ):
            continue
        least: ast.expr = ast.UnaryOp(ast.USub(), ast.Constant(LEAST))
        if call and isinstance(value, ast.Call):
            least = ast.Call(value.func, [least], [])
        at = number[id(one)]
        yield Change(value.lineno, partial(put, at, field, least), FIRST)


def terms(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that swap operands, exchange + and -, or move brackets."""
    inside = {
        id(part)
        for one in nodes
        if isinstance(one, ast.Subscript)
        for part in ast.walk(one.slice)
    }
    for one in nodes:
        if not isinstance(one, ast.BinOp) or id(one) in inside:
            continue
        at, left, right = number[id(one)], one.left, one.right
        found: list[ast.expr] = []
        if isinstance(one.op, ast.Sub | ast.Div):
            found.append(ast.BinOp(right, one.op, left))
        if isinstance(one.op, ast.Add | ast.Sub):
            other = ast.Sub() if isinstance(one.op, ast.Add) else ast.Add()
            found.append(ast.BinOp(left, other, right))
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult | ast.Div):
                within = ast.BinOp(left.right, one.op, right)
                found.append(ast.BinOp(left.left, left.op, within))
        if isinstance(one.op, ast.Mult) and isinstance(right, ast.BinOp):
            within = ast.BinOp(left, one.op, right.left)
            found.append(ast.BinOp(within, right.op, right.right))
        for new in found:
            yield Change(one.lineno, partial(become, at, new), TERMS)


def become(at: int, new: ast.expr, found: Nodes) -> None:
    """Turn the binary operation `found[at]` into `new`."""
    old: Any = found[at]
    made: Any = copy.deepcopy(new)
    old.left, old.op, old.right = made.left, made.op, made.right


def conditions(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that replace a comparison operator, or swap `and` and `or`."""
    for one in nodes:
        at = number[id(one)]
        if isinstance(one, ast.Compare):
            for kind in OTHERS.get(type(one.ops[0]), ()):
                yield Change(one.lineno, partial(put, at, "ops", [kind()]), WHEN)
        elif isinstance(one, ast.BoolOp):
            op = ast.Or() if isinstance(one.op, ast.And) else ast.And()
            yield Change(one.lineno, partial(put, at, "op", op), WHEN)


def put(at: int, field: str, value: Any, found: Nodes) -> None:
    setattr(found[at], field, value)


def axes(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes to the axis of a thread's or a block's index."""
    for one in nodes:
        at = number[id(one)]
        if isinstance(one, ast.Attribute) and one.attr in AXES:
            other = AXES[one.attr]
            yield Change(
                one.lineno,
                partial(put, at, "attr", other),
                AXIS,
            )


def sides(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that turn `x.shape[0]` into `x.shape[1]`, or the reverse."""
    for one in nodes:
        at = number[id(one)]
        if (
            isinstance(one, ast.Subscript)
            and isinstance(one.value, ast.Attribute)
            and isinstance(one.slice, ast.Constant)
            and one.value.attr == "shape"
            and one.slice.value in (0, 1)
        ):
            new = ast.Constant(1 - one.slice.value)
            yield Change(
                one.lineno,
                partial(put, at, "slice", new),
                AXIS,
            )


def exchanges(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that swap two paired names in a statement; see `partners`."""
    pairs = partners(nodes)
    for one in nodes:
        if not isinstance(one, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
            continue
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        parts: list[Any] = [one.test if isinstance(one, ast.If) else one]
        if isinstance(target, ast.Subscript) and isinstance(one, ast.Assign):
            parts += [target, one.value]
        for part in parts:
            names = [n for n in ast.walk(part) if isinstance(n, ast.Name)]
            used = {n.id for n in names if isinstance(n.ctx, ast.Load)}
            for a, b in pairs:
                if not used & {a, b}:
                    continue
                other = {a: b, b: a}
                at = [number[id(n)] for n in names if n.id in other]
                yield Change(
                    one.lineno,
                    partial(rename, at, other),
                    WHEN if isinstance(one, ast.If) else ORDER,
                )


def partners(nodes: Nodes) -> list[tuple[str, str]]:
    """Return the pairs of names assigned together (`tx, ty = …`), and known pairs.

    A known pair, such as `row` and `col`, counts if both of its names are assigned.
    """
    found = []
    for one in nodes:
        if isinstance(one, ast.Tuple) and isinstance(one.ctx, ast.Store):
            names = [n.id for n in one.elts if isinstance(n, ast.Name)]
            if len(names) == len(one.elts) == 2:
                found.append((names[0], names[1]))
    alone = [n.targets[0] for n in nodes if isinstance(n, ast.Assign)]
    single = {n.id for n in alone if isinstance(n, ast.Name)}
    known = [("row", "col"), ("top", "left")]
    found += [pair for pair in known if set(pair) <= single]
    return list(dict.fromkeys(found))


def rename(at: list[int], other: dict[str, str], found: Nodes) -> None:
    for k in at:
        name: Any = found[k]
        name.id = other[name.id]


def indices(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield swaps of the two parts of an index."""
    calls = [n.args[1] for n in nodes if isinstance(n, ast.Call) and len(n.args) > 1]
    slices = [n.slice for n in nodes if isinstance(n, ast.Subscript)]
    for one in (*slices, *calls):
        if isinstance(one, ast.Tuple) and len(one.elts) == 2:
            at = number[id(one)]
            yield Change(one.lineno, partial(turn, at), ORDER)


def turn(at: int, found: Nodes) -> None:
    node: Any = found[at]
    node.elts.reverse()


def bounds(nodes: Nodes, number: dict[int, int]) -> Iterator[Change]:
    """Yield changes that move the end of a loop's `range` by one."""
    for one in nodes:
        if not (isinstance(one, ast.Call) and isinstance(one.func, ast.Name)):
            continue
        if one.func.id == "range" and not one.keywords:
            which = 0 if len(one.args) == 1 else 1
            at = number[id(one)]
            for sign in (ast.Add(), ast.Sub()):
                yield Change(
                    one.lineno,
                    partial(longer, at, which, sign),
                    ENDS,
                )


def longer(at: int, which: int, sign: ast.operator, found: Nodes) -> None:
    call: Any = found[at]
    call.args[which] = ast.BinOp(call.args[which], sign, ast.Constant(1))
