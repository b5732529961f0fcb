"""Checks of a function that several ranks run, on the model."""

import ast
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from weft.checking.compare import difference
from weft.checking.differences import Difference
from weft.checking.plain import leaves, written
from weft.checking.room import Facts
from weft.checking.source import (
    at_line,
    begin,
    line_with,
    parameter_names,
    raised,
    raised_at,
    returns,
    tree_of,
)
from weft.checking.step_limit import Endless, counted, endless
from weft.checking.values import as_array, is_tensor, is_tree, judge
from weft.checking.verdict import Failed, Verdict
from weft.places import Note, Place
from weft.ranks.exercise import RankCase, RankExercise
from weft.ranks.model import KNOWN, Distributed
from weft.ranks.words import RankFault, ranks_named, words
from weft.ranks.works import Work
from weft.ranks.world import World
from weft.starters import has_stub, source
from weft.tracebacks import innermost
from weft.wording import joined, several

NOTHING = (  # collectives, which return None and change their first argument
    *("all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor"),
)


def judged(exercise: RankExercise, case: RankCase) -> World:
    """Run a case, and return the run. Raises `Failed` unless all results are right."""
    world = World(case.ranks)
    args = [tuple(map(tensor_of, own)) for own in case.given]
    names = parameter_names(exercise.written_by_learner)
    place = names.index(exercise.result) - 1 if exercise.result else None
    kept = [{} if place is None else dict(leaves(own[place])) for own in args]
    back = ran(exercise, case, world, args)
    idle = not world.works and (exercise.result or back[0] is None)
    if idle and has_stub(exercise.written_by_learner):
        raise Failed(begin(exercise.name))
    for rank, wanted in enumerate(case.expected):
        got = back[rank] if place is None else args[rank][place]
        right(exercise, case, world, rank, as_array(got), wanted)
        new = [at for at, x in leaves(got) if kept[rank].get(at, x) is not x]
        if new:
            raise Failed(in_memory(exercise, case, written(new[0])))
    return world


def in_memory(exercise: RankExercise, case: RankCase, path: str) -> Verdict:
    """Return the verdict on a right result in a tensor other than the one passed."""
    name, what = exercise.name, exercise.result + path
    places = line_with(exercise.written_by_learner, rf"{re.escape(what)} *=[^=]")
    return words.verdict(name, "replaced", places, what=what, when=case.label)


def ran(
    exercise: RankExercise, case: RankCase, world: World, args: list[tuple[Any, ...]]
) -> list[Any]:
    """Run the function on every rank; return the results. Raises `Failed` on errors."""
    function, name = exercise.written_by_learner, exercise.name

    def rank(number: int) -> Any:
        dist = without(exercise, Distributed(world, number, function.__globals__))
        return counted(function, (dist, *args[number]), exercise.lines)

    calls = [partial(rank, number) for number in range(case.ranks)]
    try:
        return world.run(calls)
    except RankFault as fault:
        places = [(at, placed(at, note, name)) for at, note in fault.places]
        if fault.buffer:
            places += assigned_once(function, fault.buffer)
        if fault.batch:
            places.insert(0, (fault.batch, batch_note(function, fault.batch)))
        verdict = Verdict(name, fault.kind, fault.message, fault.why, places)
        raise Failed(verdict.but(when=case.label)) from None
    except Endless as stopped:
        assert world.error is not None
        when = f"rank {world.error[0]}, with {case.label}"
        raise endless(name, name, stopped, when) from None
    except Failed:
        raise
    except Exception as error:
        assert world.error is not None
        if has_stub(function) and not world.works:
            raise Failed(begin(name)) from None
        when = f"rank {world.error[0]}, with {case.label}"
        verdict = raised(name, name, error, function).but(when=when)
        if "'NoneType'" in str(error) and (said := returned_none(function)):
            verdict = verdict.but(why=said[0], places=[*said[1], *verdict.places])
        if isinstance(error, IndexError):
            verdict = verdict.but(why=too_few_parts(error, function, case.ranks))
        raise Failed(verdict) from None


def assigned_once(function: Any, name: str) -> list[Note]:
    """Return the only line of a function that assigns a variable, or []."""
    lines = [
        node.lineno
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
    ]
    if len(lines) != 1:
        return []
    return [(at_line(function, lines[0]), f"`{name}` is set here")]


def batch_note(function: Any, at: Place) -> str:
    """Return the note on a `batch_isend_irecv` for whose transfers no rank waits."""
    alone = [
        node.lineno
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("batch_isend_irecv")
    ]
    return "what this returns is not kept" if at.line in alone else "begins them"


def returned_here(function: Any) -> list[Note]:
    """Return the first line with a `return`, with a note if it is the only one."""
    lines = returns(function)
    kinds = Counter(type(node) for node in ast.walk(tree_of(function)))
    alone = kinds[ast.FunctionDef] == kinds[ast.Return] == 1  # and not in a helper
    return [(place, "returned here" if alone else "") for place, _ in lines]


