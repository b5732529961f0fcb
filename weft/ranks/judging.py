"""Checks of a function that several ranks run, on the model."""

import re
from functools import partial
from typing import Any

import numpy as np
import torch

from weft.checking.compare import difference
from weft.checking.differences import Difference
from weft.checking.plain import leaves, written
from weft.checking.room import Facts
from weft.checking.source import begin, line_with, parameter_names, raised, returns
from weft.checking.step_limit import Endless, counted, endless
from weft.checking.values import as_array, is_tree, judge
from weft.checking.verdict import Failed, Verdict
from weft.places import Place
from weft.ranks.exercise import RankCase, RankExercise
from weft.ranks.model import KNOWN, Distributed
from weft.ranks.words import RankFault, words
from weft.ranks.world import World
from weft.starters import has_stub
from weft.wording import joined, several


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
        right(exercise, case, rank, as_array(got), wanted)
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
        raise Failed(raised(name, name, error, function).but(when=when)) from None


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
    exercise: RankExercise, got: Any, wanted: Any, **more: Any
) -> list[tuple[str, Any, Any]]:
    """Return triples (path, array, expected). Raises `Failed` if the shapes differ."""
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
            raise exercise.failed("shape", message, **more)
        if goal.dtype.kind == "f" and array.dtype.kind != "f":
            array = array.astype(float)
        found.append((path, array, goal))
    return found


def right(
    exercise: RankExercise, case: RankCase, rank: int, got: Any, wanted: Any
) -> None:
    """Compare a rank's result with the expected one. Raises `Failed` if they differ."""
    name, result, function = exercise.name, exercise.result, exercise.written_by_learner
    what, first = result or "result", {}
    more: Any = {"when": f"rank {rank}, with {case.label}"}
    if result:
        given = case.given[rank][parameter_names(function).index(result) - 1]
        first = {written(path): part for path, part in leaves(given)}
    else:
        more["places"] = returns(function)
    if got is None:
        raise Failed(words.verdict(name, "nothing", **more))
    parts = parts_of(exercise, got, as_array(wanted), **more)

    def why(wrong: Difference, path: str, found: Any) -> str:
        """Return why the value at a path is wrong, or "" if that is unknown."""
        if found.dtype.kind == "f" and np.isnan(wrong.got):
            return words("not-yet")["why"]
        if np.array_equal(found, first.get(path, np.nan)):
            return words("untouched", what=what + path)["why"]
        because = exercise.because(case.given, rank, got) if exercise.because else ""
        others = [
            what + other
            for other, part, aim in parts
            if other != path and difference(part, aim, exercise.tolerance) is None
        ]
        are = words("right-parts", parts=joined(others))["why"] if others else ""
        return " ".join(filter(None, [because or wrong.hint, are]))

    for path, found, goal in parts:
        cause = partial(why, path=path, found=found)
        judge(exercise, f"{what}{path}", found, goal, cause, **more)


def bound(limit: Any, case: RankCase) -> float:
    """Return a limit for a case. limit: a number, or a function of ranks and size."""
    return float(limit(case.ranks, *case.size) if callable(limit) else limit)


def held(exercise: RankExercise, case: RankCase, world: World) -> Facts:
    """Return facts about a run's costs. Raises `Failed` if a cost exceeds its limit."""
    limits, name, ranks = exercise.limits, exercise.name, case.ranks
    facts = []

    def refuse(row: str, **told: Any) -> Failed:
        places = line_with(exercise.written_by_learner, r"(for|while) ")
        return Failed(words.verdict(name, row, places, when=case.label, **told))

    if "collectives" in limits:
        few = int(bound(limits["collectives"], case))
        calls = len(world.collectives[0])
        if calls > few:
            told = {"calls": several(calls, "collective"), "few": few}
            raise refuse("collectives", **told)
        facts.append(f"{several(calls, 'collective')} per rank")
    if "sent" in limits:
        busiest = max(range(ranks), key=lambda rank: world.sent[rank])
        sent, least = world.sent[busiest], bound(limits["sent"], case)
        if sent > least:
            raise refuse("sent", busiest=busiest, bytes=sent, least=least)
        facts.append(f"{sent:,} bytes sent by the busiest rank")
    if "steps" in limits:
        steps, most = world.steps, bound(limits["steps"], case)
        if steps > most:
            raise refuse("steps", count=steps, most=most)
        facts.append(several(int(steps), "step"))
    return facts
