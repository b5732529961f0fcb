"""Advice on a launch that failed: each adviser adds what it finds to the verdict.

An adviser gets the trial, some facts about the launch, and the verdict so far. Most
look at the lines that the verdict names: which calls led to them, where the value that
they store came from, and which condition keeps threads from reaching them.
"""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType

import numpy as np

from weft.checking.source import (
    at_line,
    device_functions,
    line_with,
    parameter_names,
    tree_of,
)
from weft.checking.verdict import Verdict
from weft.intrinsics import registry
from weft.kernels.evidence import Clue, with_notes
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.kernels.origins import stored_and_read, written_by
from weft.kernels.trial import Done, Trial, is_right, traced
from weft.places import Note, Place
from weft.python_errors import precedence
from weft.simulator import Fault, calls
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import READ, SHARED, WRITE, Trace

STEPS = 2  # assignments to go back, from a value to its origins
STORES = registry.names(*registry.STORES)
CALLED = "called here"
HOLDS = "hold", "hold_words"  # their calls do not change their first argument

Inside = tuple[ast.If, ...]  # the ifs around a statement, the outermost first


@dataclass(frozen=True)
class Facts:
    """What is known about a launch that failed.

    backwards: whether its last block ran first. done: its results, or None if it did
    not complete. clue: what its wrong elements have in common. trace: its accesses as
    far as it ran, or None if they are unknown. fault: what ended it, or None.
    """

    backwards: bool = False
    done: Done | None = None
    clue: Clue | None = None
    trace: Trace | None = None
    fault: Fault | None = None


Adviser = Callable[[Trial, Facts, Verdict], Verdict]


# Parameters in another order than the arguments