def sending(function: Any, works: Sequence[Work]) -> list[Note]:
    """Return the outermost loops of a function that begin sends, with their number.

    works: the sends of one rank. A send outside all loops has its own line.
    """
    loops = [
        node
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.For | ast.While)
    ]
    counts: Counter[int] = Counter()
    for work in works:
        line = (work.caller or work.place).line
        around = [n.lineno for n in loops if n.lineno <= line <= (n.end_lineno or 0)]
        counts[min(around, default=line)] += 1
    return [
        (at_line(function, line), several(n, "message"))
        for line, n in sorted(counts.items())
    ]


def returned_none(function: Any) -> tuple[str, list[Note]] | None:
    """Return a sentence on a call that returns nothing but whose value is used.

    Also returns the line of the call. Returns None if there is no such call.
    """
    tree = tree_of(function)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name(), call), [first, *_], keywords):
                named = {keyword.arg for keyword in keywords}
                if call not in NOTHING or "async_op" in named or id(node) in alone:
                    continue
                said = {"call": call, "changed": ast.unparse(first)}
                place = at_line(function, node.lineno)
                return words("returns-none", **said)["why"], [(place, "")]
    return None


def too_few_parts(error: IndexError, function: Any, ranks: int) -> str:
    """Return what is known of a sequence with fewer parts than there are ranks.

    It is a local variable of the frame that raised the error, and is indexed in that
    line. Returns "" if there is no such variable.
    """
    trace = innermost(error)
    places = raised_at(error, function)
    if trace is None or not places or trace.tb_frame.f_code is not function.__code__:
        return ""
    for name in re.findall(r"(\w+)\[", places[0][0].text):
        value = trace.tb_frame.f_locals.get(name)
        if not isinstance(value, list | tuple) or not all(map(is_tensor, value)):
            continue
        if len(value) < ranks:
            cut = rf"\b{name} *= *(\w+)\.chunk\(|\b{name} *= *torch\.chunk\("
            cuts = re.search(cut, source(function))
            return words(
                "too-few-parts",
                name=name,
                count=several(len(value), "part"),
                ranks=ranks,
                chunk=": `chunk` may give fewer than it is asked for" if cuts else "",
            )["why"]
    return ""


def untouched(world: World, rank: int, what: str) -> str:
    """Return what is said of a rank's result that has its first values."""
    if world.received[rank] or any(world.collectives):
        return words("untouched", what=what)["why"]
    to = [work.peers[0] for work in world.works if work.sends and work.rank == rank]
    sent = f"has sent to {ranks_named(to)} and " if to else ""
    return words("untouched-alone", what=what, rank=rank, sent=sent)["why"]


def placed(at: Place, note: str, name: str) -> str:
    """Return a note on a line, with the line's function first unless that is `name`."""
    where = f"in `{at.function}`" if at.function not in ("", name) else ""
    return ", ".join(filter(None, [where, note]))


def without(exercise: RankExercise, dist: Distributed) -> Distributed:
    """Make the calls that an exercise forbids raise `Failed`, and return `dist`."""
    for call in exercise.without:
        if call not in KNOWN:
            raise ValueError(
                f"check({exercise.name}, ...): without {call}? no such call"
            )

        def refused(*_: Any, call: str = call, **__: Any) -> None:
            places = [(dist._place(), "")]
            raise Failed(words.verdict(exercise.name, "library", places, call=call))

        setattr(dist, call, refused)
    return dist


def tensor_of(value: Any) -> Any:
    """Convert a rank's input: NumPy arrays become tensors, even in lists and tuples."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, list | tuple):
        return type(value)(map(tensor_of, value))
    return value


def parts_of(
    exercise: RankExercise,
    got: Any,
    wanted: Any,
    because: Callable[[], str] = str,
    **more: Any,
) -> list[tuple[str, Any, Any]]:
    """Return triples (path, array, expected). Raises `Failed` if the shapes differ.

    because: returns the likely cause of another shape.
    """
    name, what = exercise.name, exercise.result or "result"
    pairs = [("", got, wanted)]
    if is_tree(wanted) or (isinstance(got, list) and isinstance(wanted, list)):
        own, aims = dict(leaves(got)), dict(leaves(wanted))
        if own.keys() != aims.keys():
            gives = f"{what} holds" if exercise.result else f"{name} returns"
            message = f"{gives} {several(len(own), 'value')}, not {len(aims)}."
            raise exercise.failed("shape", message, **more)
        pairs = [(written(path), own[path], aims[path]) for path in aims]
    found = []
    for path, part, aim in pairs:
        goal, kind = np.asarray(aim), type(part).__name__
        try:
            array = np.asarray(part)
        except (ValueError, TypeError):
            message = f"{what}{path} is a {kind}."
            raise exercise.failed("shape", message, **more) from None
        if array.dtype == object or array.shape != goal.shape:
            said = array.shape if array.dtype != object else kind
            message = f"{what}{path} has the shape {said} and should have {goal.shape}."
            raise exercise.failed("shape", message, because(), **more)
        if goal.dtype.kind == "f" and array.dtype.kind != "f":
            array = array.astype(float)
        found.append((path, array, goal))
    return found


def right(
    exercise: RankExercise,
    case: RankCase,
    world: World,
    rank: int,
    got: Any,
    wanted: Any,
) -> None:
    """Compare a rank's result with the expected one. Raises `Failed` if they differ."""
    name, result, function = exercise.name, exercise.result, exercise.written_by_learner
    what, first = result or "result", {}
    more: Any = {"when": f"rank {rank}, with {case.label}"}
    if result:
        given = case.given[rank][parameter_names(function).index(result) - 1]
        first = {written(path): part for path, part in leaves(given)}
    else:
        more["places"] = returned_here(function)
    if got is None:
        verdict = words.verdict(name, "nothing", **more)
        said = returned_none(function)
        raise Failed(verdict.but(why=said[0]) if said else verdict)
    asked = exercise.because or (lambda *_: "")
    known = {"world": world, "function": function}
    told = {k: known[k] for k in known if k in inspect.signature(asked).parameters}
    notes: list[Note] = []

    def because() -> str:
        found = asked(case.given, rank, got, **told)
        said, notes[:] = found if isinstance(found, tuple) else (found, [])
        return str(said)

    parts = parts_of(exercise, got, as_array(wanted), because, **more)

    def why(wrong: Difference, path: str, found: Any) -> str:
        """Return why the value at a path is wrong, or "" if that is unknown."""
        if found.dtype.kind == "f" and np.isnan(wrong.got):
            return words("not-yet")["why"]
        if np.array_equal(found, first.get(path, np.nan)):
            return untouched(world, rank, what + path)
        because_of = because()
        others = [
            what + other
            for other, part, aim in parts
            if other != path and difference(part, aim, exercise.tolerance) is None
        ]
        are = words("right-parts", parts=joined(others))["why"] if others else ""
        return " ".join(filter(None, [because_of or wrong.hint, are]))

    for path, found, goal in parts:
        cause = partial(why, path=path, found=found)
        try:
            judge(exercise, f"{what}{path}", found, goal, cause, **more)
        except Failed as failed:
            verdict = failed.verdict
            places = [*verdict.places, *notes]
            raise Failed(verdict.but(places=places), failed.clue) from None


def bound(limit: Any, case: RankCase) -> float:
    """Return a limit for a case. limit: a number, or a function of ranks and size."""
    return float(limit(case.ranks, *case.size) if callable(limit) else limit)


def held(exercise: RankExercise, case: RankCase, world: World) -> Facts:
    """Return facts about a run's costs. Raises `Failed` if a cost exceeds its limit."""
    limits, name, ranks = exercise.limits, exercise.name, case.ranks
    facts = []

    def refuse(row: str, places: list[Note] | None = None, **told: Any) -> Failed:
        if places is None:
            places = line_with(exercise.written_by_learner, r"(for|while) ")
        return Failed(words.verdict(name, row, places, when=case.label, **told))

    if "collectives" in limits:
        few = int(bound(limits["collectives"], case))
        calls = len(world.collectives[0])
        if calls > few:
            told = {"calls": several(calls, "collective"), "few": few}
            at = Counter(call.work.place for call in world.collectives[0])
            lines = [
                (place, placed(place, f"{n} calls" if n > 1 else "", name))
                for place, n in sorted(at.items(), key=lambda item: item[0].line)
            ]
            raise refuse("collectives", lines, **told)
        facts.append(f"{several(calls, 'collective')} per rank")
    if "sent" in limits:
        busiest = max(range(ranks), key=lambda rank: world.sent[rank])
        sent, least = world.sent[busiest], bound(limits["sent"], case)
        if sent > least:
            over: dict[str, Any] = {"busiest": busiest, "bytes": sent, "least": least}
            works = [w for w in world.works if w.sends and w.rank == busiest]
            most = bound(limits.get("steps", math.inf), case)
            if len(works) <= most:
                raise refuse("sent", **over)
            lines = sending(exercise.written_by_learner, works)
            over["messages"] = several(len(works), "message")
            over["most"] = several(int(most), "step")
            raise refuse("sent-often", lines, **over)
        facts.append(f"{sent:,} bytes sent by the busiest rank")
    if "steps" in limits:
        steps, most = world.steps, bound(limits["steps"], case)
        if steps > most:
            raise refuse("steps", count=steps, most=most)
        facts.append(several(int(steps), "step"))
    return facts