def find_swapped_parameters(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Return a verdict on swapped parameters if they led to `verdict`, else `verdict`.

    The spec's parameters have the names of the inputs, in order. If the kernel has
    these names in another order, it runs once more with each argument passed by name.
    If that does not help, the names are the learner's own choice.
    """
    exercise = trial.exercise
    order = by_name(exercise, trial.case)
    if order is None or verdict.kind == "begin":
        return verdict
    try:
        done = traced(trial, order=order)
    except Fault:
        return verdict
    did_not_end = verdict.kind in ("type", "exception", "input-written")
    if not (did_not_end or is_right(trial, done.outputs, done.launch)):
        return verdict
    names = parameter_names(exercise.kernel)
    given = ", ".join(name for _, name in sorted(zip(order, names, strict=True)))
    return exercise.verdict(
        "arguments",
        f"The check calls {exercise.name}({given}), but its parameters are "
        f"{', '.join(names)}.",
        "A kernel gets its arguments in order, whatever its parameters are called: "
        "first the inputs, then the outputs.",
        line_with(exercise.kernel, r"def\b"),
        when=verdict.when,
    )


def by_name(exercise: KernelExercise, case: KernelCase) -> tuple[int, ...] | None:
    """Return, for each parameter, the index of the argument that its name asks for.

    Returns None if the parameters are in order, or if their names do not settle that.
    """
    names = parameter_names(exercise.kernel)
    count = len(case.inputs)
    try:
        wanted = list(inspect.signature(exercise.spec).parameters)[:count]
    except (TypeError, ValueError):  # a NumPy function that is not written in Python
        return None
    fits = len(names) == count + len(case.outputs) and len(wanted) == count
    if exercise.checks_launch or not fits or not set(wanted) <= set(names):
        return None
    others = iter(range(count, len(names)))
    order = tuple(wanted.index(n) if n in wanted else next(others) for n in names)
    return None if order == tuple(range(len(names))) else order


# Lines of functions that the kernel calls


def name_callers(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Name the function, and the calls to it, for each line outside the kernel."""
    return with_calls(trial, verdict, facts.backwards)


def with_calls(trial: Trial, verdict: Verdict, backwards: bool = False) -> Verdict:
    """Return the verdict with the calls that led to lines of other functions.

    Runs the trial once more to find them, because a trace does not record calls.
    """
    exercise = trial.exercise
    ours = list(zip(verdict.places, verdict.rows, strict=False))
    wanted = frozenset(row for (p, _), row in ours if exercise.elsewhere(p))
    found: dict[int, list[Place]] = {}
    if wanted:
        found = calls(
            exercise.kernel,
            trial.config,
            (*trial.case.inputs, *trial.fresh()),
            wanted,
            readonly=frozenset(range(len(trial.case.inputs))),
            backwards=backwards,
        )
    ways: list[list[Place]] = [[] for _ in verdict.places]
    for k, ((place, _), row) in enumerate(ours):
        at, *way = found.get(row) or [place]
        # what wgmma reads is recorded on the line that makes a group of the products
        if (at.function, at.file) == (place.function, place.file):
            ways[k] = way
    places: list[Note] = []
    for k, (note, way) in enumerate(zip(verdict.places, ways, strict=True)):
        places.append(note)
        # a call that led to both lines is shown after both
        if way not in ways[k + 1 :]:
            places += [(call, CALLED) for call in way]
    return verdict.but(places=[(p, exercise.noted(note, p)) for p, note in places])


def name_other_calls(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Show all calls of a function that stores to an output, if an element is missing.

    Any of them may have the wrong arguments.
    """
    function = trial.exercise.function()
    if verdict.kind != "unwritten" or function is None:
        return verdict
    names = {p.function for p, _ in verdict.places} - {function.__name__}
    nodes = [n for n in ast.walk(tree_of(function)) if isinstance(n, ast.Call)]
    more = {node.lineno: CALLED for node in nodes if called(node) in names}
    return with_lines(verdict, function, more)


# The origin of a value that given code has stored


def trace_value(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Add the lines that a value came from, if another cell's function stored it."""
    exercise, function = trial.exercise, trial.exercise.function()
    if verdict.kind != "wrong-value" or not verdict.places or function is None:
        return verdict
    stored = verdict.places[0][0]
    if not stored.file or stored.file == function.__code__.co_filename:
        return verdict
    calls = [
        place.line
        for place, note in verdict.places
        if place.function == function.__name__ and note == CALLED
    ]
    if not calls:
        return verdict
    own = [note for note in verdict.places if not exercise.elsewhere(note[0])]
    given = [note for note in verdict.places if note not in own]
    shown = {p.line for p, _ in own}
    clue = facts.clue or Clue()
    if any(place.line not in calls for place, _ in own) and not clue.of:
        clue = replace(clue, is_cause=True)  # a line of the learner's is to blame
    origins = came_from(exercise, calls[0], handed(exercise, stored))
    more: list[Note] = [
        (at_line(function, origin.line), origin.note)
        for origin in of_operand(origins, clue)
        if origin.line not in shown
    ]
    more.sort(key=lambda note: note[0].line)
    return verdict.but(places=with_notes([], [*more, *own, *given]))


def handed(exercise: KernelExercise, stored: Place) -> list[int]:
    """Return the indices of a function's parameters that affect the value it stores."""
    inner = device_functions(exercise.kernel).get(stored.function)
    try:
        statement = ast.parse(stored.text).body[0]
    except SyntaxError:
        return []
    names = parameter_names(inner) if inner else []
    return [k for k, name in enumerate(names) if name in values_in(statement)]


@dataclass(frozen=True)
class Origin:
    """The lines that last set a name before it was used.

    line, last: the first and the last of these lines. alone: whether the statement that
    uses the name uses no other name that the kernel sets. inputs: the parameters from
    which the name's value may come.
    """

    name: str
    line: int
    last: int
    alone: bool
    inputs: frozenset[str]

    @property
    def note(self) -> str:
        until = f", to line {self.last}" * (self.last > self.line)
        return f"`{self.name}` is set here{until}"


def of_operand(origins: Sequence[Origin], clue: Clue) -> list[Origin]:
    """Return the origins that are worth showing, given what `clue` says.

    If the clue blames an input, returns the origins that are alone or come from that
    input, or all origins if none comes from it. If the verdict already names another
    cause, returns only those that are alone, because operands may be innocent.
    Otherwise, returns all.
    """
    mine = [origin for origin in origins if clue.of in origin.inputs]
    if clue.of:
        shown = [origin for origin in origins if origin.alone or origin in mine]
        return shown if mine else list(origins)
    if clue.is_cause:
        return [origin for origin in origins if origin.alone]
    return list(origins)


def came_from(exercise: KernelExercise, line: int, handed: list[int]) -> list[Origin]:
    """Return the origins of the names used on `line`, and of the names they come from.

    If a name is last set to a constant, and only under a condition, the lines that set
    it before are an origin, too. handed: which arguments of the call on `line` count,
    or [] for all.
    """
    function = exercise.function()
    plain = [
        node
        for node, _ in statements(function)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)
    ]
    rare = exceptions(function)
    computed = [node for node in plain if node.lineno not in rare]
    here = [n for n in plain if n.lineno <= line <= (n.end_lineno or 0)][:1]
    parameters = frozenset(parameter_names(function)) if function else frozenset()
    found: list[Origin] = []
    for step in range(STEPS):
        origins: list[Origin] = []
        for one in here:
            used = sorted(values_in(one, handed if not step else []))
            runs: dict[str, list[list[ast.stmt]]] = {}
            for name in used:
                for nodes in (plain, computed):
                    run = last_set(nodes, name, one.lineno)
                    before = runs.setdefault(name, [])
                    if run and not any(run[0] in each for each in before):
                        before.append(run)
            names = [name for name in used if runs.get(name)]
            origins += [
                Origin(
                    name,
                    run[0].lineno,
                    run[-1].lineno,
                    len(names) == 1,
                    inputs_of(plain, name, one.lineno, parameters),
                )
                for name in names
                for run in runs[name]
            ]
        found += [o for o in origins if (o.line, o.last) not in lines_of(found)]
        here = [n for n in plain if n.lineno in {o.last for o in origins}]
    return found


def exceptions(function: FunctionType | None) -> set[int]:
    """Return the lines that assign a constant only under a condition."""
    found = statements(function)
    set_here = set[str]().union(*(stored_in(node) for node, _ in found))

    def constant(value: ast.expr) -> bool:
        fixed = isinstance(value, ast.Name) and value.id not in set_here
        return fixed or isinstance(value, ast.Constant)

    return {
        node.lineno
        for node, above in found
        if above and isinstance(node, ast.Assign) and constant(node.value)
    }


def stored_in(node: ast.AST) -> set[str]:
    """Return the variables that are set somewhere in a node."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def lines_of(origins: Sequence[Origin]) -> list[tuple[int, int]]:
    return [(origin.line, origin.last) for origin in origins]


def last_set(plain: Sequence[ast.stmt], name: str, before: int) -> list[ast.stmt]:
    """Return the adjacent statements that last set a name before a line."""
    found: list[ast.stmt] = []
    for node in sorted(plain, key=lambda n: -n.lineno):
        if node.lineno >= before:
            continue
        if name in set_by(node):
            found.insert(0, node)
        elif found:
            break
    return found


def inputs_of(
    plain: Sequence[ast.stmt], name: str, before: int, parameters: frozenset[str]
) -> frozenset[str]:
    """Return the parameters that a name's value just before a line may come from."""
    if name in parameters:
        return frozenset([name])
    found: set[str] = set()
    for node in last_set(plain, name, before):
        for other in values_in(node) - {name}:
            found |= inputs_of(plain, other, node.lineno, parameters)
    return frozenset(found)


def values_in(node: ast.stmt, handed: Sequence[int] = ()) -> set[str]:
    """Return the names whose values a statement passes on.

    In a call made for its effect, all names count except those in indices. In any other
    statement that indexes arrays, only the names of these arrays count. Arguments that
    are shapes or tuples never count. Indices, shapes and tuples only say where or how
    much.

    handed: the positions of the arguments that count. If a call has none of these, all
    its arguments count, except the first in a call made for its effect, because the
    call changes it.
    """
    value = getattr(node, "value", node)
    parts, for_effect = [value], False
    if isinstance(value, ast.Call):
        for_effect = isinstance(node, ast.Expr)
        some = [a for k, a in enumerate(value.args) if k in handed]
        some = some or value.args[for_effect:]
        parts = [a for a in some if not isinstance(a, ast.Tuple) and not is_shape(a)]
    inside = [n for part in parts for n in ast.walk(part)]
    if for_effect:
        where = {
            id(n) for s in inside for n in ast.walk(getattr(s, "slice", ast.Pass()))
        }
        inside = [n for n in inside if id(n) not in where]
    names = {n.id for n in inside if isinstance(n, ast.Name)}
    arrays = {
        n.value.id
        for n in inside
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
    }
    return names if for_effect else arrays or names


def is_shape(node: ast.expr) -> bool:
    """Return whether an expression uses the shape or the size of an array."""
    return any(
        isinstance(n, ast.Attribute) and n.attr in ("shape", "size")
        for n in ast.walk(node)
    )


def set_by(node: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, or whose elements it assigns.

    A call made for its effect counts as assigning to its first argument, unless it is
    one of HOLDS. Creating an array does not count.
    """
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign) and ".array(" not in ast.unparse(node.value):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = [] if called(node.value) in HOLDS else node.value.args[:1]
    names: set[str] = set()
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            inner = part.value if isinstance(part, ast.Subscript) else part
            if isinstance(inner, ast.Name):
                names.add(inner.id)
    return names


def called(node: ast.Call) -> str:
    """Return the name of the function that is called, as it is written."""
    return ast.unparse(node.func)


def own_lines_first(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Name the learner's own lines first in a verdict on unwritten memory."""
    if verdict.kind not in ("uninitialised", "unwritten"):
        return verdict
    own = [n for n in verdict.places if not trial.exercise.elsewhere(n[0])]
    return verdict.but(places=[*own, *(n for n in verdict.places if n not in own)])


# Conditions that keep threads from a line


def statements(function: FunctionType | None) -> list[tuple[ast.stmt, Inside]]:
    """Return the statements of a function, each with the `if`s around it."""
    body = tree_of(function).body if function else []
    if not body or not isinstance(body[0], ast.FunctionDef):
        return []
    found: list[tuple[ast.stmt, Inside]] = []

    def look(node: ast.AST, above: Inside) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                found.append((child, above))
            inner = (*above, child) if isinstance(child, ast.If) else above
            look(child, inner)

    look(body[0], ())
    return found


def lines(function: FunctionType | None, notes: dict[int, str]) -> list[Note]:
    """Return the lines that `notes` lists for a function, in order, with the notes."""
    if function is None:
        return []
    return [(at_line(function, line), note) for line, note in sorted(notes.items())]


def with_lines(
    verdict: Verdict, function: FunctionType, notes: dict[int, str]
) -> Verdict:
    """Return a verdict with more lines of a function, except those that it has."""
    shown = {place.line for place, _ in verdict.places}
    more = [note for note in lines(function, notes) if note[0].line not in shown]
    return verdict.but(places=[*verdict.places, *more])


def never_reached(function: FunctionType | None, name: str) -> tuple[list[Note], str]:
    """Return notes on the stores to `name`, and the `misreading` of ifs around them.

    The notes include these ifs, and each earlier `return` inside an if.
    """
    notes: dict[int, str] = {}
    inside: list[ast.If] = []
    for node, above in statements(function):
        if stores(node, name):
            notes[node.lineno] = f"should store to {name}"
            inside += above
    for each in inside:
        notes.setdefault(each.lineno, "")
    if not notes:
        return [], ""
    notes = ends_before(function, max(notes)) | notes
    return lines(function, notes), misreading(inside)


def stores(node: ast.stmt, name: str) -> bool:
    """Return whether a statement, or what it calls, stores to an element of `name`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    parts = [p for target in targets for p in ast.walk(target)]
    if any(isinstance(p, ast.Subscript) and is_name(p.value, name) for p in parts):
        return True
    calls = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    if not isinstance(calls, ast.Call) or not calls.args:
        return False
    called = ast.unparse(calls.func)
    writes = called in STORES or called.startswith("cuda.atomic.")
    return writes and is_name(calls.args[0], name)


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def ends_before(function: FunctionType | None, line: int) -> dict[int, str]:
    """Return notes on each `return` in an `if` above `line`, and on that `if`."""
    notes: dict[int, str] = {}
    for node, above in statements(function):
        if isinstance(node, ast.Return) and node.lineno < line and above:
            notes.setdefault(above[-1].lineno, "")
            notes[node.lineno] = "a thread that ends here stores nothing"
    return notes


def around(function: FunctionType | None, line: int) -> list[ast.If]:
    """Return the `if` statements that decide whether a line runs.

    These are all that contain the line, and the innermost around each earlier `return`.
    """
    found = statements(function)
    inside = [each for node, above in found if node.lineno == line for each in above]
    past = [
        above[-1]
        for node, above in found
        if isinstance(node, ast.Return) and node.lineno < line and above
    ]
    return [*past, *inside]


def misreading(inside: list[ast.If]) -> str:
    """Return how Python parses the first misleading condition; '' if there is none."""
    return next(filter(None, (precedence(each.test) for each in inside)), "")


# A function that is named but not called


def show_uncalled(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Explain that a line which only names a function of `cuda` does nothing."""
    function = trial.exercise.function()
    for node, _ in statements(function):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Attribute):
            continue
        name = ast.unparse(node.value)
        if name.startswith("cuda.") and function is not None:
            place, shown = at_line(function, node.lineno), verdict.places
            return verdict.but(
                why=f"`{name}` is named on line {place.line}, and not called: a call "
                f"has brackets.",
                places=[*shown, (place, "does nothing")],
            )
    return verdict


# Shared memory that no thread has written: which threads wrote the rest of it


def find_missing_writer(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Say how much of a shared array has been written, and on which lines.

    Applies to a read of an element that no thread has written.
    """
    function, trace = trial.exercise.function(), facts.trace
    if verdict.kind != "uninitialised" or trace is None or not verdict.rows:
        return verdict
    row = verdict.rows[0]
    if trace.space[row] != SHARED or function is None:
        return verdict
    name = trace.arrays[trace.array[row]]
    stored = [node.lineno for node, _ in statements(function) if stores(node, name)]
    if not stored:
        found = copied_elsewhere(trace, row, verdict)
        return without_some(function, read_beyond(function, trace, row, found))
    if facts.done is None:  # some stores may be missing
        return verdict
    notes = loops_to(function, name) | dict.fromkeys(stored, f"stores to {name}")
    ends = ends_before(function, max(stored))
    said = written_by(trace, row, name, [n for n in ends if ends[n]])
    guards = [each.lineno for line in stored for each in around(function, line)]
    more = lines(function, {n: "" for n in guards if n not in notes} | ends | notes)
    shown = {(p.function, p.line) for p, _ in verdict.places}
    more = [note for note in more if (note[0].function, note[0].line) not in shown]
    return verdict.adding(said).but(places=[*verdict.places, *more])


def loops_to(function: FunctionType, name: str) -> dict[int, str]:
    """Return notes on the `for` loops whose variables are in an index of a store."""
    found = [node for node, _ in statements(function) if stores(node, name)]
    return loops_of(function, found, name)


def loops_of(
    function: FunctionType, uses: Sequence[ast.stmt], name: str
) -> dict[int, str]:
    """Return notes on the `for` loops whose variables are in an index of `name`.

    A variable may also be in what is assigned to a variable of this index. uses: the
    statements that contain the index.
    """
    found = [node for node, _ in statements(function)]
    behind = [
        (stored_in(target), names_in(node.value))
        for node in found
        if isinstance(node, ast.Assign)
        for target in node.targets
        if not isinstance(target, ast.Subscript)
    ]
    notes: dict[int, str] = {}
    for node in uses:
        used = index_of(node, name)
        used |= set[str]().union(*(names for made, names in behind if made & used))
        for loop in found:
            inside = loop.lineno < node.lineno <= (loop.end_lineno or 0)
            sets = stored_in(loop.target) & used if isinstance(loop, ast.For) else ()
            if inside and sets:
                notes[loop.lineno] = f"sets `{'`, `'.join(sorted(sets))}`"
    return notes


def index_of(node: ast.stmt, name: str) -> set[str]:
    """Return the names in the index of `name` in a statement that uses it."""
    parts = [n for n in ast.walk(node) if isinstance(n, ast.Subscript)]
    slices = [n.slice for n in parts if is_name(n.value, name)]
    if not slices and isinstance(call := getattr(node, "value", None), ast.Call):
        slices = call.args[1:2]
    return set[str]().union(*map(names_in, slices))


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression contains."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def read_beyond(
    function: FunctionType, trace: Trace, row: int, verdict: Verdict
) -> Verdict:
    """Say which part of a matrix given code stores, and which part is read.

    Shows the loops that set what is in the index of the read.
    """
    stored, read = stored_and_read(trace, row)
    if not stored or trace.bulk.copies:
        return verdict
    name = trace.arrays[trace.array[row]]
    said = f"The threads of the block store to {stored} of `{name}`."
    said += f" They read {read}." * bool(read)
    own = [p.line for p, _ in verdict.places if p.function == function.__name__]
    reads = [node for node, _ in statements(function) if node.lineno in own]
    return with_lines(verdict.adding(said), function, loops_of(function, reads, name))


def without_some(function: FunctionType, verdict: Verdict) -> Verdict:
    """Show where threads return before a line that reads what others should write."""
    own = [p.line for p, _ in verdict.places if p.function == function.__name__]
    line = min(own, default=0)
    ends = ends_before(function, line)
    if not ends:
        return verdict
    said = f"Some threads return before line {line}. Have all of them done their part?"
    note = f"a thread that ends here does not come to line {line}"
    notes = {n: note if ends[n] else "" for n in ends}
    return with_lines(verdict.adding(said), function, notes)


def copied_elsewhere(trace: Trace, row: int, verdict: Verdict) -> Verdict:
    """Say what the bulk copy before an element writes, which does not reach it."""
    same = (trace.array == trace.array[row]) & (trace.block == trace.block[row])
    at = trace.address
    before = [r for r in trace.bulk.copies if same[r] and at[r] <= at[row]]
    if not before:
        return verdict
    if any(at[row] < at[r] + trace.size[r] for r in before):  # it has not arrived
        return verdict
    last = max(before, key=lambda r: (at[r], trace.size[r]))
    place, size = trace.places[trace.site[last]], int(trace.size[last])
    count = size // trace.dtypes[trace.array[row]].itemsize
    said = (
        f"The copy on line {place.line} writes {size:,} bytes: "
        f"{count:,} element{'s' * (count != 1)} from `{trace.element(last)}` on."
    )
    note = [(place, "the copy")]
    shown = {(p.function, p.line) for p, _ in verdict.places}
    more = [] if (place.function, place.line) in shown else note
    return verdict.adding(said).but(places=[*verdict.places, *more])


# A loop that does not end: what it waits for, and in whose function it is


def awaited(trace: Trace, fault: Fault) -> str:
    """Return what an endless loop waits for: the element that its thread polls.

    The text also names the last thread to store to that element, if any has. It is ''
    for other faults, and if the thread polls nothing: then its loop may only have
    taken too long.
    """
    if fault.kind != "endless-loop" or fault.headline:
        return ""
    if fault.thread is None or fault.block is None:
        return ""
    mine = trace.block == ranked(fault.block, trace.grid_size)
    mine &= trace.thread == ranked(fault.thread, trace.block_size)
    rows = np.flatnonzero(mine)
    row = polled(trace, rows)
    element = trace.element(row) if row is not None else ""
    if row is None or not element:
        return ""
    same = (trace.address == trace.address[row]) & (trace.space == trace.space[row])
    here = trace.places[trace.site[row]]
    polls = np.array(
        [(p.line, p.function) == (here.line, here.function) for p in trace.places]
    )
    stores = np.flatnonzero(same & (trace.operation != READ) & ~polls[trace.site])
    if not stores.size:
        if trace.blocks < trace.all_blocks:
            return f"It waits for `{element}` to change."
        return f"It waits for `{element}` to change, and no thread has stored to it."
    last = int(stores[-1])
    line = trace.places[trace.site[last]].line
    return (
        f"It waits for `{element}` to change. The last to store to it was "
        f"{trace.thread_at(last, with_block=True)}, on line {line}."
    )


def polled(trace: Trace, rows: Columns) -> int | None:
    """Return the row of a thread's last access if this access polls, or None.

    It polls if it is neither a store nor an atomic addition of 1, and if the previous
    access by the same instruction was to the same address, with no store by the thread
    in between.
    """
    if not rows.size:
        return None
    last = int(rows[-1])
    alike = rows[(trace.site[rows] == trace.site[last])]
    if alike.size < 2 or trace.operation[last] == WRITE:
        return None
    before = int(alike[-2])
    between = rows[(rows > before) & (rows < last)]
    same = trace.address[before] == trace.address[last]
    if not same or (trace.operation[between] == WRITE).any():
        return None
    return None if last in trace.atomics["one"] else last


def ranked(index: tuple[int, ...], size: tuple[int, int, int]) -> int:
    """Return the rank of a thread in its block, or of a block in its grid."""
    x, y, z = (*index, 0, 0)[:3]
    return x + size[0] * (y + size[1] * z)


def put_own_line_first(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Name the learner's own line first if the endless loop is in another file."""
    function = trial.exercise.function()
    if verdict.kind != "endless-loop" or function is None or not verdict.places:
        return verdict
    file = function.__code__.co_filename
    loop, _ = verdict.places[0]
    own = next((p for p, _ in verdict.places if p.file == file), None)
    if loop.file == file or own is None:
        return verdict
    mine = (own, f"never comes back from `{loop.function}`")
    rest = [(p, note) for p, note in verdict.places[1:] if p != own]
    return verdict.but(places=[mine, (loop, "the loop"), *rest])
